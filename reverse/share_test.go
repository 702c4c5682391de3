package reverse_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

// keeper is an upstream that answers requests for /keep after their connection was closed only. It
// counts them.
func keeper(t *testing.T) (addr string, kept *atomic.Int64) {
	kept = new(atomic.Int64)
	addr = server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/keep" {
			io.WriteString(w, "good")
			return
		}
		io.Copy(io.Discard, r.Body)
		kept.Add(1)
		defer kept.Add(-1)
		if r.Header.Get("Upgrade") == "" {
			<-r.Context().Done()
			return
		}
		if c, br, err := http.NewResponseController(w).Hijack(); err == nil {
			defer c.Close()
			io.WriteString(c, switchd)
			io.Copy(io.Discard, br)
		}
	})
	return addr, kept
}

// reach waits until n is want.
func reach(t *testing.T, what string, n func() int64, want int64) {
	t.Helper()
	await.Until(t, fmt.Sprintf("%s: %d", what, want), func() bool { return n() == want })
}

// One client gets no more than its share of an upstream's connections. Others get theirs, also of
// the other kind, and when the client's requests end, it gets new ones.
func TestClientShare(t *testing.T) { onEngines(t, testClientShare) }

func testClientShare(t *testing.T) {
	asks := func(path, client, fields string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + client + "\r\n" + fields + "\r\n"
	}
	const (
		body  = "Content-Length: 4\r\n\r\nbo" // the empty line that follows is a part of it
		ws    = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"
		owner = "192.0.2.1"
		other = "192.0.2.2"
	)
	for _, tt := range []struct {
		name   string
		p      *reverse.Proxy
		keep   string // the fields of the requests that are kept
		client string
		most   int
		refuse bool // whether one more is refused
	}{
		{name: "a quarter of the connections", p: &reverse.Proxy{MaxConns: 8}, client: owner, most: 2, refuse: true},
		{name: "at least one", p: &reverse.Proxy{MaxConns: 3}, client: owner, most: 1, refuse: true},
		{name: "set", p: &reverse.Proxy{MaxConns: 8, MaxConnsPerClient: 3}, client: owner, most: 3, refuse: true},
		{name: "with a body", p: &reverse.Proxy{MaxConns: 8}, keep: body, client: owner, most: 2, refuse: true},
		{name: "no limit", p: &reverse.Proxy{MaxConns: 8, MaxConnsPerClient: -1}, client: owner, most: 7},
		{name: "this machine", p: &reverse.Proxy{MaxConns: 8}, client: "127.0.0.2", most: 7},
		{name: "upgrades", p: &reverse.Proxy{MaxUpgrades: 8}, keep: ws, client: owner, most: 2, refuse: true},
		{name: "upgrades, set", p: &reverse.Proxy{MaxUpgrades: 8, MaxUpgradesPerClient: 3}, keep: ws, client: owner, most: 3, refuse: true},
		{name: "upgrades, no limit", p: &reverse.Proxy{MaxUpgrades: 8, MaxUpgradesPerClient: -1}, keep: ws, client: owner, most: 7},
		{name: "all upgrades", p: &reverse.Proxy{MaxUpgrades: 2, MaxConns: 1, MaxUpgradesPerClient: 2}, keep: ws, client: owner, most: 2, refuse: true},
	} {
		upstream, kept := keeper(t)
		p := tt.p
		p.Upstreams, p.MaxConnWait, p.TrustedProxies = []string{upstream}, -1, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		addr := serve(t, p)
		ask := func(path, client, fields string) (net.Conn, string) {
			c, br := dial(t, addr)
			io.WriteString(c, asks(path, client, fields))
			if path == "/keep" && fields != ws {
				return c, ""
			}
			return c, readHead(br)
		}
		var first net.Conn
		for i := range tt.most {
			c, head := ask("/keep", tt.client, tt.keep)
			if i == 0 {
				first = c
			}
			if tt.keep == ws && !strings.HasPrefix(head, "HTTP/1.1 101 ") {
				t.Fatalf("%s: upgrade %d: %q", tt.name, i, head)
			}
			reach(t, tt.name, kept.Load, int64(i+1))
		}
		fields := ""
		if tt.keep == ws {
			fields = ws
		}
		want := "HTTP/1.1 200 "
		if tt.refuse {
			want = "HTTP/1.1 503 "
		}
		_, head := ask("/", tt.client, fields)
		if !strings.HasPrefix(head, want) || tt.refuse != strings.Contains(head, "\r\nRetry-After: 1\r\n") {
			t.Errorf("%s: one more: %q", tt.name, head)
		}
		if _, head := ask("/", other, ""); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
			t.Errorf("%s: another client: %q", tt.name, head)
		}
		if tt.keep == ws {
			if _, head := ask("/", tt.client, ""); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
				t.Errorf("%s: a request beside the upgrades: %q", tt.name, head)
			}
		}
		reset(first)
		reach(t, tt.name+": after one has left", kept.Load, int64(tt.most-1))
		await.Until(t, tt.name+": a response in the place of one that has left", func() bool {
			_, head := ask("/", tt.client, fields)
			return strings.HasPrefix(head, "HTTP/1.1 200 ")
		})
	}
}

