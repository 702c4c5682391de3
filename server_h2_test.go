package gale

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/internal/streamconn"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Attacks on HTTP/2 servers. During an attack a normal client is answered. The attacker
// is stopped at the limit that docs/reference/http2.md names, and the memory that it
// leaves in use is limited.

// held calls f for each stream of a server's HTTP/2 connections, under their locks.
func held(hs *h2Server, f func(s *h2Stream)) {
	l := &hs.s.run.h2
	l.mu.Lock()
	defer l.mu.Unlock()
	for ss := l.first; ss != nil; ss = ss.after {
		ss.mu.Lock()
		ss.proto.All(func(st *h2.Stream) bool {
			f(h2StreamOf(st))
			return true
		})
		ss.mu.Unlock()
	}
}

// countBody is a handler that answers 200 if the body has the length that the field size
// says, and the bytes of one stream only.
func countBody(ctx *RequestCtx) {
	b := ctx.PostBody()
	if fmt.Sprint(len(b)) != string(ctx.Request.Header.Peek("size")) || bytes.Count(b, b[:1]) != len(b) {
		ctx.SetStatusCode(500)
	}
}

// TestH2CollectedBodies proves that the bodies that a connection makes the server collect are
// bounded together, that none of them waits for the others for good, and that no memory is
// taken for what a client only announces.
func TestH2CollectedBodies(t *testing.T) {
	const first = 64 << 10 // the first window of a stream
	for _, way := range peers.ClearWays[h2Way]() {
		for _, tt := range []struct {
			name           string
			streams, size  int
			declared       bool
			window, larger int // HTTP2Config.MaxConnWindow, Server.MaxRequestBodySize
		}{
			{"declared", race.Fewer(gate.Form(60, 30)), 4 << 20, true, 1 << 20, 0},
			{"not declared", race.Fewer(gate.Form(60, 30)), 4 << 20, false, 1 << 20, 0},
			{"declared, little beyond the window", race.Fewer(200), 70_000, true, 1 << 20, 0},
			{"not declared, little beyond the window", race.Fewer(200), 70_000, false, 1 << 20, 0},
			{"within the window", 40, first, true, 1 << 20, 0},
			{"the smallest window", 10, 1 << 20, true, first, 0},
			{"a large body", 2, gate.Form(24<<20, 10<<20), true, 1 << 20, 32 << 20},
			{"defaults", max(6, race.Fewer(gate.Form(12, 6))), 4 << 20, true, 0, 0},
		} {
			t.Run(way.String()+","+tt.name, func(t *testing.T) {
				hs := way.start(t, &Server{MaxRequestBodySize: tt.larger, HTTP2: HTTP2Config{MaxConnWindow: tt.window}, Handler: countBody})
				u := hs.StartUpload()
				for range tt.streams {
					u.Post(tt.size, tt.declared)
				}
				u.Send(1) // no body ends
				bytes, memory := 0, 0
				held(hs, func(s *h2Stream) {
					bytes += len(s.ctx.Request.bodyBytes()) + s.in.Len()
					memory += s.ctx.Request.bodyMemory()
				})
				if tt.window == 0 {
					tt.window = 15 << 20
				}
				most := tt.streams*min(first, tt.size) + tt.window + tt.size
				if bytes > most || bytes < most/8 && tt.streams*tt.size > most {
					t.Errorf("%d bytes of bodies wait, want at most %d", bytes, most)
				}
				if memory > 2*most {
					t.Errorf("bodies that wait hold %d bytes, want at most %d", memory, 2*most)
				}
				u.Send(0)
				for _, b := range u.Bodies {
					for b.Status == "" {
						if u.Send(0); b.Status == "" { // windows may have come since
							u.Took(u.Next())
						}
					}
					if b.Status != "200" {
						t.Fatalf("stream %d got %s", b.ID, b.Status)
					}
				}
				peers.WantCalm(t, hs.s)
			})
		}
	}
}

