package gale

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/bytesconv"
)

// hostSweepPeriod is how often a Client looks for hosts that it can forget. It
// forgets a host that was unused for at least this long.
const hostSweepPeriod = 10 * time.Second

// clientHost is what a Client knows about one host.
type clientHost struct {
	// uses counts the requests that use this host now. It only grows while
	// Client.mu is held, so that no request holds a host that was forgotten.
	uses atomic.Int64
	hc   atomic.Pointer[HostClient] // nil before it is made
	once sync.Once
	err  error
}

// hostMap holds the hosts of one scheme.
type hostMap struct {
	byName map[string]*clientHost // by the host as the URI spells it
	byAddr map[string]*clientHost // by host and port
}

// find returns the host of the given name, counted as used, or nil. The caller
// holds the lock.
func (m *hostMap) find(name []byte) *clientHost {
	h := m.byName[string(name)]
	if h != nil {
		h.uses.Add(1)
	}
	return h
}

// add returns the host at addr, counted as used, and remembers its name. The
// caller holds the lock.
func (m *hostMap) add(name, addr string) *clientHost {
	h := m.byAddr[addr]
	if h == nil {
		if m.byAddr == nil {
			m.byAddr, m.byName = make(map[string]*clientHost), make(map[string]*clientHost)
		}
		h = new(clientHost)
		m.byAddr[addr] = h
	}
	m.byName[name] = h
	h.uses.Add(1)
	return h
}

