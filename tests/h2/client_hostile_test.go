package h2

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
	"golang.org/x/net/http2"
)

// Frames of all types, with any flags and lengths, on the connection and on a stream.
func TestH2ClientFrameTypes(t *testing.T) {
	peers.WithoutEngine(t)
	check := peers.SettledH2(t)
	for typ := range 256 {
		if typ > 32 && typ%16 != 0 && typ < 255 && !gate.Full() {
			continue // all of them are unknown
		}
		rng := rand.New(rand.NewPCG(uint64(typ), 1))
		s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
			r := (*peers.H2Asked)(nil)
			if p.Greet() {
				r = p.Asked()
			}
			if r == nil {
				return
			}
			for range 3 {
				payload := make([]byte, rng.IntN(20))
				for i := range payload {
					payload[i] = byte(rng.IntN(256) & rng.IntN(256))
				}
				p.Send(peers.H2Wire(http2.FrameType(typ), http2.Flags(rng.IntN(256)), uint32(rng.IntN(2)), string(payload)))
			}
			p.Answer(r.ID, r.Answer())
			p.ServeAll()
		})
		c := harness.ScriptClient(s)
		peers.Within(t, fmt.Sprintf("a call after a frame of type %d", typ), func() {
			body, err := harness.H2Get(c, "/x")
			if err == nil && body != "GET /x " && typ > 1 {
				t.Errorf("type %d: got %.100q", typ, body)
			}
		})
		if n := s.Accepted.Load(); n > gale.DefaultMaxIdemponentCallAttempts {
			t.Errorf("type %d: %v", typ, s)
		}
		harness.FinishScript(s, c)
		s.Stop()
	}
	check()
}

// h2Hostile is a server that breaks the rules, or plays with them.
type h2Hostile struct {
	name  string
	greet string // instead of an empty SETTINGS frame
	// play is called when the first request of a connection has come. Nil means that the
	// requests are answered.
	play func(p *peers.H2Actor, r *peers.H2Asked)
	want h2Want

	client  func(c *gale.HostClient)
	request func(req *gale.Request)
	read    func(s *peers.H2Script, resp *gale.Response) error // reads the body
	most    int64                                              // how many connections and requests there may be; 0 means 1
	tls     bool                                               // tried with TLS, too
}

// h2Want is how a call ends.
type h2Want struct {
	how  h2Ending
	code http2.ErrCode
}

type h2Ending uint8

const (
	endsConn    h2Ending = iota // GOAWAY with the code, and the connection is closed
	endsStream                  // RST_STREAM with the code, and the connection goes on
	endsQuietly                 // the same, without RST_STREAM, because both sides have ended the stream
	isAnswered                  // with the right answer; the connection goes on
	thenConn                    // with the right answer, and then like endsConn
	fails                       // with some error; the connection is closed
)

func endConn(code http2.ErrCode) h2Want { return h2Want{endsConn, code} }

func endStream(code http2.ErrCode) h2Want { return h2Want{endsStream, code} }

// h2Once is a server that sends the bytes of f when a request has come, and then serves as
// a good server.
func h2Once(f func(p *peers.H2Actor, id uint32) string) func(*peers.H2Actor, *peers.H2Asked) {
	return func(p *peers.H2Actor, r *peers.H2Asked) {
		p.Send(f(p, r.ID))
		p.ServeAll()
	}
}

// h2Sends is h2Once for bytes that need no encoder.
func h2Sends(parts ...string) func(*peers.H2Actor, *peers.H2Asked) {
	return h2Once(func(*peers.H2Actor, uint32) string { return strings.Join(parts, "") })
}

// h2Answers is h2Once for a head with these fields.
func h2Answers(fields ...string) func(*peers.H2Actor, *peers.H2Asked) {
	return h2Once(func(p *peers.H2Actor, id uint32) string { return p.Head(id, 0, fields...) })
}