// TestH2Unsent proves that no more requests are begun while the responses that wait for
// windows hold maxUnsent. All are answered when the client gives windows, in any order, and
// WriteStallTimeout ends them if it doesn't.
func TestH2Unsent(t *testing.T) {
	const size = 1 << 20
	streams := gate.Form(80+race.Fewer(120), 70) // of which maxUnsent allows 32, and others begin meanwhile
	for _, way := range peers.ClearWays[h2Way]() {
		for i, tt := range []struct {
			name string
			most int // handlers that run before the client gives windows
			set  func(ctx *RequestCtx)
		}{
			{"a body", maxUnsent >> 10, func(ctx *RequestCtx) { ctx.SetBody(peers.BigBody) }},
			{"a body that is not copied", maxUnsent >> 10, func(ctx *RequestCtx) { ctx.Response.SetBodyRaw(peers.BigBody) }},
			{"a body of a cache", streams, func(ctx *RequestCtx) { ctx.Response.setBodyShared(peers.BigBody) }},
		} {
			for j, ends := range []string{"windows", "timeouts", "reset", "lost"} {
				if j > 0 && (i+j)%3 > 0 && !gate.Full() {
					continue // each end has one of the bodies
				}
				t.Run(way.String()+","+tt.name+","+ends, func(t *testing.T) {
					var ran atomic.Int32
					s := &Server{Handler: func(ctx *RequestCtx) { ran.Add(1); tt.set(ctx) }}
					if ends == "timeouts" {
						s.WriteStallTimeout = 20 * time.Millisecond
					}
					hs := way.start(t, s)
					c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
					var ids []uint32
					open := func(n int) {
						c.Together(func() {
							for range n {
								ids = append(ids, c.Open("GET", "/", true))
							}
						})
						c.Sync()
					}
					if ends == "timeouts" || tt.most == streams {
						open(streams)
					} else { // in two parts: of the first one, all may run at the same time
						open(maxUnsent>>10 + 8)
						await.Until(t, "as much as may wait, and no handler", func() bool {
							full, runs := false, false
							held(hs, func(s *h2Stream) { full, runs = s.ss.unsent >= maxUnsent, runs || s.turn == h2Runs })
							return full && !runs
						})
						was := ran.Load()
						open(streams - len(ids))
						if n := ran.Load() - was; n > 0 {
							t.Errorf("%d handlers have run while so much waits", n)
						}
					}
					switch ends {
					case "windows":
						await.Until(t, "handlers", func() bool { return int(ran.Load()) >= tt.most })
						was := int(ran.Load())
						c.Check(c.Fr.WriteWindowUpdate(0, 1<<30))
						c.Check(c.Fr.WriteWindowUpdate(ids[5], size)) // one goes on, and makes room for another one
						c.Await(ids[5], "end")
						await.Until(t, "one more handler", func() bool { return int(ran.Load()) >= min(was, streams) })
						c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: size}))
						for _, id := range ids {
							if id != ids[5] {
								c.Await(id, "end")
							}
						}
					case "timeouts":
						for _, id := range ids {
							c.Await(id, "rst")
						}
					case "reset":
						for _, id := range ids {
							c.Reset(id)
						}
					case "lost":
						c.Close()
						await.Until(t, "the end of the connection", func() bool { return hs.s.GetCurrentConcurrency() == 0 })
					}
					peers.WantCalm(t, hs.s)
				})
			}
		}
	}
}

// TestH2UnsentLong proves that one response that is longer than what may wait for windows doesn't
// stop the other streams of its connection.
func TestH2UnsentLong(t *testing.T) {
	long := make([]byte, maxUnsent<<10+1<<20)
	for _, way := range peers.ClearWays[h2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			hs := way.start(t, &Server{WriteStallTimeout: -1, Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/long" {
					ctx.Response.SetBodyRaw(long)
				}
			}})
			c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			c.Open("GET", "/long", true)
			await.Until(t, "the long response", func() (waits bool) {
				held(hs, func(s *h2Stream) { waits = waits || s.unsent > 0 })
				return waits
			})
			peers.Within(t, "the other streams", func() {
				for range 10 {
					c.Await(c.Open("GET", "/", true), "end")
				}
			})
		})
	}
}

