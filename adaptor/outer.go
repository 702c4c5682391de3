package adaptor

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// outer is the exchange of a RequestCtx whose request comes from a net/http server.
// Handlers that timed out may hold it after the end of the request; then its methods
// fail.
type outer struct {
	nc      conn
	tlsConn tlsConn // over nc
	mu      sync.Mutex
	sending atomic.Bool         // Flush runs, under mu
	given   atomic.Bool         // to a RequestCtx
	w       http.ResponseWriter // nil when the request is over
	rc      *http.ResponseController
	r       *http.Request
	body    *attachedBody // nil if there is none
	sealed  bool          // the handler timed out: it can't change the response anymore
	begun   bool          // the head was given to w
	taken   bool          // the connection was hijacked
	sent    int64         // bytes of the body that net/http got, under mu while the handler runs
	remote  net.Addr      // made at the first use

	doneMu sync.Mutex // locked after RequestCtx.mu, and not held while something is sent
	done   door.Done  // of the RequestCtx, after it was asked for
	ended  bool       // the handler has returned
}

func newOuter(w http.ResponseWriter, r *http.Request) *outer {
	o := &outer{w: w, rc: http.NewResponseController(w), r: r}
	o.nc.o, o.tlsConn.conn = o, &o.nc
	return o
}

// conn is the connection that a handler gets: it has addresses and deadlines, and can't
// be read from or written to.
type conn struct{ o *outer }

// Exchange returns the exchange at its first call only, because it serves one RequestCtx.
// An exchange that is over is always returned.
func (c *conn) Exchange(door.Seal) any {
	if c.o.given.Swap(true) && c.o != over {
		return nil
	}
	return c.o
}

func (*conn) Read([]byte) (int, error)  { return 0, errNoConn }
func (*conn) Write([]byte) (int, error) { return 0, errNoConn }
func (*conn) Close() error              { return errNoConn }

func (c *conn) LocalAddr() net.Addr                { return c.o.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr               { return c.o.RemoteAddr() }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.o.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.o.SetWriteDeadline(t) }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

var errNoConn = errors.New("adaptor: the connection belongs to net/http: take it over with HijackNow")

// tlsConn is a conn with the method ConnectionState.
type tlsConn struct{ *conn }

func (c *tlsConn) ConnectionState() tls.ConnectionState { return *c.o.r.TLS }

// Conn returns the connection, as a tlsConn if it uses TLS.
func (o *outer) Conn() net.Conn {
	if o.r.TLS != nil {
		return &o.tlsConn
	}
	return &o.nc
}

// nowhere is the connection of contexts that wait for their next request. Its exchange is
// over.
var nowhere net.Conn = &over.nc

var over = func() *outer {
	o := newOuter(nil, new(http.Request))
	o.ended = true
	return o
}()

// Lend has nothing to do: a conn can set its deadlines at any time.
func (o *outer) Lend() {}

// Opened returns zero values, because no Server has the connection.
func (o *outer) Opened() (id uint64, at time.Time) { return 0, time.Time{} }

// RemoteAddr returns http.Request.RemoteAddr, as a *net.TCPAddr if it is a TCP address.
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

// textAddr is an address that is not a TCP address.
type textAddr string

func (textAddr) Network() string  { return "unknown" }
func (a textAddr) String() string { return string(a) }

// LocalAddr returns the address that net/http knows, or nil.
func (o *outer) LocalAddr() net.Addr {
	a, _ := o.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return a
}

func (o *outer) SetReadDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.sealed {
		return errOver
	}
	return o.rc.SetReadDeadline(t)
}

func (o *outer) SetWriteDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.sealed {
		return errOver
	}
	return o.rc.SetWriteDeadline(t)
}

func (o *outer) Context() context.Context { return o.r.Context() }

// Trailers appends the fields of the request's trailer section that have arrived.
func (o *outer) Trailers(f *msg.Fields) {
	for name, values := range o.r.Trailer {
		for _, v := range values {
			f.PutMore(msg.LookupString(name), []byte(name), []byte(v), msg.Normalized)
		}
	}
}

// Watch keeps d until the request is over. When the client leaves, Context ends.
func (o *outer) Watch(d door.Done) (stop func(), over error) {
	o.doneMu.Lock()
	defer o.doneMu.Unlock()
	if o.ended {
		return nil, gale.ErrRequestDone
	}
	o.done = d
	return nil, nil
}

// endContext closes Done of the RequestCtx, and reports whether package context may hold
// the RequestCtx.
func (o *outer) endContext() (held bool) {
	o.doneMu.Lock()
	d := o.done
	o.done, o.ended = nil, true
	o.doneMu.Unlock()
	return d != nil && d.End()
}

// detached reports whether the RequestCtx belongs to the program.
func (o *outer) detached() bool {
	o.doneMu.Lock()
	defer o.doneMu.Unlock()
	return o.done != nil && o.done.Detached()
}

// LimitBody limits how much of the body can be read.
func (o *outer) LimitBody(_ *gale.RequestCtx, n int64) {
	if o.body != nil {
		o.body.limit = max(n, 0)
	}
}

