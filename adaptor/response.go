package adaptor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/pool"
)

// maxBuffered is how many bytes of a response wait for the handler to return.
const maxBuffered = 1 << 20

// sniffLen is how much http.DetectContentType looks at.
const sniffLen = 512

// response is the http.ResponseWriter of an adapted request. It writes to the
// response of a RequestCtx until the handler has returned, and is used by
// several goroutines by some handlers that should not.
type response struct {
	mu       sync.Mutex
	ctx      *gale.RequestCtx // nil when the handler has returned
	reqCtx   context.Context
	head     http.Header
	isHead   bool
	begun    bool  // the head is in ctx.Response, and what is in head has no effect
	flushed  bool  // it was sent
	untyped  bool  // there is no Content-Type, and the body must tell it
	length   int64 // as the handler has declared it, else -1
	written  int64
	waiting  int      // bytes of the body that were not flushed
	trails   bool     // there can be a trailer section
	late     []string // names of declared trailer fields
	explicit bool     // WriteHeader was called
	hijacked bool
	prefix   *pool.Buf // of an untyped body
}

func (w *response) begin(ctx *gale.RequestCtx, method string, reqCtx context.Context) {
	w.ctx, w.reqCtx = ctx, reqCtx
	w.isHead, w.length = method == http.MethodHead, -1
}

// Header returns the fields of the response, see http.ResponseWriter.
func (w *response) Header() http.Header {
	if w.head == nil {
		w.head = make(http.Header)
	}
	return w.head
}

// WriteHeader fixes the status code and the header, or sends an informational
// response at once.
func (w *response) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.explicit = true
	w.writeHeader(code)
}

func (w *response) writeHeader(code int) {
	switch {
	case w.ctx == nil:
		return
	case w.hijacked:
		w.complain("http: response.WriteHeader on hijacked connection")
		return
	case w.begun:
		w.complain("http: superfluous response.WriteHeader call")
		return
	case code < 100 || code > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", code)) // as net/http does: it is a mistake in the program
	case code < 200 && code != http.StatusSwitchingProtocols:
		w.interim(code)
		return
	}
	w.begun = true
	w.ctx.SetStatusCode(code)
	w.setFields()
}

// complain logs what a handler does wrong, and where.
func (w *response) complain(what string) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "net/http.") && !strings.Contains(f.Function, "/adaptor.(*response)") {
			w.ctx.Logger().Printf("%s from %s (%s:%d)", what, f.Function, f.File, f.Line)
			return
		}
		if !more {
			w.ctx.Logger().Printf("%s", what)
			return
		}
	}
}

// interim sends an informational response with the fields set by now.
func (w *response) interim(code int) {
	var h gale.ResponseHeader
	for k, vv := range w.head {
		for _, v := range vv {
			h.Add(k, v)
		}
	}
	_ = w.ctx.SendInterim(code, &h) // the final response will meet the error again
}

// setFields brings the header into ctx.Response.
func (w *response) setFields() {
	h := &w.ctx.Response.Header
	h.SetNoDefaultContentType(true)
	te := w.head.Get("Transfer-Encoding")
	if te != "chunked" {
		w.setLength(h)
	}
	if w.length < 0 && te != "identity" && !w.isHead && w.ctx.Request.Header.IsHTTP11() {
		w.declareTrailers(h)
	}
	w.untyped = !has(w.head, "Content-Type") && len(h.Peek("Content-Type")) == 0 && w.head.Get("Content-Encoding") == ""
	if len(w.head) == 0 {
		return
	}
	var room [16]string
	names := room[:0]
	for k := range w.head {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		w.setField(h, k, w.head[k])
	}
}

func has(h http.Header, name string) bool {
	_, ok := h[name]
	return ok
}

func (w *response) setField(h *gale.ResponseHeader, name string, values []string) {
	switch name {
	case "Content-Length", "Trailer", "Transfer-Encoding":
		return
	}
	if len(values) == 0 || strings.HasPrefix(name, http.TrailerPrefix) || slices.Contains(w.late, name) {
		return
	}
	if name != "Set-Cookie" {
		h.Set(name, values[0])
		values = values[1:]
	}
	for _, v := range values {
		h.Add(name, v)
	}
}

