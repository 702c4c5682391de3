package reverse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool"
)

// clientBody is the body of the client's request, which a goroutine other than the handler's
// reads to pass it on.
type clientBody struct {
	x        *exchange
	from     io.Reader
	chunked  bool        // its length isn't known
	left     int         // bytes that are still due if it isn't chunked
	arrives  bool        // from is the server's and has the client's framing
	stopped  atomic.Bool // no more of it will be read
	answered atomic.Bool // the head of the response has come
	asked    atomic.Bool // the client was asked for it, by a 100 or by a read
	reading  sync.Mutex  // held while the client is read from
	beyond   [1]byte     // where readFixed reads what must not come
}

// Errors of bodies that don't have their length. Only what a handler did can cause them.
var (
	errBodyLong  = errors.New("reverse: the request's body has more bytes than its Content-Length says")
	errBodyShort = errors.New("reverse: the request's body has fewer bytes than its Content-Length says")
)

// init begins the body of x, of n bytes, or -1.
func (b *clientBody) init(x *exchange, n int) {
	b.x, b.from, b.chunked, b.left = x, x.client.RequestBodyStream(), n < 0, n
	_, b.arrives = b.from.(interface{ Buffered() int })
	if b.from == nil {
		b.from = bytes.NewReader(x.client.Request.Body())
		b.asked.Store(true)
	}
	x.body, x.shared = b, true
}

// ask passes a 100 of the upstream on to a client that waits for one, before the head of the
// response: the goroutine that reads may come to it later than that head.
func (b *clientBody) ask() {
	if client := b.x.client; client.Request.MayContinue() && !b.asked.Swap(true) {
		if err := client.SendInterim(gale.StatusContinue, nil); err != nil {
			b.x.cancel(gale.ErrClientGone)
		}
	}
}

// read reads from the client, unless the exchange has ended. An error ends the exchange.
func (b *clientBody) read(p []byte) (n int, err error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.stopped.Load() {
		return 0, io.ErrClosedPipe
	}
	b.asked.Store(true)
	defer func() {
		if r := recover(); r != nil {
			n, err = 0, fmt.Errorf("reverse: reading the body panicked: %v", r)
		}
		if err != nil && err != io.EOF && !b.stopped.Load() {
			b.x.cancel(bodyError{err})
		}
	}()
	if !b.chunked {
		return b.readFixed(p)
	}
	return b.from.Read(p)
}

// readFixed reads a body that has a length. It never returns more bytes, and io.EOF only after
// all. The last bytes are returned when the end was seen, so that the upstream gets no whole
// request if there are more. A stream that arrives is the exception: its client may be slow to
// say that it has ended.
func (b *clientBody) readFixed(p []byte) (n int, err error) {
	if len(p) > b.left {
		p = p[:b.left+1]
	}
	empty := 0
	n, err = pool.ReadOnce(b.from, p, &empty)
	for n == b.left && err == nil && !b.arrives {
		var more int
		more, err = pool.ReadOnce(b.from, b.beyond[:], &empty)
		n += more
	}
	switch {
	case n > b.left:
		return 0, errBodyLong
	case err == io.EOF && n < b.left:
		err = errBodyShort
	}
	b.left -= n
	return n, err
}

// passTrailers adds the trailer section after the body to h, which is like the header of the
// request. It returns false if the exchange has ended.
func (b *clientBody) passTrailers(h *gale.RequestHeader) bool {
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.stopped.Load() {
		return false
	}
	passTrailers(h, b.x.named, b.x.client.Trailers())
	return true
}

// waits reports whether the client hasn't sent the whole body, and everything that has come
// was passed on.
func (b *clientBody) waits() bool {
	if b.reading.TryLock() {
		b.reading.Unlock()
		return false
	}
	return true
}

// end makes sure that the client isn't read from any more. It ends a read that waits.
func (b *clientBody) end() {
	b.stopped.Store(true)
	if !b.reading.TryLock() {
		b.x.client.CloseRequestBody()
		b.reading.Lock()
	}
	b.reading.Unlock()
}