// h2Trails is h2Once for a response with trailers.
func h2Trails(fields ...string) func(*peers.H2Actor, *peers.H2Asked) {
	return h2Once(func(p *peers.H2Actor, id uint32) string {
		return p.Ok(id) + peers.H2Data(id, 0, "body") + p.Head(id, peers.H2End, fields...)
	})
}

// h2FloodOf is a server that sends bytes without end.
func h2FloodOf(f func(p *peers.H2Actor, id uint32) string) func(*peers.H2Actor, *peers.H2Asked) {
	return func(p *peers.H2Actor, r *peers.H2Asked) { p.Flood(func() string { return f(p, r.ID) }) }
}

func readStream(resp *gale.Response) error {
	_, err := io.ReadAll(resp.BodyStream())
	return err
}

func useMethod(method string) func(req *gale.Request) {
	return func(req *gale.Request) { req.Header.SetMethod(method) }
}

// h2Hostiles returns the servers of which the first request shows what they are.
func h2Hostiles() []h2Hostile {
	const (
		protocol    = http2.ErrCodeProtocol
		flowControl = http2.ErrCodeFlowControl
		frameSize   = http2.ErrCodeFrameSize
		closed      = http2.ErrCodeStreamClosed
		calm        = http2.ErrCodeEnhanceYourCalm
	)
	const tableSize, push, window, maxFrame, noPriorities = 1, 2, 4, 5, 9
	answered := h2Want{how: isAnswered}
	list := []h2Hostile{
		{name: "nothing", want: answered, tls: true},
		{name: "maximum frame size 0", greet: peers.H2Settings(maxFrame, 0), want: endConn(protocol), tls: true},
		{name: "maximum frame size 16383", greet: peers.H2Settings(maxFrame, 1<<14-1), want: endConn(protocol)},
		{name: "maximum frame size 2^24", greet: peers.H2Settings(maxFrame, 1<<24), want: endConn(protocol)},
		{name: "maximum frame size 0, later", play: h2Sends(peers.H2Settings(maxFrame, 0)), want: endConn(protocol)},
		{name: "initial window 2^31", greet: peers.H2Settings(window, 1<<31), want: endConn(flowControl)},
		{name: "push 1", greet: peers.H2Settings(push, 1), want: endConn(protocol)},
		{name: "push 2", greet: peers.H2Settings(push, 2), want: endConn(protocol)},
		{name: "a table of 4 GiB", greet: peers.H2Settings(tableSize, 1<<32-1), want: answered},
		{name: "no table", greet: peers.H2Settings(tableSize, 0), want: answered},
		{name: "priorities 2", greet: peers.H2Settings(noPriorities, 2), want: endConn(protocol)},
		{name: "unknown settings", greet: peers.H2Settings(0, 1, 99, 1, 1<<16-1, 1<<32-1), want: answered},
		{name: "SETTINGS of 5 bytes", greet: peers.H2Wire(http2.FrameSettings, 0, 0, "12345"), want: endConn(frameSize)},
		{name: "SETTINGS of a stream", greet: peers.H2Wire(http2.FrameSettings, 0, 1, ""), want: endConn(protocol)},
		{name: "SETTINGS that acknowledge and set", play: h2Sends(peers.H2Wire(http2.FrameSettings, 1, 0, "123456")), want: endConn(frameSize)},
		{name: "SETTINGS never acknowledged", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Mute = true
			p.Answer(r.ID, r.Answer())
			p.ServeAll()
		}, want: answered},

		// The first frame must be SETTINGS.
		{name: "PING first", greet: peers.H2Wire(http2.FramePing, 0, 0, "12345678"), want: endConn(protocol)},
		{name: "an acknowledgement first", greet: peers.H2Wire(http2.FrameSettings, 1, 0, ""), want: endConn(protocol)},
		{name: "HTTP/1.1", greet: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", want: h2Want{how: fails}, most: 5, tls: true},
		{name: "SSH", greet: "SSH-2.0-OpenSSH_9.2\r\n", want: h2Want{how: fails}, most: 5},
		{name: "zeros", greet: strings.Repeat("\x00", 100), want: h2Want{how: fails}, most: 5},
		{name: "0xff", greet: strings.Repeat("\xff", 100), want: h2Want{how: fails}, most: 5},

		{name: "endless CONTINUATION", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(peers.H2Wire(http2.FrameHeaders, 0, r.ID, p.Fields(":status", "200")))
			p.Flood(func() string { return peers.H2Wire(http2.FrameContinuation, 0, r.ID, "\x00\x01a\x01b") })
		}, want: endConn(calm), tls: true},
		{name: "endless CONTINUATION, large", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(peers.H2Wire(http2.FrameHeaders, 0, r.ID, p.Fields(":status", "200")))
			p.Flood(func() string { return peers.H2Wire(http2.FrameContinuation, 0, r.ID, strings.Repeat("x", 16<<10)) })
		}, want: endConn(calm)},
		{name: "endless CONTINUATION, empty", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(peers.H2Wire(http2.FrameHeaders, 0, r.ID, p.Fields(":status", "200")))
			p.Flood(func() string { return peers.H2Wire(http2.FrameContinuation, 0, r.ID, "") })
		}, want: endConn(calm)},
		{name: "endless CONTINUATION of trailers", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "x"), peers.H2Wire(http2.FrameHeaders, peers.H2End, r.ID, p.Fields("a", "b")))
			p.Flood(func() string { return peers.H2Wire(http2.FrameContinuation, 0, r.ID, "\x00\x01a\x01b") })
		}, want: endConn(calm)},
		{name: "CONTINUATION alone", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Wire(http2.FrameContinuation, 4, id, "") }), want: endConn(protocol)},
		{name: "CONTINUATION of another stream", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 0, id, p.Fields(":status", "200")) + peers.H2Wire(http2.FrameContinuation, 4, id+2, "")
		}), want: endConn(protocol)},
		{name: "another frame in a block", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 0, id, p.Fields(":status", "200")) + peers.H2Wire(http2.FramePing, 0, 0, "12345678")
		}), want: endConn(protocol)},
		{name: "a block that can't be decoded", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Wire(http2.FrameHeaders, 4, id, "\xbf") }), want: endConn(http2.ErrCodeCompression)},
		{name: "a table update that is too large", play: h2Once(func(_ *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 5, id, "\x3f\xe1\xff\x03\x88")
		}), want: endConn(http2.ErrCodeCompression)},
		{name: "a number without end", play: h2Once(func(_ *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 5, id, "\x88\x7f"+strings.Repeat("\xff", 1000))
		}), want: endConn(http2.ErrCodeCompression)},

		{name: "a bomb of one field", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 4, id, p.Fields(":status", "200", "x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: endStream(calm), tls: true},
		{name: "many fields", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 4, id, p.Fields(":status", "200", "x", "")+strings.Repeat("\xbe", 600))
		}), want: endStream(calm)},
		{name: "a long value", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.LongHead(id, 70<<10) }), want: endStream(calm)},
		{name: "a long block", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.LongHead(id, 200<<10) }), want: endConn(calm)},
		{name: "a head beyond ReadBufferSize", client: func(c *gale.HostClient) { c.ReadBufferSize = 4096 },
			play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.LongHead(id, 5000) }), want: endStream(calm)},
		{name: "a head within ReadBufferSize", client: func(c *gale.HostClient) { c.ReadBufferSize = 4096 },
			play: func(p *peers.H2Actor, r *peers.H2Asked) {
				p.Send(p.Ok(r.ID, "x-long", strings.Repeat("\x7e", 3000)), peers.H2Data(r.ID, peers.H2End, r.Answer()))
				p.ServeAll()
			}, want: answered},
		{name: "a bomb in trailers", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id) + peers.H2Data(id, 0, "x") + peers.H2Wire(http2.FrameHeaders, 5, id, p.Fields("x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: h2Want{endsQuietly, calm}},
		{name: "a bomb in informational responses", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FrameHeaders, 4, id, p.Fields(":status", "103", "x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: endStream(calm)},

		{name: "a window of 0 more", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Window(id, 0) }), want: endStream(protocol)},
		{name: "a window of 0 more of the connection", play: h2Sends(peers.H2Window(0, 0)), want: endConn(protocol)},
		{name: "a window that overflows", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Window(id, 1<<31-1) }), want: endStream(flowControl)},
		{name: "a window of the connection that overflows", play: h2Sends(peers.H2Window(0, 1<<31-1)), want: endConn(flowControl)},
		{name: "windows that SETTINGS make overflow", play: h2Once(func(_ *peers.H2Actor, id uint32) string {
			return peers.H2Window(id, 1<<31-1<<16) + peers.H2Settings(window, 1<<18)
		}), want: endConn(flowControl), request: postBody(1 << 20)},
		{name: "negative windows", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Stingy = true
			more := func() bool { next, _ := p.Part(); return next != nil }
			for len(r.Body) < 1<<16-1 && more() {
			}
			p.Send(peers.H2Settings(window, 0), peers.H2Window(0, 1<<20), peers.H2Window(r.ID, 1<<20))
			for !r.Whole && more() {
			}
			p.Stingy = false
			p.Answer(r.ID, "got "+fmt.Sprint(len(r.Body)))
			p.Send(peers.H2Settings(window, 1<<16-1))
			p.ServeAll()
		}, want: answered, request: postBody(1 << 20)},

		{name: "GOAWAY with rising ids", play: h2Sends(peers.H2GoAway(1, 0), peers.H2GoAway(3, 0)), want: endConn(protocol)},
		{name: "GOAWAY of 7 bytes", play: h2Sends(peers.H2Wire(http2.FrameGoAway, 0, 0, "1234567")), want: endConn(frameSize)},

		{name: "HEADERS of an idle stream", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Head(id+2, peers.H2End, ":status", "200") }), want: endConn(protocol)},
		{name: "HEADERS of an even stream", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Head(2, peers.H2End, ":status", "200") }), want: endConn(protocol)},
		{name: "HEADERS of stream 0", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Head(0, peers.H2End, ":status", "200") }), want: endConn(protocol)},
		{name: "DATA of an idle stream", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Data(id+2, 0, "x") }), want: endConn(protocol)},
		{name: "DATA of an even stream", play: h2Sends(peers.H2Data(2, 0, "x")), want: endConn(protocol)},
		{name: "DATA of stream 0", play: h2Sends(peers.H2Data(0, 0, "x")), want: endConn(protocol)},
		{name: "RST_STREAM of an idle stream", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Reset(id+2, 0) }), want: endConn(protocol)},
		{name: "RST_STREAM of 3 bytes", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Wire(http2.FrameRSTStream, 0, id, "123") }), want: endConn(frameSize)},
		{name: "WINDOW_UPDATE of an idle stream", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Window(id+2, 1) }), want: endConn(protocol)},
		{name: "PUSH_PROMISE", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return peers.H2Wire(http2.FramePushPromise, 4, id, peers.H2U32(2)+p.Fields(":method", "GET", ":scheme", "http", ":authority", "a.test", ":path", "/"))
		}), want: endConn(protocol), tls: true},
		{name: "PING of 7 bytes", play: h2Sends(peers.H2Wire(http2.FramePing, 0, 0, "1234567")), want: endConn(frameSize)},
		{name: "a frame that is too long", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id) + peers.H2Data(id, 0, strings.Repeat("x", 16<<10+1))
		}), want: endConn(frameSize)},
		{name: "more padding than there is", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id) + peers.H2Data(id, http2.FlagDataPadded, "\x05abcd")
		}), want: endConn(protocol)},

		{name: "DATA before HEADERS", play: h2Once(func(_ *peers.H2Actor, id uint32) string { return peers.H2Data(id, 0, "x") }), want: endStream(protocol)},
		{name: "DATA after the end", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, peers.H2End, r.Answer()), peers.H2Data(r.ID, 0, "x"))
			p.Hold()
		}, want: h2Want{thenConn, closed}, tls: true},
		{name: "HEADERS after the end", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, peers.H2End, r.Answer()), p.Ok(r.ID))
			p.Hold()
		}, want: h2Want{thenConn, closed}},
		{name: "DATA after trailers", play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, r.Answer()), p.Head(r.ID, peers.H2End, "x-t", "1"), peers.H2Data(r.ID, 0, "x"))
			p.Hold()
		}, want: h2Want{thenConn, closed}},
		{name: "trailers without an end", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id) + peers.H2Data(id, 0, "x") + p.Head(id, 0, "x-t", "1")
		}), want: endStream(protocol)},
		{name: "more than Content-Length", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id, "content-length", "3") + peers.H2Data(id, 0, "abcd")
		}), want: endStream(protocol)},
		{name: "less than Content-Length", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Ok(id, "content-length", "3") + peers.H2Data(id, peers.H2End, "ab")
		}), want: endStream(protocol)},
		{name: "more than Content-Length, streamed", client: func(c *gale.HostClient) { c.StreamResponseBody = true },
			read: func(_ *peers.H2Script, resp *gale.Response) error { return readStream(resp) },
			play: h2Once(func(p *peers.H2Actor, id uint32) string {
				return p.Ok(id, "content-length", "3") + peers.H2Data(id, 0, "ab") + peers.H2Data(id, 0, "cd")
			}), want: endStream(protocol)},
		{name: "more than the window", client: func(c *gale.HostClient) { c.StreamResponseBody = true },
			play: func(p *peers.H2Actor, r *peers.H2Asked) {
				out := p.Ok(r.ID)
				for n := int(p.Window) + 1; n > 0; n -= 16 << 10 {
					out += peers.H2Data(r.ID, 0, strings.Repeat("x", min(n, 16<<10)))
				}
				p.Send(out)
				p.ServeAll()
			},
			read: func(s *peers.H2Script, resp *gale.Response) error { // only afterwards: reading opens the window
				for _, resets := s.Codes(); resets[uint32(flowControl)] == 0; _, resets = s.Codes() {
					time.Sleep(time.Millisecond) // between two looks
				}
				return readStream(resp)
			}, want: endStream(flowControl)},
		{name: "DATA for HEAD", request: useMethod("HEAD"), play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Ok(id) + peers.H2Data(id, peers.H2End, "x") }), want: endStream(protocol)},
		{name: "DATA for 204", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Head(id, 0, ":status", "204") + peers.H2Data(id, peers.H2End, "x")
		}), want: endStream(protocol)},
		{name: "DATA for 304", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Head(id, 0, ":status", "304") + peers.H2Data(id, peers.H2End, "x")
		}), want: endStream(protocol)},
		{name: "a body beyond MaxResponseBodySize", client: func(c *gale.HostClient) { c.MaxResponseBodySize = 1000 },
			play: h2Once(func(p *peers.H2Actor, id uint32) string {
				return p.Ok(id) + peers.H2Data(id, 0, strings.Repeat("x", 1001))
			}), want: endStream(http2.ErrCodeCancel)},
		{name: "Content-Length beyond MaxResponseBodySize", client: func(c *gale.HostClient) { c.MaxResponseBodySize = 1000 },
			play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Ok(id, "content-length", "1001") }), want: endStream(http2.ErrCodeCancel)},

		{name: "1xx without end", play: h2FloodOf(func(p *peers.H2Actor, id uint32) string { return p.Head(id, 0, ":status", "103", "link", "</a>") }), want: h2Want{fails, calm}, tls: true},
		{name: "101", play: h2Once(func(p *peers.H2Actor, id uint32) string { return p.Head(id, 0, ":status", "101") }), want: endStream(protocol)},
		{name: "an informational response with END_STREAM", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Head(id, peers.H2End, ":status", "103")
		}), want: h2Want{endsQuietly, protocol}},
		{name: "DATA after an informational response", play: h2Once(func(p *peers.H2Actor, id uint32) string {
			return p.Head(id, 0, ":status", "103") + peers.H2Data(id, peers.H2End, "x")
		}), want: endStream(protocol)},
	}
	for _, bad := range []struct{ name, in string }{
		{"HEADERS padded beyond its end", peers.H2Wire(http2.FrameHeaders, 4|http2.FlagHeadersPadded, 1, "\x09\x88")},
		{"PUSH_PROMISE of nothing", peers.H2Wire(http2.FramePushPromise, 4, 1, "")},
		{"PRIORITY_UPDATE", peers.H2Wire(0x10, 0, 0, peers.H2U32(1)+"u=1")},
	} {
		list = append(list, h2Hostile{name: bad.name, play: h2Sends(bad.in), want: h2Want{how: fails}, most: 5})
	}
	return append(append(list, h2BadHeads()...), h2ClientFloods()...)
}

