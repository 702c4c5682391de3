package h2

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2Limits proves that a head at the limits of docs/reference/http2.md is accepted,
// and that one more is not.
func TestH2Limits(t *testing.T) {
	listed := func(fields []string) (n int) { // adds name, value and 32 for each field of block, including :method, :scheme, :path and :authority
		n = len(":methodGET:schemehttp:path/:authorityh") + 4*32
		for i := 0; i < len(fields); i += 2 {
			n += len(fields[i]) + len(fields[i+1]) + 32
		}
		return n
	}
	many := func(name string, n int) (fields []string) {
		for range n {
			fields = append(fields, name, "v")
		}
		return fields
	}
	long := func(n int) []string {
		f := []string{"x-a", strings.Repeat("\x7e", 30000), "x-b", ""}
		f[3] = strings.Repeat("\x7e", n-listed(f))
		return f
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {}}
	custom := &gale.Server{Handler: s.Handler, HTTP2: gale.HTTP2Config{MaxHeaderBytes: 2000, MaxHeaderFields: 10}}
	for _, tt := range []struct {
		name   string
		s      *gale.Server
		path   string
		fields []string
		want   string
	}{
		{"64 KiB", s, "/", long(64 << 10), "200"},
		{"64 KiB and a byte", s, "/", long(64<<10 + 1), "431"},
		{"512 fields", s, "/", many("x-f", 508), "200"},
		{"513 fields", s, "/", many("x-f", 509), "431"},
		{"512 fields with crumbs", s, "/", many("cookie", 508), "200"},
		{"513 fields with crumbs", s, "/", many("cookie", 509), "431"},
		{"a target of 16 KiB", s, "/" + strings.Repeat("x", 16<<10-1), nil, "200"},
		{"a target of 16 KiB and a byte", s, "/" + strings.Repeat("x", 16<<10), nil, "414"},
		{"2,000 bytes", custom, "/", long64(listed, 2000), "200"},
		{"2,001 bytes", custom, "/", long64(listed, 2001), "431"},
		{"10 fields", custom, "/", many("x-f", 6), "200"},
		{"11 fields", custom, "/", many("x-f", 7), "431"},
	} {
		for _, way := range peers.ClearWays[harness.H2Way]() {
			hs := way.Start(t, &gale.Server{Handler: tt.s.Handler, HTTP2: tt.s.HTTP2})
			c := hs.DialH2()
			for range 2 { // the table stays the same on both sides
				block := c.Block("GET", tt.path, tt.fields...)
				first := block[:min(len(block), 16<<10)]
				c.Headers(first, true, len(first) == len(block))
				for rest := block[len(first):]; len(rest) > 0; {
					n := min(len(rest), 16<<10)
					c.Check(c.Fr.WriteContinuation(c.Last, n == len(rest), rest[:n]))
					rest = rest[n:]
				}
				if status, _, _ := c.Answer(c.Last); status != tt.want {
					t.Errorf("%v, %s: got %s, want %s", way, tt.name, status, tt.want)
				}
			}
			hs.S.Close()
		}
	}
}

// long64 returns a field that makes the list of a head n bytes long.
func long64(listed func([]string) int, n int) []string {
	f := []string{"x-a", ""}
	f[1] = strings.Repeat("\x7e", n-listed(f))
	return f
}

// TestH2Continuations proves that a field block may use 64 CONTINUATION frames, of which
// 8 are empty. More of them, or far too many bytes, end the connection.
func TestH2Continuations(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {}})
		for _, tt := range []struct {
			name          string
			frames, empty int
			size          int // of each one that isn't empty, at least 1
			fine          bool
		}{
			{"64", 64, 0, 1, true}, {"65", 65, 0, 1, false}, {"8 empty ones", 8, 8, 1, true}, {"9 empty ones", 9, 9, 1, false},
			{"64 with 8 empty ones", 64, 8, 1, true}, {"too many bytes", 6, 0, 16 << 10, false},
		} {
			c := hs.DialH2()
			block := c.Block("GET", "/", "x-filler", strings.Repeat("\x7e", 100+tt.size*tt.frames))
			c.Together(func() {
				c.Headers(block[:20], true, false)
				block = block[20:]
				for i := range tt.frames {
					n := 0
					if i >= tt.empty {
						n = tt.size
					}
					if tt.fine && i == tt.frames-1 {
						n = len(block)
					}
					if tt.fine && n == len(block) && i < tt.frames-1 {
						t.Fatal("the block is too short")
					}
					c.Check(c.Fr.WriteContinuation(c.Last, tt.fine && i == tt.frames-1, block[:n]))
					block = block[n:]
				}
			})
			if tt.fine {
				if status, _, _ := c.Answer(c.Last); status != "200" {
					t.Errorf("%s: got %s", tt.name, status)
				}
				c.WantAlive()
			} else if f := c.Await(0, "goaway"); f.Code != uint32(http2.ErrCodeEnhanceYourCalm) {
				t.Errorf("%s: got %v", tt.name, f)
			} else if tt.size > 1 {
				c.Await(c.Last, "431")
			}
			c.Close()
		}
	})
}

