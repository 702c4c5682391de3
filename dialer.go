package gale

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/dial"
)

const (
	// DefaultDialTimeout limits the time of a dial that has no timeout of its own,
	// including name resolution.
	DefaultDialTimeout = 3 * time.Second
	// DefaultDNSCacheDuration is how long the addresses of a host are used
	// before they are looked up again.
	DefaultDNSCacheDuration = time.Minute
)

// defaultDialer dials for the functions of the package and for clients without
// a dialer of their own.
var defaultDialer = &TCPDialer{}

// DialFunc connects to addr, which is a host and a port.
//
// The connection belongs to the caller. A DialFunc doesn't start TLS: clients do
// that on the connection that it returns.
type DialFunc func(addr string) (net.Conn, error)

// DialFuncWithTimeout connects to addr, which is a host and a port, within timeout.
type DialFuncWithTimeout func(addr string, timeout time.Duration) (net.Conn, error)

// Resolver finds the addresses of a host. *net.Resolver is one.
//
// Addresses that are tried one after another are tried in the order of the result.
// RFC 6724 puts the best address first.
type Resolver interface {
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
}

// ErrDialTimeout says that no connection could be made in time. It has a method
// Timeout that returns true, and errors.Is reports that it matches
// context.DeadlineExceeded.
//
// Dialing functions return it inside an [ErrDialWithUpstream].
var ErrDialTimeout error = &dialTimeoutError{}

type dialTimeoutError struct{}

func (*dialTimeoutError) Error() string {
	return errorPrefix + "dialing to the given tcp address timed out"
}

// Timeout reports true.
func (*dialTimeoutError) Timeout() bool { return true }

// Is reports whether target is context.DeadlineExceeded.
func (*dialTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrDialWithUpstream is an error of a dial, with the address that was dialed.
type ErrDialWithUpstream struct {
	// Upstream is the address with its port that was dialed, or the caller's addr
	// if the dial failed before it had an address.
	Upstream string

	err error
}

// Error says what was dialed and what went wrong.
func (e *ErrDialWithUpstream) Error() string {
	return bareErrorPrefix + "error when dialing " + e.Upstream + ": " + errorText(e.err, "no reason given")
}

// Unwrap returns what went wrong.
func (e *ErrDialWithUpstream) Unwrap() error { return e.err }

// Dial connects to addr, a host and a port, with TCP. It is
// [TCPDialer.Dial] of a dialer with default settings.
func Dial(addr string) (net.Conn, error) { return defaultDialer.Dial(addr) }

// DialTimeout is like [Dial] but takes at most timeout.
func DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialTimeout(addr, timeout)
}

// DialDualStack connects to addr, a host and a port, with TCP over IPv4 or
// IPv6. It is [TCPDialer.DialDualStack] of a dialer with default settings.
func DialDualStack(addr string) (net.Conn, error) { return defaultDialer.DialDualStack(addr) }

// DialDualStackTimeout is like [DialDualStack] but takes at most timeout.
func DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialDualStackTimeout(addr, timeout)
}

// FlushDNSCache makes the package's dial functions, and clients without a dialer of
// their own, forget the addresses of all hosts.
func FlushDNSCache() { defaultDialer.FlushDNSCache() }

