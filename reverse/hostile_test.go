package reverse_test

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// seeds are what mutations begin with: requests, several on a connection.
var seeds = []string{
	"GET /a?b HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A: 1\r\n\r\nhello",
	"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
	"PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n12345",
	"GET http://h/a HTTP/1.1\r\nHost: h\r\nConnection: X-A, keep-alive\r\nX-A: 1\r\nCookie: a=b; c=d\r\n\r\n",
}

// pieces are put in at random.
var pieces = []string{
	"\r\n", "\n", "\r", " ", "\t", ":", ",", ";", "\x00", "0", "-1", "+5", "5", "0x5", "\r\n\r\n", "chunked", "identity", "\x0b", "\xff", "%0d%0a",
	"Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length : 5\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n",
	"Transfer-Encoding:\x0bchunked\r\n", "Connection: Content-Length\r\n", "Connection: Transfer-Encoding, Host\r\n", "Connection: close\r\n",
	"Host: x\r\n", " folded\r\n", "Upgrade: h2c\r\n", "Expect: 100-continue\r\n", "X-Forwarded-For: 1\r\n", "0\r\n\r\n", "5;a=b\r\nhello\r\n", "HTTP/1.0", "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
}

// mutate changes a few places of one or two seeds.
func mutate(rng *rand.Rand) string {
	s := seeds[rng.IntN(len(seeds))]
	if rng.IntN(2) == 0 {
		s += seeds[rng.IntN(len(seeds))]
	}
	for range rng.IntN(4) {
		i := rng.IntN(len(s))
		switch rng.IntN(4) {
		case 0:
			s = s[:i] + pieces[rng.IntN(len(pieces))] + s[i:]
		case 1: // where a line begins
			if j := strings.Index(s[i:], "\r\n"); j >= 0 {
				i += j + 2
			}
			s = s[:i] + pieces[rng.IntN(len(pieces))] + s[i:]
		case 2:
			s = s[:i] + s[min(len(s), i+1+rng.IntN(3)):] + " "
		case 3:
			j := min(len(s), i+rng.IntN(30))
			s = s[:j] + s[i:j] + s[j:]
		}
	}
	return s
}

// seen are the requests that a server's handler saw.
type seen struct {
	host string // that stands for an empty one
	mu   sync.Mutex
	list map[string][]string // by the address of the connection, or what stands for it
}

func (s *seen) add(key string, ctx *gale.RequestCtx) {
	var fields []string
	named := map[string]bool{}
	for _, value := range ctx.Request.Header.PeekAll("Connection") {
		for name := range strings.SplitSeq(strings.ToLower(string(value)), ",") {
			name = strings.Trim(name, " \t")
			named[name] = name != "host"
		}
	}
	for name, value := range ctx.Request.Header.All() {
		switch n := strings.ToLower(string(name)); {
		case strings.HasPrefix(n, "x-forwarded-"), n == "x-id", n == "connection", n == "content-length", n == "transfer-encoding",
			n == "upgrade", n == "te", n == "keep-alive", n == "expect", named[n],
			n == "trailer", n == "host" && (len(value) == 0 || string(value) == s.host): // no body to have one; Host is never empty
		default:
			fields = append(fields, string(name)+":"+string(value))
		}
	}
	slices.Sort(fields)
	u := ctx.URI()
	text := fmt.Sprintf("%s %s?%s %q %q", ctx.Method(), u.PathOriginal(), u.QueryString(), ctx.PostBody(), fields)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[key] = append(s.list[key], text)
}

func (s *seen) take(key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list[key]
	delete(s.list, key)
	return list
}

// Whatever a client sends, the upstream's handler sees the requests that a handler without
// a proxy sees: as many, with the same targets, fields and bodies. GALE_MUTATIONS says how
// many are tried.
func TestMutations(t *testing.T) { onUpstreams(t, testMutations) }

func testMutations(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("clients have addresses that only Linux has by itself")
	}
	n := 1000
	if v, err := strconv.Atoi(os.Getenv("GALE_MUTATIONS")); err == nil {
		n = v
	}
	alone, behind := &seen{list: map[string][]string{}}, &seen{list: map[string][]string{}}
	listen := func(s *gale.Server) string {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(ln)
		t.Cleanup(func() { s.Close() })
		return ln.Addr().String()
	}
	aloneAddr := listen(&gale.Server{Engine: engine, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
		if !ctx.IsTrace() && !ctx.IsConnect() {
			alone.add(ctx.RemoteAddr().String(), ctx)
		}
	}})
	upAddr := listen(&gale.Server{Engine: engine, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
		behind.add(string(ctx.Request.Header.Peek("X-Id")), ctx)
	}})
	behind.host = upAddr
	p := &reverse.Proxy{Upstreams: []string{upAddr}, HTTP2: upstreamMode()}
	proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
		ctx.Request.Header.Set("X-Id", ctx.RemoteAddr().String())
		p.Handler(ctx)
	})
	var clients sync.Map // their addresses
	var clientNumber atomic.Uint32
	clientNumber.Store(1 << 8)
	send := func(addr, raw string, s *seen, patience time.Duration) []string {
		// Each has an address of its own, so that what comes late is not taken for another
		// one's.
		n := clientNumber.Add(1)
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(n>>16), byte(n>>8), byte(n))}}
		c, err := d.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer c.Close()
		clients.Store(c.LocalAddr().String(), true)
		io.WriteString(c, raw)
		// A message that is not complete has no answer: then nothing comes any more.
		b := make([]byte, 4096)
		for {
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := c.Read(b); err != nil {
				return s.take(c.LocalAddr().String())
			}
		}
	}
	const workers = 64 // they mostly wait
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range n / workers {
				raw := mutate(rng)
				// On a machine that is busy, answers may take long.
				for patience := 100 * time.Millisecond; ; patience *= 4 {
					want, got := send(aloneAddr, raw, alone, patience), send(proxyAddr, raw, behind, patience)
					if slices.Equal(want, got) {
						break
					}
					if patience > 5*time.Second {
						t.Errorf("after %q the upstream saw\n%q, want\n%q", raw, got, want)
						break
					}
				}
			}
		})
	}
	wg.Wait()
	behind.mu.Lock()
	defer behind.mu.Unlock()
	for id, list := range behind.list {
		if _, late := clients.Load(id); late {
			continue
		}
		t.Errorf("requests of nobody, with id %q: %q", id, list)
	}
}