// TestH2MaxStreams proves that 250 requests are served at a time, including those that
// were reset while their handlers run. More are refused, and the connection goes on.
func TestH2MaxStreams(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		for _, most := range []int{0, 3} {
			in, release := make(chan struct{}, 1000), make(chan struct{})
			hs := way.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{MaxStreams: most}, Handler: func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/stuck" {
					in <- struct{}{}
					<-release
				}
			}})
			if most == 0 {
				most = 250
			}
			c := hs.DialH2()
			var ids []uint32
			for range most {
				ids = append(ids, c.Open("GET", "/stuck", true))
			}
			for range most {
				<-in
			}
			for i := range 3 {
				if status, _, _ := c.Answer(c.Open("GET", "/more", true)); status != "rst 7" {
					t.Errorf("one more: %s", status)
				}
				c.Reset(ids[i]) // its handler goes on
				c.Sync()
			}
			if n := peers.OpenStreams(hs.S); n != most {
				t.Errorf("%d streams are open", n)
			}
			close(release)
			for _, id := range ids[3:] {
				c.WantAnswer(id, "200", "")
			}
			peers.WantCalm(t, hs.S)
			c.WantAlive()
			if n := len(in); n != 0 {
				t.Errorf("%d handlers more than allowed", n)
			}
		}
	})
}

