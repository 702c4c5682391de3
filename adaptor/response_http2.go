package adaptor

import (
	"io"
	"net/http"
	"time"
)

// streamResponse is the response of an HTTP/2 request: it has all methods of response
// except Hijack, because handlers test for that method. It consists of one pointer, so
// that converting it to an interface doesn't allocate.
type streamResponse struct{ w *response }

func (s streamResponse) Header() http.Header                 { return s.w.Header() }
func (s streamResponse) WriteHeader(code int)                { s.w.WriteHeader(code) }
func (s streamResponse) Write(p []byte) (int, error)         { return s.w.Write(p) }
func (s streamResponse) WriteString(p string) (int, error)   { return s.w.WriteString(p) }
func (s streamResponse) ReadFrom(r io.Reader) (int64, error) { return s.w.ReadFrom(r) }
func (s streamResponse) Flush()                              { _ = s.w.flushNew() }
func (s streamResponse) FlushError() error                   { return s.w.flushNew() }
func (s streamResponse) SetReadDeadline(t time.Time) error   { return s.w.SetReadDeadline(t) }
func (s streamResponse) SetWriteDeadline(t time.Time) error  { return s.w.setWriteDeadline(t) }
func (s streamResponse) EnableFullDuplex() error             { return nil }
func (s streamResponse) CloseNotify() <-chan bool            { return s.w.CloseNotify() }

// flushNew is FlushError for HTTP/2. What was flushed is on its way, so there is nothing to
// do if nothing was written since. grpc-go flushes again before each status.
func (w *response) flushNew() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx != nil && w.flushed && w.waiting == 0 {
		return nil
	}
	return w.flushAny()
}
