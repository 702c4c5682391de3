package gale

import (
	"bufio"
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// writePatience is how long the goroutine of a call writes a long body in memory to a socket
// before it leaves that to another one, so that it notices a response. Most bodies are written by
// then.
const writePatience = 20 * time.Millisecond

// resetPatience is how long a call waits for the response after a write has found that the server
// has reset the connection.
const resetPatience = time.Second

// h1Sender sends a body over HTTP/1.1: a stream, or one in memory that takes long.
//
// A server may answer before it has the whole request (RFC 9112 section 9.5). The body is sent
// until the response is complete, or closed if it is streamed. A connection on which a part of
// the request is missing is not used again.
type h1Sender struct {
	bodySender
	c      *HostClient
	conn   *clientconn.Conn
	bw     *bufio.Writer
	length int64 // of the stream, or msg.LenChunked
	pieces bool  // the body in memory is copied, because the call may return before it was sent
	stirs  bool  // the reader wants to know when the request was sent
	run    func()
	hears  func() error
	holds  atomic.Int32

	mu      sync.Mutex
	req     *Request // its trailer section follows the body; nil once that was taken
	trailer []byte   // the trailer section, once it was taken
	body    []byte   // in memory
	left    int64    // bytes of the body that weren't written yet, negative if that isn't known
	last    bool     // the next write is the last one
	sent    bool     // all was written
	writing bool     // a write is running
	ended   bool     // the call has ended: nothing must be written any more
	failure error    // of writing

	idle chan struct{} // holds a token when a write that was running at the end of the call has returned
	done chan struct{} // holds a token when the goroutine uses the connection no more
	err  error         // why the body was not sent, once done

	// Of the goroutine that reads the response.
	over     bool         // the token was taken from done
	headCame bool         // the final head
	deadline clock.Tick   // of the call
	by       clock.Tick   // when the request must have been sent
	whole    clock.Tick   // when the response must have been read, once the request was sent
	trace    *ClientTrace // nil once Wrote was called
	traced   *Request
}

var h1Senders = pool.Pool{New: func() any {
	o := &h1Sender{idle: make(chan struct{}, 1), done: make(chan struct{}, 1)}
	o.run = func() { o.send(o) }
	o.hears = o.hear
	return o
}}

// startSender begins to send the body of out, of which body is what is left if it is in memory.
// The request has the stream no more. by is the end of the time to do so.
func (c *HostClient) startSender(k *call, cc *clientConn, out *outgoing, body []byte, rules *readRules, by clock.Tick) {
	o := h1Senders.Get().(*h1Sender)
	req := out.req
	o.c, o.conn = c, &cc.conn
	o.stirs = c.Trace != nil || c.ReadTimeout > 0 || c.ResponseHeaderTimeout > 0 || by != 0
	o.deadline, o.by = k.deadline, by
	o.trace, o.traced = c.Trace, req
	if out.stream {
		req.useHandle()
		o.stream, o.writer = req.bodyStream, req.streamWriter
		req.bodyStream, req.streamWriter = nil, nil
		o.length, o.left = out.length, out.length
		o.findSection(req, out.length, false)
		o.req = req
	} else {
		o.body, o.left, o.pieces = body, int64(len(body)), rules.stream
	}
	o.holds.Store(2)
	cc.conn.OnStir(o.hears)
	cc.sender = o
	go o.run()
}

// drop gives o back when both goroutines have dropped it.
func (o *h1Sender) drop() {
	if o.holds.Add(-1) > 0 {
		return
	}
	o.reset()
	h1Senders.Put(o)
}

func (o *h1Sender) reset() {
	for _, c := range []chan struct{}{o.idle, o.done} {
		select {
		case <-c:
		default:
		}
	}
	o.stream, o.writer = nil, nil
	o.section, o.lent = nil, lentSection{}
	o.closed.Store(false)
	o.c, o.conn, o.bw, o.length = nil, nil, nil, 0
	o.pieces, o.stirs = false, false
	o.req, o.trailer, o.body, o.left = nil, nil, nil, 0
	o.last, o.sent, o.writing, o.ended, o.failure, o.err = false, false, false, false, nil, nil
	o.over, o.headCame, o.deadline, o.by, o.whole = false, false, 0, 0, 0
	o.trace, o.traced = nil, nil
}

// copy sends the body, except the last chunk.
func (o *h1Sender) copy() error {
	if o.stream == nil && o.writer == nil {
		return o.copyMemory()
	}
	_, form := o.stream.(*formStream)
	if o.length >= 0 && !form {
		return writeBodyFixed(o, o.stream, o.length) // each piece at once: the server may answer to it
	}
	o.bw = o.c.acquireWriter(o)
	switch {
	case o.writer != nil:
		return writeStreamChunked(o.bw, o.writer)
	case o.length == msg.LenChunked:
		return writeBodyChunked(o.bw, o.stream)
	}
	if err := writeBodyFixed(o.bw, o.stream, o.length); err != nil { // a form never waits, and has short pieces
		return err
	}
	return o.bw.Flush()
}

func (o *h1Sender) copyMemory() error {
	if !o.pieces {
		_, err := o.Write(o.body)
		return err
	}
	buf := pool.Get(copyBlock)
	defer pool.Put(buf)
	for {
		o.mu.Lock()
		if o.ended { // the body belongs to the caller
			o.mu.Unlock()
			return errSendStopped
		}
		n := copy(buf.B[:copyBlock], o.body)
		o.body = o.body[n:]
		o.mu.Unlock()
		if n == 0 {
			return nil
		}
		if _, err := o.Write(buf.B[:n]); err != nil {
			return err
		}
	}
}

// Write writes to the connection, unless the call has ended.
func (o *h1Sender) Write(p []byte) (n int, err error) {
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return 0, errSendStopped
	}
	o.writing = true
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		o.writing, o.failure = false, err
		if o.left > 0 {
			o.left -= int64(n)
		}
		o.sent = o.sent || n == len(p) && err == nil && (o.left == 0 || o.last)
		if o.ended {
			o.idle <- struct{}{}
		}
		o.mu.Unlock()
	}()
	return o.conn.Write(p)
}

