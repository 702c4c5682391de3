package adaptor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
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
	tlsConn tlsConn     // over nc
	given   atomic.Bool // to a RequestCtx
	rc      *http.ResponseController
	r       *http.Request
	body    *attachedBody // nil if there is none

	// sendMu is held while something of the response is given to net/http, which may wait for the
	// client. The handler doesn't send anymore when a stream is sent: that is done without sendMu. It is
	// locked before mu, and not under RequestCtx.mu.
	sendMu  sync.Mutex
	begun   bool    // the head was given to w
	framing framing // of the body, when begun is set
	duplex  bool    // the request's body is read while the response is sent, see openDuplex
	asked   bool    // the client was sent a 100 before the head
	sent    int64   // bytes of the body that were sent
	length  int64   // of the body, as declared when the head was given to w; 0 if it isn't known

	// mu guards the fields below, and the deadlines. It is locked after RequestCtx.mu, and not held
	// while something is sent.
	mu       sync.Mutex
	w        http.ResponseWriter // nil when the request is over; sendMu guards it, too: changes take both locks
	taken    bool                // the connection was hijacked; guarded as w is
	sending  bool                // Flush or SendInterim runs
	sealed   bool                // the handler timed out: it can't change the response anymore
	answered bool                // the handler has returned, and what is left of the response is being sent
	remote   net.Addr            // made at the first use
	writeBy  *time.Time          // the write deadline that the handler has set, nil if it hasn't

	doneMu sync.Mutex // locked after RequestCtx.mu, and not held while something is sent
	ended  bool       // the handler has returned
	done   door.Done  // of the RequestCtx, after it was asked for
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
	if o.body != nil && o.body.closed.Load() {
		return nil // it would replace the deadline of endReads, which a Read may not have seen yet
	}
	return o.rc.SetReadDeadline(t)
}

func (o *outer) SetWriteDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.sealed {
		return errOver
	}
	o.writeBy = &t
	return o.rc.SetWriteDeadline(t)
}

// writeDeadline returns until when the response may be written.
func (o *outer) writeDeadline() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writeBy != nil {
		return *o.writeBy
	}
	if s, ok := o.r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		return time.Now().Add(s.WriteTimeout)
	}
	return time.Time{}
}

func (o *outer) Context() context.Context { return o.r.Context() }

// beginSend announces that the handler sends something, and reports whether it may: then it holds sendMu
// until endSend. seal finds either that something is sent, or that nothing will be.
func (o *outer) beginSend() bool {
	o.sendMu.Lock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending = o.open(); !o.sending {
		o.sendMu.Unlock()
	}
	return o.sending
}

// open reports whether the handler may change the response. The caller holds mu.
func (o *outer) open() bool { return o.w != nil && !o.taken && !o.sealed }

// endSend ends what beginSend has begun.
func (o *outer) endSend() {
	o.mu.Lock()
	o.sending = false
	o.mu.Unlock()
	o.sendMu.Unlock()
}

// seal takes the response away from a handler that timed out. What the handler is sending it breaks
// off, since that may wait for the client, and reports that it did.
func (o *outer) seal() (cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sealed = true
	if o.sending {
		_ = o.rc.SetWriteDeadline(time.Unix(1, 0))
	}
	return o.sending
}

// Trailers appends the fields of the request's trailer section that have arrived. After the
// handler there are none: net/http may be reading the rest of the body, which changes r.Trailer.
func (o *outer) Trailers(f *msg.Fields) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || o.sealed {
		return
	}
	putTrailers(f, o.r.Trailer)
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
		o.body.limit.Store(max(n, 0))
	}
}

// CloseBody makes reading the body fail. A deadline ends a running Read, and keeps net/http from
// waiting for the rest of the body before it sends the answer; after that net/http doesn't use the
// connection for other requests.
func (o *outer) CloseBody(*gale.RequestCtx) {
	if o.body != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.w != nil && !o.sealed {
			o.endReads()
		}
	}
}

// endReads is CloseBody under mu, or after end: no other goroutine sets the deadline meanwhile.
func (o *outer) endReads() {
	o.body.closed.Store(true)
	if !o.body.whole.Load() {
		_ = o.rc.SetReadDeadline(time.Unix(1, 0))
	}
}

// HijackNow takes the connection over from net/http. For the program, which gives ctx, that is too late
// when the response is being sent: a part of it would be lost.
func (o *outer) HijackNow(ctx *gale.RequestCtx) (net.Conn, error) {
	o.sendMu.Lock()
	defer o.sendMu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.open():
		return nil, gale.ErrNilConnection
	case o.answered && ctx != nil:
		return nil, errAnswered
	}
	c, rw, err := o.rc.Hijack()
	if err != nil {
		return nil, err
	}
	o.taken = true
	if o.body != nil {
		o.body.closed.Store(true)
	}
	if rw.Reader.Buffered() > 0 {
		return &bufferedConn{Conn: c, r: rw.Reader}, nil
	}
	return c, nil
}