// setLength takes the length that the handler announces.
func (w *response) setLength(h *gale.ResponseHeader) {
	v := w.head.Get("Content-Length")
	if v == "" {
		return
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		w.ctx.Logger().Printf("http: invalid Content-Length of %q", v)
		return
	}
	w.length = n
	if n <= math.MaxInt { // else, with 32 bits, it is chunked
		h.SetContentLength(int(n))
	}
}

// declareTrailers takes the names that the handler announces. Those that must
// not stand in a trailer section are sent in the header.
func (w *response) declareTrailers(h *gale.ResponseHeader) {
	w.trails = true
	for _, list := range w.head["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
			if name != "" && h.AddTrailer(name) == nil {
				w.late = append(w.late, name)
			}
		}
	}
}

// Write appends to the body.
func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayWrite(len(p)); err != nil || len(p) == 0 {
		return 0, err
	}
	if w.untyped {
		w.sniff(p)
	}
	w.ctx.Response.AppendBody(p)
	return len(p), w.wrote(len(p))
}

// WriteString appends to the body.
func (w *response) WriteString(s string) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayWrite(len(s)); err != nil || len(s) == 0 {
		return 0, err
	}
	if w.untyped {
		w.sniff(bytesconv.S2B(s))
	}
	w.ctx.Response.AppendBodyString(s)
	return len(s), w.wrote(len(s))
}

// mayWrite prepares for n bytes of the body.
func (w *response) mayWrite(n int) error {
	switch {
	case w.ctx == nil:
		return errOver
	case w.hijacked:
		return http.ErrHijacked
	case !w.begun:
		w.writeHeader(w.ctx.Response.StatusCode())
	}
	if n == 0 {
		return nil
	}
	if !hasBody(w.ctx.Response.StatusCode()) {
		return http.ErrBodyNotAllowed
	}
	if w.length >= 0 && w.written+int64(n) > w.length {
		return http.ErrContentLength
	}
	return nil
}

func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

var errOver = fmt.Errorf("adaptor: the response is over: its handler has returned: %w", net.ErrClosed)

// wrote accounts for n bytes that were appended.
func (w *response) wrote(n int) error {
	w.written += int64(n)
	if w.waiting += n; w.waiting < maxBuffered {
		return nil
	}
	return w.flush()
}

// ReadFrom appends what r has to the body.
func (w *response) ReadFrom(r io.Reader) (n int64, err error) {
	buf := pool.Get(32 << 10)
	defer pool.Put(buf)
	b := buf.B[:cap(buf.B)]
	for {
		m, err := r.Read(b)
		if m > 0 {
			m, werr := w.Write(b[:m])
			n += int64(m)
			if werr != nil {
				return n, werr
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Flush sends what was written. FlushError tells whether that worked.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error, for http.ResponseController.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx == nil:
		return errOver
	case w.hijacked:
		return http.ErrHijacked
	case !w.begun:
		w.writeHeader(w.ctx.Response.StatusCode())
	}
	return w.flush()
}

func (w *response) flush() error {
	if !hasConn(w.ctx) {
		return nil // nowhere to go: it stays in ctx.Response
	}
	w.typeByPrefix()
	if err := w.ctx.Flush(); err != nil {
		return err
	}
	w.flushed, w.waiting = true, 0
	return nil
}

// sniff looks at p, the next bytes of a body whose type is not known yet.
func (w *response) sniff(p []byte) {
	if w.prefix == nil {
		if len(p) >= sniffLen {
			w.setType(p)
			return
		}
		w.prefix = pool.Get(sniffLen)
	}
	b := append(w.prefix.B, p[:min(len(p), sniffLen-len(w.prefix.B))]...)
	if w.prefix.B = b; len(b) == sniffLen {
		w.typeByPrefix()
	}
}

// typeByPrefix sets the Content-Type by what there is of the body.
func (w *response) typeByPrefix() {
	if w.prefix == nil {
		return
	}
	w.setType(w.prefix.B)
	pool.Put(w.prefix)
	w.prefix = nil
}

func (w *response) setType(b []byte) {
	w.untyped = false
	w.ctx.Response.Header.SetContentType(http.DetectContentType(b))
}

// Hijack takes the connection over, see http.Hijacker.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx == nil:
		return nil, nil, errOver
	case w.hijacked:
		return nil, nil, http.ErrHijacked
	}
	if w.explicit && w.ctx.Response.StatusCode() != http.StatusSwitchingProtocols {
		if err := w.flush(); err != nil {
			return nil, nil, err
		}
	}
	rest := slices.Clone(w.ctx.Response.Body())
	c, err := w.ctx.HijackNow()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	if err := w.open(c, rest); err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}