// h2BadHeads are malformed heads and trailers (RFC 9113 sections 8.2 and 8.3): each resets
// its stream.
func h2BadHeads() (list []h2Hostile) {
	add := func(name string, play func(*peers.H2Actor, *peers.H2Asked)) {
		list = append(list, h2Hostile{name: name, play: play, want: endStream(http2.ErrCodeProtocol)})
	}
	trailers := func(name string, play func(*peers.H2Actor, *peers.H2Asked)) {
		list = append(list, h2Hostile{name: name, play: play, want: h2Want{endsQuietly, http2.ErrCodeProtocol}})
	}
	for _, f := range [][]string{
		{}, {"x", "y"}, {":status", ""}, {":status", "20"}, {":status", "2000"}, {":status", "0200"}, {":status", "abc"}, {":status", "+20"}, {":status", "099"},
		{":status", "200", ":status", "200"}, {"x", "y", ":status", "200"}, {":status", "200", ":method", "GET"}, {":status", "200", ":path", "/"}, {":status", "200", ":x", "y"},
	} {
		add(fmt.Sprintf("head %q", f), h2Answers(f...))
	}
	for _, f := range [][2]string{
		{"X-Upper", "v"}, {"x y", "v"}, {"", "v"}, {"x\x00", "v"}, {"x\r\ny", "v"}, {"x:", "v"}, {"é", "v"},
		{"x", "a\nb"}, {"x", "a\rb"}, {"x", "a\x00b"}, {"x", " a"}, {"x", "a "}, {"x", "\ta"}, {"x", "a\x7fb"},
		{"connection", "close"}, {"keep-alive", "1"}, {"proxy-connection", "close"}, {"transfer-encoding", "chunked"}, {"upgrade", "h2c"}, {"te", "trailers"},
		{"content-length", "-1"}, {"content-length", "1x"}, {"content-length", ""}, {"content-length", "99999999999999999999"},
	} {
		add(fmt.Sprintf("field %q", f), h2Answers(":status", "200", f[0], f[1]))
	}
	add("two lengths", h2Answers(":status", "200", "content-length", "1", "content-length", "2"))
	for _, f := range [][2]string{
		{":status", "200"}, {":method", "GET"}, {"X-Upper", "v"}, {"x", "a\nb"}, {"connection", "close"}, {"content-length", "4"}, {"transfer-encoding", "chunked"},
	} {
		trailers(fmt.Sprintf("trailer %q", f), h2Trails(f[0], f[1]))
	}
	return list
}