// TestH2AtOnce proves which errors end a connection at once, and with which code.
func TestH2AtOnce(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, HTTP2: gale.HTTP2Config{MaxConnWindow: 128 << 10}, Handler: func(ctx *gale.RequestCtx) { <-ctx.Done() }})
		head := func(c *peers.H2Conn, block string) { c.Headers([]byte(block), true, true) }
		for _, tt := range []struct {
			name string
			send func(c *peers.H2Conn)
			code http2.ErrCode
		}{
			{"a window that is too large", func(c *peers.H2Conn) { c.Check(c.Fr.WriteWindowUpdate(0, 1<<31-1)) }, http2.ErrCodeFlowControl},
			{"WINDOW_UPDATE of 0", func(c *peers.H2Conn) { c.Check(c.Fr.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))) }, http2.ErrCodeProtocol},
			{"a first window that is too large", func(c *peers.H2Conn) {
				c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31}))
			}, http2.ErrCodeFlowControl},
			{"windows that become too large", func(c *peers.H2Conn) {
				c.Check(c.Fr.WriteWindowUpdate(c.Open("GET", "/", true), 1<<31-1-1<<16))
				c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}))
			}, http2.ErrCodeFlowControl},
			{"DATA beyond the connection's window", func(c *peers.H2Conn) {
				for range 4 {
					c.Open("POST", "/", false)
					for range 4 {
						c.Data(c.Last, string(peers.BigBody[:16<<10]), false)
					}
				}
			}, 0}, // the window is given back as data arrives
			{"a large frame", func(c *peers.H2Conn) {
				c.Check(c.Fr.WriteRawFrame(http2.FrameData, 0, c.Open("POST", "/", false), make([]byte, 16<<10+1)))
			}, http2.ErrCodeFrameSize},
			{"an integer of many bytes", func(c *peers.H2Conn) { head(c, "\xff\xff\xff\xff\xff\xff\x7f") }, http2.ErrCodeCompression},
			{"an index that is not there", func(c *peers.H2Conn) { head(c, "\xbe") }, http2.ErrCodeCompression},
			{"a table that is too large", func(c *peers.H2Conn) { head(c, "\x3f\xe2\x1f\x82") }, http2.ErrCodeCompression},
			{"a table of three sizes", func(c *peers.H2Conn) { head(c, "\x20\x3f\xe1\x1f\x20\x82") }, http2.ErrCodeCompression},
			{"a table size late", func(c *peers.H2Conn) { head(c, "\x82\x20") }, http2.ErrCodeCompression},
			{"a block within a block", func(c *peers.H2Conn) { c.Headers([]byte{0x82}, true, false); head(c, "\x82") }, http2.ErrCodeProtocol},
			{"DATA on an idle stream", func(c *peers.H2Conn) { c.Data(99, "x", false) }, http2.ErrCodeProtocol},
			{"RST_STREAM on an idle stream", func(c *peers.H2Conn) { c.Reset(99) }, http2.ErrCodeProtocol},
			{"PUSH_PROMISE", func(c *peers.H2Conn) {
				c.Check(c.Fr.WriteRawFrame(http2.FramePushPromise, 4, 1, []byte("\x00\x00\x00\x02\x82")))
			}, http2.ErrCodeProtocol},
			{"a stream of the server", func(c *peers.H2Conn) { c.Last++; c.Check(c.Fr.WriteRawFrame(http2.FrameHeaders, 5, 2, []byte{0x82})) }, http2.ErrCodeProtocol},
			{"a small largest frame", func(c *peers.H2Conn) {
				c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 0}))
			}, http2.ErrCodeProtocol},
		} {
			c := hs.DialH2()
			c.Fr.AllowIllegalWrites = true
			c.Together(func() { tt.send(c) })
			if tt.code == 0 {
				c.Sync()
			} else if f := c.Pong(); f.Kind != "goaway" || f.Code != uint32(tt.code) {
				t.Errorf("%s: got %v, want %v", tt.name, f, tt.code)
			}
			c.Close()
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2StreamWindow proves that a client may send as much as the window of a stream
// allows, and not more.
func TestH2StreamWindow(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) { <-ctx.Done() }})
		c := hs.DialH2()
		id := c.Open("POST", "/", false)
		for range 4 {
			c.Data(id, string(peers.BigBody[:16<<10]), false)
		}
		c.Sync()
		if n := peers.OpenStreams(hs.S); n != 1 {
			t.Errorf("%d streams are open", n)
		}
		c.Data(id, "x", false)
		if status, _, _ := c.Answer(id); status != "rst 3" {
			t.Errorf("got %s", status)
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Hello proves that a connection that begins with HTTP/2 and does not go on is
// ended.
func TestH2Hello(t *testing.T) {
	t.Parallel()
	settings := "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"
	for _, way := range peers.Ways[harness.H2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			hs := way.Start(t, &gale.Server{ReadTimeout: 500 * time.Millisecond, IdleTimeout: time.Minute, Handler: func(ctx *gale.RequestCtx) {}})
			for _, tt := range []struct {
				send string
				code int // of GOAWAY, -1 if it isn't checked
			}{
				{"", -1}, {http2.ClientPreface[:1], -1}, {http2.ClientPreface[:23], -1}, {http2.ClientPreface, int(http2.ErrCodeSettingsTimeout)},
				{http2.ClientPreface + settings[:14], int(http2.ErrCodeSettingsTimeout)},
				{http2.ClientPreface + "\x00\x00\x08\x06\x00\x00\x00\x00\x00pingpong", int(http2.ErrCodeProtocol)},
				{http2.ClientPreface + "\x00\x00\x00\x04\x01\x00\x00\x00\x00", int(http2.ErrCodeProtocol)},
			} {
				if tt.send == "" && !way.TLS {
					continue // HTTP/1.1 has its own tests
				}
				c := &peers.H2Conn{Conn: hs.DialRaw(), T: t}
				c.Fr = http2.NewFramer(c, c)
				io.WriteString(c, tt.send)
				if tt.code < 0 {
					for c.Next().Kind != "eof" {
					}
				} else if f := c.Await(0, "goaway"); int(f.Code) != tt.code {
					t.Errorf("%q: got %v", tt.send, f)
				}
			}
			// Byte by byte is slow, but in time.
			c := peers.NewH2Conn(t, slowly{hs.DialRaw()})
			c.WantAlive()
		})
	}
	// A client of TLS that has agreed on HTTP/2 gets no answer of HTTP/1.1, and one that has
	// agreed on HTTP/1.1 can't begin with HTTP/2.
	for _, e := range peers.Engines[gale.Engine]() {
		hs := harness.H2Way{Engine: e, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {}})
		c := hs.DialRaw()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if b, _ := io.ReadAll(c); strings.Contains(string(b), "HTTP/1.1") {
			t.Errorf("got %q", b)
		}
		for _, names := range [][]string{{"http/1.1"}, nil} {
			c := hs.DialTLS(names)
			io.WriteString(c, http2.ClientPreface+settings)
			if b, _ := io.ReadAll(c); !strings.HasPrefix(string(b), "HTTP/1.1 ") || strings.HasPrefix(string(b), "HTTP/1.1 200") {
				t.Errorf("%v: got %q", names, b)
			}
		}
	}
}

