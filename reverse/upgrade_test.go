package reverse_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

const (
	upgrade = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n"
	switchd = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: k\r\n\r\n"
)

// upgrader is an upstream that switches protocols and leaves the connection to f.
func upgrader(t *testing.T, f func(c *net.TCPConn, br *bufio.Reader)) string {
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head := readHead(br)
		if !strings.Contains(head, "\r\nUpgrade: websocket\r\n") || !strings.Contains(head, "\r\nConnection: Upgrade\r\n") || strings.Contains(head, "X-Hop") {
			t.Errorf("the upstream got %q", head)
		}
		f(c, br)
	})
	return addr
}

// awaitNone waits until no upgraded connection is left.
func awaitNone(t *testing.T, p *reverse.Proxy) {
	t.Helper()
	await.Gone(t, "upgraded connections", func() bool { return p.Upgraded() == 0 })
}

// After a 101 what each side sends goes to the other one, from the first byte on, and the
// end of one direction leaves the other one.
func TestUpgrade(t *testing.T) { onEngines(t, testUpgrade) }

func testUpgrade(t *testing.T) {
	addr := upgrader(t, func(c *net.TCPConn, br *bufio.Reader) {
		io.WriteString(c, switchd+"hello ")
		b, _ := io.ReadAll(br)
		io.WriteString(c, strings.ToUpper(string(b)))
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, Timeout: 10 * time.Second}
	c, br := dial(t, serve(t, p))
	io.WriteString(c, upgrade+"early ")
	head := readHead(br)
	if !strings.HasPrefix(head, "HTTP/1.1 101 Switching Protocols\r\n") || strings.Contains(head, "X-Hop") ||
		!strings.Contains(strings.ToLower(head), "\r\nsec-websocket-accept: k\r\n") || strings.Contains(head, "Content-") || !strings.Contains(head, "\r\nUpgrade: websocket\r\n") {
		t.Errorf("the client got %q", head)
	}
	if n := p.Upgraded(); n != 1 {
		t.Errorf("there are %d upgraded connections", n)
	}
	io.WriteString(c, "late")
	c.CloseWrite()
	if b, err := io.ReadAll(br); string(b) != "hello EARLY LATE" || err != nil {
		t.Errorf("the client got %q, %v", b, err)
	}
	awaitNone(t, p)
}

// An upstream that doesn't switch answers as to any other request.
func TestUpgradeRefused(t *testing.T) { onEngines(t, testUpgradeRefused) }

func testUpgradeRefused(t *testing.T) {
	addr := upgrader(t, func(c *net.TCPConn, br *bufio.Reader) {
		io.WriteString(c, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno")
		readHead(br)
	})
	c, br := dial(t, start(t, addr))
	io.WriteString(c, upgrade)
	head := readHead(br)
	body := make([]byte, 2)
	if _, err := io.ReadFull(br, body); err != nil || string(body) != "no" || !strings.HasPrefix(head, "HTTP/1.1 426 ") {
		t.Fatalf("got %q %q %v", head, body, err)
	}
}

// Without a request for it, or to another protocol, an upstream can't switch.
func TestUpgradeUnasked(t *testing.T) { onEngines(t, testUpgradeUnasked) }

func testUpgradeUnasked(t *testing.T) {
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readRequest(br)
		io.WriteString(c, switchd)
		if b, _ := io.ReadAll(br); len(b) > 0 {
			t.Errorf("the upstream got %q", b)
		}
	})
	proxyAddr := start(t, addr)
	for _, request := range []string{
		get, post,
		strings.Replace(upgrade, "websocket", "other", 1),
		strings.Replace(upgrade, "Connection: Upgrade, X-Hop", "Connection: X-Hop", 1),
		strings.Replace(upgrade, "HTTP/1.1", "HTTP/1.0", 1),
	} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, request)
		if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
			t.Errorf("%q: got %q", request, got)
		}
	}
}

// Upgraded connections end when the proxy closes, when neither side says anything for too
// long, and when one side breaks.
func TestUpgradeEnds(t *testing.T) { onEngines(t, testUpgradeEnds) }

