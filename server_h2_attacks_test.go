package gale

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Attacks on HTTP/2 servers. During an attack a normal client is answered. The attacker
// is stopped at the limit that docs/reference/http2.md names, and the memory that it
// leaves in use is limited.

// h2Target is the handler under attack.
type h2Target struct {
	running, highest atomic.Int64 // handlers of /slow
	release          chan struct{}
}

func (target *h2Target) handle(ctx *RequestCtx) {
	switch string(ctx.Path()) {
	case "/wait": // until the client resets it
		<-ctx.Done()
	case "/stuck":
		<-target.release
	case "/slow":
		n := target.running.Add(1)
		for was := target.highest.Load(); n > was && !target.highest.CompareAndSwap(was, n); was = target.highest.Load() {
		}
		time.Sleep(10 * time.Millisecond)
		target.running.Add(-1)
	case "/big":
		ctx.Response.SetBodyRaw(bigBody)
	case "/head":
		ctx.Response.Header.Set("X-Long", longField)
	case "/endless":
		ctx.SetBodyStream(zeros{}, -1)
	default:
		ctx.SetBodyString("answer")
	}
}

// bigBody is a body that all responses share.
var bigBody = make([]byte, 1<<20)

var longField = strings.Repeat("\x7e", 8<<10)

// attacked starts a server to attack.
func (way h2Way) attacked(t *testing.T, s *Server) (*h2Server, *h2Target) {
	target := &h2Target{release: make(chan struct{})}
	s.Handler = target.handle
	return way.start(t, s), target
}

