package adaptor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

// outer is the connection of a RequestCtx whose request a net/http server has:
// the RequestCtx does through it what it does with a connection of its own
// server. It may be held longer than the request lasts, by handlers that were
// timed out: then its methods fail.
type outer struct {
	mu      sync.Mutex
	w       http.ResponseWriter // nil when the request is over
	rc      *http.ResponseController
	r       *http.Request
	body    *attachedBody // nil if there is none
	begun   bool          // the head was given to w
	taken   bool          // the connection was hijacked
	hijack  gale.HijackHandler
	noReply bool // the hijack handler answers

	remote net.Addr // made at the first need
}

func newOuter(w http.ResponseWriter, r *http.Request) *outer {
	return &outer{w: w, rc: http.NewResponseController(w), r: r}
}

// conn returns o as the connection, with TLS if it has that.
func (o *outer) conn() net.Conn {
	if o.r.TLS != nil {
		return &outerTLS{o}
	}
	return o
}

// outerTLS is an outer that shows the state of TLS.
type outerTLS struct{ *outer }

func (o *outerTLS) ConnectionState() tls.ConnectionState { return *o.r.TLS }

// nowhere is the connection of contexts that nobody uses.
var nowhere net.Conn = &outer{r: new(http.Request)}

var errNoConn = errors.New("adaptor: the connection belongs to net/http: take it over with HijackNow")

func (o *outer) Read([]byte) (int, error)  { return 0, errNoConn }
func (o *outer) Write([]byte) (int, error) { return 0, errNoConn }
func (o *outer) Close() error              { return errNoConn }

// RemoteAddr returns http.Request.RemoteAddr, as a TCP address if it is one.
func (o *outer) RemoteAddr() net.Addr {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.remote == nil {
		if ap, err := netip.ParseAddrPort(o.r.RemoteAddr); err == nil {
			o.remote = net.TCPAddrFromAddrPort(ap)
		} else {
			o.remote = textAddr(o.r.RemoteAddr)
		}
	}
	return o.remote
}

// textAddr is an address that is no TCP address.
type textAddr string

func (textAddr) Network() string  { return "unknown" }
func (a textAddr) String() string { return string(a) }

// LocalAddr returns what net/http tells, nil if that is nothing.
func (o *outer) LocalAddr() net.Addr {
	a, _ := o.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return a
}

func (o *outer) SetDeadline(t time.Time) error {
	return errors.Join(o.SetReadDeadline(t), o.SetWriteDeadline(t))
}

func (o *outer) SetReadDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil {
		return errOver
	}
	return o.rc.SetReadDeadline(t)
}

func (o *outer) SetWriteDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil {
		return errOver
	}
	return o.rc.SetWriteDeadline(t)
}

func (o *outer) Context() context.Context { return o.r.Context() }

func (o *outer) LimitBody(n int64) {
	if o.body != nil {
		o.body.limit = max(n, 0)
	}
}

func (o *outer) Hijack(h gale.HijackHandler)         { o.hijack = h }
func (o *outer) HijackSetNoResponse(noResponse bool) { o.noReply = noResponse }

// HijackNow takes the connection over from net/http.
func (o *outer) HijackNow() (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.taken {
		return nil, gale.ErrNilConnection
	}
	c, rw, err := o.rc.Hijack()
	if err != nil {
		return nil, err
	}
	o.taken = true
	if rw.Reader.Buffered() > 0 {
		return &bufferedConn{Conn: c, r: rw.Reader}, nil
	}
	return c, nil
}

// bufferedConn is a connection of which some bytes were read already.
type bufferedConn struct {
	net.Conn
	r io.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// SendInterim has net/http send an informational response.
func (o *outer) SendInterim(statusCode int, h *gale.ResponseHeader) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.begun || o.taken {
		return errOver
	}
	to := o.w.Header()
	before := to.Clone()
	if h != nil {
		for k, v := range h.All() {
			if name := string(k); name != "Content-Type" && name != "Content-Length" {
				to.Add(name, string(v))
			}
		}
	}
	o.w.WriteHeader(statusCode)
	clear(to)
	for k, v := range before {
		to[k] = v
	}
	return nil
}

