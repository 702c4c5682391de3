package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/galehttp/gale"
)

// hostsConfig says for which host names requests are answered. A page of any site can let its own
// host name lead to this machine (DNS rebinding): for the browser, what it gets from here is then
// its own. The Host of the request still says the name of that site.
type hostsConfig struct {
	allowed hostsFlag // of -allow-host
	checked bool      // set by decide
	machine string    // the name of this machine
	address string    // the host of -addr
}

func (c *hostsConfig) flags(fs *flag.FlagSet) {
	fs.Var(&c.allowed, "allow-host", "serve requests for these host `names`, too, separated by commas; * for all; may be given several times. Needed behind a proxy or tunnel if the server listens on this machine only; on other addresses all names are served without the flag")
}

// hostsFlag is a list of host names.
type hostsFlag []string

func (f *hostsFlag) String() string { return strings.Join(*f, ",") }

func (f *hostsFlag) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		host, _, ok := hostPort("http", name)
		if name != "*" && (!ok || !strings.EqualFold(host, name)) {
			return errors.New("want host names without a port, such as files.example.com, or *")
		}
		*f = append(*f, strings.ToLower(name))
	}
	return nil
}

// decide sets for which host names a server that listens at addr answers. It is called before the
// server serves.
func (c *hostsConfig) decide(cfg *serveConfig, addr net.Addr) {
	tcp, ok := addr.(*net.TCPAddr)
	local := ok && tcp.IP.IsLoopback()
	open := cfg.auth.by == nil && !cfg.tlsSelfSigned && cfg.tlsCert == ""
	c.checked = len(c.allowed) > 0 || local && open
	c.address = cfg.address.host
	c.machine, _ = os.Hostname()
}

// serves reports whether host, the authority that a client has asked for, is served.
func (c *hostsConfig) serves(host string) bool {
	if host == "" {
		return true // HTTP/1.0, which no browser speaks
	}
	name, _, ok := hostPort("http", strings.ToLower(host))
	if !ok {
		return false
	}
	name = strings.TrimSuffix(name, ".")
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	for _, own := range append([]string{c.machine, c.address}, c.allowed...) {
		if own == "*" || strings.EqualFold(name, strings.TrimSuffix(own, ".")) {
			return true
		}
	}
	return false
}

// withHosts answers 421 (RFC 9110 section 15.5.20) to requests for host names of others.
func withHosts(h gale.RequestHandler, c *hostsConfig) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if c.checked {
			for _, host := range [][]byte{ctx.Request.Header.Host(), ctx.Host()} { // of the field, and of the target
				if !c.serves(string(host)) {
					errorPage(ctx, gale.StatusMisdirectedRequest, fmt.Sprintf("This server doesn't serve the host name %q. If it should, start it with -allow-host and that name.", host))
					return
				}
			}
		}
		h(ctx)
	}
}
