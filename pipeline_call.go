package gale

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// pipeCall is a request in a pipeline, with its response. It shares no memory with
// the caller's request and response, so the caller may leave at any time.
//
// It is held by the caller, by the lane that has it and by the goroutine that
// writes it. The last one that drops it returns it to the pool.
type pipeCall struct {
	bytes *pool.Buf // the request
	resp  Response  // written by the goroutine that reads the connection, until done
	err   error     // of the call; valid after a receive from done
	done  chan struct{}
	holds atomic.Int32

	// About the request.
	head       bool // its method is HEAD
	tunnel     bool // it is CONNECT
	idempotent bool
	last       bool // nothing may follow it on its connection

	// Fields of the lane, guarded by its lock.
	prev, next *pipeCall
	state      pipeState
	left       bool // the caller is gone
	sent       bool // bytes of it may have been written
	got        bool // bytes of its response have come
	sentAt     clock.Tick
	leftAt     clock.Tick
}

// pipeState says where a call is.
type pipeState uint8

const (
	pipeNew    pipeState = iota
	pipeQueued           // in the lane's queue
	pipeFlying           // written, or about to be, to the lane's connection
	pipeDone
)

// keepPipeBytes is the capacity in bytes up to which a request's memory is kept for
// others.
const keepPipeBytes = 16 << 10

var pipeCalls = pool.Pool{New: func() any {
	return &pipeCall{done: make(chan struct{}, 1)}
}}

// acquirePipeCall returns a new call, held by the caller.
func acquirePipeCall() *pipeCall {
	pc := pipeCalls.Get().(*pipeCall)
	pc.holds.Store(1)
	if pc.bytes == nil {
		pc.bytes = pool.Get(0)
	}
	return pc
}

func (pc *pipeCall) hold() { pc.holds.Add(1) }

// drop releases the call for one holder.
func (pc *pipeCall) drop() {
	if pc.holds.Add(-1) > 0 {
		return
	}
	if pc.bytes.Reset(); cap(pc.bytes.B) > keepPipeBytes {
		pool.Put(pc.bytes)
		pc.bytes = nil
	}
	pc.resp.Reset()
	pc.err = nil
	pc.head, pc.tunnel, pc.idempotent, pc.last = false, false, false, false
	pc.prev, pc.next, pc.state = nil, nil, pipeNew
	pc.left, pc.sent, pc.got = false, false, false
	pc.sentAt, pc.leftAt = 0, 0
	pipeCalls.Put(pc)
}

// encode writes the bytes of req to pc.bytes. If the body is a stream, it reads the
// stream; the time limit is checked between two reads.
func (pc *pipeCall) encode(ctx context.Context, req *Request, deadline clock.Tick) error {
	b := pc.bytes
	var out outgoing
	var err error
	b.B, out, err = req.appendRequest(b.B[:0], true)
	switch {
	case err != nil:
		req.dropStream(err)
	case out.stream:
		err = out.writeStream(bufio.NewWriter(&pipeBody{b, ctx, deadline}))
	default:
		b.B = append(b.B, out.body...)
	}
	h := &req.Header
	pc.head, pc.tunnel = h.IsHead(), h.IsConnect()
	// Bytes after a tunnel or a switch of protocols aren't HTTP any more.
	pc.last = pc.tunnel || h.ConnectionClose() || h.ConnectionUpgrade()
	pc.idempotent = isIdempotent(req)
	return err
}

// pipeBody collects a body within the time limit of the call.
type pipeBody struct {
	b        *pool.Buf
	ctx      context.Context
	deadline clock.Tick
}

func (w *pipeBody) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if w.deadline != 0 && clock.Ticks() >= w.deadline {
		return 0, ErrTimeout
	}
	return w.b.Write(p)
}

// wait waits until the call is done. On an error the caller must not wait any
// longer.
func (pc *pipeCall) wait(ctx context.Context, deadline clock.Tick) error {
	cancelled := ctx.Done()
	if deadline == 0 {
		if cancelled == nil {
			<-pc.done
			return nil
		}
		select {
		case <-pc.done:
			return nil
		case <-cancelled:
			return ctx.Err()
		}
	}
	timer := AcquireTimer(time.Duration(deadline - clock.Ticks()))
	defer ReleaseTimer(timer)
	select {
	case <-pc.done:
		return nil
	case <-cancelled:
		return ctx.Err()
	case <-timer.C:
		return ErrTimeout
	}
}

// deliver empties the caller's response, and moves the response of the call to it
// if there is one.
func (pc *pipeCall) deliver(resp *Response, answered bool) {
	skip, stream := resp.SkipBody && !resp.wasHead, resp.StreamBody
	resp.Reset()
	resp.SkipBody, resp.StreamBody = skip, stream
	if !answered {
		return
	}
	from := &pc.resp
	from.Header.CopyTo(&resp.Header)
	resp.remote, resp.local = from.remote, from.local
	resp.SkipBody, resp.wasHead = skip || pc.head, pc.head && !skip
	if resp.SkipBody || from.body == nil {
		return
	}
	if stream {
		resp.bodyStream = &pipeBodyStream{r: bytes.NewReader(bytes.Clone(from.body.B))}
		return
	}
	if len(from.body.B) == 0 {
		return
	}
	if resp.KeepBodyBuffer || len(from.body.B) <= keepBody || resp.loan != nil {
		resp.setBody(from.body.B)
		return
	}
	pool.Put(resp.body)
	resp.body, from.body = from.body, nil
}

// pipeBodyStream is a body in memory, as a stream.
type pipeBodyStream struct {
	mu sync.Mutex
	r  *bytes.Reader // nil when it is closed
}

// Read reads from the body. After Close it returns io.ErrClosedPipe.
func (s *pipeBodyStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return 0, io.ErrClosedPipe
	}
	return s.r.Read(p)
}

// Close drops the rest of the body.
func (s *pipeBodyStream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r = nil
	return nil
}

// CloseWithError is Close. It ignores the error.
func (s *pipeBodyStream) CloseWithError(error) error { return s.Close() }

// pipeList is a queue of calls. A call is in at most one queue.
type pipeList struct {
	front, back *pipeCall
	n           int
}

func (l *pipeList) pushBack(pc *pipeCall) {
	pc.prev, pc.next = l.back, nil
	if l.back == nil {
		l.front = pc
	} else {
		l.back.next = pc
	}
	l.back = pc
	l.n++
}

func (l *pipeList) pushFront(pc *pipeCall) {
	pc.prev, pc.next = nil, l.front
	if l.front == nil {
		l.back = pc
	} else {
		l.front.prev = pc
	}
	l.front = pc
	l.n++
}

func (l *pipeList) remove(pc *pipeCall) {
	if pc.prev == nil {
		l.front = pc.next
	} else {
		pc.prev.next = pc.next
	}
	if pc.next == nil {
		l.back = pc.prev
	} else {
		pc.next.prev = pc.prev
	}
	pc.prev, pc.next = nil, nil
	l.n--
}
