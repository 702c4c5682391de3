package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/dial"
)

// addrList holds the addresses of a HostClient, which are used in turns.
type addrList struct {
	mu   sync.Mutex
	list []string
	next int
}

// nextOf returns the next address of list, a list separated by commas.
func (a *addrList) nextOf(list string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		for addr := range strings.SplitSeq(list, ",") {
			if addr = strings.TrimSpace(addr); addr != "" || list == "" {
				a.list = append(a.list, addr)
			}
		}
	}
	if len(a.list) == 0 {
		return ""
	}
	addr := a.list[a.next%len(a.list)]
	a.next++
	return addr
}

// count returns how many addresses list has.
func (a *addrList) count(list string) int {
	if list == "" {
		return 1
	}
	return max(1, strings.Count(list, ",")+1)
}

// dialReserved makes a connection for which a place in the pool is reserved. If
// that fails, or the call ends before, the place is given back.
func (c *HostClient) dialReserved(k *call) (wire, error) {
	c.pool.count(&c.pool.stats.Dials)
	if c.Addr == "" && c.Dial == nil && c.DialTimeout == nil && c.DialContext == nil {
		c.unreserve()
		return nil, errNoAddr
	}
	addr := c.addrs.nextOf(c.Addr)
	k.upstream = addr
	patient := c.DialContext == nil && (c.Dial != nil || c.DialTimeout != nil)
	var cc *clientConn
	var err error
	if !patient || k.ctx == nil && k.deadline == 0 && c.MaxDialDuration <= 0 {
		cc, err = c.connectReserved(*k, addr)
	} else {
		cc, err = c.dialApart(*k, addr)
	}
	if err != nil {
		return nil, err
	}
	return c.adopt(k, cc), nil
}

// connectReserved is connect that gives the place back if there is no connection.
func (c *HostClient) connectReserved(k call, addr string) (cc *clientConn, err error) {
	defer func() {
		if cc == nil { // for example, Dial has ended the goroutine
			c.dialFailed()
		}
	}()
	if cc, err = c.connect(k, addr); err == nil && !cc.isH2 && !k.http1 {
		c.speaksHTTP1()
	}
	return cc, err
}

func (c *HostClient) dialFailed() {
	c.pool.count(&c.pool.stats.DialErrors)
	c.unreserve()
}

func (c *HostClient) network() string {
	if c.DialDualStack || defaultDualStack {
		return "tcp"
	}
	return "tcp4"
}

// dialApart runs a dialer that has no time limit in a goroutine of its own, and
// returns when the call ends. Other requests use a connection that comes later.
func (c *HostClient) dialApart(k call, addr string) (*clientConn, error) {
	type result struct {
		cc  *clientConn
		err error
	}
	done := make(chan result)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		r := result{err: errNoConn} // in case Dial ends the goroutine
		defer func() {
			select {
			case done <- r:
			case <-ended:
				if r.err == nil {
					c.adoptIdle(r.cc)
				}
			}
		}()
		r.cc, r.err = c.connectReserved(k, addr)
	}()
	ctx, cancel := k.context(c.MaxDialDuration)
	defer cancel()
	select {
	case r := <-done:
		return r.cc, r.err
	case <-ctx.Done():
		return nil, k.ended(ctx.Err())
	}
}

// context returns a context that ends with the call, and after d if that is
// positive.
func (k *call) context(d time.Duration) (context.Context, context.CancelFunc) {
	ctx := k.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if t := k.until(d); t != 0 {
		return context.WithTimeout(ctx, time.Duration(t-clock.Ticks()))
	}
	return ctx, func() {}
}

// late reports whether the deadline of the call's context has passed: its own timer may
// fire after that of a dialer.
func (k *call) late() bool {
	if k.ctx == nil {
		return false
	}
	d, ok := k.ctx.Deadline()
	return ok && !time.Now().Before(d)
}

// ended returns the error of a call, or of a phase of it, that failed with err
// because its context has ended.
func (k *call) ended(err error) error {
	if k.ctx != nil && k.ctx.Err() != nil {
		return k.ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if k.deadline == 0 || clock.Ticks() < k.deadline {
			return ErrDialTimeout
		}
		return ErrTimeout
	}
	return err
}

// connect dials addr, with TLS if the client uses it. If one of the user's
// functions panics, that is an error.
func (c *HostClient) connect(k call, addr string) (cc *clientConn, err error) {
	var nc net.Conn
	returned := false
	defer func() {
		if returned {
			return
		}
		p, trace := recover(), debug.Stack() // nil if a function has ended the goroutine
		if nc != nil {
			_ = closeCalmly(nc)
		}
		if p != nil {
			cc, err = nil, fmt.Errorf("gale: connecting to %q panicked: %v\n%s", addr, p, trace)
		}
	}()
	cc, err = c.connectTo(k, addr, &nc)
	returned = true
	return cc, err
}