// h2ClientFloods are servers that keep a connection busy without an answer.
func h2ClientFloods() (list []h2Hostile) {
	calm := endConn(http2.ErrCodeEnhanceYourCalm)
	add := func(name string, f func(p *peers.H2Actor, id uint32) string) {
		list = append(list, h2Hostile{name: name + " flood", play: h2FloodOf(f), want: calm, tls: len(list)%4 == 0})
	}
	n := uint32(0)
	add("PING", func(*peers.H2Actor, uint32) string { return peers.H2Wire(http2.FramePing, 0, 0, "12345678") })
	add("PING acknowledgement", func(*peers.H2Actor, uint32) string { return peers.H2Wire(http2.FramePing, 1, 0, "12345678") })
	add("SETTINGS", func(*peers.H2Actor, uint32) string { return peers.H2Settings() })
	add("SETTINGS acknowledgement", func(*peers.H2Actor, uint32) string { return peers.H2Wire(http2.FrameSettings, 1, 0, "") })
	add("table size", func(*peers.H2Actor, uint32) string { n++; return peers.H2Settings(1, n%2<<12) })
	add("initial window", func(*peers.H2Actor, uint32) string { n++; return peers.H2Settings(4, n%2<<12) })
	add("RST_STREAM", func(_ *peers.H2Actor, id uint32) string { return peers.H2Reset(id, http2.ErrCodeCancel) })
	list[len(list)-1].want.how = fails // the first one ends the call
	add("GOAWAY", func(_ *peers.H2Actor, id uint32) string { return peers.H2GoAway(id, http2.ErrCodeEnhanceYourCalm) })
	add("GOAWAY without an error", func(_ *peers.H2Actor, id uint32) string { return peers.H2GoAway(id, 0) })
	add("WINDOW_UPDATE", func(_ *peers.H2Actor, id uint32) string { return peers.H2Window(id, 1) })
	add("WINDOW_UPDATE of the connection", func(*peers.H2Actor, uint32) string { return peers.H2Window(0, 1) })
	add("PRIORITY", func(*peers.H2Actor, uint32) string {
		return peers.H2Wire(http2.FramePriority, 0, 99, peers.H2U32(3)+"\x00")
	})
	add("ALTSVC", func(*peers.H2Actor, uint32) string { return peers.H2Wire(0xa, 0, 0, "\x00\x06a.test"+`h2=":1"`) })
	add("ORIGIN", func(*peers.H2Actor, uint32) string { return peers.H2Wire(0xc, 0, 0, "\x00\x0dhttps://a.test") })
	add("unknown frame", func(*peers.H2Actor, uint32) string { return peers.H2Wire(0x77, 0, 0, "") })
	add("large unknown frame", func(*peers.H2Actor, uint32) string { return peers.H2Wire(0x77, 0, 0, strings.Repeat("x", 1000)) })
	data := func(name string, f func(id uint32) string) {
		list = append(list, h2Hostile{name: name + " flood", want: calm, play: func(p *peers.H2Actor, r *peers.H2Asked) {
			p.Send(p.Ok(r.ID))
			p.Flood(func() string { return f(r.ID) })
		}})
	}
	data("empty DATA", func(id uint32) string { return peers.H2Data(id, 0, "") })
	data("padding", func(id uint32) string { return peers.H2Data(id, http2.FlagDataPadded, "\x01\x00") })
	return list
}

