package adaptor

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
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
	failed  error   // why the response can't be sent completely, as far as it is known

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

	ended atomic.Bool // see end
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
	o.ended.Store(true)
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

// Watch has nothing to watch: when the client leaves, Context ends.
func (o *outer) Watch(door.Done) (stop func(), over error) {
	if o.ended.Load() {
		over = gale.ErrRequestDone
	}
	return nil, over
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
func (o *outer) CloseBody(*gale.RequestCtx, bool) {
	if o.body != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.w != nil && !o.sealed && !o.taken {
			o.endReads()
		}
	}
}

// Reading reports false: the trailer section of the request isn't added to it.
func (o *outer) Reading() bool { return false }

// Hands says that the connection is handed over after the response.
func (o *outer) Hands() door.Hands { return door.HandsConn }

// endReads is CloseBody under mu, or after end: no other goroutine sets the deadline meanwhile.
func (o *outer) endReads() {
	o.body.closed.Store(true)
	if !o.body.whole.Load() {
		_ = o.rc.SetReadDeadline(clock.LongAgo)
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

// Interrupt has nothing to do: after end nothing is sent.
func (o *outer) Interrupt() {}

// end separates o from net/http.
func (o *outer) end() {
	o.ended.Store(true)
	o.sendMu.Lock()
	o.mu.Lock()
	o.w = nil
	o.mu.Unlock()
	o.sendMu.Unlock()
	if o.body != nil {
		o.body.closed.Store(true)
	}
}