// connectTo is connect without care for panics. It stores the connection in made as soon as
// there is one, and closes it before it returns an error.
func (c *HostClient) connectTo(k call, addr string, made *net.Conn) (cc *clientConn, err error) {
	if c.IsTLS {
		if err := checkServerName(c.TLSConfig, addr); err != nil {
			return nil, err
		}
	}
	from := clock.Ticks()
	nc, err := c.dial(k, addr)
	if err == nil && nc == nil {
		err = errNoConn
	}
	*made = nc
	c.Trace.dialed(addr, nc, time.Duration(clock.Ticks()-from), err)
	if err != nil {
		switch {
		case k.mustEnd() != nil || err == context.DeadlineExceeded:
			err = k.ended(err)
		case errors.Is(err, context.DeadlineExceeded) && k.late():
			err = context.DeadlineExceeded
		}
		return nil, err
	}
	tc, own := nc.(*tls.Conn)
	switch {
	case c.IsTLS && !own:
		if nc, err = c.handshake(k, nc, addr); err != nil {
			return nil, err
		}
		*made = nc
	case own && k.kind != callRaw && c.offersHTTP2() && !tc.ConnectionState().HandshakeComplete:
		if err = c.shake(k, tc, addr); err != nil {
			return nil, err
		}
	}
	isH2, err := c.isH2(&k, nc, addr)
	if err != nil {
		_ = closeCalmly(nc)
		return nil, err
	}
	cc = newClientConn(nc, addr)
	cc.c, cc.isH2 = c, isH2
	return cc, nil
}

// dial calls the user's dial function, or the default dialer if there is none.
func (c *HostClient) dial(k call, addr string) (net.Conn, error) {
	if c.dialALPN != nil {
		return c.dialOffering(&k, addr)
	}
	if c.DialContext == nil && c.DialTimeout != nil {
		var timeout time.Duration
		if t := k.until(c.MaxDialDuration); t != 0 {
			timeout = max(time.Duration(t-clock.Ticks()), 1)
		}
		return c.DialTimeout(addr, timeout)
	}
	if c.DialContext == nil && c.Dial != nil {
		return c.Dial(addr)
	}
	ctx, cancel := k.context(c.MaxDialDuration)
	defer cancel()
	if c.DialContext != nil {
		return c.DialContext(ctx, c.network(), addr)
	}
	return defaultDialer.DialContext(ctx, c.network(), AddMissingPort(addr, c.IsTLS))
}

// errNoConn is the error of a dialer that returned nothing.
var errNoConn = dial.ErrNoConn

// handshake turns nc into a connection with TLS, or closes it.
func (c *HostClient) handshake(k call, nc net.Conn, addr string) (net.Conn, error) {
	tc := tls.Client(nc, c.tls.get(c.TLSConfig, addr, c.alpn(&k)))
	if err := c.shake(k, tc, addr); err != nil {
		return nil, err
	}
	return tc, nil
}

// shake does the handshake of tc, or closes it.
func (c *HostClient) shake(k call, tc *tls.Conn, addr string) error {
	limit := c.TLSHandshakeTimeout
	if limit == 0 {
		limit = DefaultTLSHandshakeTimeout
	}
	ctx, cancel := k.context(limit)
	defer cancel()
	from := clock.Ticks()
	err := tc.HandshakeContext(ctx)
	c.Trace.tlsDone(addr, tc, time.Duration(clock.Ticks()-from), err)
	if err == nil {
		return nil
	}
	_ = tc.NetConn().Close()
	switch {
	case ctx.Err() == nil:
		return c.shakeError(addr, err)
	case k.mustEnd() == nil:
		return ErrTLSHandshakeTimeout
	}
	return k.ended(ctx.Err())
}

// checkServerName returns an error if TLS over a connection to addr would verify
// nothing, because neither the user's configuration nor addr has the name that the
// certificate must have.
func checkServerName(user *tls.Config, addr string) error {
	if user != nil && (user.ServerName != "" || user.InsecureSkipVerify) {
		return nil
	}
	host, _, err := net.SplitHostPort(AddMissingPort(addr, true))
	if err == nil && host == "" {
		err = errors.New("it has no host")
	}
	if err != nil {
		return fmt.Errorf("gale: cannot determine tls server name from %q: set TLSConfig.ServerName: %w", addr, err)
	}
	return nil
}

// tlsConfigs are the TLS configurations by address.
type tlsConfigs struct {
	mu sync.Mutex
	m  map[tlsKey]*tls.Config
}

type tlsKey struct {
	addr string
	alpn alpnChoice
}

// get returns the configuration for addr that offers the protocols of alpn, made from the
// user's, which may be nil.
func (t *tlsConfigs) get(user *tls.Config, addr string, alpn alpnChoice) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tlsKey{addr, alpn}
	if cfg := t.m[key]; cfg != nil {
		return cfg
	}
	var cfg *tls.Config
	if user != nil {
		cfg = user.Clone()
	} else {
		cfg = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(AddMissingPort(addr, true))
		if err != nil {
			host = addr
		}
		cfg.ServerName = host
	}
	cfg.NextProtos = alpn.names(cfg.NextProtos)
	if t.m == nil {
		t.m = make(map[tlsKey]*tls.Config)
	}
	t.m[key] = cfg
	return cfg
}
