package gale

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Hostile servers of HTTP/2. Each call gets a clear error, or the right answer, within the
// limits that docs/reference/client.md names. After it no connection, goroutine or memory
// is left, and the same client gets an answer of a good server.

// h2Hostile is a server that breaks the rules, or plays with them.
type h2Hostile struct {
	name  string
	greet string // instead of an empty SETTINGS frame
	// play is called when the first request of a connection has come. Nil means that the
	// requests are answered.
	play func(p *h2Actor, r *h2Asked)
	want h2Want

	client  func(c *HostClient)
	request func(req *Request)
	read    func(s *h2Script, resp *Response) error // reads the body
	most    int64                                   // how many connections and requests there may be; 0 means 1
	tls     bool                                    // tried with TLS, too
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

func endConn(code http2.ErrCode) h2Want   { return h2Want{endsConn, code} }
func endStream(code http2.ErrCode) h2Want { return h2Want{endsStream, code} }

// h2Once is a server that sends the bytes of f when a request has come, and then serves as
// a good server.
func h2Once(f func(p *h2Actor, id uint32) string) func(*h2Actor, *h2Asked) {
	return func(p *h2Actor, r *h2Asked) {
		p.send(f(p, r.id))
		p.serveAll()
	}
}

// h2Sends is h2Once for bytes that need no encoder.
func h2Sends(parts ...string) func(*h2Actor, *h2Asked) {
	return h2Once(func(*h2Actor, uint32) string { return strings.Join(parts, "") })
}

// h2Answers is h2Once for a head with these fields.
func h2Answers(fields ...string) func(*h2Actor, *h2Asked) {
	return h2Once(func(p *h2Actor, id uint32) string { return p.head(id, 0, fields...) })
}

// h2Trails is h2Once for a response with trailers.
func h2Trails(fields ...string) func(*h2Actor, *h2Asked) {
	return h2Once(func(p *h2Actor, id uint32) string {
		return p.ok(id) + h2Data(id, 0, "body") + p.head(id, h2End, fields...)
	})
}

// h2FloodOf is a server that sends bytes without end.
func h2FloodOf(f func(p *h2Actor, id uint32) string) func(*h2Actor, *h2Asked) {
	return func(p *h2Actor, r *h2Asked) { p.flood(func() string { return f(p, r.id) }) }
}

func readStream(resp *Response) error {
	_, err := io.ReadAll(resp.BodyStream())
	return err
}

func useMethod(method string) func(req *Request) {
	return func(req *Request) { req.Header.SetMethod(method) }
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
		{name: "maximum frame size 0", greet: h2Settings(maxFrame, 0), want: endConn(protocol), tls: true},
		{name: "maximum frame size 16383", greet: h2Settings(maxFrame, 1<<14-1), want: endConn(protocol)},
		{name: "maximum frame size 2^24", greet: h2Settings(maxFrame, 1<<24), want: endConn(protocol)},
		{name: "maximum frame size 0, later", play: h2Sends(h2Settings(maxFrame, 0)), want: endConn(protocol)},
		{name: "initial window 2^31", greet: h2Settings(window, 1<<31), want: endConn(flowControl)},
		{name: "push 1", greet: h2Settings(push, 1), want: endConn(protocol)},
		{name: "push 2", greet: h2Settings(push, 2), want: endConn(protocol)},
		{name: "a table of 4 GiB", greet: h2Settings(tableSize, 1<<32-1), want: answered},
		{name: "no table", greet: h2Settings(tableSize, 0), want: answered},
		{name: "priorities 2", greet: h2Settings(noPriorities, 2), want: endConn(protocol)},
		{name: "unknown settings", greet: h2Settings(0, 1, 99, 1, 1<<16-1, 1<<32-1), want: answered},
		{name: "SETTINGS of 5 bytes", greet: h2Wire(http2.FrameSettings, 0, 0, "12345"), want: endConn(frameSize)},
		{name: "SETTINGS of a stream", greet: h2Wire(http2.FrameSettings, 0, 1, ""), want: endConn(protocol)},
		{name: "SETTINGS that acknowledge and set", play: h2Sends(h2Wire(http2.FrameSettings, 1, 0, "123456")), want: endConn(frameSize)},
		{name: "SETTINGS never acknowledged", play: func(p *h2Actor, r *h2Asked) {
			p.mute = true
			p.answer(r.id, r.answer())
			p.serveAll()
		}, want: answered},

		// The first frame must be SETTINGS.
		{name: "PING first", greet: h2Wire(http2.FramePing, 0, 0, "12345678"), want: endConn(protocol)},
		{name: "an acknowledgement first", greet: h2Wire(http2.FrameSettings, 1, 0, ""), want: endConn(protocol)},
		{name: "HTTP/1.1", greet: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", want: h2Want{how: fails}, most: 5, tls: true},
		{name: "SSH", greet: "SSH-2.0-OpenSSH_9.2\r\n", want: h2Want{how: fails}, most: 5},
		{name: "zeros", greet: strings.Repeat("\x00", 100), want: h2Want{how: fails}, most: 5},
		{name: "0xff", greet: strings.Repeat("\xff", 100), want: h2Want{how: fails}, most: 5},

		{name: "endless CONTINUATION", play: func(p *h2Actor, r *h2Asked) {
			p.send(h2Wire(http2.FrameHeaders, 0, r.id, p.fields(":status", "200")))
			p.flood(func() string { return h2Wire(http2.FrameContinuation, 0, r.id, "\x00\x01a\x01b") })
		}, want: endConn(calm), tls: true},
		{name: "endless CONTINUATION, large", play: func(p *h2Actor, r *h2Asked) {
			p.send(h2Wire(http2.FrameHeaders, 0, r.id, p.fields(":status", "200")))
			p.flood(func() string { return h2Wire(http2.FrameContinuation, 0, r.id, strings.Repeat("x", 16<<10)) })
		}, want: endConn(calm)},
		{name: "endless CONTINUATION, empty", play: func(p *h2Actor, r *h2Asked) {
			p.send(h2Wire(http2.FrameHeaders, 0, r.id, p.fields(":status", "200")))
			p.flood(func() string { return h2Wire(http2.FrameContinuation, 0, r.id, "") })
		}, want: endConn(calm)},
		{name: "endless CONTINUATION of trailers", play: func(p *h2Actor, r *h2Asked) {
			p.send(p.ok(r.id), h2Data(r.id, 0, "x"), h2Wire(http2.FrameHeaders, h2End, r.id, p.fields("a", "b")))
			p.flood(func() string { return h2Wire(http2.FrameContinuation, 0, r.id, "\x00\x01a\x01b") })
		}, want: endConn(calm)},
		{name: "CONTINUATION alone", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Wire(http2.FrameContinuation, 4, id, "") }), want: endConn(protocol)},
		{name: "CONTINUATION of another stream", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 0, id, p.fields(":status", "200")) + h2Wire(http2.FrameContinuation, 4, id+2, "")
		}), want: endConn(protocol)},
		{name: "another frame in a block", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 0, id, p.fields(":status", "200")) + h2Wire(http2.FramePing, 0, 0, "12345678")
		}), want: endConn(protocol)},
		{name: "a block that can't be decoded", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Wire(http2.FrameHeaders, 4, id, "\xbf") }), want: endConn(http2.ErrCodeCompression)},
		{name: "a table update that is too large", play: h2Once(func(_ *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 5, id, "\x3f\xe1\xff\x03\x88")
		}), want: endConn(http2.ErrCodeCompression)},
		{name: "a number without end", play: h2Once(func(_ *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 5, id, "\x88\x7f"+strings.Repeat("\xff", 1000))
		}), want: endConn(http2.ErrCodeCompression)},

		{name: "a bomb of one field", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 4, id, p.fields(":status", "200", "x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: endStream(calm), tls: true},
		{name: "many fields", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 4, id, p.fields(":status", "200", "x", "")+strings.Repeat("\xbe", 600))
		}), want: endStream(calm)},
		{name: "a long value", play: h2Once(func(p *h2Actor, id uint32) string { return p.longHead(id, 70<<10) }), want: endStream(calm)},
		{name: "a long block", play: h2Once(func(p *h2Actor, id uint32) string { return p.longHead(id, 200<<10) }), want: endConn(calm)},
		{name: "a head beyond ReadBufferSize", client: func(c *HostClient) { c.ReadBufferSize = 4096 },
			play: h2Once(func(p *h2Actor, id uint32) string { return p.longHead(id, 5000) }), want: endStream(calm)},
		{name: "a head within ReadBufferSize", client: func(c *HostClient) { c.ReadBufferSize = 4096 },
			play: func(p *h2Actor, r *h2Asked) {
				p.send(p.ok(r.id, "x-long", strings.Repeat("\x7e", 3000)), h2Data(r.id, h2End, r.answer()))
				p.serveAll()
			}, want: answered},
		{name: "a bomb in trailers", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id) + h2Data(id, 0, "x") + h2Wire(http2.FrameHeaders, 5, id, p.fields("x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: h2Want{endsQuietly, calm}},
		{name: "a bomb in informational responses", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FrameHeaders, 4, id, p.fields(":status", "103", "x-bomb", strings.Repeat("b", 3900))+strings.Repeat("\xbe", 300))
		}), want: endStream(calm)},

		{name: "a window of 0 more", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Window(id, 0) }), want: endStream(protocol)},
		{name: "a window of 0 more of the connection", play: h2Sends(h2Window(0, 0)), want: endConn(protocol)},
		{name: "a window that overflows", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Window(id, 1<<31-1) }), want: endStream(flowControl)},
		{name: "a window of the connection that overflows", play: h2Sends(h2Window(0, 1<<31-1)), want: endConn(flowControl)},
		{name: "windows that SETTINGS make overflow", play: h2Once(func(_ *h2Actor, id uint32) string {
			return h2Window(id, 1<<31-1<<16) + h2Settings(window, 1<<18)
		}), want: endConn(flowControl), request: postBody(1 << 20)},
		{name: "negative windows", play: func(p *h2Actor, r *h2Asked) {
			p.stingy = true
			more := func() bool { next, _ := p.part(); return next != nil }
			for len(r.body) < 1<<16-1 && more() {
			}
			p.send(h2Settings(window, 0), h2Window(0, 1<<20), h2Window(r.id, 1<<20))
			for !r.whole && more() {
			}
			p.stingy = false
			p.answer(r.id, "got "+fmt.Sprint(len(r.body)))
			p.send(h2Settings(window, 1<<16-1))
			p.serveAll()
		}, want: answered, request: postBody(1 << 20)},

		{name: "GOAWAY with rising ids", play: h2Sends(h2GoAway(1, 0), h2GoAway(3, 0)), want: endConn(protocol)},
		{name: "GOAWAY of 7 bytes", play: h2Sends(h2Wire(http2.FrameGoAway, 0, 0, "1234567")), want: endConn(frameSize)},

		{name: "HEADERS of an idle stream", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(id+2, h2End, ":status", "200") }), want: endConn(protocol)},
		{name: "HEADERS of an even stream", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(2, h2End, ":status", "200") }), want: endConn(protocol)},
		{name: "HEADERS of stream 0", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(0, h2End, ":status", "200") }), want: endConn(protocol)},
		{name: "DATA of an idle stream", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Data(id+2, 0, "x") }), want: endConn(protocol)},
		{name: "DATA of an even stream", play: h2Sends(h2Data(2, 0, "x")), want: endConn(protocol)},
		{name: "DATA of stream 0", play: h2Sends(h2Data(0, 0, "x")), want: endConn(protocol)},
		{name: "RST_STREAM of an idle stream", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Reset(id+2, 0) }), want: endConn(protocol)},
		{name: "RST_STREAM of 3 bytes", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Wire(http2.FrameRSTStream, 0, id, "123") }), want: endConn(frameSize)},
		{name: "WINDOW_UPDATE of an idle stream", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Window(id+2, 1) }), want: endConn(protocol)},
		{name: "PUSH_PROMISE", play: h2Once(func(p *h2Actor, id uint32) string {
			return h2Wire(http2.FramePushPromise, 4, id, h2U32(2)+p.fields(":method", "GET", ":scheme", "http", ":authority", "a.test", ":path", "/"))
		}), want: endConn(protocol), tls: true},
		{name: "PING of 7 bytes", play: h2Sends(h2Wire(http2.FramePing, 0, 0, "1234567")), want: endConn(frameSize)},
		{name: "a frame that is too long", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id) + h2Data(id, 0, strings.Repeat("x", 16<<10+1))
		}), want: endConn(frameSize)},
		{name: "more padding than there is", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id) + h2Data(id, http2.FlagDataPadded, "\x05abcd")
		}), want: endConn(protocol)},

		{name: "DATA before HEADERS", play: h2Once(func(_ *h2Actor, id uint32) string { return h2Data(id, 0, "x") }), want: endStream(protocol)},
		{name: "DATA after the end", play: func(p *h2Actor, r *h2Asked) {
			p.send(p.ok(r.id), h2Data(r.id, h2End, r.answer()), h2Data(r.id, 0, "x"))
			p.hold()
		}, want: h2Want{thenConn, closed}, tls: true},
		{name: "HEADERS after the end", play: func(p *h2Actor, r *h2Asked) {
			p.send(p.ok(r.id), h2Data(r.id, h2End, r.answer()), p.ok(r.id))
			p.hold()
		}, want: h2Want{thenConn, closed}},
		{name: "DATA after trailers", play: func(p *h2Actor, r *h2Asked) {
			p.send(p.ok(r.id), h2Data(r.id, 0, r.answer()), p.head(r.id, h2End, "x-t", "1"), h2Data(r.id, 0, "x"))
			p.hold()
		}, want: h2Want{thenConn, closed}},
		{name: "trailers without an end", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id) + h2Data(id, 0, "x") + p.head(id, 0, "x-t", "1")
		}), want: endStream(protocol)},
		{name: "more than Content-Length", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id, "content-length", "3") + h2Data(id, 0, "abcd")
		}), want: endStream(protocol)},
		{name: "less than Content-Length", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.ok(id, "content-length", "3") + h2Data(id, h2End, "ab")
		}), want: endStream(protocol)},
		{name: "more than Content-Length, streamed", client: func(c *HostClient) { c.StreamResponseBody = true },
			read: func(_ *h2Script, resp *Response) error { return readStream(resp) },
			play: h2Once(func(p *h2Actor, id uint32) string {
				return p.ok(id, "content-length", "3") + h2Data(id, 0, "ab") + h2Data(id, 0, "cd")
			}), want: endStream(protocol)},
		{name: "more than the window", client: func(c *HostClient) { c.StreamResponseBody = true },
			play: func(p *h2Actor, r *h2Asked) {
				out := p.ok(r.id)
				for n := int(p.window) + 1; n > 0; n -= 16 << 10 {
					out += h2Data(r.id, 0, strings.Repeat("x", min(n, 16<<10)))
				}
				p.send(out)
				p.serveAll()
			},
			read: func(s *h2Script, resp *Response) error { // only afterwards: reading opens the window
				for _, resets := s.codes(); resets[uint32(flowControl)] == 0; _, resets = s.codes() {
					time.Sleep(time.Millisecond)
				}
				return readStream(resp)
			}, want: endStream(flowControl)},
		{name: "DATA for HEAD", request: useMethod("HEAD"), play: h2Once(func(p *h2Actor, id uint32) string { return p.ok(id) + h2Data(id, h2End, "x") }), want: endStream(protocol)},
		{name: "DATA for 204", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(id, 0, ":status", "204") + h2Data(id, h2End, "x") }), want: endStream(protocol)},
		{name: "DATA for 304", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(id, 0, ":status", "304") + h2Data(id, h2End, "x") }), want: endStream(protocol)},
		{name: "a body beyond MaxResponseBodySize", client: func(c *HostClient) { c.MaxResponseBodySize = 1000 },
			play: h2Once(func(p *h2Actor, id uint32) string { return p.ok(id) + h2Data(id, 0, strings.Repeat("x", 1001)) }), want: endStream(http2.ErrCodeCancel)},
		{name: "Content-Length beyond MaxResponseBodySize", client: func(c *HostClient) { c.MaxResponseBodySize = 1000 },
			play: h2Once(func(p *h2Actor, id uint32) string { return p.ok(id, "content-length", "1001") }), want: endStream(http2.ErrCodeCancel)},

		{name: "1xx without end", play: h2FloodOf(func(p *h2Actor, id uint32) string { return p.head(id, 0, ":status", "103", "link", "</a>") }), want: h2Want{fails, calm}, tls: true},
		{name: "101", play: h2Once(func(p *h2Actor, id uint32) string { return p.head(id, 0, ":status", "101") }), want: endStream(protocol)},
		{name: "an informational response with END_STREAM", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.head(id, h2End, ":status", "103")
		}), want: h2Want{endsQuietly, protocol}},
		{name: "DATA after an informational response", play: h2Once(func(p *h2Actor, id uint32) string {
			return p.head(id, 0, ":status", "103") + h2Data(id, h2End, "x")
		}), want: endStream(protocol)},
	}
	for _, bad := range []struct{ name, in string }{
		{"HEADERS padded beyond its end", h2Wire(http2.FrameHeaders, 4|http2.FlagHeadersPadded, 1, "\x09\x88")},
		{"PUSH_PROMISE of nothing", h2Wire(http2.FramePushPromise, 4, 1, "")},
		{"PRIORITY_UPDATE", h2Wire(0x10, 0, 0, h2U32(1)+"u=1")},
	} {
		list = append(list, h2Hostile{name: bad.name, play: h2Sends(bad.in), want: h2Want{how: fails}, most: 5})
	}
	return append(append(list, h2BadHeads()...), h2ClientFloods()...)
}