// floods reports whether the server never stops to send. Then GOAWAY may be lost: a socket
// that is closed while bytes come drops what it has not sent.
func (x *h2Hostile) floods() bool {
	return strings.Contains(x.name, "flood") || strings.Contains(x.name, "endless") || strings.Contains(x.name, "without end")
}

// run plays the server, and checks the call and what is left of it.
func (x *h2Hostile) run(t *testing.T, secure bool) {
	check := peers.SettledH2(t)
	greet := x.greet
	if greet == "" {
		greet = peers.H2Settings()
	}
	s := peers.ScriptedH2(t, secure, func(p *peers.H2Actor) {
		if !p.Preface() || !p.Send(greet) {
			return
		}
		if x.play == nil {
			p.ServeAll()
			return
		}
		r := p.Asked()
		if r == nil {
			return
		}
		x.play(p, r)
	})
	c := harness.ScriptClient(s)
	c.MaxIdleConnDuration = 0
	if x.client != nil {
		x.client(c)
	}
	req, resp := &gale.Request{}, harness.UsedResponse()
	req.SetRequestURI("http://a.test/hostile")
	if secure {
		req.SetRequestURI("https://a.test/hostile")
	}
	if x.request != nil {
		x.request(req)
	}
	var err error
	peers.Within(t, "the call", func() {
		if err = c.Do(req, resp); err == nil && x.read != nil {
			err = x.read(s, resp)
			resp.Reset()
		}
	})
	x.wantOutcome(t, req, resp, err)
	x.wantConnection(t, s, c)
	if n := max(1, x.most); s.Accepted.Load() > n+1 || s.Requests.Load() > n+2 { // some more for the good ones
		t.Errorf("%v, there may be %d", s, n)
	}
	harness.FinishScript(s, c)
	s.Stop()
	check()
}

