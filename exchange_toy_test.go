package gale

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// ToyConn is a connection of a protocol without text and without an order of answers,
// like HTTP/2: it has streams with numbers, and frames that belong to them. Requests arrive
// through method calls, and what the server sends is kept in memory. It shows that a
// RequestCtx, with everything that a handler can use, needs no HTTP/1.
type ToyConn struct {
	serverConn
	net    toyNet
	when   time.Time
	parent context.Context

	mu      sync.Mutex
	changed sync.Cond // frames, streams, window
	frames  []ToyFrame
	streams map[uint32]*toyStream
	last    uint32
	window  int // bytes of data that the client accepts
	gone    bool
	running sync.WaitGroup
}

// ToyFrame is a frame that the server has sent on a stream.
type ToyFrame struct {
	Stream uint32
	Kind   string // "interim", "head", "data", "trailers", "end" or "reset"
	Code   int    // the status of a head, or why the stream was reset
	Text   string // data, or fields as "name: value\n"
}

// Codes of reset frames.
const (
	ToyInternalError = 2
	ToyCancel        = 8
)

// ToyResetError is the cause of Done after a reset by the client.
type ToyResetError struct{ Code int }

func (e *ToyResetError) Error() string   { return fmt.Sprintf("the client reset the stream: %d", e.Code) }
func (e *ToyResetError) Is(t error) bool { return t == ErrClientGone }

// toyNet is the network connection: it has addresses and TLS.
type toyNet struct{ net.Conn }

var toyAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 7}

func (toyNet) LocalAddr() net.Addr  { return toyAddr }
func (toyNet) RemoteAddr() net.Addr { return toyAddr }
func (toyNet) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{HandshakeComplete: true, NegotiatedProtocol: "toy"}
}

// NewToyConn returns a connection that s serves with its Handler.
func NewToyConn(s *Server) *ToyConn {
	l := &listening{fixed: s.fixed(), epoch: s.connEpoch()}
	c := &ToyConn{serverConn: serverConn{s: s, l: l, id: connIDs.Add(1), isTLS: true}, when: time.Now(), window: 1 << 30}
	c.parent = context.WithValue(context.Background(), ToyKey, "of the connection")
	c.streams = make(map[uint32]*toyStream)
	c.changed.L = &c.mu
	return c
}

// ToyKey is the key of a value in the context of a ToyConn.
const ToyKey = toyKey("key")

type toyKey string

// Open begins a request, whose body follows, and starts the handler. fields are
// alternating names and values.
func (c *ToyConn) Open(method, path string, fields ...string) (stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last += 2
	st := &toyStream{c: c, n: c.last, ctx: acquireCtx(), isHead: method == MethodHead}
	c.streams[st.n] = st
	c.beginRequest(st.ctx, st, uint64(c.last/2))
	h := &st.ctx.Request.Header
	h.SetMethod(method)
	h.SetRequestURI(path)
	h.SetProtocol("HTTP/2.0")
	h.SetHost("toy")
	h.s.ContentLength = msg.LenUnknown
	for i := 0; i < len(fields); i += 2 {
		switch fields[i] {
		case HeaderHost, HeaderContentLength, HeaderUserAgent:
			h.Set(fields[i], fields[i+1])
		case HeaderTransferEncoding: // the length of the body isn't known
			h.SetContentLength(-1)
		default:
			h.Add(fields[i], fields[i+1])
		}
	}
	c.running.Add(1)
	go st.serve()
	return st.n
}

// Data sends a piece of a body.
func (c *ToyConn) Data(stream uint32, data string) {
	c.change(stream, func(st *toyStream) { st.in = append(st.in, data...) })
}

// End ends a body. trailers are alternating names and values.
func (c *ToyConn) End(stream uint32, trailers ...string) {
	c.change(stream, func(st *toyStream) { st.ended, st.trailers = true, trailers })
}

// Reset resets a stream.
func (c *ToyConn) Reset(stream uint32, code int) {
	c.change(stream, func(st *toyStream) { st.fail(&ToyResetError{code}) })
}

// Window lets the server send n bytes of data, not more.
func (c *ToyConn) Window(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window = n
	c.changed.Broadcast()
}

// Close ends the connection: all streams fail.
func (c *ToyConn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, st := range c.streams {
		st.fail(ErrClientGone)
	}
	c.changed.Broadcast()
}

// Wait returns when no handler runs.
func (c *ToyConn) Wait() { c.running.Wait() }

func (c *ToyConn) change(stream uint32, f func(*toyStream)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.streams[stream]; st != nil {
		f(st)
	}
	c.changed.Broadcast()
}

// Await waits until a stream has a frame of one of the given kinds, and returns its
// frames.
func (c *ToyConn) Await(stream uint32, kinds ...string) []ToyFrame {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var of []ToyFrame
		found := false
		for _, f := range c.frames {
			if f.Stream == stream {
				of, found = append(of, f), found || slices.Contains(kinds, f.Kind)
			}
		}
		if found {
			return of
		}
		c.changed.Wait()
	}
}