// whileServed repeats attack until a normal client has got some answers during it.
func (hs *h2Server) whileServed(attack func()) {
	hs.t.Helper()
	var answers atomic.Int32
	var over atomic.Bool
	var wg sync.WaitGroup
	c := hs.client(2)
	c.Timeout = 30 * time.Second
	wg.Go(func() {
		for n := 1; !over.Load(); n++ {
			resp, err := c.Get(hs.url("/normal"))
			body := []byte(nil)
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err != nil || string(body) != "answer" {
				hs.t.Errorf("a normal client got %q, %v", body, err)
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

// memory returns how much memory is in use.
func memory() int64 {
	var m runtime.MemStats
	for range 2 { // pools are emptied by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// wantMemory checks that not much more memory is in use than before.
func wantMemory(t *testing.T, before, more int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := memory()
		if now <= before+more {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d bytes are in use, %d before", now, before)
			return
		}
	}
}

// pong waits for the answer to a PING, or GOAWAY with an error, and drops all other
// frames.
func (c *h2Conn) pong() h2Frame {
	c.t.Helper()
	_ = c.fr.WritePing(false, [8]byte{'s', 'y', 'n', 'c'}) // reading shows the end
	for c.got = nil; ; {
		switch f := c.next(); {
		case f.kind == "pong" && f.data == "sync\x00\x00\x00\x00", f.kind == "goaway" && f.code != 0, f.kind == "eof":
			return f
		}
	}
}

// h2Flood is an attack with many steps of one kind.
type h2Flood struct {
	name        string
	begin       func(c *h2Conn)
	step        func(c *h2Conn)
	least, most int // how many steps are allowed at once
	rate        int // how many more are allowed in a second
	tls         bool
}

// run sends steps until the server ends the connection, and returns an error if that is
// too early or too late.
func (fl *h2Flood) run(hs *h2Server) error {
	const batch = 50
	c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	defer c.Close()
	c.fr.AllowIllegalWrites = true
	began := time.Now()
	c.sync()
	if fl.begin != nil {
		fl.begin(c)
	}
	for n := 0; ; n += batch {
		most := fl.most + batch + int(time.Since(began)*time.Duration(fl.rate)/time.Second) + 1
		if n > most {
			return fmt.Errorf("%d steps were taken in %v, at most %d should be", n, time.Since(began), most)
		}
		switch f := c.burst(batch, fl.step); {
		case f.kind == "pong":
		case f.kind != "goaway" || f.code != uint32(http2.ErrCodeEnhanceYourCalm):
			return fmt.Errorf("after %d steps: %v", n, f)
		case n+batch <= fl.least:
			return fmt.Errorf("the end came within %d steps, %d should pass", n+batch, fl.least)
		default:
			return nil
		}
	}
}

// burst sends n steps at once and returns the result of pong.
func (c *h2Conn) burst(n int, step func(c *h2Conn)) h2Frame {
	c.t.Helper()
	w := &strings.Builder{}
	fr := c.fr
	c.fr = http2.NewFramer(w, nil)
	c.fr.AllowIllegalWrites = true
	for range n {
		step(c)
	}
	c.fr = fr
	_, _ = io.WriteString(c.Conn, w.String()) // reading shows the end
	return c.pong()
}

// h2Floods returns all floods. For frames that change nothing a few steps less are
// allowed, since a PING follows every 50.
func h2Floods() []h2Flood {
	type conn = *h2Conn
	raw := func(c conn, typ http2.FrameType, flags http2.Flags, stream uint32, payload string) {
		c.check(c.fr.WriteRawFrame(typ, flags, stream, []byte(payload)))
	}
	resets := func(name string, step func(c conn)) h2Flood {
		return h2Flood{name: name, step: step, least: 1000, most: 1000, rate: 100}
	}
	odd := func(name string, step func(c conn)) h2Flood {
		return h2Flood{name: name, step: step, least: 9700, most: 10000, rate: 330}
	}
	onStream := func(fl h2Flood) h2Flood { // the stream is worth 4 steps
		fl.begin = func(c conn) { c.open("POST", "/", false) }
		fl.most += 4
		return fl
	}
	tls := func(fl h2Flood) h2Flood { fl.tls = true; return fl }
	post := func(c conn) uint32 { return c.open("POST", "/", false) }
	wait := func(c conn) uint32 { return c.open("GET", "/wait", true) }
	slow := resets("resets of slow handlers", func(c conn) { c.reset(c.open("GET", "/slow", true)) })
	slow.most = 2500 // streams above the limit are refused, which is counted separately
	goneAway := resets("WINDOW_UPDATE of 0 after GOAWAY", func(c conn) { raw(c, http2.FrameWindowUpdate, 0, post(c), "\x00\x00\x00\x00") })
	goneAway.begin = func(c conn) { c.check(c.fr.WriteGoAway(0, http2.ErrCodeNo, nil)) }
	empty := onStream(resets("empty DATA", func(c conn) { c.data(c.last, "", false) }))
	dribble := odd("windows that open by a byte", func(c conn) { c.check(c.fr.WriteWindowUpdate(c.last, 1)) })
	dribble.begin = func(c conn) { c.open("GET", "/big", true) }
	dribble.most += 10
	n := 0
	return []h2Flood{
		tls(resets("resets", func(c conn) { c.reset(wait(c)) })), slow,
		resets("resets of uploads", func(c conn) { c.reset(post(c)) }),
		// Frames that make the server reset a stream (CVE-2025-8671).
		tls(resets("WINDOW_UPDATE of 0", func(c conn) { raw(c, http2.FrameWindowUpdate, 0, post(c), "\x00\x00\x00\x00") })),
		goneAway,
		resets("windows that are too large", func(c conn) {
			c.check(c.fr.WriteWindowUpdate(wait(c), 1<<31-1))
			c.check(c.fr.WriteWindowUpdate(c.last, 1))
		}),
		resets("HEADERS after the end", func(c conn) {
			c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: wait(c), BlockFragment: []byte{0x82}, EndStream: true, EndHeaders: true}))
		}),
		resets("DATA after the end", func(c conn) { c.data(wait(c), "x", true) }),
		resets("PRIORITY of a wrong length", func(c conn) { raw(c, http2.FramePriority, 0, wait(c), "x") }),
		resets("a stream that depends on itself", func(c conn) {
			c.check(c.fr.WritePriority(wait(c), http2.PriorityParam{StreamDep: c.last}))
		}),
		resets("a wrong length", func(c conn) { c.data(c.open("POST", "/", false, "content-length", "1"), "xy", true) }),
		resets("malformed heads", func(c conn) { c.open("GET", "/", true, "X-Upper", "v") }),
		resets("malformed trailers", func(c conn) {
			c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: post(c), BlockFragment: []byte{0x82}, EndStream: true, EndHeaders: true}))
		}),
		tls(empty),
		onStream(resets("DATA that is all padding", func(c conn) { raw(c, http2.FrameData, http2.FlagDataPadded, c.last, "\x01\x00") })),

		tls(odd("PING", func(c conn) { c.check(c.fr.WritePing(false, [8]byte{})) })),
		odd("PING acknowledgements", func(c conn) { c.check(c.fr.WritePing(true, [8]byte{})) }),
		odd("SETTINGS", func(c conn) { c.check(c.fr.WriteSettings()) }),
		odd("SETTINGS acknowledgements", func(c conn) { c.check(c.fr.WriteSettingsAck()) }),
		odd("table sizes", func(c conn) {
			n++
			c.check(c.fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(n%2) << 12}))
		}),
		odd("PRIORITY", func(c conn) { c.check(c.fr.WritePriority(9, http2.PriorityParam{StreamDep: 7})) }),
		odd("PRIORITY_UPDATE of streams to come", func(c conn) {
			n = (n + 2) % 0xfffff
			raw(c, 0x10, 0, 0, string([]byte{0, byte(n >> 16), byte(n >> 8), byte(n) | 1})+"u=1, i")
		}),
		onStream(odd("PRIORITY_UPDATE", func(c conn) { n++; raw(c, 0x10, 0, 0, fmt.Sprintf("\x00\x00\x00\x01u=%d", n%8)) })),
		odd("unknown frames", func(c conn) { raw(c, 0x77, 0, 0, "") }),
		odd("WINDOW_UPDATE of the connection", func(c conn) { c.check(c.fr.WriteWindowUpdate(0, 1)) }),
		onStream(odd("WINDOW_UPDATE of a stream", func(c conn) { c.check(c.fr.WriteWindowUpdate(c.last, 1)) })),
		odd("GOAWAY", func(c conn) { c.check(c.fr.WriteGoAway(0, http2.ErrCodeNo, nil)) }),
		dribble,
	}
}

