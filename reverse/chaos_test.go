package reverse_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

// moods are what an upstream does with a request.
var moods = []string{"short", "short", "long", "chunked", "none", "early", "closes", "dies", "half", "resets", "cut", "hints", "slow", "switch"}

// moody is an upstream that answers with the id of the request in all places, or breaks off.
// mixed gets what doesn't belong together.
func moody(t *testing.T, mixed *atomic.Pointer[string]) string {
	if upstream2 {
		return server(t, func(w http.ResponseWriter, r *http.Request) { moody2(w, r, mixed) })
	}
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			id, mood := r.Header.Get("X-Id"), r.URL.Query().Get("mood")
			say := func(format string, args ...any) { fmt.Fprintf(c, format, args...) }
			if mood == "early" {
				say("HTTP/1.1 413 No\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(id), id)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if r.URL.Path != "/"+id || strings.Trim(string(body), id+" ") != "" || r.Trailer.Get("X-T") != "" && r.Trailer.Get("X-T") != id {
				s := fmt.Sprintf("id %q path %q trailer %v body %.200q", id, r.URL.Path, r.Trailer, body)
				mixed.Store(&s)
			}
			switch mood {
			case "hints":
				say("HTTP/1.1 103 Early Hints\r\nX-Id: %s\r\n\r\n", id)
				fallthrough
			case "short":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(id), id)
			case "slow":
				time.Sleep(120 * time.Millisecond) // the client is watched by then
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n", id, 2*len(id))
				time.Sleep(10 * time.Millisecond) // the head comes alone
				say("%s%s", id, id)
			case "long":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, 10000*len(id), strings.Repeat(id, 10000))
			case "chunked":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n%x\r\n%s\r\n", id, len(id), id)
				runtime.Gosched()
				say("%x\r\n%s\r\n0\r\nX-T: %s\r\n\r\n", len(id), id, id)
			case "none":
				say("HTTP/1.1 204 No Content\r\nX-Id: %s\r\n\r\n", id)
			case "closes":
				say("HTTP/1.0 200 OK\r\nX-Id: %s\r\n\r\n%s", id, id)
				return
			case "half":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: 100000\r\n\r\n%s", id, id)
				return
			case "cut":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nX-A", id)
				return
			case "resets":
				say("HTTP/1.1 200 OK\r\nX-Id: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", id, len(id), id)
				c.SetLinger(0)
				return
			case "switch":
				say(switchd)
				return
			default:
				return
			}
		}
	})
	return addr
}

// moody2 is moody over HTTP/2.
func moody2(w http.ResponseWriter, r *http.Request, mixed *atomic.Pointer[string]) {
	id, mood := r.Header.Get("X-Id"), r.URL.Query().Get("mood")
	w.Header().Set("X-Id", id)
	if mood == "early" {
		w.WriteHeader(413)
		io.WriteString(w, id)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path != "/"+id || strings.Trim(string(body), id+" ") != "" || r.Trailer.Get("X-T") != "" && r.Trailer.Get("X-T") != id {
		s := fmt.Sprintf("id %q path %q trailer %v body %.200q", id, r.URL.Path, r.Trailer, body)
		mixed.Store(&s)
	}
	switch mood {
	case "hints":
		w.WriteHeader(103)
		io.WriteString(w, id)
	case "short":
		io.WriteString(w, id)
	case "slow":
		time.Sleep(120 * time.Millisecond) // the client is watched by then
		io.WriteString(w, id)
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond) // the first part comes alone
		io.WriteString(w, id)
	case "long":
		io.WriteString(w, strings.Repeat(id, 10000))
	case "chunked":
		io.WriteString(w, id)
		w.(http.Flusher).Flush()
		io.WriteString(w, id)
		w.Header().Set(http.TrailerPrefix+"X-T", id)
	case "none":
		w.WriteHeader(204)
	case "closes":
		w.Header().Set("Connection", "close") // GOAWAY
		io.WriteString(w, id)
	case "half", "resets", "cut":
		io.WriteString(w, id)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		panic(http.ErrAbortHandler)
	}
}

