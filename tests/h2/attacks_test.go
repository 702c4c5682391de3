package h2

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// whileServed repeats attack until a normal client has got some answers during it.
func whileServed(hs *harness.H2Server, attack func()) {
	hs.T.Helper()
	var answers atomic.Int32
	var over atomic.Bool
	var wg sync.WaitGroup
	c := hs.Client(2)
	c.Timeout = 30 * time.Second
	wg.Go(func() {
		for n := 1; !over.Load(); n++ {
			resp, err := c.Get(hs.URL("/normal"))
			body := []byte(nil)
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err != nil || string(body) != "answer" {
				hs.T.Errorf("a normal client got %q, %v", body, err)
				over.Store(true)
			}
			if n%3 == 0 {
				c.CloseIdleConnections()
			}
			answers.Add(1)
		}
	})
	for more := true; more; more = answers.Load() < 4 && !over.Load() {
		attack()
	}
	over.Store(true)
	wg.Wait()
	c.CloseIdleConnections()
}

// h2Flood is an attack with many steps of one kind.
type h2Flood struct {
	name        string
	begin       func(c *peers.H2Conn)
	step        func(c *peers.H2Conn)
	least, most int // how many steps are allowed at once
	rate        int // how many more are allowed in a second
	tls         bool
}

// run sends steps until the server ends the connection, and returns an error if that is
// too early or too late.
func (fl *h2Flood) run(hs *harness.H2Server) error {
	const batch = 50
	c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	defer c.Close()
	c.Fr.AllowIllegalWrites = true
	began := time.Now()
	c.Sync()
	if fl.begin != nil {
		fl.begin(c)
	}
	for n := 0; ; n += batch {
		most := fl.most + batch + int(time.Since(began)*time.Duration(fl.rate)/time.Second) + 1
		if n > most {
			return fmt.Errorf("%d steps were taken in %v, at most %d should be", n, time.Since(began), most)
		}
		switch f := c.Burst(batch, fl.step); {
		case f.Kind == "pong":
		case f.Kind != "goaway" || f.Code != uint32(http2.ErrCodeEnhanceYourCalm):
			return fmt.Errorf("after %d steps: %v", n, f)
		case n+batch <= fl.least:
			return fmt.Errorf("the end came within %d steps, %d should pass", n+batch, fl.least)
		default:
			return nil
		}
	}
}

