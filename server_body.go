package gale

import (
	"io"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// A streamed body is given out as a handle for one request. That of HTTP/2 is a part of the
// h2Stream, whose memory no other request gets if the body was streamed.
var (
	_ door.Lent          = (*bodyHandle)(nil)
	_ door.Lent          = (*h2Body)(nil)
	_ door.TrailerLender = (*bodyHandle)(nil)
	_ door.TrailerLender = (*h2Body)(nil)
)

// bodyHandle is the body of one request of HTTP/1.1 as a stream. It refers to the
// requestStream, which is a part of an h1Message that other requests will use, and lets go of
// it when the request ends. After that its methods touch nothing else. Any goroutine may
// call them, one goroutine at a time, and Revoke at any time.
type bodyHandle struct {
	busy sync.Mutex     // held while a Read waits; guards the requestStream, too
	mu   sync.Mutex     // may be locked while busy is held, and never for long
	r    *requestStream // nil at the end; it changes with both locks held
	loan *lifetime.Loan // of the context, nil if a late Read isn't reported; guarded by busy

	revoking sync.Mutex // held by revoke; before busy
}

// lock returns the stream, with busy held. At the end it returns nil.
func (h *bodyHandle) lock() *requestStream {
	h.busy.Lock()
	if h.r != nil {
		return h.r
	}
	h.busy.Unlock()
	return nil
}

// refer makes h a handle for r, or ends it if r is nil. busy is held.
func (h *bodyHandle) refer(r *requestStream) {
	h.mu.Lock()
	h.r = r
	h.mu.Unlock()
}

// Read reads the body as it arrives.
func (h *bodyHandle) Read(p []byte) (int, error) {
	h.busy.Lock()
	if h.r == nil {
		loan := h.loan
		h.busy.Unlock()
		used(loan)
		return 0, errStreamClosed
	}
	defer h.busy.Unlock()
	return h.r.read(p)
}

// Sizes of the buffer of WriteTo. It grows when a read fills it, so a slow body holds a
// small one.
const (
	minWriteTo = 16 << 10
	maxWriteTo = 64 << 10
)

// WriteTo writes the rest of the body to dst as it arrives. No lock is held while dst
// writes.
func (h *bodyHandle) WriteTo(dst io.Writer) (sum int64, err error) {
	buf := pool.Get(minWriteTo)
	for err == nil {
		room := buf.B[:cap(buf.B)]
		var n int
		if n, err = h.Read(room); n == 0 {
			continue
		}
		m, werr := dst.Write(room[:n])
		sum += int64(m)
		switch {
		case werr != nil:
			err = werr
		case m != n:
			err = io.ErrShortWrite
		case n == len(room):
			buf.Grow(maxWriteTo)
		}
	}
	pool.Put(buf)
	if err == io.EOF {
		err = nil
	}
	return sum, err
}

// Close does nothing: the server ends the reading of the body.
func (h *bodyHandle) Close() error { return nil }

// maxRevokeWait is how long Revoke lets a Read go on that writes, for example a 100. The client
// may have stopped to read.
const maxRevokeWait = time.Second

// Revoke is revoke for a client that has sent the stream. It doesn't wait long for a Read
// that writes. The client's sender may read once more, which is no late use of the program,
// so that isn't reported.
func (h *bodyHandle) Revoke(door.Seal) {
	h.mu.Lock()
	writes := h.r != nil && h.r.interrupt()
	h.mu.Unlock()
	if writes {
		defer time.AfterFunc(maxRevokeWait, h.cutWrites).Stop()
	}
	h.revoke()
	h.busy.Lock()
	h.loan = nil
	h.busy.Unlock()
}

// cutWrites ends a Read that writes, and all that the connection would write later.
func (h *bodyHandle) cutWrites() {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { _ = recover() }() // the connection may be the program's
	if r := h.r; r != nil && r.writes.Load() {
		r.ss.c.InterruptWrites()
	}
}

// revoke ends the handle, and with it the reading of the body. If a Read runs, the connection
// can't be used again.
func (h *bodyHandle) revoke() {
	h.revoking.Lock() // or another call would look like a Read
	defer h.revoking.Unlock()
	if !h.busy.TryLock() {
		h.mu.Lock()
		if h.r != nil {
			h.r.ended.Store(true)
			h.r.ss.c.Interrupt()
		}
		h.mu.Unlock()
		h.busy.Lock()
	}
	defer h.busy.Unlock()
	if r := h.r; r != nil {
		h.refer(nil)
		r.forget()
	}
}

// Where a trailer section goes that comes with a body. A client takes it if it asks before the end,
// see door.TrailerLender.
const (
	sectionDue    int32 = iota // to the header of the request, by Read
	sectionLent                // to a client
	sectionStored              // it is in the header
)

// LendTrailers implements door.TrailerLender. It doesn't wait for a Read.
func (h *bodyHandle) LendTrailers(_ door.Seal, header any) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.r
	if r == nil || header != any(&r.ctx.Request.Header) {
		return false
	}
	return r.section.CompareAndSwap(sectionDue, sectionLent) || r.section.Load() == sectionLent
}