var errAnswered = errors.New("adaptor: the connection can't be taken over: net/http has the response")

// bufferedConn is a connection with bytes that were already read from it.
type bufferedConn struct {
	net.Conn
	r io.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// NetConn returns the connection without those bytes, as for tls.Conn, for who resets it.
func (c *bufferedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends the server's side, if the connection has such a method.
func (c *bufferedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SendInterim makes net/http send an informational response, except over HTTP/2. There net/http
// reads the header map on another goroutine, and if the stream is reset, WriteHeader returns before
// it has read it (golang/go#67940). So the map could never be changed afterwards, for the final
// response.
func (o *outer) SendInterim(_ *gale.RequestCtx, statusCode int, h *gale.ResponseHeader) error {
	if o.r.ProtoMajor >= 2 { // as for clients of HTTP/1.0
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.open() {
			return errOver
		}
		return nil
	}
	if !o.beginSend() {
		return errOver
	}
	defer o.endSend()
	if o.begun {
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
	o.asked = o.asked || statusCode == http.StatusContinue
	clear(to)
	for k, v := range before {
		to[k] = v
	}
	return nil
}

// awaits100 reports whether the client sends the body only after a 100, which it hasn't got.
func (o *outer) awaits100() bool {
	return !o.asked && o.body.n.Load() == 0 && o.r.ProtoAtLeast(1, 1) && strings.EqualFold(o.r.Header.Get("Expect"), "100-continue")
}

// Flush sends the head and the body so far, and empties the body.
func (o *outer) Flush(ctx *gale.RequestCtx) error {
	if !o.beginSend() {
		return gale.ErrNilConnection
	}
	defer o.endSend()
	resp := &ctx.Response
	length := door.ContentLength(&resp.Header)
	if length == 0 || o.skips(resp) {
		length = -1
	}
	o.openDuplex(resp.StatusCode())
	o.begin(resp, length)
	err := o.writeBytes(o.w, resp)
	resp.ResetBody()
	if err != nil {
		return err
	}
	return o.rc.Flush()
}

// openDuplex lets the handler, or a stream, read the rest of the request's body after the head of
// the response. Otherwise net/http reads up to 256 KiB of it before it sends the head, and drops that.
// A ResponseWriter of a middleware may hold a part of the response when the handler has returned, so
// that closeDuplex could not end the response: there duplex stays closed, unless the handler has
// begun to read. No 100 can follow the head, so one that the client waits for comes before it if the
// status is that of a success; otherwise Read fails.
func (o *outer) openDuplex(status int) {
	b := o.body
	if b == nil || o.begun || b.whole.Load() {
		return
	}
	if o.r.ProtoMajor < 2 && (!o.wrapped() || b.n.Load() > 0 || b.reading.Load()) {
		o.duplex = o.rc.EnableFullDuplex() == nil
	}
	if b.closed.Load() || !o.awaits100() {
		return
	}
	mayAsk := o.duplex && !o.wrapped() // the first WriteHeader of a middleware may be its last
	asks := mayAsk && status/100 == 2
	b.notAsked.Store(!asks) // before reading is loaded; Read does it the other way round
	reading := b.reading.Load()
	if asks || mayAsk && reading {
		o.asked = true
		o.w.WriteHeader(http.StatusContinue)
	}
	if asks || reading {
		b.notAsked.Store(false)
	}
}

// wrapped reports whether the ResponseWriter is that of a middleware, around net/http's.
func (o *outer) wrapped() bool {
	_, ok := o.w.(interface{ Unwrap() http.ResponseWriter })
	return ok
}

// begin passes status and fields to net/http, at its first call only. length is the
// length of the body, negative if it isn't known.
func (o *outer) begin(resp *gale.Response, length int64) {
	if o.begun {
		return
	}
	o.begun = true
	if status := resp.StatusCode(); status < 200 || status > 999 {
		resp.SetStatusCode(gale.StatusInternalServerError) // as a Server does
	}
	status := resp.StatusCode()
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
		if length != 0 && length != msg.LenUnsaid && len(byDefault) > 0 && mayHaveContent(status) {
			to.Set("Content-Type", string(byDefault))
		}
	}
	o.frame(resp, length)
	o.w.WriteHeader(status)
}

// framing is how the body of a response ends.
type framing uint8

const (
	noBody     framing = iota // with the head
	sized                     // after the bytes that Content-Length declares
	inChunks                  // with the last chunk, or with the stream of HTTP/2
	untilClose                // with the connection
)

// frame sets the framing by which net/http sends the body, and the fields that make it do so.
func (o *outer) frame(resp *gale.Response, length int64) {
	to, status, old := o.w.Header(), resp.StatusCode(), !o.r.ProtoAtLeast(1, 1)
	if old {
		to.Del("Trailer") // HTTP/1.0 has none
	}
	switch {
	case o.tunnels(resp):
		to.Set("Transfer-Encoding", "identity") // net/http sends neither this nor another framing
		return
	case o.skips(resp), status == http.StatusResetContent:
		to.Set("Content-Length", "0")
		return
	case length > 0 && (mayHaveContent(status) || status == http.StatusNotModified):
		o.length = length
		if to.Get("Trailer") == "" { // or net/http sends no trailers
			to.Set("Content-Length", strconv.FormatInt(length, 10))
		}
	}
	switch {
	case o.bodyless(resp):
	case to.Get("Content-Length") != "":
		o.framing = sized
	case old:
		o.framing = untilClose
	default:
		o.framing = inChunks
	}
}

// endsBare reports whether the end of the body of resp is the end of the connection.
func (o *outer) endsBare(resp *gale.Response) bool {
	if o.begun {
		return o.framing == untilClose
	}
	return !o.r.ProtoAtLeast(1, 1) && resp.IsBodyStream() && door.ContentLength(&resp.Header) < 0 && !o.bodyless(resp)
}

// connects reports whether the request asks for a tunnel: it is a CONNECT to a host.
func (o *outer) connects() bool {
	return o.r.Method == http.MethodConnect && !strings.HasPrefix(o.r.RequestURI, "/")
}

// tunnels reports whether the response makes the connection a tunnel (RFC 9110 section 9.3.6). It
// has no body then. Over HTTP/2 net/http sends the bytes of the tunnel as those of a body.
func (o *outer) tunnels(resp *gale.Response) bool {
	return o.r.ProtoMajor < 2 && resp.StatusCode()/100 == 2 && o.connects()
}

// mayHaveContent is hasBody, except that it returns false for 205, which net/http leaves
// to the handler (RFC 9110 section 15.3.6).
func mayHaveContent(status int) bool { return hasBody(status) && status != http.StatusResetContent }

// bodyless reports whether no body of resp is sent.
func (o *outer) bodyless(resp *gale.Response) bool {
	return resp.SkipBody || o.r.Method == http.MethodHead || !mayHaveContent(resp.StatusCode()) || o.tunnels(resp)
}

// skips reports whether the program has set SkipBody for a response that the client
// expects to have a body. Its length is then 0, whatever was declared.
func (o *outer) skips(resp *gale.Response) bool {
	return resp.SkipBody && o.r.Method != http.MethodHead && mayHaveContent(resp.StatusCode())
}

// memoryLength returns the length of a body in memory, as the head states it. If no body is
// sent, it may be the length of the body that a GET would get.
func (o *outer) memoryLength(resp *gale.Response) int64 {
	if o.skips(resp) {
		return 0
	}
	if n := len(resp.Body()); n > 0 || !o.bodyless(resp) {
		return int64(n)
	}
	return door.ContentLength(&resp.Header)
}

// streamLength returns the length of a body that is a stream, negative if it isn't known. A header
// with a status that has no body takes no length; the status that was flushed may have one.
func (o *outer) streamLength(resp *gale.Response) int64 {
	n := door.ContentLength(&resp.Header)
	if n == 0 && o.framing != noBody && !hasBody(resp.StatusCode()) {
		return -1
	}
	return n
}

// writeBytes writes a body that is in memory to w, but no more than the declared length.
func (o *outer) writeBytes(w io.Writer, resp *gale.Response) error {
	b, err := resp.Body(), error(nil)
	if o.framing == noBody || len(b) == 0 {
		return nil
	}
	if left := o.length - o.sent; o.length > 0 && int64(len(b)) > left {
		b, err = b[:left], http.ErrContentLength
	}
	_, failed := counted{o, w}.Write(b)
	return cmp.Or(failed, err)
}

// writeStream writes a body that is a stream to w, which counts it, but no more than the declared
// length, and closes it.
func (o *outer) writeStream(w io.Writer, resp *gale.Response) error {
	if o.framing == noBody {
		return resp.CloseBodyStream()
	}
	n := o.streamLength(resp)
	if left := o.length - o.sent; o.length > 0 && (n < 0 || n > left) {
		n = left
	}
	if n < 0 {
		return resp.BodyWriteTo(w)
	}
	return errors.Join(copyKnown(w, resp.BodyStream(), n), resp.CloseBodyStream())
}

// short returns an error if the body was not sent to its declared length.
func (o *outer) short() error {
	if o.framing != noBody && o.sent < o.length {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// end separates o from net/http.
func (o *outer) end() {
	o.sendMu.Lock()
	o.mu.Lock()
	o.w = nil
	o.mu.Unlock()
	o.sendMu.Unlock()
	if o.body != nil {
		o.body.closed.Store(true)
	}
}