// wantOutcome checks the result of the call.
func (x *h2Hostile) wantOutcome(t *testing.T, req *gale.Request, resp *gale.Response, err error) {
	t.Helper()
	switch x.want.how {
	case isAnswered, thenConn:
		want := string(req.Header.Method()) + " /hostile "
		if len(req.Body()) > 0 {
			want = "got " + fmt.Sprint(len(req.Body()))
		}
		if err != nil || string(resp.Body()) != want {
			t.Errorf("got %.100q, %v, want %q", resp.Body(), err, want)
		}
		return
	}
	if err == nil {
		t.Fatalf("got %d %.100q, and no error", resp.StatusCode(), resp.Body())
	}
	harness.CheckEmpty(t, resp)
	if errors.Is(err, gale.ErrTimeout) {
		t.Errorf("the error is %v", err)
	}
	if strings.Contains(x.name, "MaxResponseBodySize") {
		peers.WantError(t, err, gale.ErrBodyTooLarge)
		return
	}
	ofConn, code, known := harness.H2ErrorOf(err)
	switch x.want.how {
	case endsConn:
		if !known || !ofConn || code != uint32(x.want.code) {
			t.Errorf("the error is %v, want one of the connection with %v", err, x.want.code)
		}
	case endsStream, endsQuietly:
		if !known || ofConn || code != uint32(x.want.code) {
			t.Errorf("the error is %v, want one of the stream with %v", err, x.want.code)
		}
	}
}