// Flush sends the head and what there is of the body, and empties it.
func (o *outer) Flush(resp *gale.Response) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.taken {
		return gale.ErrNilConnection
	}
	length := resp.Header.ContentLength()
	if length == 0 {
		length = -1
	}
	o.begin(resp, length)
	err := o.writeBody(resp)
	resp.ResetBody()
	if err != nil {
		return err
	}
	return o.rc.Flush()
}

// begin gives status and fields to net/http, once. length is that of the body,
// negative if it isn't known.
func (o *outer) begin(resp *gale.Response, length int) {
	if o.begun {
		return
	}
	o.begun = true
	to := o.w.Header()
	h := &resp.Header
	byDefault := h.ContentType()
	h.SetNoDefaultContentType(true) // so that All tells only what was set
	for k, v := range h.All() {
		switch name := string(k); name {
		case "Content-Length", "Transfer-Encoding":
		case "Connection":
			if resp.ConnectionClose() {
				to.Set(name, "close")
			}
		default:
			to.Add(name, string(v))
		}
	}
	if len(h.ContentType()) == 0 {
		to["Content-Type"] = nil // or net/http guesses
		if length != 0 && len(byDefault) > 0 && hasBody(resp.StatusCode()) {
			to.Set("Content-Type", string(byDefault))
		}
	}
	if length > 0 && to.Get("Trailer") == "" {
		to.Set("Content-Length", strconv.Itoa(length))
	}
	o.w.WriteHeader(resp.StatusCode())
}

// writeBody writes the body as it is in memory.
func (o *outer) writeBody(resp *gale.Response) error {
	if resp.SkipBody || o.r.Method == http.MethodHead || !hasBody(resp.StatusCode()) {
		return nil
	}
	b := resp.Body()
	if len(b) == 0 {
		return nil
	}
	_, err := o.w.Write(b)
	return err
}

// finish sends the response, or the rest of it.
func (o *outer) finish(resp *gale.Response) {
	if o.taken {
		return
	}
	if o.hijack != nil {
		o.handOver(resp)
		return
	}
	var err error
	if resp.IsBodyStream() {
		err = o.finishStream(resp)
	} else {
		o.mu.Lock()
		o.begin(resp, len(resp.Body()))
		err = o.writeBody(resp)
		o.mu.Unlock()
	}
	if err != nil {
		_ = o.rc.Flush()
		panic(http.ErrAbortHandler) // the client is to see that it is not complete
	}
	o.trailers(&resp.Header)
}

// finishStream sends a body that is a stream.
func (o *outer) finishStream(resp *gale.Response) error {
	length := resp.Header.ContentLength()
	o.begin(resp, length)
	if resp.SkipBody || o.r.Method == http.MethodHead || !hasBody(resp.StatusCode()) {
		return resp.CloseBodyStream()
	}
	if resp.ImmediateHeaderFlush {
		if err := o.rc.Flush(); err != nil {
			return err
		}
	}
	if length >= 0 {
		n := &counted{w: o.w}
		if err := resp.BodyWriteTo(n); err != nil || n.n != int64(length) {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		return nil
	}
	return resp.BodyWriteTo(&flushing{o.w, o.rc})
}

// counted counts what is written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// flushing sends each write at once, as Server does with streams.
type flushing struct {
	w  io.Writer
	rc *http.ResponseController
}

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.rc.Flush()
	}
	return n, err
}

// trailers gives the trailer section to net/http.
func (o *outer) trailers(h *gale.ResponseHeader) {
	if len(h.PeekTrailerKeys()) == 0 {
		return
	}
	to := o.w.Header()
	for line := range bytes.SplitSeq(h.TrailerHeader(), []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if ok {
			to.Add(http.TrailerPrefix+string(name), string(value))
		}
	}
}

// handOver has the hijack handler take over the connection.
func (o *outer) handOver(resp *gale.Response) {
	h, noReply := o.hijack, o.noReply
	c, err := o.HijackNow()
	if err != nil {
		http.Error(o.w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	if !noReply {
		if _, err := resp.WriteTo(c); err != nil {
			c.Close()
			return
		}
	}
	go func() {
		defer c.Close()
		h(c)
	}()
}

// end cuts o off from net/http.
func (o *outer) end() {
	o.mu.Lock()
	o.w = nil
	o.mu.Unlock()
}