// TestH2LostCounts proves that a lost connection is counted until its handlers have
// returned, also those that got their body as a stream before its end, so that Shutdown waits
// for them. It is counted once, whichever of them run.
func TestH2LostCounts(t *testing.T) {
	for _, paths := range [][]string{{"/feed"}, {"/apart"}, {"/feed", "/apart"}, {"/apart", "/feed"}} {
		t.Run(strings.Join(paths, ""), func(t *testing.T) {
			peers.EachWay(t, func(t *testing.T, way h2Way) {
				in, over := make(chan *h2Session, 2), make(chan struct{}, 2)
				out := map[string]chan struct{}{"/feed": make(chan struct{}), "/apart": make(chan struct{})}
				hs := way.start(t, &Server{StreamRequestBody: true, MaxConnsPerIP: 1, Handler: func(ctx *RequestCtx) {
					defer func() { over <- struct{}{} }()
					in <- ctx.x.(*h2Stream).ss
					<-out[string(ctx.Path())]
				}})
				c := hs.DialH2()
				var ss *h2Session
				for _, path := range paths {
					c.Open("POST", path, path == "/feed")
					ss = <-in
				}
				below := c.Conn
				if tc, ok := below.(*tls.Conn); ok {
					below = tc.NetConn()
				}
				_ = below.(*net.TCPConn).SetLinger(0)
				below.Close() // a reset
				await.Until(t, "the end of the connection", func() bool {
					ss.mu.Lock()
					defer ss.mu.Unlock()
					return ss.gone
				})
				wantCounted(t, hs.s, 1)
				for i, path := range paths {
					if i > 0 && paths[0] == "/feed" { // the apart one goes on
						await.Until(t, "the handler apart to count", func() bool { return hs.s.stats.held.Load() == 1 })
					}
					wantCounted(t, hs.s, 1)
					close(out[path])
					<-over
				}
				await.Until(t, "the connection not to count", func() bool { return hs.s.GetOpenConnectionsCount() == 0 })
				wantCounted(t, hs.s, 0)
			})
		})
	}
}

// wantCounted checks how many connections count, in all and for their addresses.
func wantCounted(t *testing.T, s *Server, want int) {
	t.Helper()
	s.perIP.mu.Lock()
	n := 0
	for _, conns := range s.perIP.n {
		n += conns
	}
	s.perIP.mu.Unlock()
	if open := int(s.GetOpenConnectionsCount()); open != want || n != want {
		t.Errorf("%d connections count, and %d for their addresses, want %d", open, n, want)
	}
	if held := s.stats.held.Load(); want == 0 && held != 0 {
		t.Errorf("%d connections are held", held)
	}
}

// TestH2LostOfServeConn proves that a lost connection of ServeConn is counted, too, until its last
// handler has returned, also if another handler has ended the goroutine of ServeConn.
func TestH2LostOfServeConn(t *testing.T) {
	for _, exits := range []bool{false, true} {
		t.Run(fmt.Sprintf("Goexit=%v", exits), func(t *testing.T) {
			in, out := make(chan struct{}), make(chan struct{})
			s := &Server{
				StreamRequestBody: true, MaxConnsPerIP: 1, Logger: &peers.Log{}, HTTP2: HTTP2Config{H2C: true},
				Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/exit" {
						runtime.Goexit()
					}
					close(in)
					<-out
				},
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatalf("listening: %v", err)
			}
			defer ln.Close()
			nc, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatalf("dialling: %v", err)
			}
			defer nc.Close()
			accepted, err := ln.Accept()
			if err != nil {
				t.Fatalf("accepting: %v", err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = s.ServeConn(accepted)
			}()
			c := peers.NewH2Conn(t, nc)
			c.Open("POST", "/apart", false)
			<-in
			if exits {
				c.Await(c.Open("GET", "/exit", true), "rst")
			}
			_ = nc.(*net.TCPConn).SetLinger(0)
			nc.Close() // a reset
			<-ended
			if open, held := s.GetOpenConnectionsCount(), s.stats.held.Load(); open != 1 || held != 1 {
				t.Errorf("%d connections count, and %d are held, want 1", open, held)
			}
			close(out)
			await.Until(t, "the connection not to count", func() bool { return s.GetOpenConnectionsCount() == 0 })
			wantCounted(t, s, 0)
		})
	}
}

