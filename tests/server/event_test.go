package server

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A TLS connection gets all answers in whatever pieces its records arrive, with large
// bodies in both directions, and holds no goroutine between its requests.
func TestTLSOnEngines(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, MaxRequestBodySize: 8 << 20, Handler: func(ctx *gale.RequestCtx) {
			if !ctx.IsTLS() || ctx.TLSConnectionState() == nil {
				t.Error("a handler doesn't see TLS")
			}
			ctx.SetBody(ctx.PostBody())
		}}
		addr := harness.StartTLS(t, s)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			raw, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			c := tls.Client(&splitConn{Conn: raw}, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
			c.SetDeadline(time.Now().Add(time.Minute))
			br := bufio.NewReader(c)
			for _, n := range []int{0, 5, 20_000, 1 << 20} {
				body := strings.Repeat("x", n)
				go fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", n, body)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); err != nil || string(b) != body {
					t.Fatalf("got %d bytes, %v; want %d", len(b), err, n)
				}
			}
			io.WriteString(c, peers.Get("/")+peers.Get("/")+strings.Replace(peers.Get("/"), "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
			for range 3 {
				if resp, err := http.ReadResponse(br, nil); err != nil || resp.StatusCode != 200 {
					t.Fatalf("%v, %v", resp, err)
				}
			}
			if _, err := br.ReadByte(); err != io.EOF {
				t.Errorf("got %v behind the last answer, want a farewell", err)
			}
		}
	})
}

// splitConn writes in pieces, so that records arrive in parts.
type splitConn struct {
	net.Conn
	n int
}

func (c *splitConn) Write(p []byte) (n int, err error) {
	if len(p) > 4096 {
		return c.Conn.Write(p)
	}
	for len(p) > 0 {
		c.n++
		k := min(len(p), 1+c.n%97)
		m, err := c.Conn.Write(p[:k])
		if n += m; err != nil {
			return n, err
		}
		p = p[k:]
		if c.n%16 == 0 {
			time.Sleep(time.Millisecond) // so that the server reads parts
		}
	}
	return n, nil
}

// Idle connections, with TLS or without, hold no goroutine on the event engine.
func TestEventIdleHoldsNoGoroutine(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	s := &gale.Server{Engine: gale.EngineEvent, Handler: harness.Echo}
	tlsAddr := harness.StartTLS(t, s)
	ts := harness.Start(t, &gale.Server{Engine: gale.EngineEvent}, harness.Echo)
	before := -1
	for _, n := range []int{4, 64} {
		for range n {
			c, err := tls.Dial("tcp", tlsAddr, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, peers.Get("/"))
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
			p := ts.Dial()
			p.Send(peers.Get("/"))
			p.Answer("GET")
		}
		want := before + 8 // for workers that rest
		await.Until(t, fmt.Sprintf("%d idle connections to hold no goroutines", 2*n), func() bool {
			return before < 0 || runtime.NumGoroutine() <= want
		})
		before = runtime.NumGoroutine()
	}
}

// A handler may call its own server, even with one loop and one processor, and
// recursively.
func TestHandlerCallsItsServer(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var addr string
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			n, _ := ctx.QueryArgs().GetUint("n")
			if n <= 0 {
				ctx.SetBodyString("bottom")
				return
			}
			resp, err := http.Get(fmt.Sprintf("http://%s/?n=%d", addr, n-1))
			if err != nil {
				ctx.Error(err.Error(), 500)
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			ctx.SetBody(b)
		})
		addr = ts.Addr
		defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		c := ts.Dial()
		for range 3 {
			c.Send(peers.Get("/?n=5"))
			c.Want("GET", 200, "bottom")
		}
	})
}