// forget removes the hosts for which unused reports true. The caller holds the
// lock.
func (m *hostMap) forget(unused func(*clientHost) bool) {
	gone := map[*clientHost]bool{}
	for addr, h := range m.byAddr {
		if unused(h) {
			delete(m.byAddr, addr)
			gone[h] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	for name, h := range m.byName {
		if gone[h] {
			delete(m.byName, name)
		}
	}
}

// schemeTLS reports whether scheme is https. Any scheme except http and https is an
// error.
func schemeTLS(scheme []byte) (bool, error) {
	switch string(scheme) {
	case "http":
		return false, nil
	case "https":
		return true, nil
	}
	return false, errorf("unsupported protocol %q. http and https are supported", scheme)
}

// acquireHost returns the host that req goes to. The caller gives it back by
// decrementing uses.
func (c *Client) acquireHost(req *Request) (*clientHost, error) {
	if err := req.parseURI(); err != nil {
		req.uriParsed = req.uriBad // the next call must fail in the same way
		return nil, err
	}
	u := &req.uri
	isTLS, err := schemeTLS(u.Scheme())
	if err != nil {
		return nil, err
	}
	name := u.Host()
	if len(name) == 0 {
		return nil, fmt.Errorf("%w: the URL %q names no host, as http://example.com/ does", errRequestHostRequired, req.Header.RequestURI())
	}
	route, err := c.routeOf(u, isTLS)
	if err != nil {
		return nil, err
	}
	m := &c.hosts[boolIndex(isTLS)]
	if route != nil {
		name = bytesconv.S2B(route.name(name))
	}
	c.mu.RLock()
	h := m.find(name)
	c.mu.RUnlock()
	if h == nil {
		if h, err = c.addHost(m, name, u.Host(), isTLS, route); err != nil {
			return nil, err
		}
	}
	if h.hc.Load() == nil {
		if err := c.makeHost(h, m, hostAddr(u.Host(), isTLS), isTLS, route); err != nil {
			h.uses.Add(-1)
			return nil, err
		}
	}
	return h, nil
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hostAddr returns host with a port.
func hostAddr(host []byte, isTLS bool) string {
	return AddMissingPort(string(bytes.TrimSuffix(host, []byte{':'})), isTLS)
}

// checkHost returns an error if a host, with its port if it has one, can't be sent
// in Host. That is so if it is only a port (RFC 9110 section 4.2.1), which dialers
// would read as this machine, or if it isn't ASCII (RFC 9110 section 7.2). An empty
// host is no error here.
func checkHost(host []byte) error {
	if len(host) > 0 && host[0] == ':' {
		return fmt.Errorf("gale: invalid host %q: a port alone names no host, as localhost:8080 does", host)
	}
	if bytesconv.IsASCII(host) {
		return nil
	}
	i := bytes.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf })
	_, n := utf8.DecodeRune(host[i:])
	return fmt.Errorf("%w: write %q in ASCII (punycode), as golang.org/x/net/idna does", InvalidHostError(host[i:i+n]), host)
}

// addHost is acquireHost for a host whose name isn't known yet.
func (c *Client) addHost(m *hostMap, name, host []byte, isTLS bool, route *proxyRoute) (*clientHost, error) {
	if bytes.IndexByte(host, ',') >= 0 {
		return nil, errorf("invalid host %q: use a host client for multiple hosts", host)
	}
	if err := checkHost(host); err != nil {
		return nil, err
	}
	addr := hostAddr(host, isTLS)
	if route != nil {
		addr = string(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := m.add(strings.Clone(string(name)), addr)
	if c.sweeper == nil {
		c.sweeper = time.AfterFunc(hostSweepPeriod, c.sweep)
	}
	return h, nil
}

// makeHost makes the HostClient of h, or waits for it if another request is making
// it. If that fails, h is forgotten.
func (c *Client) makeHost(h *clientHost, m *hostMap, addr string, isTLS bool, route *proxyRoute) error {
	h.once.Do(func() {
		h.err = fmt.Errorf("gale: Client.ConfigureClient panicked for %s", addr)
		defer func() {
			if h.err == nil {
				return
			}
			c.mu.Lock()
			m.forget(func(other *clientHost) bool { return other == h })
			c.mu.Unlock()
		}()
		hc := c.newHostClient(addr, isTLS)
		if route != nil {
			route.apply(hc)
		}
		if c.ConfigureClient != nil {
			if err := c.ConfigureClient(hc); err != nil {
				h.err = err
				return
			}
		}
		h.err = nil
		h.hc.Store(hc)
	})
	return h.err
}

// newHostClient returns a HostClient with the settings of c.
func (c *Client) newHostClient(addr string, isTLS bool) *HostClient {
	return &HostClient{
		Addr:                          addr,
		IsTLS:                         isTLS,
		Transport:                     c.Transport,
		DialTimeout:                   c.DialTimeout,
		Dial:                          c.Dial,
		DialContext:                   c.DialContext,
		TLSConfig:                     c.TLSConfig,
		RetryIf:                       c.RetryIf,
		RetryIfErr:                    c.RetryIfErr,
		RetryIfErrUpstream:            c.RetryIfErrUpstream,
		Name:                          c.Name,
		MaxConns:                      c.MaxConnsPerHost,
		MaxIdleConnDuration:           c.MaxIdleConnDuration,
		MaxConnDuration:               c.MaxConnDuration,
		MaxIdemponentCallAttempts:     c.MaxIdemponentCallAttempts,
		ReadBufferSize:                c.ReadBufferSize,
		WriteBufferSize:               c.WriteBufferSize,
		ReadTimeout:                   c.ReadTimeout,
		WriteTimeout:                  c.WriteTimeout,
		ResponseHeaderTimeout:         c.ResponseHeaderTimeout,
		MaxDialDuration:               c.MaxDialDuration,
		TLSHandshakeTimeout:           c.TLSHandshakeTimeout,
		ExpectContinueTimeout:         c.ExpectContinueTimeout,
		MaxResponseBodySize:           c.MaxResponseBodySize,
		MaxConnWaitTimeout:            c.MaxConnWaitTimeout,
		ConnPoolStrategy:              c.ConnPoolStrategy,
		HTTP2:                         c.HTTP2,
		NoDefaultUserAgentHeader:      c.NoDefaultUserAgentHeader,
		DialDualStack:                 c.DialDualStack,
		DisableHeaderNamesNormalizing: c.DisableHeaderNamesNormalizing,
		RefuseFoldedFields:            c.RefuseFoldedFields,
		DisablePathNormalizing:        c.DisablePathNormalizing,
		StreamResponseBody:            c.StreamResponseBody,
		Trace:                         c.Trace,
	}
}

// sweep forgets the hosts that aren't used. It runs again as long as hosts are
// left.
func (c *Client) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	long := time.Now().Add(-hostSweepPeriod)
	left := 0
	for i := range c.hosts {
		m := &c.hosts[i]
		m.forget(func(h *clientHost) bool { return h.unused(long) })
		left += len(m.byAddr)
	}
	if left == 0 {
		c.sweeper = nil
		return
	}
	c.sweeper.Reset(hostSweepPeriod)
}

// unused reports whether h has no connections and wasn't used since the given
// time. Client.mu is held, so that no request begins to use it.
func (h *clientHost) unused(since time.Time) bool {
	if h.uses.Load() != 0 {
		return false
	}
	hc := h.hc.Load()
	return hc != nil && hc.ConnsCount() == 0 && hc.LastUseTime().Before(since)
}

// hostClients returns the HostClients that exist at the moment.
func (c *Client) hostClients() []*HostClient {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []*HostClient
	for i := range c.hosts {
		for _, h := range c.hosts[i].byAddr {
			if hc := h.hc.Load(); hc != nil {
				all = append(all, hc)
			}
		}
	}
	return all
}
