package adaptor

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale"
)

// requestBody is the body of an adapted request: bytes that have arrived, or a stream.
// The program may keep it, but can't read from it after the handler has returned.
type requestBody struct {
	mu     sync.Mutex // held during a Read
	ctxMu  sync.Mutex // after mu; changing ctx takes both, using it takes either
	ctx    *gale.RequestCtx
	bytes  []byte
	stream io.Reader
	atEOF  func() // called once, when the body was read to its end
	closed atomic.Bool
}

func (b *requestBody) begin(ctx *gale.RequestCtx, stream io.Reader, bytes []byte) {
	b.ctx, b.stream, b.bytes = ctx, stream, bytes
}

// lostBody is the stream of a body of which a handler before has read: the rest isn't the body.
type lostBody struct{ err error }

func (b lostBody) Read([]byte) (int, error) { return 0, b.err }

// Read reads the body. It returns http.ErrBodyReadAfterClose after Close and after the
// handler has returned.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case len(p) == 0:
		return 0, nil
	case b.stream != nil:
		n, err = b.stream.Read(p)
	default:
		n = copy(p, b.bytes)
		if b.bytes = b.bytes[n:]; len(b.bytes) == 0 {
			err = io.EOF
		}
	}
	if err == io.EOF && b.atEOF != nil {
		b.atEOF()
		b.atEOF = nil
	}
	return n, err
}

// Close ends the reading of the body, also a Read of another goroutine. The server handles
// the unread rest.
func (b *requestBody) Close() error {
	b.closed.Store(true)
	if b.mu.TryLock() {
		b.mu.Unlock()
		return nil
	}
	b.ctxMu.Lock()
	defer b.ctxMu.Unlock()
	if b.ctx != nil && b.ctx.ConnRequestNum() != 0 {
		b.ctx.CloseRequestBody()
	}
	return nil
}

// end is called once, when the handler has returned. Afterwards the RequestCtx isn't used
// anymore, with one exception: a Read that is still running on a server other than
// Gale's, where it can't be ended.
func (b *requestBody) end() {
	b.closed.Store(true)
	if !b.mu.TryLock() {
		if b.ctx.ConnRequestNum() == 0 {
			return
		}
		b.ctx.CloseRequestBody() // ends the Read of another goroutine
		b.mu.Lock()
	}
	b.ctxMu.Lock()
	b.bytes, b.stream, b.ctx, b.atEOF = nil, nil, nil, nil
	b.ctxMu.Unlock()
	b.mu.Unlock()
}
