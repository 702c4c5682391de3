package h2

import (
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2RoomBeforeHandler proves that a response that has got a window is sent even if a
// handler that became ready at the same time blocks.
func TestH2RoomBeforeHandler(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		release := make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-release
			}
			ctx.SetBodyString(strings.Repeat("x", 100))
		}})
		defer close(release)
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		big := c.Open("GET", "/big", true)
		c.Await(big, "200")
		if f := c.Await(big, "data"); len(f.Data) != 10 {
			t.Fatalf("got %v", f)
		}
		c.Sync()
		c.Together(func() {
			c.Check(c.Fr.WriteWindowUpdate(big, 1000))
			c.Open("GET", "/wait", true)
		})
		if f := c.Await(big, "data"); len(f.Data) != 90 {
			t.Fatalf("got %v", f)
		}
	})
}

// TestH2MaxRunningHandlers proves that the client's window is read while a handler waits
// for it, even if only few handlers may run.
func TestH2MaxRunningHandlers(t *testing.T) {
	way := harness.H2Way{Engine: gale.EngineEvent}
	hs := way.Start(t, &gale.Server{EventLoops: 1, MaxRunningHandlers: 1, Handler: func(ctx *gale.RequestCtx) {
		body := strings.Repeat("x", 300<<10)
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader(body), -1)
			return
		}
		ctx.WriteString(body)
		ctx.Flush()
	}})
	for _, path := range []string{"/stream", "/flush"} {
		if _, body := hs.Get(hs.Client(2), path); len(body) != 300<<10 {
			t.Errorf("%s: got %d bytes", path, len(body))
		}
	}
}

// TestH2SmallReads proves that a client that reads a long response in small pieces, and
// sends WINDOW_UPDATE for each, is not taken for a flood.
func TestH2SmallReads(t *testing.T) {
	body := make([]byte, gate.Form(64<<20, 16<<20))
	for _, e := range peers.Engines[gale.Engine]() {
		hs := harness.H2Way{Engine: e, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Response.SetBodyRaw(body) }})
		resp, err := hs.Client(2).Get(hs.URL("/"))
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
	hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{WriteStallTimeout: stall, Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/long" {
			ctx.Response.SetBodyRaw(make([]byte, 16<<20))
			return
		}
		ctx.SetBodyString("short")
	}})
	c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	long := c.Open("GET", "/long", true, "priority", "u=0")
	for got := 0; got < 65535; {
		got += len(c.Await(long, "data").Data)
	}
	short := c.Open("GET", "/short", true, "priority", "u=7")
	c.Await(short, "200")
	for end := time.Now().Add(3 * stall); time.Now().Before(end); time.Sleep(stall / 50) { // a slow client: no time-out may come
		c.Check(c.Fr.WriteWindowUpdate(0, 1<<10))
		if f := c.Next(); f.Stream != long || f.Kind != "data" {
			t.Fatalf("got %v", f)
		}
	}
}