// open writes what comes first on a connection that was taken over: the head of
// a 101 if that was asked for, and bytes that were written and not flushed, as
// they are.
func (w *response) open(c net.Conn, rest []byte) error {
	var b bytes.Buffer
	if w.explicit && !w.flushed {
		b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
		if err := w.head.Write(&b); err != nil {
			return err
		}
		b.WriteString("\r\n")
	}
	b.Write(rest)
	if b.Len() == 0 {
		return nil
	}
	_, err := c.Write(b.Bytes())
	return err
}

// SetReadDeadline, SetWriteDeadline and EnableFullDuplex are for
// http.ResponseController.
func (w *response) SetReadDeadline(deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	return w.ctx.SetReadDeadline(deadline)
}

func (w *response) SetWriteDeadline(deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	return w.ctx.SetWriteDeadline(deadline)
}

func (w *response) EnableFullDuplex() error { return nil }

// CloseNotify returns a channel that gets a value when the client leaves.
//
// Deprecated: the context of the request tells it, too. Some frameworks ask
// for it still.
func (w *response) CloseNotify() <-chan bool {
	ch := make(chan bool, 1)
	context.AfterFunc(w.reqCtx, func() { ch <- true })
	return ch
}

// finish is for when the handler has returned in order.
func (w *response) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hijacked {
		return
	}
	if !w.begun {
		w.writeHeader(w.ctx.Response.StatusCode())
	}
	w.typeByPrefix()
	if w.length >= 0 && w.written < w.length && !w.isHead && hasBody(w.ctx.Response.StatusCode()) && hasConn(w.ctx) {
		// The client must see that the body is not complete.
		_ = w.flush()
		panic(gale.ErrAbortHandler)
	}
	w.setTrailers()
}

// setTrailers adds the values of trailer fields: those that were announced, and
// those whose names have http.TrailerPrefix.
func (w *response) setTrailers() {
	if !w.trails {
		return
	}
	h := &w.ctx.Response.Header
	var prefixed []string
	for k := range w.head {
		if strings.HasPrefix(k, http.TrailerPrefix) {
			prefixed = append(prefixed, k)
		}
	}
	slices.Sort(prefixed)
	for _, k := range prefixed {
		for _, v := range w.head[k] {
			_ = h.AddTrailerValue(k[len(http.TrailerPrefix):], v)
		}
	}
	for _, k := range w.late {
		for _, v := range w.head[k] {
			h.Add(k, v)
		}
	}
	if !w.flushed {
		w.addLateFields(h)
	}
}

// addLateFields sends what was announced as a trailer field when it was too late
// for a trailer section, after the first write, in the header, which is still here.
func (w *response) addLateFields(h *gale.ResponseHeader) {
	for _, list := range w.head["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
			if slices.Contains(w.late, name) || len(h.Peek(name)) > 0 {
				continue
			}
			w.setField(h, name, w.head[name])
		}
	}
}

// end cuts w off from the RequestCtx.
func (w *response) end() {
	w.mu.Lock()
	pool.Put(w.prefix)
	w.ctx, w.prefix = nil, nil
	w.mu.Unlock()
}