// h2Floods returns all floods. For frames that change nothing a few steps less are
// allowed, since a PING follows every 50.
func h2Floods() []h2Flood {
	type conn = *peers.H2Conn
	raw := func(c conn, typ http2.FrameType, flags http2.Flags, stream uint32, payload string) {
		c.Check(c.Fr.WriteRawFrame(typ, flags, stream, []byte(payload)))
	}
	resets := func(name string, step func(c conn)) h2Flood {
		return h2Flood{name: name, step: step, least: 1000, most: 1000, rate: 100}
	}
	odd := func(name string, step func(c conn)) h2Flood {
		return h2Flood{name: name, step: step, least: 9700, most: 10000, rate: 330}
	}
	onStream := func(fl h2Flood) h2Flood { // the stream is worth 4 steps
		fl.begin = func(c conn) { c.Open("POST", "/", false) }
		fl.most += 4
		return fl
	}
	tls := func(fl h2Flood) h2Flood { fl.tls = true; return fl }
	post := func(c conn) uint32 { return c.Open("POST", "/", false) }
	wait := func(c conn) uint32 { return c.Open("GET", "/wait", true) }
	slow := resets("resets of slow handlers", func(c conn) { c.Reset(c.Open("GET", "/slow", true)) })
	slow.most = 2500 // streams above the limit are refused, which is counted separately
	goneAway := resets("WINDOW_UPDATE of 0 after GOAWAY", func(c conn) { raw(c, http2.FrameWindowUpdate, 0, post(c), "\x00\x00\x00\x00") })
	goneAway.begin = func(c conn) { c.Check(c.Fr.WriteGoAway(0, http2.ErrCodeNo, nil)) }
	empty := onStream(resets("empty DATA", func(c conn) { c.Data(c.Last, "", false) }))
	dribble := odd("windows that open by a byte", func(c conn) { c.Check(c.Fr.WriteWindowUpdate(c.Last, 1)) })
	dribble.begin = func(c conn) { c.Open("GET", "/big", true) }
	dribble.most += 10
	n := 0
	return []h2Flood{
		tls(resets("resets", func(c conn) { c.Reset(wait(c)) })), slow,
		resets("resets of uploads", func(c conn) { c.Reset(post(c)) }),
		// Frames that make the server reset a stream (CVE-2025-8671).
		tls(resets("WINDOW_UPDATE of 0", func(c conn) { raw(c, http2.FrameWindowUpdate, 0, post(c), "\x00\x00\x00\x00") })),
		goneAway,
		resets("windows that are too large", func(c conn) {
			c.Check(c.Fr.WriteWindowUpdate(wait(c), 1<<31-1))
			c.Check(c.Fr.WriteWindowUpdate(c.Last, 1))
		}),
		resets("HEADERS after the end", func(c conn) {
			c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: wait(c), BlockFragment: []byte{0x82}, EndStream: true, EndHeaders: true}))
		}),
		resets("DATA after the end", func(c conn) { c.Data(wait(c), "x", true) }),
		resets("PRIORITY of a wrong length", func(c conn) { raw(c, http2.FramePriority, 0, wait(c), "x") }),
		resets("a stream that depends on itself", func(c conn) {
			c.Check(c.Fr.WritePriority(wait(c), http2.PriorityParam{StreamDep: c.Last}))
		}),
		resets("a wrong length", func(c conn) { c.Data(c.Open("POST", "/", false, "content-length", "1"), "xy", true) }),
		resets("malformed heads", func(c conn) { c.Open("GET", "/", true, "X-Upper", "v") }),
		resets("malformed trailers", func(c conn) {
			c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: post(c), BlockFragment: []byte{0x82}, EndStream: true, EndHeaders: true}))
		}),
		tls(empty),
		onStream(resets("DATA that is all padding", func(c conn) { raw(c, http2.FrameData, http2.FlagDataPadded, c.Last, "\x01\x00") })),

		tls(odd("PING", func(c conn) { c.Check(c.Fr.WritePing(false, [8]byte{})) })),
		odd("PING acknowledgements", func(c conn) { c.Check(c.Fr.WritePing(true, [8]byte{})) }),
		odd("SETTINGS", func(c conn) { c.Check(c.Fr.WriteSettings()) }),
		odd("SETTINGS acknowledgements", func(c conn) { c.Check(c.Fr.WriteSettingsAck()) }),
		odd("table sizes", func(c conn) {
			n++
			c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(n%2) << 12}))
		}),
		odd("PRIORITY", func(c conn) { c.Check(c.Fr.WritePriority(9, http2.PriorityParam{StreamDep: 7})) }),
		odd("PRIORITY_UPDATE of streams to come", func(c conn) {
			n = (n + 2) % 0xfffff
			raw(c, 0x10, 0, 0, string([]byte{0, byte(n >> 16), byte(n >> 8), byte(n) | 1})+"u=1, i")
		}),
		onStream(odd("PRIORITY_UPDATE", func(c conn) { n++; raw(c, 0x10, 0, 0, fmt.Sprintf("\x00\x00\x00\x01u=%d", n%8)) })),
		odd("unknown frames", func(c conn) { raw(c, 0x77, 0, 0, "") }),
		odd("WINDOW_UPDATE of the connection", func(c conn) { c.Check(c.Fr.WriteWindowUpdate(0, 1)) }),
		onStream(odd("WINDOW_UPDATE of a stream", func(c conn) { c.Check(c.Fr.WriteWindowUpdate(c.Last, 1)) })),
		odd("GOAWAY", func(c conn) { c.Check(c.Fr.WriteGoAway(0, http2.ErrCodeNo, nil)) }),
		dribble,
	}
}