// TestH2Floods proves that floods are stopped at the limits of docs/reference/http2.md.
func TestH2Floods(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, target := way.attacked(t, new(Server))
		before := int64(0)
		for _, fl := range h2Floods() {
			if way.tls && !fl.tls {
				continue
			}
			t.Run(fl.name, func(t *testing.T) {
				hs := &h2Server{&testServer{t: t, s: hs.s, addr: hs.addr, log: hs.log}, hs.way}
				hs.whileServed(func() {
					if err := fl.run(hs); err != nil {
						t.Error(err)
					}
					await(t, "the end of slow handlers", func() bool { return target.running.Load() == 0 })
				})
				if before == 0 {
					before = memory()
				}
			})
		}
		if n := target.highest.Load(); n > 250 {
			t.Errorf("%d handlers ran at a time", n)
		}
		wantMemory(t, before, 16<<20)
		hs.wantCalm()
	})
}

// h2Hold is a way to make a connection hold memory.
type h2Hold struct {
	name     string
	settings []http2.Setting
	s        *Server
	hold     func(c *h2Conn) // makes the connection hold it
	most     int64           // limit in bytes for each connection
	streams  int             // how many streams the connection then has, -1 for any number
}

// bomb makes the field blocks of heads with count copies of one field. The first block
// puts that field into the table as its last entry.
func (c *h2Conn) bomb(path, name, value string, count int) (first, next []byte) {
	again := strings.Repeat("\xbe", count-1)
	first = append(c.block("POST", path, name, value), again...)
	return first, append(c.block("POST", path), again+"\xbe"...)
}

func (c *h2Conn) headers(block []byte, end, whole bool) uint32 {
	if c.last++; c.last%2 == 0 {
		c.last++
	}
	c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: block, EndStream: end, EndHeaders: whole}))
	return c.last
}