// TestH2OwnPanic proves that a panic of the library itself, while it changes the state of
// a connection, ends the connection and its handlers, and that nothing hangs.
func TestH2OwnPanic(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		streams := make(chan *h2Stream, 3)
		release := make(chan struct{})
		ended := make(chan error, 2)
		hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			streams <- ctx.x.(*h2Stream)
			switch string(ctx.Path()) {
			case "/read":
				_, err := io.ReadAll(ctx.RequestBodyStream())
				ended <- err
			case "/done":
				<-ctx.Done()
				ended <- context.Cause(ctx)
			case "/broken":
				<-release
			}
		}})
		defer close(release)
		c := hs.DialH2()
		c.Open("POST", "/read", false)
		c.Open("GET", "/done", true)
		<-streams
		<-streams
		id := c.Open("POST", "/broken", false)
		s := <-streams
		c.Sync()
		s.ss.mu.Lock()
		s.st.Owner = "of the test"
		s.ss.mu.Unlock()
		c.Data(id, "x", false)
		c.Await(0, "eof")
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrClientGone) {
				t.Errorf("a handler ended with %v", err)
			}
		}
		await.Until(t, "the end of the connection", func() bool { return hs.s.GetCurrentConcurrency() == 0 })
		await.Until(t, "the panic in the log", func() bool { return strings.Contains(hs.Log.String(), "interface conversion") })
		hs.DialH2().Await(0, "settings")
		hs.s.Close()
	})
}

// TestH2SlowReader proves that bytes of a body that were read are not kept while more of
// it arrives.
func TestH2SlowReader(t *testing.T) {
	const total, ahead = 8 << 20, 16 << 10
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		most := make(chan int, 1)
		hs := way.start(t, &Server{StreamRequestBody: true, MaxRequestBodySize: 2 * total, Handler: func(ctx *RequestCtx) {
			s := ctx.x.(*h2Stream)
			r := ctx.RequestBodyStream()
			p := make([]byte, ahead)
			highest := 0
			for n := 0; n < total; {
				// It always leaves some bytes, so that the body isn't read to its end.
				s.ss.mu.Lock()
				for n+len(p) < total && s.in.Len() < ahead+1 {
					s.awaitBody()
				}
				s.ss.mu.Unlock()
				m, err := r.Read(p)
				if n += m; err != nil {
					t.Error(err)
					break
				}
				s.ss.mu.Lock()
				highest = max(highest, s.in.Cap())
				s.ss.mu.Unlock()
			}
			most <- highest
		}})
		resp, err := hs.Client(2).Post(hs.URL("/"), "text/plain", io.LimitReader(peers.Zeros{}, total))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := <-most; n > 4<<20 {
			t.Errorf("the buffers grew to %d bytes", n)
		}
	})
}

// tunnels starts a server that gives streams to the test.
func tunnels(t *testing.T, way h2Way) (*h2Server, chan net.Conn) {
	taken := make(chan net.Conn, 16)
	h := func(ctx *RequestCtx) { ctx.Hijack(func(nc net.Conn) { taken <- nc }) }
	return way.start(t, &Server{HTTP2: HTTP2Config{WebSocket: true}, KeepHijackedConns: true, Handler: h}), taken
}

