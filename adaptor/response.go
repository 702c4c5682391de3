package adaptor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// maxBuffered is how many bytes of a response are buffered before they are sent while the
// handler runs.
const maxBuffered = 1 << 20

// response is the http.ResponseWriter of an adapted request. It writes to the response of
// a RequestCtx until the handler has returned. It has locks because some handlers use it
// from several goroutines, although they should not.
type response struct {
	mu       sync.Mutex
	ctx      *gale.RequestCtx // nil when the handler has returned
	ctxMu    sync.Mutex       // changing the field ctx takes both locks, using it takes either
	head     http.Header
	length   int64 // declared by the handler, else -1
	written  int64
	late     *nameList // declared trailer fields; nil for none
	waiting  int32     // bytes of the body that were not flushed, at most maxBuffered
	status   int16     // that the handler has set
	isHead   bool
	begun    bool // the head is in ctx.Response, and changes of head have no effect
	flushed  bool // the head was sent
	untyped  bool // there is no Content-Type; it is detected from the body before that is sent
	trails   bool // the response can have trailers
	explicit bool // WriteHeader was called with a final code
	hijacked bool
	onlyType bool // head had only a Content-Type
}

func (w *response) begin(ctx *gale.RequestCtx, isHead bool) {
	w.ctx, w.isHead, w.length = ctx, isHead, -1
}

// nameList is a list of field names. Most responses have none (nil).
type nameList struct {
	names []string
	room  [4]string // for a few names, as gRPC has them
}

func newNameList() *nameList {
	l := new(nameList)
	l.names = l.room[:0]
	return l
}

func (l *nameList) has(name string) bool { return l != nil && slices.Contains(l.names, name) }

// all returns the names.
func (l *nameList) all() []string {
	if l == nil {
		return nil
	}
	return l.names
}

// Header returns the headers of the response; see http.ResponseWriter.
func (w *response) Header() http.Header {
	if w.head == nil {
		w.head = make(http.Header)
	}
	return w.head
}

// WriteHeader sets the status code and the header for good, or sends an informational
// response at once.
func (w *response) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.explicit = w.explicit || code >= 200 || code == http.StatusSwitchingProtocols
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
		panic(fmt.Sprintf("invalid WriteHeader code %v", code)) // as in net/http: a bug in the program
	case code < 200 && code != http.StatusSwitchingProtocols:
		w.interim(code)
		return
	}
	w.begun, w.status = true, int16(code)
	w.ctx.SetStatusCode(code)
	w.ctx.Response.Header.SetNoDefaultContentType(true)
	w.setFields()
}

// passFields sets the fields of a handler that has written nothing, and has not called
// WriteHeader. Other handlers may follow. If they set a body, it has the default Content-Type,
// unless this one has decided about that field.
func (w *response) passFields() {
	w.begun, w.status = true, int16(w.ctx.Response.StatusCode())
	if has(w.head, "Content-Type") {
		w.ctx.Response.Header.SetNoDefaultContentType(true)
	}
	w.setFields()
}

// complain logs a mistake of a handler, and its place.
func (w *response) complain(what string) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "net/http.") && !strings.Contains(f.Function, "/adaptor.(*response)") && !strings.Contains(f.Function, "/adaptor.streamResponse") {
			w.ctx.Logger().Printf("%s from %s (%s:%d)", what, f.Function, f.File, f.Line)
			return
		}
		if !more {
			w.ctx.Logger().Printf("%s", what)
			return
		}
	}
}

// interim sends an informational response with the fields that are set so far.
func (w *response) interim(code int) {
	var h gale.ResponseHeader
	for k, vv := range w.head {
		for _, v := range vv {
			h.Add(k, v)
		}
	}
	_ = w.ctx.SendInterim(code, &h) // the final response will get the error again
}

// field is an entry of a header.
type field struct {
	name   string // in canonical spelling
	key    string // as the handler has spelled it
	values []string
}

// setFields copies the header into ctx.Response.
func (w *response) setFields() {
	h := &w.ctx.Response.Header
	w.untyped = len(h.ContentType()) == 0
	var room [16]field
	fields := room[:0]
	var length, coding string
	var trailer []string
	for k, values := range w.head {
		switch name := canonicalName(k); name {
		case "Content-Length", "Transfer-Encoding", "Trailer":
			switch k { // in another spelling they are ignored: the body decides
			case "Content-Length":
				length = first(values)
			case "Transfer-Encoding":
				coding = first(values)
			case "Trailer":
				trailer = values
			}
		default:
			fields = append(fields, field{name, k, values})
		}
	}
	if length != "" && coding != "chunked" {
		w.setLength(h, length)
	}
	if w.length < 0 && coding != "identity" && !w.isHead && string(w.ctx.Request.Header.Protocol()) != "HTTP/1.0" {
		w.trails = true
		w.declareTrailers(h, trailer)
	}
	if w.isHead && w.length < 0 && h.ContentLength() == 0 {
		// The response to a GET may have a body: handlers leave it out for HEAD.
		w.sent().ContentLength = msg.LenUnsaid
	}
	if len(fields) > 1 {
		slices.SortFunc(fields, func(a, b field) int {
			return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.key, b.key))
		})
	}
	before := ""
	for _, f := range fields {
		switch f.name {
		case "Content-Type":
			w.untyped, w.onlyType = false, len(w.head) == 1
		case "Content-Encoding":
			w.untyped = w.untyped && first(f.values) == ""
		case "Date":
			if len(f.values) == 0 {
				w.sent().Implied |= head.NoDate
			}
		}
		w.setField(h, f, f.name == before)
		before = f.name
	}
}