// TCPDialer makes TCP connections. Its zero value is ready for use. Its methods may
// be called concurrently.
//
// It caches the addresses of hosts for DNSCacheDuration. When a host is dialed in
// the last quarter of that time, its addresses are looked up again in the
// background, so that dials to a host in use don't wait for a lookup. The size of
// the cache is limited.
//
// If a host has several addresses, each dial starts with another one. The next
// address is tried as soon as one has failed, or has not answered for a quarter of
// a second. The first that answers is used. IPv4 and IPv6 addresses are tried in
// turns (RFC 8305: Happy Eyeballs). So an address that doesn't answer delays a dial
// only a little, and so does a family that doesn't work.
//
// A goroutine that dials ends when the dial returns; a lookup ends when no caller
// waits for it, or after half a minute.
type TCPDialer struct {
	// Resolver finds the addresses of hosts. If it is nil, net.DefaultResolver is
	// used. It may be called by several goroutines at once, but not for the same
	// host. It isn't called for hosts that are IP addresses.
	Resolver Resolver

	// LocalAddr is the local address of connections. If nil, the system chooses.
	// Only addresses of its family are dialed, unless it is unspecified.
	LocalAddr *net.TCPAddr

	// Concurrency is how many dials may run at the same time; 0 means any number.
	// Other dials wait, as long as their time limit allows. The value at the first
	// dial counts.
	Concurrency int

	// DNSCacheDuration is how long the addresses of a host are used before they are
	// looked up again. 0 means DefaultDNSCacheDuration, a negative value turns the
	// cache off. The answer that a host doesn't exist is cached for a second at
	// most.
	DNSCacheDuration time.Duration

	// KeepAlive is the period of TCP keep-alive probes. 0 means the default of
	// package net, a negative value turns the probes off.
	KeepAlive time.Duration

	// DisableDNSResolution leaves the names of hosts and ports to package net.
	// There is no Resolver then, no cache, and no taking turns between addresses.
	DisableDNSResolution bool

	once  sync.Once
	slots chan struct{} // one for each running dial; nil without a limit
	names dial.Names
}

// Dial connects to addr, a host and a numeric port such as "foo.bar:80" or
// "[::1]:8080". It takes at most DefaultDialTimeout.
//
// It uses both IPv4 and IPv6. fasthttp's Dial uses only IPv4, and so does this one
// in programs that import the compat module.
//
// See [TCPDialer.DialContext] for its errors.
func (d *TCPDialer) Dial(addr string) (net.Conn, error) {
	return d.DialTimeout(addr, DefaultDialTimeout)
}

// DialTimeout is like Dial but takes at most timeout. If timeout is 0 or negative, it
// returns [ErrDialTimeout] at once.
func (d *TCPDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialTimeout(dialNetwork(false), addr, timeout)
}

// DialDualStack is like Dial, but always uses both IPv4 and IPv6.
func (d *TCPDialer) DialDualStack(addr string) (net.Conn, error) {
	return d.DialDualStackTimeout(addr, DefaultDialTimeout)
}

// DialDualStackTimeout is like DialDualStack but takes at most timeout. If timeout is 0
// or negative, it returns [ErrDialTimeout] at once.
func (d *TCPDialer) DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialTimeout(dialNetwork(true), addr, timeout)
}

// FlushDNSCache forgets the addresses of all hosts. Call it when the network has
// changed. Dials that wait for a lookup still use its result, but it isn't cached.
func (d *TCPDialer) FlushDNSCache() { d.names.Flush() }

func (d *TCPDialer) dialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, addr)
}

// DialContext connects to addr, a host and a numeric port, over network: "tcp" for
// IPv4 and IPv6, "tcp4" or "tcp6". It returns soon after ctx is done, and after
// DefaultDialTimeout if ctx has no deadline. Once connected, the connection doesn't
// depend on ctx.
//
// If the time is up, the error is an [ErrDialWithUpstream] that wraps
// [ErrDialTimeout]. If ctx was cancelled, it wraps context.Canceled. If no address
// could be connected to, it wraps the last error of the system. Errors about addr
// itself, or from looking up its host, are returned without this wrapper.
func (d *TCPDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultDialTimeout)
		defer cancel()
	}
	if err := d.acquire(ctx); err != nil {
		return nil, &ErrDialWithUpstream{Upstream: addr, err: dialEnd(ctx)}
	}
	defer d.release()

	if d.DisableDNSResolution {
		return d.connect(ctx, network, addr)
	}
	addrs, found, err := d.resolve(ctx, network, addr)
	if err != nil {
		if end := dialEnd(ctx); end != nil {
			err = &ErrDialWithUpstream{Upstream: addr, err: end}
		}
		return nil, err
	}
	won := dial.Race(ctx, addrs, func(ctx context.Context, addr string) (net.Conn, error) { return d.connect(ctx, network, addr) })
	if won.Err != nil {
		if end := dialEnd(ctx); end != nil {
			won.Err = &ErrDialWithUpstream{Upstream: won.Addr.String(), err: end}
		}
		return nil, won.Err
	}
	d.names.Answered(found, addrs[0].Addr(), won.Addr.Addr())
	return won.Conn, nil
}