// TestTunnelDeadlines proves that deadlines end a Read and a Write that wait, and that the
// stream can be used afterwards.
func TestTunnelDeadlines(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnels(t, way)
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		id := c.Connect("/taken")
		nc := peers.GetTaken(t, taken)
		failed := make(chan error, 2)
		late := func(what string) {
			t.Helper()
			err := <-failed
			if ne, ok := err.(net.Error); !errors.Is(err, os.ErrDeadlineExceeded) || !ok || !ne.Timeout() {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, at := range []time.Duration{-time.Hour, time.Millisecond, 20 * time.Millisecond} {
			go func() {
				_, err := nc.Read(make([]byte, 1))
				failed <- err
			}()
			peers.Check(t, nc.SetReadDeadline(time.Now().Add(time.Hour)))
			peers.Check(t, nc.SetReadDeadline(time.Now().Add(at)))
			late("Read")
		}
		peers.Check(t, nc.SetReadDeadline(time.Time{}))
		c.Data(id, "on", false)
		peers.Want(t, nc, "on")

		sent := make(chan int, 1)
		go func() {
			n, err := nc.Write([]byte("0123456789abcdef"))
			sent <- n
			failed <- err
		}()
		if f := c.Await(id, "data"); f.Data != "0123456789" {
			t.Errorf("the client got %v", f)
		}
		peers.Check(t, nc.SetDeadline(time.Now().Add(-time.Second)))
		if n := <-sent; n != 10 {
			t.Errorf("%d bytes were written", n)
		}
		late("Write")
		peers.Check(t, nc.SetDeadline(time.Time{}))
		c.Check(c.Fr.WriteWindowUpdate(id, 100))
		peers.Put(t, nc, "abcdef")
		if f := c.Await(id, "data"); f.Data != "abcdef" {
			t.Errorf("the client got %v", f)
		}

		c.Check(c.Fr.WriteWindowUpdate(id, 100)) // now Close ends a Write
		go func() {
			_, err := nc.Write(bytes.Repeat([]byte("x"), 1000))
			failed <- err
		}()
		c.Await(id, "data")
		sc, tun := streamconn.Of(nc)
		await.Until(t, "a Write that waits", func() bool {
			tun.Lock()
			defer tun.Unlock()
			return sc.Waits()
		})
		nc.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write during Close: %v", err)
		}
		c.WantEnd(id, "rst", http2.ErrCodeCancel)
		if err := nc.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("SetDeadline after Close: %v", err)
		}
		peers.WantStreams(t, hs.s, 0)
	})
}

// TestTunnelLinger proves that a stream whose client doesn't end it is reset some time after
// Close.
func TestTunnelLinger(t *testing.T) {
	hs, taken := tunnels(t, h2Way{Engine: EngineEvent})
	c := hs.DialH2()
	id := c.Connect("/taken")
	nc := peers.GetTaken(t, taken)
	nc.Close()
	c.WantEnd(id, "data", 0)
	_, stream := streamconn.Of(nc)
	tun := stream.(*h2Tunnel)
	tun.s.ss.mu.Lock()
	tun.lingerDue = 1 // long ago
	tun.s.ss.mu.Unlock()
	tun.s.ss.wake()
	c.WantEnd(id, "rst", http2.ErrCodeNo)
	peers.WantStreams(t, hs.s, 0)
}

// TestH2EndAfterResponse proves that a response that waits for the engine is sent even if
// the client has ended its side meanwhile.
func TestH2EndAfterResponse(t *testing.T) {
	way := h2Way{Engine: EngineEvent}
	got, release, busy, free := make(chan *h2Session, 1), make(chan struct{}), make(chan struct{}), make(chan struct{})
	hs := way.start(t, &Server{StreamRequestBody: true, EventLoops: 1, MaxRunningHandlers: 1, Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/busy" {
			close(busy)
			<-free
			return
		}
		got <- ctx.x.(*h2Stream).ss
		<-release
	}})
	c, other := hs.DialH2(), hs.DialH2()
	id := c.Open("POST", "/", false)
	ss := <-got
	c.Sync()
	other.Open("GET", "/busy", true)
	<-busy // nothing else runs on the loop
	close(release)
	await.Until(t, "the response", func() bool {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		return ss.proto.Streams() == 0
	})
	c.Check(c.Conn.(*net.TCPConn).CloseWrite())
	close(free)
	c.Await(id, "200")
}

