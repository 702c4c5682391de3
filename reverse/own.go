package reverse

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/pool"
)

// ownExchange sends a request with a body, or one for an upgrade, over a connection
// of the HostClient's pool. It reads the response while the body is still being sent,
// and so notices an upstream that answers early, or while it reads the body.
type ownExchange struct {
	x    *exchange
	c    *gale.HostClient // whose pool the connection is of
	nc   net.Conn
	br   *bufio.Reader
	body *requestBody // nil if there is none

	release func(keep bool)
	unwatch func() bool

	mu       sync.Mutex // guards headCame, and the read deadline until headCame is set
	headCame bool
	keep     bool // the connection can be reused after the response
}

// maxInterim is how many 1xx responses may come before the final one.
const maxInterim = 100

// askOwn sends the request with a body of n bytes over a connection of c and reads the
// head of the response. n is -1 for a chunked body and 0 for none.
func (x *exchange) askOwn(c *gale.HostClient, n int) error {
	nc, release, err := door.AcquireConn(x, c)
	if err != nil {
		return err
	}
	o := &ownExchange{x: x, c: c, nc: nc, br: c.AcquireReader(nc), release: release}
	o.unwatch = x.AfterFunc(o.interrupt)
	x.own, x.shared = o, true
	h := &x.req.Header
	if n != 0 {
		h.SetContentLength(n)
	}
	if err := o.write(h.AppendBytes(nil)); err != nil {
		return err
	}
	if n != 0 {
		o.body = newRequestBody(o, n)
		go o.body.send()
	} else {
		o.awaitHead()
	}
	err = o.readHead()
	o.mu.Lock()
	o.headCame = true
	o.mu.Unlock()
	if err != nil {
		return err
	}
	_ = o.nc.SetReadDeadline(time.Time{})
	if cause := x.ended(); cause != nil { // the new deadline may have replaced clock.LongAgo
		return cause
	}
	return o.frame()
}

// interrupt makes reads and writes fail from now on. A connection that user code
// made may not support deadlines, or may panic.
func (o *ownExchange) interrupt() {
	done := false
	defer func() {
		if !done {
			_ = recover()
			closeCalmly(o.nc)
		}
	}()
	done = o.nc.SetDeadline(clock.LongAgo) == nil
}

// awaitHead starts the time limit for the head of the response.
func (o *ownExchange) awaitHead() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.c.ResponseHeaderTimeout; d > 0 && !o.headCame && o.x.Err() == nil {
		_ = o.nc.SetReadDeadline(time.Now().Add(d))
		if o.x.Err() != nil {
			_ = o.nc.SetReadDeadline(clock.LongAgo)
		}
	}
}

// readHead reads the head of the final response, and passes on the interim ones
// before it.
func (o *ownExchange) readHead() error {
	h := &o.x.resp.Header
	for range maxInterim {
		if err := door.ReadResponse(h, o.br); err != nil {
			if cause := o.x.ended(); cause != nil {
				return cause
			}
			return broken(err)
		}
		switch s := h.StatusCode(); {
		case s == gale.StatusContinue:
			if o.x.passInterim(h); o.body != nil {
				o.body.start()
			}
		case s/100 == 1 && s != gale.StatusSwitchingProtocols:
			o.x.passInterim(h)
		default:
			if o.body != nil && s/100 != 2 {
				o.body.withhold()
			}
			return nil
		}
	}
	return errInterim
}

// frame makes the body of the response a stream, with the framing that its head
// declares.
func (o *ownExchange) frame() error {
	resp := o.x.resp
	h := &resp.Header
	s, n := h.StatusCode(), h.ContentLength()
	o.keep = h.IsHTTP11() && !h.ConnectionClose()
	switch {
	case s == gale.StatusSwitchingProtocols:
		o.keep = false
		return nil
	case o.x.client.IsHead() || s == gale.StatusNotModified:
		return nil
	case s == gale.StatusNoContent:
		o.keep = o.keep && n <= 0 && n != -1 // with a length it isn't clear what the following bytes are
		return nil
	case n == 0:
		return nil
	case n < -1:
		o.keep = false
	}
	resp.StreamBody = true
	return resp.ReadBody(o.br, 0)
}

// write writes p, for which the upstream may take as long as BodyIdleTimeout.
func (o *ownExchange) write(p []byte) error {
	if d := limit(o.x.p.BodyIdleTimeout, DefaultBodyIdleTimeout); d > 0 {
		_ = o.nc.SetWriteDeadline(time.Now().Add(d))
	}
	// Why there was an interrupt is known before it: the new deadline may have replaced clock.LongAgo.
	if cause := o.x.ended(); cause != nil {
		return cause
	}
	if o.body != nil && o.body.stopped.Load() {
		return io.ErrClosedPipe
	}
	_, err := o.nc.Write(p)
	return err
}