// CloseBody makes reading the body fail. It ends a running Read by a deadline; after that
// net/http doesn't use the connection for other requests.
func (o *outer) CloseBody(*gale.RequestCtx) {
	if o.body == nil {
		return
	}
	o.body.closed.Store(true)
	if o.body.reading.Load() {
		_ = o.SetReadDeadline(time.Unix(1, 0))
	}
}

// HijackNow takes the connection over from net/http.
func (o *outer) HijackNow(*gale.RequestCtx) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.taken || o.sealed {
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

// bufferedConn is a connection with bytes that were already read from it.
type bufferedConn struct {
	net.Conn
	r io.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// SendInterim makes net/http send an informational response.
func (o *outer) SendInterim(_ *gale.RequestCtx, statusCode int, h *gale.ResponseHeader) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.begun || o.taken || o.sealed {
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

// Flush sends the head and the body so far, and empties the body.
func (o *outer) Flush(ctx *gale.RequestCtx) error {
	resp := &ctx.Response
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.taken || o.sealed {
		return gale.ErrNilConnection
	}
	o.sending.Store(true)
	defer o.sending.Store(false)
	length := resp.Header.ContentLength()
	if length == 0 || o.skips(resp) {
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

// begin passes status and fields to net/http, at its first call only. length is the
// length of the body, negative if it isn't known.
func (o *outer) begin(resp *gale.Response, length int) {
	if o.begun {
		return
	}
	o.begun = true
	if status := resp.StatusCode(); status < 100 || status > 999 {
		resp.SetStatusCode(gale.StatusInternalServerError) // as a Server does
	}
	to := o.w.Header()
	h := &resp.Header
	byDefault := h.ContentType()
	h.SetNoDefaultContentType(true) // so that All returns only what was set
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
		if length != 0 && len(byDefault) > 0 && mayHaveContent(resp.StatusCode()) {
			to.Set("Content-Type", string(byDefault))
		}
	}
	if status := resp.StatusCode(); length > 0 && to.Get("Trailer") == "" && (mayHaveContent(status) || status == http.StatusNotModified) {
		to.Set("Content-Length", strconv.Itoa(length))
	}
	o.w.WriteHeader(resp.StatusCode())
}

// mayHaveContent is hasBody, except that it returns false for 205, which net/http leaves
// to the handler (RFC 9110 section 15.3.6).
func mayHaveContent(status int) bool { return hasBody(status) && status != http.StatusResetContent }

// bodyless reports whether no body of resp is sent.
func (o *outer) bodyless(resp *gale.Response) bool {
	return resp.SkipBody || o.r.Method == http.MethodHead || !mayHaveContent(resp.StatusCode())
}

// skips reports whether the program has set SkipBody for a response that the client
// expects to have a body. Its length is then 0, whatever was declared.
func (o *outer) skips(resp *gale.Response) bool {
	return resp.SkipBody && o.r.Method != http.MethodHead && mayHaveContent(resp.StatusCode())
}

// length returns the length of a body in memory, as the head states it. If no body is
// sent, it may be the length of the body that a GET would get.
func (o *outer) length(resp *gale.Response) int {
	if o.skips(resp) {
		return 0
	}
	if n := len(resp.Body()); n > 0 || !o.bodyless(resp) {
		return n
	}
	return resp.Header.ContentLength()
}

// writeBody writes a body that is in memory.
func (o *outer) writeBody(resp *gale.Response) error {
	if o.bodyless(resp) {
		return nil
	}
	b := resp.Body()
	if len(b) == 0 {
		return nil
	}
	n, err := o.w.Write(b)
	o.sent += int64(n)
	return err
}

// handOver lets h take over the connection.
func (o *outer) handOver(resp *gale.Response, h door.Hijack) {
	c, err := o.HijackNow(nil)
	if err != nil {
		http.Error(o.w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	if !h.NoResponse {
		if o.r.Method == http.MethodHead {
			resp.SkipBody = true
		} else if o.skips(resp) {
			resp.SkipBody = false
			resp.ResetBody()
		}
		if _, err := resp.WriteTo(c); err != nil {
			c.Close()
			return
		}
	}
	go hijacked(c, h.Handler, errorLog(o.r))
}

// hijacked calls h with c, and then closes c.
func hijacked(c net.Conn, h gale.HijackHandler, logf func(string, ...any)) {
	defer func() { _ = recover() }() // the log has panicked
	defer func() {
		if r := recover(); r != nil {
			logf("gale: panic in a HijackHandler: %v\n%s", r, debug.Stack())
		}
	}()
	defer c.Close()
	h(c)
}

// errorLog returns the function that writes to the log of r's net/http server.
func errorLog(r *http.Request) func(string, ...any) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		return s.ErrorLog.Printf
	}
	return log.Printf
}

// end separates o from net/http.
func (o *outer) end() {
	o.mu.Lock()
	o.w = nil
	o.mu.Unlock()
}