// toyStream is one request and its response.
type toyStream struct {
	c   *ToyConn
	n   uint32
	ctx *RequestCtx

	// Under c.mu:
	in       []byte // of the body
	ended    bool
	trailers []string
	limit    int64 // most bytes of the body, 0 for no limit
	read     int64
	readErr  error // why reading fails
	sendErr  error // why sending fails
	done     door.Done
	begun    bool // the head was sent

	outcome  outcome
	answered bool // see serverConn.judge
	returned bool // the program has not ended the goroutine
	isHead   bool
	skips    bool // the response has no body
	cut      bool // see Interrupt
}

var _ exchange = (*toyStream)(nil)
var _ servedExchange = (*toyStream)(nil)

var errToyClosed = errors.New("toy: the body was closed")

// fail ends both directions, under c.mu.
func (st *toyStream) fail(err error) {
	st.readErr, st.sendErr = err, err
	if st.done != nil {
		st.done.Gone(err, true)
	}
}

func (st *toyStream) Conn() net.Conn                    { return st.c.net }
func (st *toyStream) Lend()                             {} // deadlines of the connection are those of all streams
func (st *toyStream) LocalAddr() net.Addr               { return st.c.net.LocalAddr() }
func (st *toyStream) RemoteAddr() net.Addr              { return st.c.net.RemoteAddr() }
func (st *toyStream) Opened() (id uint64, at time.Time) { return st.c.id, st.c.when }
func (st *toyStream) Context() context.Context          { return st.c.parent }

func (st *toyStream) Watch(d door.Done) (stop func(), over error) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over():
		return nil, context.Canceled
	case st.sendErr != nil:
		return nil, st.sendErr
	}
	st.done = d
	return func() {
		c.mu.Lock()
		st.done = nil
		c.mu.Unlock()
	}, nil
}

func (st *toyStream) SetReadDeadline(t time.Time) error {
	st.expire(t, &st.readErr)
	return nil
}

func (st *toyStream) SetWriteDeadline(t time.Time) error {
	st.expire(t, &st.sendErr)
	return nil
}

// expire makes one direction fail at t.
func (st *toyStream) expire(t time.Time, err *error) {
	if t.IsZero() {
		return
	}
	time.AfterFunc(time.Until(t), func() {
		st.c.mu.Lock()
		defer st.c.mu.Unlock()
		*err = os.ErrDeadlineExceeded
		st.c.changed.Broadcast()
	})
}

func (st *toyStream) LimitBody(_ *RequestCtx, n int64) {
	st.c.change(st.n, func(st *toyStream) { st.limit = n })
}

func (st *toyStream) CloseBody(*RequestCtx, bool) {
	st.c.change(st.n, func(st *toyStream) { st.readErr = errToyClosed })
}

func (st *toyStream) Reading() bool        { return false }
func (st *toyStream) listened() *listening { return st.c.l }

func (st *toyStream) Hands() door.Hands { return door.HandsConn }

func (st *toyStream) Trailers(f *msg.Fields) {
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	for t := st.trailers; st.ended && len(st.in) == 0 && len(t) > 0; t = t[2:] {
		f.PutMore(msg.LookupString(t[0]), []byte(t[0]), []byte(t[1]), msg.Normalized)
	}
}

func (st *toyStream) Flush(ctx *RequestCtx) error {
	err := st.send(&ctx.Response)
	ctx.Response.ResetBody()
	return err
}

func (st *toyStream) SendInterim(_ *RequestCtx, statusCode int, h *ResponseHeader) error {
	fields := ""
	if h != nil {
		for k, v := range h.All() {
			if string(k) != HeaderContentType {
				fields += string(k) + ": " + string(v) + "\n"
			}
		}
	}
	return st.frame("interim", statusCode, fields)
}

func (st *toyStream) HijackNow(*RequestCtx) (net.Conn, error) {
	return nil, fmt.Errorf("toy: one stream of a connection can't be hijacked: %w", errors.ErrUnsupported)
}

func (st *toyStream) Interrupt() {
	st.c.change(st.n, func(st *toyStream) { st.sendErr = ErrTimeout })
	st.cut = true
}

// frame sends a frame.
func (st *toyStream) frame(kind string, code int, text string) error {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind == "data" && c.window < len(text) && st.sendErr == nil {
		c.changed.Wait()
	}
	if st.sendErr != nil && kind != "reset" {
		return st.sendErr
	}
	if kind == "data" {
		c.window -= len(text)
	}
	c.frames = append(c.frames, ToyFrame{st.n, kind, code, text})
	c.changed.Broadcast()
	return nil
}