// h2BadHeads are malformed heads and trailers (RFC 9113 sections 8.2 and 8.3): each resets
// its stream.
func h2BadHeads() (list []h2Hostile) {
	add := func(name string, play func(*h2Actor, *h2Asked)) {
		list = append(list, h2Hostile{name: name, play: play, want: endStream(http2.ErrCodeProtocol)})
	}
	trailers := func(name string, play func(*h2Actor, *h2Asked)) {
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
	add := func(name string, f func(p *h2Actor, id uint32) string) {
		list = append(list, h2Hostile{name: name + " flood", play: h2FloodOf(f), want: calm, tls: len(list)%4 == 0})
	}
	n := uint32(0)
	add("PING", func(*h2Actor, uint32) string { return h2Wire(http2.FramePing, 0, 0, "12345678") })
	add("PING acknowledgement", func(*h2Actor, uint32) string { return h2Wire(http2.FramePing, 1, 0, "12345678") })
	add("SETTINGS", func(*h2Actor, uint32) string { return h2Settings() })
	add("SETTINGS acknowledgement", func(*h2Actor, uint32) string { return h2Wire(http2.FrameSettings, 1, 0, "") })
	add("table size", func(*h2Actor, uint32) string { n++; return h2Settings(1, n%2<<12) })
	add("initial window", func(*h2Actor, uint32) string { n++; return h2Settings(4, n%2<<12) })
	add("RST_STREAM", func(_ *h2Actor, id uint32) string { return h2Reset(id, http2.ErrCodeCancel) })
	list[len(list)-1].want.how = fails // the first one ends the call
	add("GOAWAY", func(_ *h2Actor, id uint32) string { return h2GoAway(id, http2.ErrCodeEnhanceYourCalm) })
	add("GOAWAY without an error", func(_ *h2Actor, id uint32) string { return h2GoAway(id, 0) })
	add("WINDOW_UPDATE", func(_ *h2Actor, id uint32) string { return h2Window(id, 1) })
	add("WINDOW_UPDATE of the connection", func(*h2Actor, uint32) string { return h2Window(0, 1) })
	add("PRIORITY", func(*h2Actor, uint32) string { return h2Wire(http2.FramePriority, 0, 99, h2U32(3)+"\x00") })
	add("ALTSVC", func(*h2Actor, uint32) string { return h2Wire(0xa, 0, 0, "\x00\x06a.test"+`h2=":1"`) })
	add("ORIGIN", func(*h2Actor, uint32) string { return h2Wire(0xc, 0, 0, "\x00\x0dhttps://a.test") })
	add("unknown frame", func(*h2Actor, uint32) string { return h2Wire(0x77, 0, 0, "") })
	add("large unknown frame", func(*h2Actor, uint32) string { return h2Wire(0x77, 0, 0, strings.Repeat("x", 1000)) })
	data := func(name string, f func(id uint32) string) {
		list = append(list, h2Hostile{name: name + " flood", want: calm, play: func(p *h2Actor, r *h2Asked) {
			p.send(p.ok(r.id))
			p.flood(func() string { return f(r.id) })
		}})
	}
	data("empty DATA", func(id uint32) string { return h2Data(id, 0, "") })
	data("padding", func(id uint32) string { return h2Data(id, http2.FlagDataPadded, "\x01\x00") })
	return list
}

// longHead returns a head with a value of n bytes, in as many frames as it needs.
func (p *h2Actor) longHead(id uint32, n int) string {
	block := p.fields(":status", "200", "x-long", strings.Repeat("\x7e", n)) // such a byte takes 13 bits with the Huffman code
	typ, out := http2.FrameHeaders, ""
	for len(block) > 16<<10 {
		out += h2Wire(typ, 0, id, block[:16<<10])
		block, typ = block[16<<10:], http2.FrameContinuation
	}
	return out + h2Wire(typ, http2.FlagHeadersEndHeaders, id, block)
}

// floods reports whether the server never stops to send. Then GOAWAY may be lost: a socket
// that is closed while bytes come drops what it has not sent.
func (x *h2Hostile) floods() bool {
	return strings.Contains(x.name, "flood") || strings.Contains(x.name, "endless") || strings.Contains(x.name, "without end")
}

// run plays the server, and checks the call and what is left of it.
func (x *h2Hostile) run(t *testing.T, secure bool) {
	check := settledH2(t)
	greet := x.greet
	if greet == "" {
		greet = h2Settings()
	}
	s := scriptedH2(t, secure, func(p *h2Actor) {
		if !p.preface() || !p.send(greet) {
			return
		}
		if x.play == nil {
			p.serveAll()
			return
		}
		r := p.asked()
		if r == nil {
			return
		}
		x.play(p, r)
	})
	c := s.client()
	c.MaxIdleConnDuration = 0
	if x.client != nil {
		x.client(c)
	}
	req, resp := &Request{}, usedResponse()
	req.SetRequestURI("http://a.test/hostile")
	if secure {
		req.SetRequestURI("https://a.test/hostile")
	}
	if x.request != nil {
		x.request(req)
	}
	var err error
	within(t, "the call", func() {
		if err = c.Do(req, resp); err == nil && x.read != nil {
			err = x.read(s, resp)
			resp.Reset()
		}
	})
	x.wantOutcome(t, req, resp, err)
	x.wantConnection(t, s, c)
	if n := max(1, x.most); s.accepted.Load() > n+1 || s.requests.Load() > n+2 { // some more for the good ones
		t.Errorf("%v, there may be %d", s, n)
	}
	s.finish(c)
	s.stop()
	check()
}

// wantOutcome checks the result of the call.
func (x *h2Hostile) wantOutcome(t *testing.T, req *Request, resp *Response, err error) {
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
	checkEmpty(t, resp)
	if errors.Is(err, ErrTimeout) {
		t.Errorf("the error is %v", err)
	}
	if strings.Contains(x.name, "MaxResponseBodySize") {
		wantError(t, err, ErrBodyTooLarge)
		return
	}
	ofConn, code, known := h2ErrorOf(err)
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
func (x *h2Hostile) wantConnection(t *testing.T, s *h2Script, c *HostClient) {
	t.Helper()
	code := uint32(x.want.code)
	told := func(of func() map[uint32]int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); of()[code] == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("the client doesn't tell the server %v: %v", x.want.code, s)
				return
			}
		}
	}
	switch x.want.how {
	case endsConn, thenConn:
		s.wantClosed(c)
		if x.floods() {
			return
		}
		told(func() map[uint32]int { goAways, _ := s.codes(); return goAways })
	case fails:
		s.wantClosed(c)
		if code != 0 && !x.floods() {
			told(func() map[uint32]int { goAways, _ := s.codes(); return goAways })
		}
	case endsStream:
		told(func() map[uint32]int { _, resets := s.codes(); return resets })
		fallthrough
	default:
		before := s.accepted.Load()
		if before > 0 { // the same connection serves the next request
			c.ReadBufferSize, c.MaxResponseBodySize = 0, 0
			wantServed(t, c)
		}
		if s.accepted.Load() != before || s.open.Load() != 1 {
			t.Errorf("the connection doesn't go on: %v", s)
		}
	}
}