// dialNetwork returns the network to dial: IPv4 and IPv6 if dualStack is set or is
// the default, otherwise only IPv4.
func dialNetwork(dualStack bool) string {
	if dualStack || defaultDualStack {
		return "tcp"
	}
	return "tcp4"
}

// dialEnd returns the error of a dial whose context is done, or nil if ctx isn't
// done.
func dialEnd(ctx context.Context) error {
	err := dial.End(ctx)
	if err == context.DeadlineExceeded {
		return ErrDialTimeout
	}
	return err
}

// acquire waits until another dial may run.
func (d *TCPDialer) acquire(ctx context.Context) error {
	d.once.Do(func() {
		if d.Concurrency > 0 {
			d.slots = make(chan struct{}, d.Concurrency)
		}
	})
	if d.slots == nil {
		return nil
	}
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *TCPDialer) release() {
	if d.slots != nil {
		<-d.slots
	}
}

// connect dials one address.
func (d *TCPDialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: d.KeepAlive}
	if d.LocalAddr != nil {
		dialer.LocalAddr = d.LocalAddr
	}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err == nil {
		return conn, nil
	}
	if end := dialEnd(ctx); end != nil {
		err = end
	}
	return nil, &ErrDialWithUpstream{Upstream: addr, err: err}
}

// resolve returns the addresses of addr, in the order in which to try them, at
// least one if the error is nil. found is empty if the host is an IP address.
func (d *TCPDialer) resolve(ctx context.Context, network, addr string) (addrs []netip.AddrPort, found dial.Answer, err error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, found, err
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return nil, found, err
	}
	if port < 0 || port > 65535 || service[0] == '+' {
		err := &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "invalid port", Addr: service}}
		return nil, found, &ErrDialWithUpstream{Upstream: addr, err: err}
	}

	if ip, err := netip.ParseAddr(host); err == nil {
		if ip = ip.Unmap(); !d.allows(network, ip) {
			return nil, found, dial.ErrNoAddresses
		}
		return []netip.AddrPort{netip.AddrPortFrom(ip, uint16(port))}, found, nil
	}
	var resolver dial.Resolver = d.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	keep := d.DNSCacheDuration
	if keep == 0 {
		keep = DefaultDNSCacheDuration
	}
	found, err = d.names.Lookup(ctx, host, resolver, keep)
	if err != nil {
		return nil, found, err
	}
	addrs = make([]netip.AddrPort, 0, len(found.IPs))
	for _, ip := range found.IPs {
		if d.allows(network, ip) {
			addrs = append(addrs, netip.AddrPortFrom(ip, uint16(port)))
		}
	}
	if len(addrs) == 0 {
		return nil, found, dial.ErrNoAddresses
	}
	return found.Order(addrs), found, nil
}

// allows reports whether ip can be dialed over network, from LocalAddr.
func (d *TCPDialer) allows(network string, ip netip.Addr) bool {
	if network == "tcp4" && !ip.Is4() || network == "tcp6" && ip.Is4() {
		return false
	}
	if d.LocalAddr == nil || d.LocalAddr.IP == nil || d.LocalAddr.IP.IsUnspecified() {
		return true
	}
	return ip.Is4() == (d.LocalAddr.IP.To4() != nil)
}

// AddMissingPort returns addr with a port: if it has none, 80 is added, or 443 if
// isTLS. An empty addr stays empty. A literal IPv6 address must be in brackets, as
// in "[::1]:80" or "[fe80::1%lo0]".
func AddMissingPort(addr string, isTLS bool) string {
	if addr == "" || hasPort(addr) {
		return addr
	}
	if isTLS {
		return addr + ":443"
	}
	return addr + ":80"
}

// hasPort reports whether a port follows the host in addr.
func hasPort(addr string) bool {
	if strings.HasPrefix(addr, "[") {
		end := strings.LastIndexByte(addr, ']')
		return end < 0 || strings.HasPrefix(addr[end+1:], ":") // or addr is malformed
	}
	return strings.IndexByte(addr, ':') >= 0
}