// end gives the connection back or closes it. whole says that the whole response
// was read.
//
// An upstream may answer, and this goroutine may come here, between the sender's last write and its note
// that all was sent. Then a connection is closed that could be used again: the next request dials.
// Nothing is lost by that. To wait for the note could be to wait for an upstream that doesn't read.
func (o *ownExchange) end(whole bool) {
	sent := o.body == nil || o.body.sent.Load()
	keep := whole && sent && o.keep && o.br.Buffered() == 0
	if o.unwatch != nil {
		keep = o.unwatch() && keep
	}
	if o.body != nil {
		o.body.stopped.Store(true) // before the interrupt, see write
	}
	if !keep {
		o.interrupt() // a write of the body
	}
	if o.body != nil {
		o.body.stop()
	}
	o.c.ReleaseReader(o.br)
	o.release(keep)
	o.x.own = nil
}

// requestBody is the body of a request that is sent to the upstream. One goroutine
// sends it.
type requestBody struct {
	clientBody
	o   *ownExchange
	buf []byte

	begin chan struct{} // closed when the upstream wants the body, or the exchange ends
	begun atomic.Bool
	sent  atomic.Bool   // the whole body
	done  chan struct{} // closed when the goroutine ends
}

func newRequestBody(o *ownExchange, n int) *requestBody {
	b := &requestBody{o: o, begin: make(chan struct{}), done: make(chan struct{})}
	b.init(o.x, n)
	if len(o.x.req.Header.PeekAll("Expect")) == 0 {
		b.start()
	}
	return b
}

// start allows the goroutine to send the body.
func (b *requestBody) start() {
	if !b.begun.Swap(true) {
		close(b.begin)
	}
}

// send sends the body. An error of the upstream doesn't end the exchange: the upstream
// may have answered.
func (b *requestBody) send() {
	defer close(b.done)
	defer func() {
		if r := recover(); r != nil {
			b.x.cancel(bodyError{fmt.Errorf("reverse: sending the body panicked: %v", r)})
		}
	}()
	if !b.await() {
		return
	}
	buf := pool.Get(bodyBuffer)
	defer pool.Put(buf)
	b.buf = buf.B[:bodyBuffer]
	for {
		// The space before the data is for the size line of its chunk.
		n, err := b.read(b.buf[chunkRoom : len(b.buf)-len("\r\n")])
		if n > 0 && b.o.write(b.frame(n)) != nil {
			break
		}
		if err == io.EOF {
			b.finish()
			break
		}
		if err != nil {
			return // read has ended the exchange
		}
	}
	b.o.awaitHead()
}

// withhold ends the sending before it has begun: a final response came in place of the 100.
func (b *requestBody) withhold() {
	if !b.begun.Swap(true) {
		b.stopped.Store(true)
		close(b.begin)
	}
}

// await waits until the upstream wants the body, and reports whether to send it. If
// the upstream says nothing, the body is sent after a while (RFC 9110 section
// 10.1.1).
func (b *requestBody) await() bool {
	select {
	case <-b.begin:
	default:
		t := time.NewTimer(gale.DefaultExpectContinueTimeout)
		defer t.Stop()
		select {
		case <-b.begin:
		case <-t.C:
			b.start()
		}
	}
	return !b.stopped.Load()
}

// chunkRoom is the largest length of a chunk's size line here.
const chunkRoom = len("ffffffff\r\n")

// bodyBuffer is how many bytes of a stream are read at a time.
const bodyBuffer = 32 << 10

// frame returns the n bytes of data in buf in the form in which they are sent.
func (b *requestBody) frame(n int) []byte {
	if !b.chunked {
		return b.buf[chunkRoom : chunkRoom+n]
	}
	var line [chunkRoom]byte
	size := h1.AppendChunkSize(line[:0], n)
	from := chunkRoom - len(size)
	copy(b.buf[from:], size)
	return append(b.buf[from:chunkRoom+n], "\r\n"...)
}

// finish sends the end of the body.
func (b *requestBody) finish() {
	if b.chunked {
		h := &b.x.req.Header
		if !b.passTrailers(h) {
			return
		}
		if b.o.write(append(h1.AppendLastChunk(nil), h.TrailerHeader()...)) != nil {
			return
		}
	}
	b.sent.Store(true)
}

// stop waits until the sending has ended. stopped is set, and a blocked write was ended by the
// connection's deadline.
func (b *requestBody) stop() {
	b.start()
	b.end()
	<-b.done
}
