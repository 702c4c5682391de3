package gale

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func prefixes(list ...string) (p []netip.Prefix) {
	for _, s := range list {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// peerCtx returns a context of a request from peer with the given field lines.
func peerCtx(s *Server, peer string, lines ...string) *RequestCtx {
	ctx := &RequestCtx{s: s}
	ctx.SetRemoteAddr(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(peer)))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		ctx.Request.Header.Add(name, value)
	}
	return ctx
}

// TestClientIP proves that headers from a client never decide the result, and that
// headers from trusted proxies do.
func TestClientIP(t *testing.T) {
	const xff, fwd = "X-Forwarded-For: ", "Forwarded: "
	trusted := []string{"10.0.0.0/8", "fd00::/8", "::1/128"}
	for _, c := range []struct {
		name  string
		peer  string
		lines []string
		want  string
	}{
		{"no field", "10.0.0.1:1", nil, "10.0.0.1"},
		{"one proxy", "10.0.0.1:1", []string{xff + "1.2.3.4"}, "1.2.3.4"},
		{"two proxies", "10.0.0.1:1", []string{xff + "1.2.3.4, 10.0.0.2"}, "1.2.3.4"},
		{"two fields", "10.0.0.1:1", []string{xff + "1.2.3.4", xff + "10.0.0.2"}, "1.2.3.4"},
		{"all trusted", "10.0.0.1:1", []string{xff + "10.9.9.9, 10.0.0.2"}, "10.9.9.9"},
		{"spelling of the name", "10.0.0.1:1", []string{"x-forwarded-for: 1.2.3.4"}, "1.2.3.4"},

		{"the peer is a stranger", "5.6.7.8:1", []string{xff + "1.2.3.4"}, "5.6.7.8"},
		{"the peer is a stranger, both fields", "5.6.7.8:1", []string{xff + "10.0.0.1", fwd + "for=10.0.0.1"}, "5.6.7.8"},
		{"spoofed before the proxy's", "10.0.0.1:1", []string{xff + "127.0.0.1, 10.0.0.3, 1.2.3.4"}, "1.2.3.4"},
		{"spoofed in a field of its own", "10.0.0.1:1", []string{xff + "127.0.0.1", xff + "1.2.3.4"}, "1.2.3.4"},
		{"a spoofed chain of proxies", "10.0.0.1:1", []string{xff + "6.6.6.6, 10.0.0.2, 10.0.0.3, 1.2.3.4, 10.0.0.4"}, "1.2.3.4"},
		{"garbage before", "10.0.0.1:1", []string{xff + "\"\\,,[::1, 1.2.3.4"}, "1.2.3.4"},
		{"garbage at the end", "10.0.0.1:1", []string{xff + "1.2.3.4, garbage"}, "10.0.0.1"},
		{"unknown", "10.0.0.1:1", []string{xff + "1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"a spoofed unknown", "10.0.0.1:1", []string{xff + "unknown, 1.2.3.4"}, "1.2.3.4"},
		{"empty elements", "10.0.0.1:1", []string{xff + ", 1.2.3.4 ,, 10.0.0.2,\t,"}, "1.2.3.4"},
		{"empty field", "10.0.0.1:1", []string{xff, fwd + "for=1.2.3.4"}, "10.0.0.1"},

		{"port", "10.0.0.1:1", []string{xff + "1.2.3.4:5678"}, "1.2.3.4"},
		{"bad port", "10.0.0.1:1", []string{xff + "1.2.3.4:http"}, "10.0.0.1"},
		{"long port", "10.0.0.1:1", []string{xff + "1.2.3.4:123456"}, "10.0.0.1"},
		{"no port", "10.0.0.1:1", []string{xff + "1.2.3.4:"}, "10.0.0.1"},
		{"IPv6", "[fd00::1]:1", []string{xff + "2001:DB8::1"}, "2001:db8::1"},
		{"IPv6 in brackets", "[fd00::1]:1", []string{xff + "[2001:db8::1]"}, "2001:db8::1"},
		{"IPv6 with a port", "[fd00::1]:1", []string{xff + "[2001:db8::1]:5678"}, "2001:db8::1"},
		{"IPv6 with a zone", "[::1]:1", []string{xff + "fe80::1%eth0"}, "fe80::1"},
		{"IPv6 with a trusted zone", "[::1]:1", []string{xff + "1.2.3.4, fd00::9%eth0"}, "1.2.3.4"},
		{"IPv4 with a zone", "10.0.0.1:1", []string{xff + "1.2.3.4%eth0"}, "10.0.0.1"},
		{"an empty zone", "10.0.0.1:1", []string{xff + "fe80::1%"}, "10.0.0.1"},
		{"IPv4 in IPv6 form", "10.0.0.1:1", []string{xff + "::ffff:1.2.3.4"}, "1.2.3.4"},
		{"a proxy in IPv6 form", "10.0.0.1:1", []string{xff + "1.2.3.4, ::ffff:10.0.0.2"}, "1.2.3.4"},
		{"a peer in IPv6 form", "[::ffff:10.0.0.1]:1", []string{xff + "1.2.3.4"}, "1.2.3.4"},
		{"a peer with a zone", "[fd00::1%eth0]:1", []string{xff + "1.2.3.4"}, "1.2.3.4"},
		{"IPv4 in brackets", "10.0.0.1:1", []string{xff + "[1.2.3.4]"}, "10.0.0.1"},
		{"open bracket", "10.0.0.1:1", []string{xff + "[2001:db8::1"}, "10.0.0.1"},
		{"octal", "10.0.0.1:1", []string{xff + "1.2.3.04"}, "10.0.0.1"},
		{"short", "10.0.0.1:1", []string{xff + "1.2.3"}, "10.0.0.1"},
		{"a number", "10.0.0.1:1", []string{xff + "16909060"}, "10.0.0.1"},
		{"a name", "10.0.0.1:1", []string{xff + "localhost"}, "10.0.0.1"},
		{"quotes", "10.0.0.1:1", []string{xff + `"1.2.3.4"`}, "10.0.0.1"},
		{"long", "10.0.0.1:1", []string{xff + strings.Repeat("1", 5000)}, "10.0.0.1"},

		{"Forwarded", "10.0.0.1:1", []string{fwd + "for=1.2.3.4"}, "1.2.3.4"},
		{"Forwarded, all pairs", "10.0.0.1:1", []string{fwd + `by=10.0.0.1;For="1.2.3.4:99";proto=https;host="a,b;c"`}, "1.2.3.4"},
		{"Forwarded, IPv6", "10.0.0.1:1", []string{fwd + `for="[2001:db8::1]:_port"`}, "2001:db8::1"},
		{"Forwarded, chain", "10.0.0.1:1", []string{fwd + "for=6.6.6.6, for=1.2.3.4;proto=http,for=10.0.0.2"}, "1.2.3.4"},
		{"Forwarded, fields", "10.0.0.1:1", []string{fwd + "for=6.6.6.6, for=1.2.3.4", "forwarded: for=10.0.0.2"}, "1.2.3.4"},
		{"Forwarded, unknown", "10.0.0.1:1", []string{fwd + "for=1.2.3.4, for=unknown, for=10.0.0.2"}, "10.0.0.2"},
		{"Forwarded, obfuscated", "10.0.0.1:1", []string{fwd + "for=_hidden"}, "10.0.0.1"},
		{"Forwarded, no for", "10.0.0.1:1", []string{fwd + "for=1.2.3.4, proto=https"}, "10.0.0.1"},
		{"Forwarded, two fors", "10.0.0.1:1", []string{fwd + "for=1.2.3.4;for=5.6.7.8"}, "10.0.0.1"},
		{"Forwarded, open quote of a client", "10.0.0.1:1", []string{fwd + `for="1.1.1.1, for=1.2.3.4`}, "1.2.3.4"},
		{"Forwarded, quote of a client and a proxy's", "10.0.0.1:1", []string{fwd + `for="1.1.1.1, for="[2001:db8::1]"`}, "2001:db8::1"},
		{"Forwarded, quotes around proxies", "10.0.0.1:1", []string{fwd + `x="for=6.6.6.6, for=1.2.3.4;proto="`}, "10.0.0.1"},
		{"Forwarded, a backslash", "10.0.0.1:1", []string{fwd + `for=6.6.6.6;x="\", for=1.2.3.4"`}, "10.0.0.1"},
		{"Forwarded, empty elements", "10.0.0.1:1", []string{fwd + ",for=1.2.3.4, ,"}, "1.2.3.4"},
		{"X-Forwarded-For wins", "10.0.0.1:1", []string{fwd + "for=6.6.6.6", xff + "1.2.3.4"}, "1.2.3.4"},
		{"never mixed", "10.0.0.1:1", []string{fwd + "for=6.6.6.6", xff + "10.0.0.2"}, "10.0.0.2"},
	} {
		s := &Server{TrustedProxies: prefixes(trusted...)}
		if got := peerCtx(s, c.peer, c.lines...).ClientIP(); got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		want := netip.MustParseAddrPort(c.peer).Addr().Unmap().WithZone("")
		if got := peerCtx(&Server{}, c.peer, c.lines...).ClientIP(); got != want {
			t.Errorf("%s, no trusted proxies: %s, want %s", c.name, got, want)
		}
	}
}

// TestClientIPServed proves that the peer's address is that of the connection, on both
// engines. On UNIX sockets there is none.
func TestClientIPServed(t *testing.T) {
	h := func(ctx *RequestCtx) { fmt.Fprint(ctx, ctx.ClientIP()) }
	const req = "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6, 1.2.3.4\r\n\r\n"
	onEngines(t, func(t *testing.T, e Engine) {
		for _, c := range []struct {
			network, trusted string
			unix             bool
			want             string
		}{
			{"tcp", "", false, "127.0.0.1"},
			{"tcp", "", true, "127.0.0.1"},
			{"tcp", "127.0.0.0/8", false, "1.2.3.4"},
			{"unix", "127.0.0.0/8", false, "invalid IP"},
			{"unix", "0.0.0.0/0", false, "invalid IP"},
			{"unix", "", true, "1.2.3.4"},
			{"unix", "1.0.0.0/8", true, "6.6.6.6"},
		} {
			s := &Server{Engine: e, Handler: h, TrustUNIXProxies: c.unix, Logger: &testLog{}}
			if c.trusted != "" {
				s.TrustedProxies = prefixes(c.trusted)
			}
			addr := "127.0.0.1:0"
			if c.network == "unix" {
				addr = filepath.Join(t.TempDir(), "s")
			}
			ln, err := net.Listen(c.network, addr)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			conn, err := net.Dial(c.network, ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			tc := newTestConn(t, conn)
			tc.send(req)
			tc.want("GET", 200, c.want)
			s.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzClientIP proves that the result is the peer or an address from the headers. Without
// trusted proxies it is always the peer.
func FuzzClientIP(f *testing.F) {
	for _, seed := range []string{"1.2.3.4, 10.0.0.2", "::ffff:10.0.0.1,[2001:db8::1]:80", `for="[2001:db8::1]:_x", for=10.0.0.2;by=a`, `for="1.1.1.1, for=1.2.3.4`} {
		f.Add(seed, seed, true)
		f.Add(seed, "10.0.0.3", false)
	}
	trusting := &Server{TrustedProxies: prefixes("10.0.0.0/8", "fd00::/8")}
	peer := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, first, second string, rfc bool) {
		name := HeaderXForwardedFor
		if rfc {
			name = HeaderForwarded
		}
		ctx := peerCtx(trusting, "10.0.0.1:1", name+": "+first, name+": "+second)
		got := ctx.ClientIP()
		chain := []netip.Addr{peer}
		for _, v := range ctx.Request.Header.PeekAll(name) {
			for _, part := range strings.FieldsFunc(string(v), func(r rune) bool { return strings.ContainsRune(",;=\" \t", r) }) {
				chain = append(chain, parseNode([]byte(part)))
			}
		}
		if !got.IsValid() || !slices.Contains(chain, got) {
			t.Errorf("%s is not in the chain %v", got, chain)
		}
		ctx.s = &Server{}
		if got := ctx.ClientIP(); got != peer {
			t.Errorf("without trusted proxies: %s", got)
		}
		// An address from a trusted proxy doesn't change because of what a client wrote
		// before it.
		ctx = peerCtx(trusting, "10.0.0.1:1", name+": "+first+", "+map[bool]string{false: "1.2.3.4", true: "for=1.2.3.4"}[rfc])
		if got := ctx.ClientIP(); got != netip.MustParseAddr("1.2.3.4") {
			t.Errorf("%q changes the proxy's word to %s", first, got)
		}
	})
}