// TestH2HeldStreams proves that streams that don't go on are all ended, and that the
// connection still works.
func TestH2HeldStreams(t *testing.T) {
	t.Parallel()
	for _, way := range peers.Ways[harness.H2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			hs, _ := harness.Attacked(t, way, &gale.Server{ReadStallTimeout: 200 * time.Millisecond, WriteStallTimeout: 200 * time.Millisecond, MaxRequestBodySize: 1 << 20})
			c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
			for what, open := range map[string]func(){
				"408":   func() { c.Data(c.Open("POST", "/", false), "some", false) },
				"rst 8": func() { c.Open("GET", "/big", true) },
			} {
				var ids []uint32
				for range 240 {
					open()
					ids = append(ids, c.Last)
				}
				for _, id := range ids {
					if status, _, _ := c.Answer(id); status != what {
						t.Fatalf("got %s, want %s", status, what)
					}
				}
				peers.WantCalm(t, hs.S)
			}
			c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16}))
			c.WantAnswer(c.Open("GET", "/", true), "200", "answer")
		})
	}
}

// slowly writes a byte at a time.
type slowly struct{ net.Conn }

func (c slowly) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// TestH2Seeks proves that a client may seek in a film 50 times a second for any time:
// each time it resets the stream that it reads and asks for another range.
// GALE_H2_SEEKS=20s sets how long the test runs.
func TestH2Seeks(t *testing.T) {
	t.Parallel()
	long := time.Second
	if v := os.Getenv("GALE_H2_SEEKS"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatal(err)
		}
		long = d
	}
	film := filepath.Join(t.TempDir(), "film")
	if err := os.WriteFile(film, peers.BigBody, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range peers.Ways[harness.H2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/film" {
					ctx.SendFile(film)
				}
			}})
			c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100_000})
			c.SetDeadline(time.Now().Add(long + time.Minute))
			tick := time.NewTicker(time.Second / 50)
			defer tick.Stop()
			n := 0
			for began := time.Now(); time.Since(began) < long; <-tick.C {
				id := c.Open("GET", "/film", true, "range", fmt.Sprintf("bytes=%d-", n*997%len(peers.BigBody)))
				for came := false; !came; {
					f := c.Next()
					came = f.Kind == "data" && f.Stream == id
					if f.Kind == "rst" || f.Kind == "goaway" || f.Kind == "eof" {
						t.Fatalf("after %d seeks: %v", n, f)
					}
					if f.Kind == "data" && len(f.Data) > 0 {
						c.Check(c.Fr.WriteWindowUpdate(0, uint32(len(f.Data))))
						c.Check(c.Fr.WriteWindowUpdate(f.Stream, uint32(len(f.Data))))
					}
				}
				c.Reset(id)
				n++
			}
			c.WantAlive()
			peers.WantCalm(t, hs.S)
		})
	}
}

// TestH2ManyEarlyAnswers proves that a connection lasts when more streams than the limit
// for control frames are answered before their requests have ended, all at once.
func TestH2ManyEarlyAnswers(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		if way.TLS && !gate.Full() {
			t.Skip("the same as without TLS")
		}
		const streams = 1500
		var in sync.WaitGroup
		in.Add(streams)
		release := make(chan struct{})
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, HTTP2: gale.HTTP2Config{MaxStreams: streams}, Handler: func(*gale.RequestCtx) {
			in.Done()
			<-release
		}})
		c := hs.DialH2()
		for range streams {
			c.Open("POST", "/", false)
		}
		in.Wait()
		close(release)
		for answers, resets := 0, 0; answers < streams || resets < streams; {
			switch f := c.Next(); f.Kind {
			case "200":
				answers++
			case "rst":
				resets++
			case "goaway", "eof":
				t.Fatalf("%v after %d answers and %d resets", f, answers, resets)
			}
		}
	})
}
