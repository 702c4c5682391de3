package gale

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"golang.org/x/net/http2"
)

// together sends everything that write writes at once, so that the server most likely
// reads it at once.
func (c *h2Conn) together(write func()) {
	c.t.Helper()
	var b bytes.Buffer
	fr := c.fr
	c.fr = http2.NewFramer(&b, nil)
	write()
	c.fr = fr
	_, err := c.Write(b.Bytes())
	c.check(err)
}

// TestH2RoomBeforeHandler proves that a response that has got a window is sent even if a
// handler that became ready at the same time blocks.
func TestH2RoomBeforeHandler(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		release := make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-release
			}
			ctx.SetBodyString(strings.Repeat("x", 100))
		}})
		defer close(release)
		c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		big := c.open("GET", "/big", true)
		c.await(big, "200")
		if f := c.await(big, "data"); len(f.data) != 10 {
			t.Fatalf("got %v", f)
		}
		c.sync()
		c.together(func() {
			c.check(c.fr.WriteWindowUpdate(big, 1000))
			c.open("GET", "/wait", true)
		})
		if f := c.await(big, "data"); len(f.data) != 90 {
			t.Fatalf("got %v", f)
		}
	})
}

// TestH2EndAfterResponse proves that a response that waits for the engine is sent even if
// the client has ended its side meanwhile.
func TestH2EndAfterResponse(t *testing.T) {
	way := h2Way{engine: EngineEvent}
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
	c, other := hs.dialH2(), hs.dialH2()
	id := c.open("POST", "/", false)
	ss := <-got
	c.sync()
	other.open("GET", "/busy", true)
	<-busy // nothing else runs on the loop
	close(release)
	await(t, "the response", func() bool {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		return ss.proto.Streams() == 0
	})
	c.check(c.Conn.(*net.TCPConn).CloseWrite())
	close(free)
	c.await(id, "200")
}

// TestH2MaxRunningHandlers proves that the client's window is read while a handler waits
// for it, even if only few handlers may run.
func TestH2MaxRunningHandlers(t *testing.T) {
	way := h2Way{engine: EngineEvent}
	hs := way.start(t, &Server{EventLoops: 1, MaxRunningHandlers: 1, Handler: func(ctx *RequestCtx) {
		body := strings.Repeat("x", 300<<10)
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader(body), -1)
			return
		}
		ctx.WriteString(body)
		ctx.Flush()
	}})
	for _, path := range []string{"/stream", "/flush"} {
		if _, body := hs.get(hs.client(2), path); len(body) != 300<<10 {
			t.Errorf("%s: got %d bytes", path, len(body))
		}
	}
}

// TestH2InterimWaits proves that informational responses wait for room like other output.
func TestH2InterimWaits(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
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
		c := hs.dialH2()
		c.await(c.open("GET", "/", true), "200")
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
			eachH2(t, func(t *testing.T, way h2Way) {
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
				c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
				c.check(c.fr.WriteWindowUpdate(0, 1<<30))
				id := c.open("GET", "/", true) // the client then reads nothing
				ctx := <-got
				s := ctx.x.(*h2Stream)
				await(t, name+" to wait", func() bool {
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
				if f := c.await(id, "rst"); f.code != uint32(http2.ErrCodeCancel) {
					t.Errorf("%s: got %v", name, f)
				}
				c.wantAlive()
			})
		}
	}
}

// TestH2SmallReads proves that a client that reads a long response in small pieces, and
// sends WINDOW_UPDATE for each, is not taken for a flood.
func TestH2SmallReads(t *testing.T) {
	body := make([]byte, 64<<20)
	for _, e := range testEngines {
		hs := h2Way{e, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.Response.SetBodyRaw(body) }})
		resp, err := hs.client(2).Get(hs.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		n, piece := 0, make([]byte, 4<<10)
		for err == nil {
			var read int
			read, err = resp.Body.Read(piece)
			n += read
		}
		if err != io.EOF || n != len(body) {
			t.Errorf("%v: after %d bytes: %v", e, n, err)
		}
		resp.Body.Close()
	}
}

// TestH2LowPriorityWaits proves that a response doesn't time out while it gets no turn
// because the client takes a more urgent one.
func TestH2LowPriorityWaits(t *testing.T) {
	const stall = 500 * time.Millisecond
	hs := h2Way{EngineBlock, false}.start(t, &Server{WriteStallTimeout: stall, Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/long" {
			ctx.Response.SetBodyRaw(make([]byte, 16<<20))
			return
		}
		ctx.SetBodyString("short")
	}})
	c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	long := c.open("GET", "/long", true, "priority", "u=0")
	for got := 0; got < 65535; {
		got += len(c.await(long, "data").data)
	}
	short := c.open("GET", "/short", true, "priority", "u=7")
	c.await(short, "200")
	for end := time.Now().Add(3 * stall); time.Now().Before(end); time.Sleep(stall / 50) {
		c.check(c.fr.WriteWindowUpdate(0, 1<<10))
		if f := c.next(); f.stream != long || f.kind != "data" {
			t.Fatalf("got %v", f)
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