// Handlers that never return, end their goroutine or lock its thread don't affect other
// requests.
func TestHandlersThatMisbehave(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		forever := make(chan struct{})
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/forever":
				<-forever
			case "/goexit":
				runtime.Goexit()
			case "/lock":
				runtime.LockOSThread()
			case "/lockexit":
				runtime.LockOSThread()
				runtime.Goexit()
			case "/panic":
				panic("on purpose")
			}
			ctx.SetBodyString("fine")
		})
		defer close(forever)
		for range 20 {
			for _, path := range []string{"/forever", "/goexit", "/lock", "/lockexit", "/panic"} {
				c := ts.Dial()
				c.Send(peers.Get(path))
				switch path {
				case "/lock":
					c.Want("GET", 200, "fine")
				case "/panic":
					if ans := c.Answer("GET"); ans.StatusCode != 500 {
						t.Errorf("%s: %d", path, ans.StatusCode)
					}
				case "/goexit", "/lockexit":
					c.WantClosed()
				}
			}
			c := ts.Dial()
			c.Send(peers.Get("/"))
			c.Want("GET", 200, "fine")
		}
	})
}

// The client's end of stream may arrive with its request. The request is still answered,
// in whatever pieces it arrives.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				time.Sleep(5 * time.Millisecond) // the end of the stream most likely arrives meanwhile
			}
			ctx.SetBodyString(strings.Repeat("y", 100_000))
		})
		for i := range 50 {
			c := ts.Dial()
			req := peers.Get("/slow") + peers.Get("/") + peers.Get("/slow")
			c.Send(req[:i])
			c.Send(req[i:])
			if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if ans := c.Answer("GET"); ans.StatusCode != 200 {
					t.Fatalf("got %d", ans.StatusCode)
				}
			}
			c.WantClosed()
		}
	})
}

// Slow readers get everything in order, including the answers to requests that they
// pipelined meanwhile.
func TestSlowReaderGetsAll(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			n := ctx.QueryArgs().GetUintOrZero("n")
			ctx.SetBodyString(strings.Repeat(fmt.Sprint(n%10), 15_000)) // gathered in Out, not written from its own memory
		})
		c := ts.Dial()
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		const total = 1000
		go func() {
			for i := range total {
				if _, err := io.WriteString(c.Conn, peers.Get(fmt.Sprintf("/?n=%d", i))); err != nil {
					return
				}
			}
		}()
		awaitBlocked(t, ts.S, c)
		if n := ts.S.Stats().Requests; n == total {
			t.Errorf("all %d requests were read, although their answers don't fit into the socket", n)
		}
		for i := range total {
			resp, err := http.ReadResponse(c.Br, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != strings.Repeat(fmt.Sprint(i%10), 15_000) {
				t.Fatalf("answer %d: %d bytes, %v", i, len(b), err)
			}
		}
	})
}

// awaitBlocked waits until s can't send more to c, its only connection, from which nothing
// is read.
func awaitBlocked(t *testing.T, s *gale.Server, c *peers.Conn) {
	t.Helper()
	if _, err := c.Br.Peek(1); err != nil {
		t.Fatalf("waiting for a response: %v", err)
	}
	var requests uint64
	same := 0
	await.Until(t, "output that the socket doesn't take", func() bool {
		st := s.Stats()
		if st.Event.PendingWrites == 1 {
			return true
		}
		// Nothing shows that a goroutine waits in a write: on EngineBlock, and for large bodies.
		// It most likely does if no request is read for 50 ms.
		if st.Requests != requests {
			requests, same = st.Requests, 0
		}
		same++
		return same > 50
	})
}

// If a client doesn't take an answer in memory, the rest waits without a goroutine on the
// event engine, up to a size. All of it arrives, and so do the answers after it.
func TestEventKeepsWhatIsLeft(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 40<<10/16)
	n := gate.Form(10, 3)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) { ctx.SetBodyString(body) })
		var conns []*peers.Conn
		for range n {
			c := ts.Dial()
			c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			conns = append(conns, c)
			for range 200 { // far more than the sockets hold
				c.Send(peers.Get("/"))
			}
		}
		if e == gale.EngineEvent {
			await.Until(t, fmt.Sprint(n, " connections to wait, and no goroutine"), func() bool {
				st := ts.S.Stats().Event
				return st.PendingWrites == n && st.Running == 0
			})
		}
		for _, c := range conns {
			for range 200 {
				c.Want("GET", 200, body)
			}
		}
	})
}