// canonicalName is http.CanonicalHeaderKey, and faster for names that are canonical.
func canonicalName(k string) string {
	begins := true
	for i := range len(k) {
		switch c := k[i]; {
		case 'a' <= c && c <= 'z' && !begins, 'A' <= c && c <= 'Z' && begins:
			begins = false
		case c == '-':
			begins = true
		default:
			return http.CanonicalHeaderKey(k)
		}
	}
	return k
}

// sent returns the head of ctx.Response, for what ResponseHeader has no methods for.
func (w *response) sent() *head.Response {
	return door.Of(w.ctx).ResponseHead()
}

func has(h http.Header, name string) bool {
	_, ok := h[name]
	return ok
}

// first returns the first value of a field, "" if there is none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// setField sets a field that is not about the framing of the body, with the handler's spelling
// of its name. more says that there are fields of that name in another spelling, which stay.
func (w *response) setField(h *gale.ResponseHeader, f field, more bool) {
	if len(f.values) == 0 || strings.HasPrefix(f.key, http.TrailerPrefix) || w.late.has(f.key) {
		return
	}
	if f.key != f.name && !h.DisableNormalizing() {
		defer h.EnableNormalizing()
	}
	values := f.values
	switch {
	case f.name == "Content-Encoding", f.name == "Connection": // Add would replace the first value
		h.Set(f.key, strings.Join(values, ", "))
		return
	case more, f.name == "Set-Cookie":
	case f.name == "Content-Type":
		h.SetContentType(values[0]) // often the same as in the last response
		values = values[1:]
	default:
		h.Set(f.key, values[0])
		values = values[1:]
	}
	for _, v := range values {
		h.Add(f.key, v)
	}
}

// setLength sets the length that the handler announces.
func (w *response) setLength(h *gale.ResponseHeader, v string) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		w.ctx.Logger().Printf("http: invalid Content-Length of %q", v)
		return
	}
	w.length = n
	door.SetContentLength(h, n)
}

// Write appends to the body.
func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayWrite(len(p)); err != nil || len(p) == 0 {
		return 0, err
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

// hasBody reports whether a response with that status can have content (RFC 9110 section
// 6.4.1). It doesn't look at the method: responses to HEAD and CONNECT are handled
// elsewhere.
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

var errOver = fmt.Errorf("adaptor: the response is over: its handler has returned: %w", net.ErrClosed)

// wrote counts n bytes that were appended, and flushes if too many are waiting.
func (w *response) wrote(n int) error {
	w.written += int64(n)
	if w.waiting += int32(min(n, maxBuffered-int(w.waiting))); w.waiting < maxBuffered {
		return nil
	}
	return w.flush()
}

// ReadFrom appends the bytes of r to the body.
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

// Flush sends what was written. It ignores errors; FlushError returns them.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error, for http.ResponseController.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushAny()
}

// flushAny is FlushError under mu.
func (w *response) flushAny() error {
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
	if !hasConn(w.ctx) || w.ctx.Response.StatusCode() == http.StatusSwitchingProtocols && !w.flushed {
		return nil // there is no connection: the response stays in ctx.Response; or Hijack sends it
	}
	w.typeByPrefix()
	if err := w.ctx.Flush(); err != nil {
		return err
	}
	w.flushed, w.waiting = true, 0
	return nil
}

// typeByPrefix sets the Content-Type by the bytes of the body so far, before any of them
// is sent.
func (w *response) typeByPrefix() {
	if !w.untyped || w.written == 0 || w.flushed {
		return
	}
	w.untyped = false
	b := w.ctx.Response.Body()
	b = b[max(int64(len(b))-w.written, 0):]
	w.ctx.Response.Header.SetContentType(http.DetectContentType(b))
}

// bareHijack says whether Hijack sends bytes that were written without WriteHeader
// without a head, as in fasthttpadaptor. The package of that name in compat/fasthttp sets
// it when the program starts; nothing else writes it.
var bareHijack = false