// settle sends the last chunk if err is nil, and tells the reader.
func (o *h1Sender) settle(err error) {
	fine := false
	defer func() {
		if !fine { // a method of the connection panicked, or ended the goroutine
			err = errBodyEnded
			if p := recover(); p != nil {
				err = panicError(p)
			}
		}
		o.mu.Lock()
		o.req = nil
		o.dropSection()
		o.mu.Unlock()
		o.report(err)
	}()
	if err == nil && o.bw != nil && o.left < 0 {
		err = o.sendLast()
	}
	fine = true
}

// sendLast sends what follows a chunked body. The last chunk is in bw.
func (o *h1Sender) sendLast() error {
	o.mu.Lock()
	o.takeSection()
	o.mu.Unlock()
	if o.section != nil {
		o.trailer = append(o.trailer, o.section.Trailers(door.Seal{}).(*RequestHeader).TrailerHeader()...)
	}
	if _, err := o.bw.Write(o.trailer); err != nil {
		return err
	}
	o.mu.Lock()
	o.last = true
	o.mu.Unlock()
	return o.bw.Flush()
}

// takeSection takes the trailer section of the request, once. mu is held.
func (o *h1Sender) takeSection() {
	switch {
	case o.req == nil, o.left >= 0:
	case o.section == nil:
		o.trailer = append(o.trailer, o.req.Header.TrailerHeader()...)
	default:
		o.copySection(o.req)
	}
	o.req = nil
}

// report tells the reader that the request was sent, or why not.
func (o *h1Sender) report(err error) {
	o.mu.Lock()
	ended := o.ended
	if ended && !o.sent { // err comes from that
		err = errSendStopped
	}
	o.err = err
	o.sent = o.sent || err == nil
	o.mu.Unlock()
	if o.bw != nil {
		o.c.ReleaseWriter(o.bw)
	}
	defer func() { // also if a method of the connection ends the goroutine
		o.done <- struct{}{}
		o.drop()
	}()
	if !ended {
		switch {
		case err != nil && !clientconn.IsReset(o.failure):
			o.conn.Break()
		case err != nil || o.stirs:
			o.stirReader()
		}
	}
}

// stirReader calls Stir. The connection may be the program's.
func (o *h1Sender) stirReader() {
	fine := false
	defer func() {
		if !fine {
			_ = recover()
			o.conn.Break()
		}
	}()
	if o.conn.Stir() != nil && o.err != nil {
		o.conn.Break()
	}
	fine = true
}