func TestH2ClientHostile(t *testing.T) {
	withoutEngine(t)
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
				before = memory()
			}
		}
	}
	wantMemory(t, before, 4<<20)
}

// Frames of all types, with any flags and lengths, on the connection and on a stream.
func TestH2ClientFrameTypes(t *testing.T) {
	withoutEngine(t)
	check := settledH2(t)
	for typ := range 256 {
		rng := rand.New(rand.NewPCG(uint64(typ), 1))
		s := scriptedH2(t, false, func(p *h2Actor) {
			r := (*h2Asked)(nil)
			if p.greet() {
				r = p.asked()
			}
			if r == nil {
				return
			}
			for range 3 {
				payload := make([]byte, rng.IntN(20))
				for i := range payload {
					payload[i] = byte(rng.IntN(256) & rng.IntN(256))
				}
				p.send(h2Wire(http2.FrameType(typ), http2.Flags(rng.IntN(256)), uint32(rng.IntN(2)), string(payload)))
			}
			p.answer(r.id, r.answer())
			p.serveAll()
		})
		c := s.client()
		within(t, fmt.Sprintf("a call after a frame of type %d", typ), func() {
			body, err := h2Get(c, "/x")
			if err == nil && body != "GET /x " && typ > 1 {
				t.Errorf("type %d: got %.100q", typ, body)
			}
		})
		if n := s.accepted.Load(); n > DefaultMaxIdemponentCallAttempts {
			t.Errorf("type %d: %v", typ, s)
		}
		s.finish(c)
		s.stop()
	}
	check()
}