// A request beyond the share waits for its turn.
func TestClientShareWaits(t *testing.T) { onEngines(t, testClientShareWaits) }

func testClientShareWaits(t *testing.T) {
	upstream, kept := keeper(t)
	p := &reverse.Proxy{Upstreams: []string{upstream}, MaxConnsPerClient: 1, MaxConnWait: wait, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	addr := serve(t, p)
	const from = "Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
	first, _ := dial(t, addr)
	io.WriteString(first, "GET /keep HTTP/1.1\r\n"+from)
	reach(t, "kept", kept.Load, 1)
	heads := make(chan string, 2) // of two more: as many may wait as may run
	for range 2 {
		c, br := dial(t, addr)
		io.WriteString(c, "GET / HTTP/1.1\r\n"+from)
		go func() { heads <- readHead(br) }()
	}
	if head := <-heads; !strings.HasPrefix(head, "HTTP/1.1 503 ") {
		t.Errorf("one that found another waiting got %q", head)
	}
	reset(first)
	if head := <-heads; !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Errorf("the one that waited got %q", head)
	}
}

// A client that takes a byte of a response now and then keeps no connection to the upstream, and no
// place in its share. One that takes all gets all.
func TestSlowReader(t *testing.T) { onUpstreams(t, testSlowReader) }

func testSlowReader(t *testing.T) {
	const large = 32 << 20
	var open atomic.Int64
	upstream := server(t, func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Add(-1)
		_ = http.NewResponseController(w).EnableFullDuplex() // the body of a POST never ends
		w.Header().Set("Content-Length", fmt.Sprint(large))
		_, _ = io.CopyN(w, new(zeros), large)
	})
	for _, method := range []string{"GET", "POST"} {
		p := &reverse.Proxy{Upstreams: []string{upstream}, MaxConns: 4, MaxConnsPerClient: 4, HTTP2: upstreamMode(), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{
			Handler: p.Handler, Engine: engine, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true},
			WriteStallTimeout: 200 * time.Millisecond, Logger: log.New(io.Discard, "", 0),
		}
		go s.Serve(ln)
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(nc, http2.ClientPreface)
		fr := http2.NewFramer(nc, nc)
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		var head bytes.Buffer
		enc := hpack.NewEncoder(&head)
		const streams = 4
		for i := range streams {
			head.Reset()
			for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"x-forwarded-for", "192.0.2.1"}} {
				_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
			}
			_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head.Bytes(), EndHeaders: true, EndStream: method == "GET"})
		}
		go io.Copy(io.Discard, nc)
		reach(t, method+": running", open.Load, streams)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				for i := range streams {
					if fr.WriteWindowUpdate(uint32(2*i+1), 1) != nil {
						return
					}
				}
			}
		}()
		reach(t, method+": connections that the slow client keeps", open.Load, 0)
		c, br := dial(t, ln.Addr().String())
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
		if resp, err := http.ReadResponse(br, nil); err != nil {
			t.Errorf("%s: the next request: %v", method, err)
		} else if n, err := io.Copy(io.Discard, resp.Body); resp.StatusCode != 200 || n != large || err != nil {
			t.Errorf("%s: the next request got %d, %d bytes, %v", method, resp.StatusCode, n, err)
		}
		close(stop)
		<-stopped
		nc.Close()
		s.Close()
		p.Close()
	}
}