// GiveTrailers implements door.TrailerLender. It doesn't wait for a Read: then the section hasn't come.
func (h *bodyHandle) GiveTrailers(_ door.Seal, header any) {
	if !h.busy.TryLock() {
		return
	}
	defer h.busy.Unlock()
	if r := h.r; r != nil {
		r.ctx.storeTrailers(header.(*RequestHeader), r.ss.s.MergeTrailers)
	}
}

// Buffered returns how many bytes of the body have arrived and were not read. Package
// reverse asks for it.
func (h *bodyHandle) Buffered() int {
	r := h.lock()
	if r == nil {
		return 0
	}
	defer h.busy.Unlock()
	return r.buffered()
}

// Taken returns how many bytes of the body were read. Package reverse asks for it.
func (h *bodyHandle) Taken() int64 {
	r := h.lock()
	if r == nil {
		return 0
	}
	defer h.busy.Unlock()
	return r.n
}

// ReadsWhole is called before the whole body is read into memory. It sets the server's
// limit for bodies if no other limit was set.
func (h *bodyHandle) ReadsWhole() {
	if r := h.lock(); r != nil {
		defer h.busy.Unlock()
		r.readsWhole()
	}
}

// maxReadWholeLogs is how often a server logs that streamed bodies are read whole. It has
// a limit because clients could cause many of these lines.
const maxReadWholeLogs = 10

// warnReadsWhole logs, as fasthttp does, that a streamed body is read whole, but only maxReadWholeLogs
// times for each server.
func (s *Server) warnReadsWhole() {
	if s.run.readWhole.Load() < maxReadWholeLogs {
		s.run.readWhole.Add(1)
		s.logger().Printf("gale: Request.Body() reads the entire stream into memory. " +
			"Use Request.BodyStream() or Request.BodyWriteTo() instead to avoid out-of-memory errors.")
	}
}

// WholeLimit returns the limit for BindJSON.
func (h *bodyHandle) WholeLimit() int64 {
	r := h.lock()
	if r == nil {
		return DefaultMaxRequestBodySize
	}
	defer h.busy.Unlock()
	if limit := r.limit.Load(); limit > 0 {
		return limit
	}
	return int64(r.ss.cfg.maxBody)
}

// StreamedFormLimit returns the server's limit for forms, or no limit if the handler has
// set one for the body.
func (h *bodyHandle) StreamedFormLimit() int64 {
	r := h.lock()
	if r == nil {
		return 0
	}
	defer h.busy.Unlock()
	if r.limit.Load() > 0 {
		return -1
	}
	return int64(r.ss.s.MaxStreamedFormSize)
}

// ownBody is the handle that the library reads a body with, as long as the program has
// none. It is a part of the requestStream.
type ownBody struct{ bodyHandle }

// lender returns the handle that the program has, or makes one.
func (r *requestStream) lender() door.TrailerLender {
	if h := r.lent.Load(); h != nil {
		return h
	}
	return r.own.lendStream().(*bodyHandle)
}

// lendStream returns a handle for the program, and ends o.
func (o *ownBody) lendStream() io.Reader {
	o.busy.Lock()
	defer o.busy.Unlock()
	h := &bodyHandle{r: o.r, loan: o.loan}
	if r := o.r; r != nil {
		o.refer(nil)
		r.lent.Store(h)
	}
	return h
}