// Whatever upstreams and clients do, no exchange gets anything of another one, and nothing
// of an exchange is left behind.
func TestMixed(t *testing.T) { onUpstreams(t, testMixed) }

func testMixed(t *testing.T) {
	const rounds = 60
	var mixed atomic.Pointer[string]
	up1, up2 := moody(t, &mixed), moody(t, &mixed)
	p := &reverse.Proxy{Upstreams: []string{up1, up2, closedAddr(t)}, MaxConns: 6, MaxFails: -1, Timeout: wait, BodyIdleTimeout: wait}
	timed := gale.TimeoutHandler(p.Handler, 20*time.Millisecond, "late")
	proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
		if len(ctx.Request.Header.Peek("X-Timed")) > 0 {
			timed(ctx)
			return
		}
		p.Handler(ctx)
	})
	var whole atomic.Int64
	client := func(n int) {
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		var c net.Conn
		var br *bufio.Reader
		for i := range rounds {
			if c == nil {
				var err error
				if c, err = net.Dial("tcp", proxyAddr); err != nil {
					t.Error(err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(wait))
				br = bufio.NewReader(c)
			}
			id := fmt.Sprintf("<%d.%d>", n, i)
			mood := moods[rng.IntN(len(moods))]
			timed := ""
			if rng.IntN(4) == 0 {
				timed = "X-Timed: 1\r\n"
			}
			head := "/" + id + "?mood=" + mood + " HTTP/1.1\r\nHost: a\r\nX-Id: " + id + "\r\n" + timed
			method := "GET"
			var raw string
			switch rng.IntN(4) {
			case 0:
				raw = "GET " + head + "\r\n"
			case 1:
				method, raw = "POST", "POST "+head+"Content-Length: "+strconv.Itoa(len(id))+"\r\n\r\n"+id
			case 2:
				b := strings.Repeat(id+" ", 3000)
				method, raw = "PUT", "PUT "+head+"Content-Length: "+strconv.Itoa(len(b))+"\r\n\r\n"+b
			case 3:
				method, raw = "POST", "POST "+head+"Transfer-Encoding: chunked\r\n\r\n"+fmt.Sprintf("%x\r\n%s\r\n0\r\nX-T: %s\r\n\r\n", len(id), id, id)
			}
			cut := rng.IntN(10) == 0
			if cut {
				raw = raw[:rng.IntN(len(raw))]
			}
			io.WriteString(c, raw)
			if cut {
				c.Close()
				c = nil
				continue
			}
			if rng.IntN(10) == 0 {
				time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond) // a client that leaves at any moment
				c.Close()                                                 // instead of reading
				c = nil
				continue
			}
			resp, err := http.ReadResponse(br, &http.Request{Method: method})
			for err == nil && resp.StatusCode == 103 {
				resp, err = http.ReadResponse(br, &http.Request{Method: method})
			}
			if err == nil {
				var b []byte
				b, err = io.ReadAll(resp.Body)
				rest := strings.ReplaceAll(string(b), id, "")
				if err != nil { // cut off: net/http ends a connection with all its streams for trailers after an early answer
					rest = strings.TrimPrefix(rest, id[:min(len(rest), len(id))])
				}
				if got := resp.Header.Get("X-Id"); got != "" && (got != id || rest != "") {
					t.Errorf("%s got %q %.100q and at the end %q, %v", id, got, b, rest, err)
				}
				if got := resp.Trailer.Get("X-T"); got != "" && got != id {
					t.Errorf("%s got the trailer field %q", id, got)
				}
				if err == nil && resp.Header.Get("X-Id") != "" {
					whole.Add(1)
				}
			}
			if err != nil || resp.Close {
				c.Close()
				c = nil
			}
		}
		if c != nil {
			c.Close()
		}
	}
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() { client(n) })
	}
	wg.Wait()
	if s := mixed.Load(); s != nil {
		t.Errorf("an upstream got %s", *s)
	}
	if n := whole.Load(); n < int64(12*rounds/4) {
		t.Errorf("only %d whole responses", n)
	}
	p.Close()
	await.Gone(t, "goroutines of the package", func() bool {
		b := make([]byte, 1<<20)
		return !bytes.Contains(b[:runtime.Stack(b, true)], []byte("gale/reverse."))
	})
}

