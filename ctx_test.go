package gale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A request without a function pays nothing, and one with a function doesn't allocate.
func TestBeforeSendAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("contexts are not used again with the race detector")
	}
	var ctx RequestCtx
	hook := func(ctx *RequestCtx) { ctx.Response.Header.Set("X-Hook", "1") }
	ctx.Request.Header.Set("X-Field", "value")
	once := func() {
		ctx.reset()
		ctx.Request.SetRequestURI("/path")
		ctx.BeforeSend(hook)
		ctx.BeforeSend(hook)
		if !ctx.beforeSend() || len(ctx.Response.Header.Peek("X-Hook")) == 0 {
			t.Error("the functions have not run")
		}
	}
	once()
	if n := testing.AllocsPerRun(100, once); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzBasicAuth proves that accepted credentials are what net/http reads, without control
// characters.
func FuzzBasicAuth(f *testing.F) {
	for _, seed := range []string{"Basic YTpi", "basic  YTpi", "Basic", "Basic YTpiAA==", "Bearer x", "Basic =", "Basic YTpi\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		user, password, ok := parseBasicAuth([]byte(v))
		if !ok {
			if user+password != "" {
				t.Errorf("%q: %q, %q without ok", v, user, password)
			}
			return
		}
		if strings.ContainsFunc(user+password, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.Contains(user, ":") {
			t.Errorf("%q: %q, %q", v, user, password)
		}
		r := http.Request{Header: http.Header{"Authorization": {"Basic " + strings.Trim(v[len("Basic "):], " ")}}}
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			t.Errorf("%q: %q, %q, but net/http has %q, %q, %v", v, user, password, u, p, ok)
		}
	})
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
		s := &Server{TrustedProxies: peers.Prefixes(trusted...)}
		if got := peerCtx(s, c.peer, c.lines...).ClientIP(); got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		want := netip.MustParseAddrPort(c.peer).Addr().Unmap().WithZone("")
		if got := peerCtx(&Server{}, c.peer, c.lines...).ClientIP(); got != want {
			t.Errorf("%s, no trusted proxies: %s, want %s", c.name, got, want)
		}
	}
}

// FuzzClientIP proves that the result is the peer or an address from the headers. Without
// trusted proxies it is always the peer.
func FuzzClientIP(f *testing.F) {
	for _, seed := range []string{"1.2.3.4, 10.0.0.2", "::ffff:10.0.0.1,[2001:db8::1]:80", `for="[2001:db8::1]:_x", for=10.0.0.2;by=a`, `for="1.1.1.1, for=1.2.3.4`} {
		f.Add(seed, seed, true)
		f.Add(seed, "10.0.0.3", false)
	}
	trusting := &Server{TrustedProxies: peers.Prefixes("10.0.0.0/8", "fd00::/8")}
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

// Done returns a closed channel after a shutdown has begun.
func TestDoneDuringShutdown(t *testing.T) {
	for _, engine := range peers.Engines[Engine]() {
		begun, stopped := make(chan struct{}), make(chan struct{})
		ts := startServer(t, &Server{Engine: engine}, func(ctx *RequestCtx) {
			close(begun)
			<-stopped
			<-ctx.Done()
			if err := context.Cause(ctx); err != context.Canceled {
				t.Errorf("%v: the cause is %v, want context.Canceled", engine, err)
			}
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		<-begun
		ts.s.stop(nil, 1)
		close(stopped)
		c.Want("GET", 200, "")
	}
}

// Fail keeps the headers that were set before, except those of the old body.
func TestFailKeepsFields(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		var closed atomic.Int32
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			h := &ctx.Response.Header
			for _, name := range contentFields {
				if name != HeaderTransferEncoding && name != HeaderContentLength {
					h.Set(name, "x-"+name)
				}
			}
			h.Set("X-Set", "1")
			h.Set("Cache-Control", "no-store")
			h.SetStatusMessage([]byte("Fine"))
			var cookie Cookie
			cookie.SetKey("k")
			cookie.SetValue("v")
			h.SetCookie(&cookie)
			switch string(ctx.Path()) {
			case "/stream":
				ctx.SetBodyStream(peers.CountedClose{Reader: strings.NewReader("old"), N: &closed}, -1)
			case "/length":
				ctx.SetBodyStream(peers.CountedClose{Reader: strings.NewReader("old"), N: &closed}, 3)
			case "/skip":
				ctx.SetBodyString("old")
				ctx.Response.SkipBody = true
			case "/hijack":
				ctx.Hijack(func(net.Conn) { t.Error("hijacked") })
			}
			ctx.Fail(StatusConflict, errors.New("taken"))
		})
		c := ts.Dial()
		for _, path := range []string{"/", "/stream", "/length", "/skip", "/hijack"} {
			c.Send(peers.Get(path))
			a := c.Want("GET", StatusConflict, "taken")
			for _, name := range contentFields {
				if v := a.Header.Get(name); strings.HasPrefix(v, "x-") {
					t.Errorf("%s: %s is %q", path, name, v)
				}
			}
			if a.Status != "409 Conflict" || a.ContentLength != 5 || a.Header.Get("Content-Type") != plainText || a.Header.Get("X-Set") != "1" ||
				a.Header.Get("Set-Cookie") != "k=v" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %s %v", path, a.Status, a.Header)
			}
		}
		c.Send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
		c.Want("HEAD", StatusConflict, "")
		c.WantOpen()
		if closed.Load() != 2 {
			t.Errorf("%d streams were closed", closed.Load())
		}
	})
}