// TestH2Floods proves that floods are stopped at the limits of docs/reference/http2.md.
func TestH2Floods(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, target := harness.Attacked(t, way, new(gale.Server))
		before := int64(0)
		for _, fl := range h2Floods() {
			if way.TLS && !fl.tls {
				continue
			}
			t.Run(fl.name, func(t *testing.T) {
				hs := &harness.H2Server{H2Plain: &peers.H2Plain{Server: &peers.Server{T: t, Addr: hs.Addr, Log: hs.Log}, TLS: hs.TLS}, S: hs.S, Way: hs.Way}
				whileServed(hs, func() {
					if err := fl.run(hs); err != nil {
						t.Error(err)
					}
					await.Gone(t, "slow handlers", func() bool { return target.Running.Load() == 0 })
				})
				if before == 0 {
					before = peers.Memory()
				}
			})
		}
		if n := target.Highest.Load(); n > 250 {
			t.Errorf("%d handlers ran at a time", n)
		}
		peers.WantMemory(t, before, 16<<20)
		peers.WantCalm(t, hs.S)
	})
}

// h2Hold is a way to make a connection hold memory.
type h2Hold struct {
	name     string
	settings []http2.Setting
	s        *gale.Server
	hold     func(c *peers.H2Conn) // makes the connection hold it
	most     int64                 // limit in bytes for each connection
	streams  int                   // how many streams the connection then has, -1 for any number
}

func h2Holds() []h2Hold {
	type conn = *peers.H2Conn
	none := []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}
	bombs := func(path, name, value string, count int) func(c conn) {
		return func(c conn) {
			first, next := c.Bomb(path, name, value, count)
			c.Headers(first, path != "/", true)
			for range 249 {
				c.Headers(next, path != "/", true)
			}
		}
	}
	return []h2Hold{
		{name: "idle", hold: func(conn) {}, most: 256 << 10},
		{name: "half a frame", hold: func(c conn) { c.Write([]byte("\x00\x00\x08\x06")) }, most: 256 << 10},
		{name: "half a head", hold: func(c conn) {
			c.Headers([]byte{0x82}, true, false)
			for range 4 {
				c.Check(c.Fr.WriteContinuation(c.Last, false, make([]byte, 16<<10)))
			}
		}, most: 256 << 10},
		{name: "bombs of large fields, uploads", hold: bombs("/", "x-bomb", strings.Repeat("b", 3900), 15), most: 5 << 20, streams: -1},
		{name: "bombs of large fields, handlers", hold: bombs("/stuck", "x-bomb", strings.Repeat("b", 3900), 15), most: 5 << 20, streams: -1},
		{name: "bombs of crumbs", hold: bombs("/", "cookie", "a", 500), most: 5 << 20, streams: -1},
		{name: "bombs of small fields", hold: bombs("/stuck", "x", "", 500), most: 5 << 20, streams: -1},
		{name: "bombs that are refused", settings: none, hold: bombs("/none", "x-bomb", strings.Repeat("b", 3900), 30), most: 5 << 20, streams: -1},
		{name: "bombs in trailers", s: &gale.Server{StreamRequestBody: true}, hold: func(c conn) {
			c.Open("POST", "/stuck", true)
			c.Open("GET", "/", true, "x-bomb", strings.Repeat("b", 3900)) // the last entry of the table from now on
			for range 240 {
				id := c.Open("POST", "/stuck", false)
				c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(strings.Repeat("\xbe", 15)), EndStream: true, EndHeaders: true}))
			}
		}, most: 5 << 20, streams: -1},
		{name: "no window", settings: none, hold: func(c conn) {
			for range 250 {
				c.Open("GET", "/big", true)
			}
		}, most: 4 << 20, streams: 250},
		{name: "no window for streams", settings: none, hold: func(c conn) {
			for range 250 {
				c.Open("GET", "/endless", true)
			}
		}, most: 16 << 20, streams: 250}, // for each a goroutine and a piece of the stream
		{name: "uploads that don't go on", hold: func(c conn) {
			for range 250 {
				c.Open("POST", "/", false)
				c.Data(c.Last, "x", false)
			}
		}, most: 5 << 20, streams: 250},
		{name: "priorities of streams to come", hold: func(c conn) {
			for i := range 9000 {
				id := uint32(2*i + 1)
				c.Check(c.Fr.WriteRawFrame(0x10, 0, 0, []byte{0, byte(id >> 16), byte(id >> 8), byte(id), 'u', '=', '1'}))
			}
		}, most: 256 << 10},
		{name: "bodies that nobody reads", s: &gale.Server{StreamRequestBody: true}, hold: func(c conn) {
			for range 60 { // within the connection's window
				c.Open("POST", "/stuck", false)
				for range 4 {
					c.Data(c.Last, string(peers.BigBody[:16<<10-1]), false)
				}
			}
		}, most: 10 << 20, streams: 60}, // twice what was sent
	}
}