func testUpgradeEnds(t *testing.T) {
	ended := make(chan struct{}, 1)
	addr := upgrader(t, func(c *net.TCPConn, br *bufio.Reader) {
		io.WriteString(c, switchd)
		io.Copy(io.Discard, br)
		ended <- struct{}{}
	})
	for _, tt := range []struct {
		name string
		p    *reverse.Proxy
		end  func(p *reverse.Proxy, c *net.TCPConn)
	}{
		{"Close", &reverse.Proxy{}, func(p *reverse.Proxy, c *net.TCPConn) { p.Close() }},
		{"idle", &reverse.Proxy{UpgradeIdleTimeout: 20 * time.Millisecond}, func(*reverse.Proxy, *net.TCPConn) {}},
		{"reset", &reverse.Proxy{}, func(p *reverse.Proxy, c *net.TCPConn) { c.SetLinger(0); c.Close() }},
	} {
		tt.p.Upstreams = []string{addr}
		c, br := dial(t, serve(t, tt.p))
		io.WriteString(c, upgrade)
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 101 ") {
			t.Fatalf("%s: got %q", tt.name, head)
		}
		tt.end(tt.p, c)
		select {
		case <-ended:
		case <-time.After(wait):
			t.Fatalf("%s: the upstream's connection is open", tt.name)
		}
		awaitNone(t, tt.p)
	}
}

// The functions of BeforeSend see the 101. They add fields to it, or refuse the client: then the
// upstream's connection ends, the two aren't joined, and the response has none of the upstream's
// fields. A 101 after which the connection would end becomes 503, as on a Server.
func TestUpgradeBeforeSend(t *testing.T) { onEngines(t, testUpgradeBeforeSend) }

func testUpgradeBeforeSend(t *testing.T) {
	upstreamGot := make(chan string, 1)
	addr := upgrader(t, func(c *net.TCPConn, br *bufio.Reader) {
		io.WriteString(c, strings.TrimSuffix(switchd, "\r\n")+"Set-Cookie: who=upstream\r\nX-Both: upstream\r\n\r\n")
		b, _ := io.ReadAll(br)
		upstreamGot <- string(b)
	})
	for _, tt := range []struct {
		name   string
		around gale.RequestHandler // before the proxy
		hook   gale.RequestHandler
		status int
		lacks  []string
		has    []string
	}{
		{"none", nil, nil, 101, nil, []string{"Sec-Websocket-Accept: k", "Set-Cookie: who=upstream", "Set-Cookie: who=handler", "X-Both: upstream"}},
		{"status", nil, func(ctx *gale.RequestCtx) { ctx.SetStatusCode(403) }, 403,
			[]string{"Sec-Websocket-Accept", "who=upstream", "X-Both: upstream"}, []string{"Set-Cookie: who=handler"}},
		{"a field of both", nil, func(ctx *gale.RequestCtx) { ctx.SetStatusCode(403); ctx.Response.Header.Set("X-Both", "hook") }, 403,
			[]string{"Sec-Websocket-Accept", "who=upstream", "X-Both: upstream"}, []string{"X-Both: hook"}},
		{"Error", nil, func(ctx *gale.RequestCtx) { ctx.Error("no", 403) }, 403, []string{"Sec-Websocket-Accept", "who="}, nil},
		{"close", nil, func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }, 503,
			[]string{"Sec-Websocket-Accept", "who=upstream"}, []string{"Connection: close", "Set-Cookie: who=handler"}},
		{"close before", func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }, nil, 503,
			[]string{"Sec-Websocket-Accept", "who=upstream"}, []string{"Connection: close"}},
	} {
		p := &reverse.Proxy{Upstreams: []string{addr}, Timeout: 10 * time.Second}
		c, br := dial(t, serveHandler(t, p, func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Add("Set-Cookie", "who=handler")
			if tt.around != nil {
				tt.around(ctx)
			}
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Set("X-Seen", fmt.Sprint(ctx.Response.StatusCode()))
				if tt.hook != nil {
					tt.hook(ctx)
				}
			})
			p.Handler(ctx)
		}))
		io.WriteString(c, upgrade+"data")
		head := readHead(br)
		if !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d %s\r\n", tt.status, gale.StatusMessage(tt.status))) {
			t.Errorf("%s: the client got %q", tt.name, head)
		}
		if tt.name != "Error" { // which drops other fields
			tt.has = append(tt.has, "X-Seen: 101")
		}
		for _, field := range tt.has {
			if !strings.Contains(strings.ToLower(head), "\r\n"+strings.ToLower(field)+"\r\n") {
				t.Errorf("%s: %q lacks %s", tt.name, head, field)
			}
		}
		for _, field := range tt.lacks {
			if strings.Contains(strings.ToLower(head), strings.ToLower(field)) {
				t.Errorf("%s: %q has %s", tt.name, head, field)
			}
		}
		want := ""
		if tt.status == 101 {
			want = "data"
		}
		c.CloseWrite()
		if got := <-upstreamGot; got != want {
			t.Errorf("%s: the upstream got %q", tt.name, got)
		}
		awaitNone(t, p)
		c.Close()
	}
}