// With Slog the error of a 5xx is logged with attributes, but without what clients sent
// if that must not be logged.
func TestFailSlog(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var b bytes.Buffer
		var ctx RequestCtx
		ctx.s = &Server{Slog: slog.New(slog.NewTextHandler(&b, nil)), SecureErrorLogMessage: secure}
		ctx.Request.SetRequestURI("/path?query")
		ctx.Fail(502, errors.New("upstream is down"))
		for _, want := range []string{"level=ERROR", "status=502", `error="upstream is down"`} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q lacks %s", &b, want)
			}
		}
		for _, sent := range []string{"method=GET", "path=/path", "remote=0.0.0.0:0"} {
			if strings.Contains(b.String(), sent) == secure {
				t.Errorf("SecureErrorLogMessage %v: %q", secure, &b)
			}
		}
	}
}

// Clients that prefer JSON get problem details, from every place where the server itself
// makes the body of an error, if the head was read.
func TestFailJSON(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, MaxRequestBodySize: 10}, func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/fail":
				ctx.Fail(404, errors.New("no \"user\"\r\n<b>\x00\xff"))
			case "/panic":
				panic("on purpose")
			case "/error":
				ctx.Error("text", 400)
			}
		})
		const accept = "Accept: application/json\r\n"
		for name, test := range map[string]struct {
			in   string
			want problem
		}{
			"fail":      {"GET /fail HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n", problem{"about:blank", "Not Found", 404, "no \"user\"\r\n<b>\x00\ufffd"}},
			"panic":     {"GET /panic HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n", problem{"about:blank", "Internal Server Error", 500, ""}},
			"too large": {"POST / HTTP/1.1\r\nHost: h\r\n" + accept + "Content-Length: 11\r\n\r\n", problem{"about:blank", "Request Entity Too Large", 413, "Too big request body"}},
			"Expect":    {"POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n" + accept + "\r\n", problem{"about:blank", "Expectation Failed", 417, "expectation failed"}},
		} {
			c := ts.Dial()
			c.Send(test.in)
			a := c.Answer("GET")
			var got problem
			if err := json.Unmarshal([]byte(a.Text), &got); err != nil || got != test.want || a.StatusCode != test.want.Status {
				t.Errorf("%s: %d %s, %v", name, a.StatusCode, a.Text, err)
			}
			if a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("Vary") != "Accept" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
		for name, in := range map[string]string{
			"a head that is malformed": "GET / HTTP/1.1\r\nHost: h\r\n" + accept + "X x\r\n\r\n",
			"another media type":       "GET /fail HTTP/1.1\r\nHost: h\r\nAccept: text/html, application/json;q=0.9\r\n\r\n",
			"all the same":             "GET /fail HTTP/1.1\r\nHost: h\r\nAccept: application/json, text/plain, */*\r\n\r\n",
			"ctx.Error":                "GET /error HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n",
		} {
			c := ts.Dial()
			c.Send(in)
			a := c.Answer("GET")
			vary := a.Header.Values("Vary")
			if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || (len(vary) == 1 && vary[0] == "Accept") != (name != "ctx.Error") {
				t.Errorf("%s: %v %q", name, a.Header, a.Text)
			}
		}
	})
}