func h2Holds() []h2Hold {
	type conn = *h2Conn
	none := []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}
	bombs := func(path, name, value string, count int) func(c conn) {
		return func(c conn) {
			first, next := c.bomb(path, name, value, count)
			c.headers(first, path != "/", true)
			for range 249 {
				c.headers(next, path != "/", true)
			}
		}
	}
	return []h2Hold{
		{name: "idle", hold: func(conn) {}, most: 256 << 10},
		{name: "half a frame", hold: func(c conn) { c.Write([]byte("\x00\x00\x08\x06")) }, most: 256 << 10},
		{name: "half a head", hold: func(c conn) {
			c.headers([]byte{0x82}, true, false)
			for range 4 {
				c.check(c.fr.WriteContinuation(c.last, false, make([]byte, 16<<10)))
			}
		}, most: 256 << 10},
		{name: "bombs of large fields, uploads", hold: bombs("/", "x-bomb", strings.Repeat("b", 3900), 15), most: 5 << 20, streams: -1},
		{name: "bombs of large fields, handlers", hold: bombs("/stuck", "x-bomb", strings.Repeat("b", 3900), 15), most: 5 << 20, streams: -1},
		{name: "bombs of crumbs", hold: bombs("/", "cookie", "a", 500), most: 5 << 20, streams: -1},
		{name: "bombs of small fields", hold: bombs("/stuck", "x", "", 500), most: 5 << 20, streams: -1},
		{name: "bombs that are refused", settings: none, hold: bombs("/none", "x-bomb", strings.Repeat("b", 3900), 30), most: 5 << 20, streams: -1},
		{name: "bombs in trailers", s: &Server{StreamRequestBody: true}, hold: func(c conn) {
			c.open("POST", "/stuck", true)
			c.open("GET", "/", true, "x-bomb", strings.Repeat("b", 3900)) // the last entry of the table from now on
			for range 240 {
				id := c.open("POST", "/stuck", false)
				c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(strings.Repeat("\xbe", 15)), EndStream: true, EndHeaders: true}))
			}
		}, most: 5 << 20, streams: -1},
		{name: "no window", settings: none, hold: func(c conn) {
			for range 250 {
				c.open("GET", "/big", true)
			}
		}, most: 4 << 20, streams: 250},
		{name: "no window for streams", settings: none, hold: func(c conn) {
			for range 250 {
				c.open("GET", "/endless", true)
			}
		}, most: 16 << 20, streams: 250}, // for each a goroutine and a piece of the stream
		{name: "uploads that don't go on", hold: func(c conn) {
			for range 250 {
				c.open("POST", "/", false)
				c.data(c.last, "x", false)
			}
		}, most: 5 << 20, streams: 250},
		{name: "priorities of streams to come", hold: func(c conn) {
			for i := range 9000 {
				id := uint32(2*i + 1)
				c.check(c.fr.WriteRawFrame(0x10, 0, 0, []byte{0, byte(id >> 16), byte(id >> 8), byte(id), 'u', '=', '1'}))
			}
		}, most: 256 << 10},
		{name: "bodies that nobody reads", s: &Server{StreamRequestBody: true}, hold: func(c conn) {
			for range 60 { // within the connection's window
				c.open("POST", "/stuck", false)
				for range 4 {
					c.data(c.last, string(bigBody[:16<<10-1]), false)
				}
			}
		}, most: 10 << 20, streams: 60}, // twice what was sent
	}
}

// TestH2Holds proves that the memory that an attacker makes its connections hold is
// limited, and that normal clients are served meanwhile.
func TestH2Holds(t *testing.T) {
	usedAgain(t) // guarded requests take more
	const conns = 3
	eachH2(t, func(t *testing.T, way h2Way) {
		for _, ho := range h2Holds() {
			if way.tls && ho.streams != 0 {
				continue // the same as without TLS
			}
			t.Run(ho.name, func(t *testing.T) {
				s := new(Server)
				if ho.s != nil {
					s.StreamRequestBody = ho.s.StreamRequestBody
				}
				hs, target := way.attacked(t, s)
				defer close(target.release)
				hs.whileServed(func() {})
				before := memory()
				for range conns {
					c := hs.dialH2(ho.settings...)
					c.sync()
					c.together(func() { ho.hold(c) })
					if !strings.HasPrefix(ho.name, "half") {
						c.pong()
					}
				}
				hs.whileServed(func() {})
				await(t, "as many streams as there should be", func() bool {
					n := hs.openStreams()
					return n == conns*ho.streams || ho.streams < 0 && n <= conns*250
				})
				wantMemory(t, before, conns*ho.most)
			})
		}
	})
}

// openStreams returns the number of open streams.
func (hs *h2Server) openStreams() (n int) {
	l := &hs.s.run.h2
	l.mu.Lock()
	defer l.mu.Unlock()
	for ss := l.first; ss != nil; ss = ss.after {
		ss.mu.Lock()
		n += ss.proto.Streams()
		ss.mu.Unlock()
	}
	return n
}