// TestH2InterimWaits proves that informational responses wait for room like other output.
func TestH2InterimWaits(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		var highest atomic.Int32
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			ss := ctx.x.(*h2Stream).ss
			var h ResponseHeader
			h.Set("X-Step", strings.Repeat("\x7e", 10<<10))
			for range 1000 {
				if err := ctx.SendInterim(103, &h); err != nil {
					t.Error(err)
				}
				ss.mu.Lock()
				highest.Store(max(highest.Load(), int32(len(ss.out))))
				ss.mu.Unlock()
			}
		}})
		c := hs.DialH2()
		c.Await(c.Open("GET", "/", true), "200")
		if n := highest.Load(); n > wideH2Out+maxH2Piece {
			t.Errorf("%d bytes waited", n)
		}
	})
}

// TestH2MaxStreamWindow proves that a small MaxStreamWindow applies from the beginning.
func TestH2MaxStreamWindow(t *testing.T) {
	cfg := (&Server{HTTP2: HTTP2Config{MaxStreamWindow: 8 << 10}}).h2Config()
	if cfg.StreamWindow != 8<<10 || cfg.StreamWindowMax != 8<<10 {
		t.Errorf("windows of %d and %d bytes", cfg.StreamWindow, cfg.StreamWindowMax)
	}
}

// TestH2WriteDeadline proves that a deadline that is set while a handler waits for the
// socket ends the wait, and only its stream.
func TestH2WriteDeadline(t *testing.T) {
	for name, send := range map[string]func(ctx *RequestCtx) error{
		"flush": func(ctx *RequestCtx) error {
			ctx.WriteString(strings.Repeat("x", 32<<10))
			return ctx.Flush()
		},
		"interim": func(ctx *RequestCtx) error {
			var h ResponseHeader
			h.Set("X-Step", strings.Repeat("\x7e", 10<<10))
			return ctx.SendInterim(103, &h)
		},
	} {
		for _, later := range []bool{false, true} {
			peers.EachWay(t, func(t *testing.T, way h2Way) {
				got, result := make(chan *RequestCtx), make(chan error)
				hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/alive" {
						return
					}
					got <- ctx
					for {
						if err := send(ctx); err != nil {
							result <- err
							return
						}
					}
				}})
				c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
				c.Check(c.Fr.WriteWindowUpdate(0, 1<<30))
				id := c.Open("GET", "/", true) // the client then reads nothing
				ctx := <-got
				s := ctx.x.(*h2Stream)
				await.Until(t, name+" to wait", func() bool {
					s.ss.mu.Lock()
					defer s.ss.mu.Unlock()
					return s.awaits != nil && s.awaits == &s.ss.room.Cond
				})
				deadline := time.Now()
				if later {
					deadline = deadline.Add(10 * time.Millisecond)
				}
				ctx.SetWriteDeadline(deadline)
				if err := <-result; err != ErrTimeout {
					t.Errorf("%s: got %v", name, err)
				}
				if f := c.Await(id, "rst"); f.Code != uint32(http2.ErrCodeCancel) {
					t.Errorf("%s: got %v", name, f)
				}
				c.WantAlive()
			})
		}
	}
}

// TestH2RoomAdapts proves that much output is gathered only while the client takes it
// quickly.
func TestH2RoomAdapts(t *testing.T) {
	r := &h2Room{most: maxH2Out}
	for _, step := range []struct {
		ago  clock.Tick
		want int
	}{{quickH2Out + 1, maxH2Out}, {0, wideH2Out}, {0, wideH2Out}, {2 * quickH2Out, maxH2Out}} {
		r.at = clock.Ticks() - step.ago
		if step.ago == 0 {
			r.at = clock.Ticks() + clock.Tick(time.Hour) // so that any time is short
		}
		if r.adapt(); r.most != step.want {
			t.Errorf("%v after the last time: %d bytes, want %d", time.Duration(step.ago), r.most, step.want)
		}
	}
}