// Done of a detached context is closed last: not when the client leaves or the server shuts
// down, but when the server has used the context for the last time. Context ends at once. Both
// have the same cause. What was got before Detach ends with Context, and Err tells of it: package
// context panics if it finds no error when a channel is closed.
func TestDetachedDoneIsLast(t *testing.T) {
	type way struct {
		name    string
		version int
	}
	for _, w := range []way{{"HTTP1", 1}, {"HTTP2", 2}} {
		for i, event := range []string{"the client leaves", "shutdown", "none"} {
			for j, response := range []string{"bytes", "unread", "stream", "flushed", "panic", "abort"} {
				for k, before := range []bool{false, true} {
					if !gate.Full() && (i+j+w.version)%2 != k {
						continue // each pair of two is sent, not each triple
					}
					t.Run(fmt.Sprintf("%s/%s/%s/Done before %v", w.name, event, response, before), func(t *testing.T) {
						peers.OnEngines(t, func(t *testing.T, e Engine) { detachedDone(t, e, w.version, event, response, before) })
					})
				}
			}
		}
	}
}

// stopper is a body stream that waits in Read until it may go on.
type stopper struct {
	reached chan<- struct{} // closed by the first Read
	goOn    <-chan struct{}
}

func (s stopper) Read(p []byte) (int, error) {
	close(s.reached)
	<-s.goOn
	return copy(p, "stream"), io.EOF
}