// TestH2Holds proves that the memory that an attacker makes its connections hold is
// limited, and that normal clients are served meanwhile.
func TestH2Holds(t *testing.T) {
	peers.UsedAgain(t) // guarded requests take more
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		for _, ho := range h2Holds() {
			if way.TLS && ho.streams != 0 {
				continue // the same as without TLS
			}
			t.Run(ho.name, func(t *testing.T) {
				conns := gate.Form(3, 2)
				if ho.most >= 4<<20 {
					conns = gate.Form(3, 1)
				}
				s := new(gale.Server)
				if ho.s != nil {
					s.StreamRequestBody = ho.s.StreamRequestBody
				}
				hs, target := harness.Attacked(t, way, s)
				defer close(target.Release)
				whileServed(hs, func() {})
				before := peers.Memory()
				for range conns {
					c := hs.DialH2(ho.settings...)
					c.Sync()
					c.Together(func() { ho.hold(c) })
					if !strings.HasPrefix(ho.name, "half") {
						c.Pong()
					}
				}
				whileServed(hs, func() {})
				await.Until(t, "as many streams as there should be", func() bool {
					n := peers.OpenStreams(hs.S)
					return n == conns*ho.streams || ho.streams < 0 && n <= conns*250
				})
				peers.WantMemory(t, before, int64(conns)*ho.most)
			})
		}
	})
}

// TestH2Deaf proves that the connection of a client that reads nothing is closed, and
// that the output that waits for it is limited.
func TestH2Deaf(t *testing.T) {
	t.Parallel()
	for _, way := range peers.Ways[harness.H2Way]() {
		for name, send := range map[string]func(c *peers.H2Conn){
			"bodies": func(c *peers.H2Conn) { c.Open("GET", "/endless", true) },
			"heads":  func(c *peers.H2Conn) { c.Open("GET", "/head", true) },
		} {
			t.Run(way.String()+","+name, func(t *testing.T) {
				t.Parallel()
				hs, _ := harness.Attacked(t, way, &gale.Server{WriteStallTimeout: 500 * time.Millisecond})
				c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
				c.Check(c.Fr.WriteWindowUpdate(0, 1<<30))
				c.Sync()
				most := 0
				for n := 0; ; n++ {
					if name == "heads" || n == 0 {
						w := &strings.Builder{}
						fr := c.Fr
						c.Fr = http2.NewFramer(w, nil)
						for range 100 {
							send(c)
						}
						c.Fr = fr
						if _, err := io.WriteString(c.Conn, w.String()); err != nil {
							break // it was closed
						}
						await.Until(t, "room for streams", func() bool { return name == "bodies" || peers.OpenStreams(hs.S) < 100 })
					} else {
						time.Sleep(time.Millisecond) // between two looks while others send
					}
					most = max(most, door.InsideOf(hs.S).Unsent)
					if door.InsideOf(hs.S).Conns == 0 {
						break
					}
				}
				if most > 240<<10+32<<10 {
					t.Errorf("%d bytes waited", most)
				}
				await.Until(t, "the end of the connection", func() bool { return hs.S.GetCurrentConcurrency() == 0 })
				peers.WantCalm(t, hs.S)
			})
		}
	}
}