// A client that doesn't read is dropped after the write timeout. Until then its unsent
// output delays no other connection.
func TestWriteTimeoutOfSlowReader(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		f.Truncate(64 << 20)
		f.Close()
		big := []byte(strings.Repeat("z", 64<<20))
		ts := harness.Start(t, &gale.Server{Engine: e, WriteTimeout: 300 * time.Millisecond}, func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/file":
				ctx.SendFile(f.Name())
			case "/bytes":
				ctx.Response.SetBodyRaw(big)
			}
		})
		for i, path := range []string{"/file", "/bytes"} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			other := ts.Dial()
			other.Send(peers.Get("/"))
			other.Want("GET", 200, "")
			other.Close()
			await.Until(t, "the time-out of "+path, func() bool { return ts.S.Stats().Timeouts == uint64(i+1) })
			peers.WaitClosed(t, ts.S, path)
		}
	})
}

// Connections that are closed at any moment leak nothing and don't affect others.
func TestChurn(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, IdleTimeout: 50 * time.Millisecond}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/nap" {
				time.Sleep(time.Millisecond) // a slow handler: its client may leave meanwhile
			}
			ctx.SetBody(ctx.Request.Header.Peek("X-Token"))
		})
		var wg sync.WaitGroup
		var done atomic.Int64
		for w := range 8 {
			wg.Go(func() {
				for i := range 60 {
					nc, err := net.Dial("tcp", ts.Addr)
					if err != nil {
						t.Error(err)
						return
					}
					nc.SetDeadline(time.Now().Add(time.Minute))
					br := bufio.NewReader(nc)
					ask := func(path, token string) string {
						return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: h\r\nX-Token: %s\r\n\r\n", path, token)
					}
					a, b := fmt.Sprintf("%d-%d-a", w, i), fmt.Sprintf("%d-%d-b", w, i)
					io.WriteString(nc, ask([]string{"/", "/nap"}[i%2], a)+ask("/", b))
					switch i % 5 {
					case 0: // closes at once
					case 1:
						nc.(*net.TCPConn).SetLinger(0)
					default:
						for _, want := range []string{a, b} {
							resp, err := http.ReadResponse(br, nil)
							if err != nil {
								t.Error(err)
								break
							}
							if got, err := io.ReadAll(resp.Body); string(got) != want || err != nil {
								t.Errorf("got %q, %v; want %q", got, err, want)
							}
						}
						if i%5 == 2 {
							io.Copy(io.Discard, br) // until it is closed because it is idle
						}
					}
					nc.Close()
					done.Add(1)
				}
			})
		}
		wg.Wait()
		peers.WaitClosed(t, ts.S, "all clients have left")
		if done.Load() != 480 {
			t.Errorf("%d clients ended", done.Load())
		}
	})
}

// Stats returns the right numbers, current ones and totals.
func TestStats(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		held, release := make(chan struct{}), make(chan struct{})
		ts := harness.Start(t, &gale.Server{Engine: e, Concurrency: 2, IdleTimeout: 100 * time.Millisecond}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/hold" {
				held <- struct{}{}
				<-release
			}
		})
		a, b := ts.Dial(), ts.Dial()
		for _, c := range []*peers.Conn{a, b} {
			c.Send(peers.Get("/hold"))
			<-held
		}
		refused := ts.Dial()
		if ans := refused.Answer("GET"); ans.StatusCode != 503 {
			t.Errorf("got %d, want 503", ans.StatusCode)
		}
		st := ts.S.Stats()
		await.Until(t, "two goroutines to run", func() bool { // the one that refused a connection may not have ended yet
			st = ts.S.Stats()
			return e != gale.EngineEvent || st.Event.Running <= 2
		})
		if st.OpenConnections != 2 || st.IdleConnections != 0 || st.AcceptedConnections != 2 || st.RejectedConnections != 1 {
			t.Errorf("two are busy: %+v", st)
		}
		if e == gale.EngineEvent && (st.Event.Loops == 0 || st.Event.Connections != 2 || st.Event.Running != 2) {
			t.Errorf("two are busy: %+v", st.Event)
		}
		close(release)
		for _, c := range []*peers.Conn{a, b} {
			c.Want("GET", 200, "")
			c.WantClosed() // because it is idle
		}
		peers.WaitClosed(t, ts.S, "idle")
		if st := ts.S.Stats(); st.Requests != 2 || st.Timeouts != 2 || st.OpenConnections != 0 {
			t.Errorf("all is over: %+v", st)
		}
	})
}