func detachedDone(t *testing.T, e Engine, version int, event, response string, before bool) {
	ended := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	entered, goOn := make(chan *RequestCtx, 1), make(chan struct{})
	reached := make(chan struct{}) // the point where the handler or the stream waits
	var early, derived context.Context
	var channel <-chan struct{}
	s := &Server{Engine: e, Logger: peers.DiscardLog{}, HTTP2: HTTP2Config{H2C: true}, Handler: func(ctx *RequestCtx) {
		early = ctx.Context()
		if before {
			channel = ctx.Done()
			var cancel context.CancelFunc
			derived, cancel = context.WithCancel(ctx)
			t.Cleanup(cancel)
		}
		ctx.Detach()
		entered <- ctx
		if response == "stream" {
			ctx.SetBodyStream(stopper{reached, goOn}, -1)
			return
		}
		close(reached)
		<-goOn
		switch response {
		case "flushed":
			ctx.SetBodyString("flu")
			_ = ctx.Flush()
			ctx.SetBodyString("shed")
		case "panic":
			panic("for the log")
		case "abort":
			panic(ErrAbortHandler)
		case "unread":
			ctx.SetBody(bytes.Repeat([]byte("l"), 8<<20)) // more than sockets and windows take
		default:
			ctx.SetBodyString("bytes")
		}
	}}
	ts := startServer(t, s, s.Handler)
	reqCtx, leave := context.WithCancel(t.Context())
	defer leave()
	got := make(chan string, 1)
	head, read := make(chan bool), make(chan bool)
	go func() {
		req, _ := http.NewRequestWithContext(reqCtx, "GET", "http://"+ts.Addr, nil)
		tr := &http.Transport{Protocols: peers.Protocols(version), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				_ = nc.(*net.TCPConn).SetReadBuffer(256 << 10)
			}
			return nc, err
		}}
		defer func() {
			<-t.Context().Done() // a client that has read all may be gone before the server has done with it
			tr.CloseIdleConnections()
		}()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			got <- "error"
			return
		}
		defer resp.Body.Close()
		if response == "unread" {
			close(head)
			<-read
		}
		b, err := io.ReadAll(resp.Body)
		got <- fmt.Sprint(resp.StatusCode, " ", string(b), " ", err)
	}()
	ctx := <-entered
	<-reached
	done := ctx.Done()
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	cause := ErrRequestDone
	switch event {
	case "the client leaves":
		leave()
		<-got
		cause = ErrClientGone
	case "shutdown":
		go func() { _ = s.Shutdown() }()
		cause = context.Canceled
	}
	if event != "none" {
		<-early.Done() // it ends early
		if before {
			<-channel
			<-derived.Done()
		}
	}
	if ended(done) || ended(ctx.Done()) || ended(child.Done()) || (ctx.Err() != nil) != (before && event != "none") {
		t.Errorf("the context has ended while the server uses it: Err is %v", ctx.Err())
	}
	close(goOn)
	if response == "unread" && event != "the client leaves" {
		<-head
		if ended(done) || ended(child.Done()) {
			t.Error("the context has ended while the server sends the response")
		}
		close(read)
	}
	<-done
	<-child.Done()
	if ctx.Response.hasStream() {
		t.Error("when Done is closed, the response still has its stream")
	}
	ctx.Response.Reset() // nothing uses it any more: the race detector checks that
	var reset *StreamResetError
	for name, c := range map[string]context.Context{"Done": ctx, "Context": early, "a derived context": child} {
		<-c.Done()
		if got := context.Cause(c); c.Err() != context.Canceled || !errors.Is(got, cause) && !errors.As(got, &reset) {
			t.Errorf("%s: error %v, cause %v, want %v", name, c.Err(), got, cause)
		}
	}
	if _, ok := ctx.Deadline(); ok {
		t.Error("a detached context has a deadline")
	}
	if event == "the client leaves" {
		return
	}
	want := map[string]string{"bytes": "200 bytes <nil>", "unread": "200 lll", "stream": "200 stream <nil>", "flushed": "200 flushed <nil>", "abort": "error", "panic": "500 "}[response]
	if got := <-got; !strings.HasPrefix(got, want) {
		t.Errorf("the client got %.100q", got)
	}
}

// A call of Detach when the handler has returned changes nothing, also not for the next
// request with the context.
func TestDetachTooLate(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		kept := make(chan *RequestCtx, 100)
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) { kept <- ctx })
		c := ts.Dial()
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "")
		await.Until(t, "the context to be free", func() bool { return ts.s.Stats().IdleConnections == 1 })
		c.Send(peers.Get("/") + peers.Get("/"))
		c.Want("GET", 200, "")
		c.Want("GET", 200, "")
		c.Close()
		peers.WaitClosed(t, ts.s, "the connection")
		for range 3 {
			(<-kept).Detach()
		}
		if overDone.detached.Load() {
			t.Error("contexts that wait for a request are detached")
		}
	})
}

// TestRequestConfigChanges proves that each field of a RequestConfig counts.
func TestRequestConfigChanges(t *testing.T) {
	if new(RequestConfig).changes() {
		t.Error("no field is set, and it changes something")
	}
	for i := range reflect.TypeFor[RequestConfig]().NumField() {
		var c RequestConfig
		if f := reflect.ValueOf(&c).Elem().Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
		} else {
			f.SetInt(-1)
		}
		if !c.changes() {
			t.Errorf("%s doesn't count", reflect.TypeFor[RequestConfig]().Field(i).Name)
		}
	}
}
