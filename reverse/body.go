package reverse

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale"
)

// clientBody is the body of the client's request, which a goroutine other than the handler's
// reads to pass it on.
type clientBody struct {
	x       *exchange
	from    io.Reader
	chunked bool        // its length isn't known
	stopped atomic.Bool // no more of it will be read
	asked   atomic.Bool // the client was asked for it, by a 100 or by a read
	reading sync.Mutex  // held while the client is read from
}

// init begins the body of x, of n bytes, or -1.
func (b *clientBody) init(x *exchange, n int) {
	b.x, b.from, b.chunked = x, x.client.RequestBodyStream(), n < 0
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
	return b.from.Read(p)
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