// Hijack takes the connection over; see http.Hijacker. If functions of BeforeSend have refused the
// client by another status than that of the handler, it fails, and their response ends.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx == nil:
		return nil, nil, errOver
	case w.hijacked:
		return nil, nil, http.ErrHijacked
	}
	if (w.explicit || w.begun && !bareHijack) && w.ctx.Response.StatusCode() != http.StatusSwitchingProtocols {
		if err := w.flush(); err != nil {
			return nil, nil, err
		}
		if w.refused() {
			w.hijacked = true // the handler can't add to the response
			return nil, nil, errRefused
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

// refused reports whether the response that was sent refuses the client, although that of the
// handler doesn't. As for RequestCtx.Hijack, any 2xx grants the connection.
func (w *response) refused() bool {
	sent := w.ctx.Response.StatusCode()
	return w.flushed && sent != int(w.status) && sent/100 != 2
}

var errRefused = errors.New("adaptor: a function of BeforeSend has refused the client")

// open writes the first bytes on a connection that was hijacked: the head of a 101 if the
// handler asked for one, and then, unchanged, the bytes that it wrote.
func (w *response) open(c net.Conn, rest []byte) error {
	var b bytes.Buffer
	if w.explicit && !w.flushed {
		if err := w.switchTo(&b, c); err != nil {
			return err
		}
	}
	b.Write(rest)
	if b.Len() == 0 {
		return nil
	}
	_, err := c.Write(b.Bytes())
	return err
}

var errNotSwitched = errors.New("adaptor: a function of BeforeSend has turned the 101 into another response")

// switchTo appends the head of a 101 to b, with only the fields that are in ctx.Response.
// If functions of BeforeSend replace the response, the new one is written to c.
func (w *response) switchTo(b *bytes.Buffer, c net.Conn) error {
	resp, _ := door.Of(w.ctx).Final().(*gale.Response)
	switch {
	case resp == nil:
		return errNotSwitched
	case resp.StatusCode() != http.StatusSwitchingProtocols:
		resp.SetConnectionClose()
		_, err := resp.WriteTo(c)
		return errors.Join(errNotSwitched, err)
	}
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	if err := w.head.Write(b); err != nil {
		return err
	}
	for k, v := range resp.Header.All() {
		switch name := string(k); name {
		case "Connection", "Content-Length", "Content-Type", "Date", "Server", "Transfer-Encoding":
		default:
			if !has(w.head, http.CanonicalHeaderKey(name)) {
				fmt.Fprintf(b, "%s: %s\r\n", name, v)
			}
		}
	}
	b.WriteString("\r\n")
	return nil
}

// SetReadDeadline is for http.ResponseController.
func (w *response) SetReadDeadline(deadline time.Time) error {
	w.ctxMu.Lock() // not mu: a Flush that waits for the client holds it while the body is read
	defer w.ctxMu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	return w.ctx.SetReadDeadline(deadline)
}

// SetWriteDeadline waits for a running Flush: with HTTP/1.1, Flush reads the deadline.
func (w *response) SetWriteDeadline(deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.setWriteDeadline(deadline)
}

// setWriteDeadline is SetWriteDeadline for HTTP/2, where any goroutine may set the
// deadline of a running Flush. If the caller holds mu, it is correct for HTTP/1.1 too.
func (w *response) setWriteDeadline(deadline time.Time) error {
	w.ctxMu.Lock()
	defer w.ctxMu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	return w.ctx.SetWriteDeadline(deadline)
}

// EnableFullDuplex does nothing: a response may always be sent while the body is read.
func (w *response) EnableFullDuplex() error { return nil }

// CloseNotify returns a channel that gets a value when the client leaves.
//
// Deprecated: use the context of the request. The method is here because some frameworks
// still call it.
func (w *response) CloseNotify() <-chan bool {
	ch := make(chan bool, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		ch <- true
		return ch
	}
	context.AfterFunc(door.Of(w.ctx).Unhurried(), func() { ch <- true })
	return ch
}

// finish is called when the handler has returned without a panic.
func (w *response) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hijacked {
		return
	}
	if !w.begun {
		w.passFields()
	}
	w.typeByPrefix()
	if w.length >= 0 && w.written < w.length && !w.isHead && hasBody(w.ctx.Response.StatusCode()) && hasConn(w.ctx) {
		// The client must be able to see that the body is incomplete.
		_ = w.flush()
		panic(gale.ErrAbortHandler)
	}
	if w.isHead && w.length >= 0 && w.written < w.length {
		w.ctx.Response.ResetBody() // the declared length is that of the response to a GET
		w.setLength(&w.ctx.Response.Header, strconv.FormatInt(w.length, 10))
	}
	w.setTrailers()
}

// end separates w from the RequestCtx.
func (w *response) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctxMu.Lock()
	defer w.ctxMu.Unlock()
	w.ctx = nil
}
