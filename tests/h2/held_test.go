package h2

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2DryConnection proves that responses that wait for the connection's window are ended
// by WriteStallTimeout, also those that had no turn since it was used up.
func TestH2DryConnection(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{WriteStallTimeout: 200 * time.Millisecond, Handler: func(ctx *gale.RequestCtx) { ctx.SetBody(peers.BigBody) }})
		for _, window := range []uint32{1, 1 << 16, 1<<17 + 7, 200_000} {
			c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
			c.Check(c.Fr.WriteWindowUpdate(0, window))
			var ids []uint32
			c.Together(func() {
				for range gate.Form(20, 8) {
					ids = append(ids, c.Open("GET", "/", true))
				}
			})
			for _, id := range ids {
				if f := c.Await(id, "rst", "end"); f.Kind != "rst" || f.Code != uint32(http2.ErrCodeCancel) {
					t.Fatalf("window %d: got %v", window, f)
				}
			}
			c.Close()
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2SlowBody proves that a body whose client is slow stops others, but only until its client
// gives up or ReadStallTimeout ends it, and that those that wait for it are not late themselves.
func TestH2SlowBody(t *testing.T) {
	for _, way := range peers.ClearWays[harness.H2Way]() {
		for _, tt := range []struct {
			end     string // how the slow body ends
			stall   time.Duration
			answers string
		}{
			{"reset", time.Hour, ""},
			{"time", 2 * time.Second, "408"}, // what the others need is far less
		} {
			t.Run(way.String()+","+tt.end, func(t *testing.T) {
				t.Parallel()
				hs := way.Start(t, &gale.Server{ReadStallTimeout: tt.stall, HTTP2: gale.HTTP2Config{MaxConnWindow: 1 << 17}, Handler: harness.CountBody})
				u := hs.StartUpload()
				slow := u.Post(4<<20, true)
				u.Send(1) // it has gone beyond MaxConnWindow
				for range 5 {
					u.Post(1<<20, true)
				}
				u.Send(1)
				others := u.Bodies[1:]
				if tt.end == "reset" {
					for _, b := range others {
						if b.Rest != 1<<20-1<<16 {
							t.Errorf("%d bytes are left while the slow body goes on", b.Rest)
						}
					}
					u.Check(u.Fr.WriteRSTStream(slow.ID, http2.ErrCodeCancel))
					u.Bodies = others
				} else {
					for slow.Status == "" {
						u.Took(u.Next())
					}
				}
				if slow.Status != tt.answers {
					t.Errorf("the slow body got %q", slow.Status)
				}
				for _, b := range others {
					for b.Status == "" {
						if u.Send(0); b.Rest > 0 || b.Status == "" {
							u.Took(u.Next())
						}
					}
					if b.Status != "200" {
						t.Errorf("got %s", b.Status)
					}
				}
			})
		}
	}
}

// TestH2WholeWindow proves that the client gets the window for all of a body at once.
func TestH2WholeWindow(t *testing.T) {
	for _, way := range peers.ClearWays[harness.H2Way]() {
		hs := way.Start(t, &gale.Server{Handler: harness.CountBody})
		c := hs.DialH2()
		id := c.Open("POST", "/", false, "content-length", fmt.Sprint(4<<20))
		if f := c.Await(id, "window"); f.Code != 4<<20-1<<16 {
			t.Errorf("got %v", f)
		}
	}
}

// TestH2HalvedDry proves that a client that has ended its side, and can give no window any more, gets
// an end of each response that waits for the connection's window, and that the server has done with
// these while another request of the connection goes on.
func TestH2HalvedDry(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		const streams = 20
		in, goOn := make(chan bool, streams+1), make(chan bool)
		sent := make(chan error, streams)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			in <- true
			if string(ctx.Path()) == "/last" {
				<-goOn
				return
			}
			ctx.AfterSend(func(_ int64, err error) { sent <- err })
			<-ctx.Done()
			ctx.SetBody(peers.BigBody)
		}})
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		last := c.Open("GET", "/last", true)
		var ids []uint32
		for range streams {
			ids = append(ids, c.Open("GET", "/", true))
		}
		for range streams + 1 {
			<-in
		}
		c.Check(c.Conn.(interface{ CloseWrite() error }).CloseWrite())
		for _, id := range ids {
			if f := c.Await(id, "rst", "end"); f.Kind != "rst" || f.Code != uint32(http2.ErrCodeCancel) {
				t.Fatalf("got %v", f)
			}
		}
		peers.Within(t, "AfterSend", func() {
			for range streams {
				if err := <-sent; err == nil {
					t.Error("a response was sent whole")
				}
			}
		})
		close(goOn)
		c.Await(last, "end")
		c.Await(0, "eof")
		peers.WantCalm(t, hs.S)
	})
}