// send sends the body that resp has so far. The first call sends the head before it.
func (st *toyStream) send(resp *Response) error {
	if !st.begun {
		st.begun, st.ctx.flush.begun = true, true
		status := resp.sendableStatus()
		if status < StatusOK {
			status = st.c.refuseInterim(resp)
		}
		st.skips = bodyless(status) || resp.SkipBody || st.isHead
		fields := ""
		for k, v := range resp.Header.All() {
			fields += string(k) + ": " + string(v) + "\n"
		}
		if err := st.frame("head", status, fields); err != nil {
			return err
		}
	}
	if st.skips {
		return resp.closeStream(nil)
	}
	return resp.BodyWriteTo(toyWriter{st})
}

// toyWriter sends the body of a response.
type toyWriter struct{ st *toyStream }

func (w toyWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return len(p), w.st.frame("data", 0, string(p))
}

// serve runs the handler and sends the response, or resets the stream. It uses the
// context as every protocol must. The handler may end the goroutine.
func (st *toyStream) serve() {
	st.ctx.now = time.Now()
	fine := false
	defer func() { st.finish(fine) }()
	fine = st.handle()
	st.returned = true
}

// finish sends the response, and ends the request.
func (st *toyStream) finish(fine bool) {
	c, ctx := st.c, st.ctx
	defer c.running.Done()
	if !st.returned {
		st.outcome.abort()
	}
	late := ctx.wrestLate(fine)
	resp, _ := c.choose(ctx, door.HijackNever, &st.outcome)
	code := ToyInternalError
	if ctx.timedOut.Load() != nil {
		code = ToyCancel
	}
	err := errNotSent
	if resp != nil && !st.cut {
		c.guard(ctx, &st.outcome, func() { err = st.send(resp) })
	}
	switch {
	case resp == nil || st.cut || st.outcome == brokeConn || err != nil:
		st.frame("reset", code, "")
	default:
		if t := bytes.ReplaceAll(resp.Header.TrailerHeader(), []byte("\r\n"), []byte("\n")); len(t) > 1 {
			st.frame("trailers", 0, string(t[:len(t)-1]))
		}
		st.frame("end", 0, "")
	}
	if ctx.endRequest(door.Ending{Err: err, Late: late}) == ctxFree {
		ctx.reset()
		releaseCtx(ctx)
	}
	c.mu.Lock()
	delete(c.streams, st.n)
	c.mu.Unlock()
}

// handle judges the request, reads its body unless that is a stream, and runs the handler, or refuses
// the request. It reports whether the handler returned.
func (st *toyStream) handle() (returned bool) {
	c, ctx := st.c, st.ctx
	limits := toyLimits{c.l.fixed.each}
	if f := c.s.HeaderReceived; f != nil {
		limits.override(f(&ctx.Request.Header), false)
	}
	refusal := error(nil)
	if !c.guard(ctx, &st.outcome, func() {
		if st.answered = c.s.RequestStarted != nil && c.start(ctx, &limits, &st.outcome); st.answered {
			return
		}
		v, err := c.judge(ctx, &limits.requestLimits, &st.outcome)
		if v == awaited {
			st.frame("interim", StatusContinue, "")
		}
		refusal, st.answered = err, v == answered
	}) {
		st.outcome.abort() // a hook has panicked
	}
	if st.answered || st.outcome == brokeConn {
		return true
	}
	switch {
	case refusal != nil:
	case limits.stream:
		if limits.bounded {
			st.LimitBody(nil, int64(limits.maxBody))
		}
		ctx.Request.setStream(toyBody{st})
	default:
		st.LimitBody(nil, int64(limits.maxBody))
		var b []byte
		b, refusal = io.ReadAll(toyBody{st})
		ctx.Request.SetBodyRaw(b)
	}
	ctx.mu.Lock()
	paused := ctx.reach == paused
	ctx.reach = running
	ctx.mu.Unlock()
	if paused {
		ctx.resumeDone()
	}
	if refusal != nil {
		return c.handleRefused(ctx, refusal, &st.outcome)
	}
	return c.handle(ctx, &st.outcome)
}

// toyLimits are the limits of a request.
type toyLimits struct{ requestLimits }

func (l *toyLimits) override(c RequestConfig, bounds bool) *requestLimits {
	l.requestLimits.override(c, bounds)
	return &l.requestLimits
}

// toyBody is the body of a request.
type toyBody struct{ st *toyStream }

func (b toyBody) Read(p []byte) (int, error) {
	st := b.st
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	for {
		switch {
		case st.readErr != nil:
			return 0, st.readErr
		case st.limit > 0 && st.read+int64(len(st.in)) > st.limit:
			return 0, ErrBodyTooLarge
		case len(st.in) > 0:
			n := copy(p, st.in)
			st.in = st.in[n:]
			st.read += int64(n)
			return n, nil
		case st.ended:
			return 0, io.EOF
		}
		st.c.changed.Wait()
	}
}