// With a limit for handlers the others wait, and all are served. That holds for one
// handler at a time, if a handler waits for its body, and with more loops than handlers.
func TestMaxRunningHandlers(t *testing.T) {
	var running, most atomic.Int32
	for _, tt := range []struct{ bound, loops int }{{1, 0}, {3, 0}, {1, 4}, {3, 2}} {
		most.Store(0)
		ts := harness.Start(t, &gale.Server{Engine: gale.EngineEvent, EventLoops: tt.loops, MaxRunningHandlers: tt.bound, StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond) // a slow handler: others would begin meanwhile
			ctx.SetBody(ctx.PostBody())
			running.Add(-1)
		})
		var wg sync.WaitGroup
		for i := range 20 {
			c := ts.Dial()
			wg.Go(func() {
				for k := range 5 {
					body := fmt.Sprintf("%d of %d", k, i)
					c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:3]))
					time.Sleep(time.Millisecond) // a slow client: the handler most likely waits for the rest
					c.Send(body[3:])
					c.Want("POST", 200, body)
				}
			})
		}
		wg.Wait()
		if runtime.GOOS == "linux" && int(most.Load()) > tt.bound {
			t.Errorf("%d handlers ran at a time, want at most %d; %d loops", most.Load(), tt.bound, tt.loops)
		}
	}
}

// A connection that always has requests, or whose client always takes more of an answer,
// doesn't keep others from being served.
func TestFairness(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		ts := harness.Start(t, &gale.Server{Engine: e}, harness.Echo)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			greedy := ts.Dial()
			_ = greedy.Conn.(*net.TCPConn).SetWriteBuffer(256 << 10) // what waits there is served at the end, too
			wg.Go(func() { io.Copy(io.Discard, greedy.Conn) })
			wg.Go(func() {
				reqs := strings.Repeat(peers.Get("/"), race.Fewer(500))
				for {
					select {
					case <-stop:
						greedy.Close()
						return
					default:
						greedy.Send(reqs)
					}
				}
			})
		}
		c := ts.Dial()
		for range race.Fewer(10) {
			c.Send(peers.Get("/"))
			c.Answer("GET")
		}
		close(stop)
		wg.Wait()
	})
}

// Programs that the server starts don't inherit descriptors of connections.
func TestEventClosesOnExec(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	ts := harness.Start(t, &gale.Server{Engine: gale.EngineEvent}, func(ctx *gale.RequestCtx) {
		out, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.SetBodyString(fmt.Sprint(strings.Contains(string(out), "socket:") || strings.Contains(string(out), "eventpoll")))
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 200, "false")
}

// The number of processors may change while a server serves.
func TestChangingProcessors(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		ts := harness.Start(t, &gale.Server{Engine: e}, harness.Echo)
		var wg sync.WaitGroup
		const clients, each, changes = 8, 100, 20
		for range clients {
			c := ts.Dial()
			wg.Go(func() {
				for range each {
					c.Send(peers.Get("/"))
					c.Answer("GET")
				}
			})
		}
		for i := range uint64(changes) {
			runtime.GOMAXPROCS(1 + int(i%4))
			await.Until(t, "requests between two changes", func() bool {
				return ts.S.Stats().Requests >= (i+1)*(clients*each/changes)
			})
		}
		wg.Wait()
	})
}