// hear is called by the goroutine that reads the response, when the request was sent or could
// not be sent. In the latter case its error ends the read, unless the server has reset the
// connection: then there may be a response.
func (o *h1Sender) hear() error {
	if !o.over {
		<-o.done
		o.over = true
	}
	o.tell(o.err)
	switch {
	case o.err == nil:
		o.whole = o.in(o.c.ReadTimeout)
		if o.headCame {
			o.conn.BoundReads(o.whole)
		} else {
			o.conn.BoundReads(clock.Earlier(o.whole, o.in(o.c.ResponseHeaderTimeout)))
		}
	case clientconn.IsReset(o.failure):
		o.conn.BoundReads(o.in(resetPatience))
	default:
		return o.err
	}
	return nil
}

// in is call.until.
func (o *h1Sender) in(d time.Duration) clock.Tick {
	k := call{deadline: o.deadline}
	return k.until(d)
}

// sawHead records that the final head has come.
func (o *h1Sender) sawHead() {
	o.headCame = true
	if o.over && o.err == nil {
		o.conn.BoundReads(o.whole)
	}
}

// tell calls ClientTrace.Wrote once.
func (o *h1Sender) tell(err error) {
	if t := o.trace; t != nil {
		o.trace = nil
		t.wrote(o.traced, err)
	}
}

// handOver is called before a call returns whose response is streamed. The request and its body
// belong to the caller from then on, so what is still needed of them is copied.
func (o *h1Sender) handOver() {
	o.mu.Lock()
	o.takeSection()
	o.body = bytes.Clone(o.body)
	o.mu.Unlock()
	o.tell(nil)
	o.traced = nil
}

// end is called at the end of the call. cause is nil if the response is complete, and else why
// the call ends. From then on nothing of the call is touched, and o must not be used. whole says
// that the whole request was sent, so that the connection can be kept. err is why it was not,
// unless that is because the call has ended.
func (o *h1Sender) end(k *call, cause error) (whole bool, err error) {
	defer o.drop()
	o.mu.Lock()
	o.ended, o.req = true, nil
	memory := o.stream == nil && o.writer == nil
	wait := o.writing && (memory || cause == nil)
	o.mu.Unlock()
	if cause != nil {
		o.conn.Cancel()
	} else if wait {
		o.conn.HaltWrites()
	}
	if wait {
		<-o.idle
	}
	o.mu.Lock()
	sent, failure := o.sent, o.failure
	o.mu.Unlock()
	whole = sent && cause == nil && o.awaitDone(k)
	if !whole {
		o.conn.Cancel()
		o.interrupt()
	}
	if !o.over {
		select {
		case <-o.done:
			o.over = true
		default:
		}
	}
	switch {
	case o.over && o.err != errSendStopped:
		err = o.err
	case clientconn.IsReset(failure):
		err = failure
	}
	o.tell(err)
	whole = whole && err == nil
	if whole && (wait && o.conn.ResumeWrites() != nil || o.conn.Calm() != nil) {
		whole = false
	}
	return whole, err
}

// endSending ends the sending of the request, if it goes on, at the end of an exchange. cause is
// nil if the response is complete. closes says that the end of the connection is that of the
// response. whole says that all of the request was sent. err is why the exchange has failed: cause,
// or what came before it.
func (cc *clientConn) endSending(k *call, closes bool, cause error) (whole bool, err error) {
	o := cc.sender
	if o == nil {
		return true, cause
	}
	cc.sender = nil
	whole, err = o.end(k, cause)
	if cause == nil && !closes && clientconn.IsReset(err) {
		return false, nil // a server that has answered need not receive the rest
	}
	if err == nil {
		err = cause
	}
	return whole, err
}

// awaitDone waits until the goroutine uses the connection no more, within the limits of the
// call. It may be waiting for the program to close the stream.
func (o *h1Sender) awaitDone(k *call) bool {
	if o.over {
		return true
	}
	select {
	case <-o.done:
		o.over = true
		return true
	default:
	}
	var fires <-chan time.Time
	if k.deadline != 0 {
		t := AcquireTimer(max(time.Duration(k.deadline-clock.Ticks()), 0))
		defer ReleaseTimer(t)
		fires = t.C
	}
	var gone <-chan struct{}
	if k.ctx != nil {
		gone = k.ctx.Done()
	}
	select {
	case <-o.done:
		o.over = true
	case <-fires:
	case <-gone:
	}
	return o.over
}