// wantConnection checks what the client has told the server, and whether the connection
// goes on.
func (x *h2Hostile) wantConnection(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
	t.Helper()
	code := uint32(x.want.code)
	told := func(of func() map[uint32]int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); of()[code] == 0; time.Sleep(time.Millisecond) { // between two looks
			if time.Now().After(end) {
				t.Errorf("the client doesn't tell the server %v: %v", x.want.code, s)
				return
			}
		}
	}
	switch x.want.how {
	case endsConn, thenConn:
		s.WantClosed(c)
		if x.floods() {
			return
		}
		told(func() map[uint32]int { goAways, _ := s.Codes(); return goAways })
	case fails:
		s.WantClosed(c)
		if code != 0 && !x.floods() {
			told(func() map[uint32]int { goAways, _ := s.Codes(); return goAways })
		}
	case endsStream:
		told(func() map[uint32]int { _, resets := s.Codes(); return resets })
		fallthrough
	default:
		before := s.Accepted.Load()
		if before > 0 { // the same connection serves the next request
			c.ReadBufferSize, c.MaxResponseBodySize = 0, 0
			harness.WantServed(t, c)
		}
		if s.Accepted.Load() != before || s.Open.Load() != 1 {
			t.Errorf("the connection doesn't go on: %v", s)
		}
	}
}

func TestH2ClientHostile(t *testing.T) {
	peers.WithoutEngine(t)
	before := int64(0)
	for _, x := range h2Hostiles() {
		for _, secure := range []bool{false, true} {
			if secure && !x.tls {
				continue
			}
			name := x.name
			if secure {
				name += ", TLS"
			}
			t.Run(name, func(t *testing.T) { x.run(t, secure) })
			if before == 0 {
				before = peers.Memory()
			}
		}
	}
	peers.WantMemory(t, before, 4<<20)
}