// panicky is a connection whose methods panic from the nth call on.
type panicky struct {
	net.Conn
	left atomic.Int64
}

func (c *panicky) step() {
	if c.left.Add(-1) < 0 {
		panic("a connection of the user's")
	}
}
func (c *panicky) Read(p []byte) (int, error)         { c.step(); return c.Conn.Read(p) }
func (c *panicky) Write(p []byte) (int, error)        { c.step(); return c.Conn.Write(p) }
func (c *panicky) SetDeadline(d time.Time) error      { c.step(); return c.Conn.SetDeadline(d) }
func (c *panicky) SetReadDeadline(d time.Time) error  { c.step(); return c.Conn.SetReadDeadline(d) }
func (c *panicky) SetWriteDeadline(d time.Time) error { c.step(); return c.Conn.SetWriteDeadline(d) }
func (c *panicky) Close() error                       { c.Conn.Close(); c.step(); return nil }

// A connection that panics, wherever it does, harms no other request.
func TestConnPanics(t *testing.T) { onEngines(t, testConnPanics) }

func testConnPanics(t *testing.T) {
	log.SetOutput(io.Discard) // panics are logged
	defer log.SetOutput(os.Stderr)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "50000")
		io.WriteString(w, strings.Repeat("a", 50000))
	})
	ws, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readHead(br)
		io.WriteString(c, switchd)
		io.Copy(c, br)
	})
	var steps atomic.Int64
	dialer := func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &panicky{Conn: nc}
		c.left.Store(steps.Load())
		return c, nil
	}
	for _, tt := range []struct {
		addr     string
		requests []string
	}{{addr, []string{get, post, long}}, {ws, []string{upgrade}}} {
		p := &reverse.Proxy{Upstreams: []string{tt.addr}, DialContext: dialer, MaxConns: 1, MaxConnWait: time.Second, MaxFails: -1}
		proxyAddr := serve(t, p)
		for n := range int64(16) {
			for _, request := range tt.requests {
				steps.Store(n)
				c, br := dial(t, proxyAddr)
				io.WriteString(c, request)
				resp, err := http.ReadResponse(br, nil)
				switch {
				case err != nil:
				case resp.StatusCode == 101:
					io.WriteString(c, "hello")
					c.CloseWrite()
					_, _ = io.Copy(io.Discard, br)
				case resp.StatusCode == 503:
					t.Errorf("step %d: %q: there is no room for a connection", n, request[:10])
				default:
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if n := (*net.OpError)(nil); errors.As(err, &n) && n.Timeout() {
					t.Errorf("nothing ends %q", request[:10])
				}
				c.Close()
			}
		}
		awaitNone(t, p)
	}
}

// A shutdown lets responses end that are under way.
func TestShutdown(t *testing.T) { onUpstreams(t, testShutdown) }

func testShutdown(t *testing.T) {
	begun, proceed := make(chan struct{}, 2), make(chan struct{})
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "first ")
		w.(http.Flusher).Flush()
		begun <- struct{}{}
		<-proceed
		io.WriteString(w, "last")
	})
	for _, request := range []string{get, long} {
		p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: p.Handler, Engine: engine, StreamRequestBody: true}
		go s.Serve(ln)
		c, br := dial(t, ln.Addr().String())
		io.WriteString(c, request)
		<-begun
		down := make(chan error, 1)
		go func() { down <- s.Shutdown() }()
		await.Until(t, "the shutdown to begin", s.Draining)
		time.Sleep(150 * time.Millisecond) // the client is watched by then, and must not be given up
		proceed <- struct{}{}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "first last" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
		select {
		case err := <-down:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(wait):
			t.Fatal("the server still waits")
		}
		p.Close()
	}
}
