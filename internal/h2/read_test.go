package h2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/race"
)

// Each row is what a client sends after the preface, and what happens; whole, in bytes and
// in other pieces.
func TestFrames(t *testing.T) {
	priority := func(on uint32) string { return u32(on) + "\x10" }
	junk := frame(0xee, 0xff, 0, "junk")
	conn := func(code Code, last int) []string {
		return []string{"failed " + code.String(), fmt.Sprintf("> GOAWAY %d %v", last, code)}
	}
	after := func(lines []string, before ...string) []string { return append(before, lines...) }
	getEnd, postOpen := headers(1, flagEndStream, get...), headers(1, 0, post...)
	data := func(flags uint8, payload string) string { return frame(frameData, flags, 1, payload) }
	for _, x := range []struct {
		name string
		in   string
		want []string
	}{
		{"request", getEnd, []string{"head 1 GET / end"}},
		{"body", postOpen + data(0, "abc") + data(1, "def"), []string{"head 1 POST /", "data 1 abcdef end"}},
		{"empty end", postOpen + data(0, "abc") + data(1, ""), []string{"head 1 POST /", "data 1 abc end"}},
		{"trailers", postOpen + data(0, "abc") + headers(1, flagEndStream, "x-sum: 1"),
			[]string{"head 1 POST /", "data 1 abc", "trailers 1 X-Sum=1"}},
		{"unknown flags", frame(frameHeaders, 0xd2|flagEndHeaders|flagEndStream, 1, block(get...)), []string{"head 1 GET / end"}},
		{"unknown types", junk + getEnd + frame(0xee, 0, 1, "") + frame(0x0a, 0, 0, "x") + frame(0x16, 0, 9, "x"), []string{"head 1 GET / end"}},
		{"reserved bit", frame(frameHeaders, flagEndHeaders|flagEndStream, 1|1<<31, block(get...)), []string{"head 1 GET / end"}},

		{"padding", postOpen + data(flagPadded, "\x03abc\x00\x00\x00") + data(flagPadded|flagEndStream, "\x00def"),
			[]string{"head 1 POST /", "data 1 abcdef end"}},
		{"padding only", postOpen + data(flagPadded|flagEndStream, "\x02\x00\x00"), []string{"head 1 POST /", "data 1  end"}},
		{"padding as long as the frame", postOpen + data(flagPadded, "\x03aa"), after(conn(ProtocolError, 1), "head 1 POST /")},
		{"padding without room", postOpen + data(flagPadded, ""), after(conn(FrameSizeError, 1), "head 1 POST /")},
		{"padded head", frame(frameHeaders, flagEndHeaders|flagEndStream|flagPadded|flagPriority, 1, "\x02"+priority(0)+block(get...)+"\x00\x00"),
			[]string{"head 1 GET / end"}},
		{"head with padding alone", frame(frameHeaders, flagEndHeaders|flagEndStream|flagPadded, 1, "\x02\x00\x00"),
			[]string{"refused 1 pseudo-field missing end", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"padding in priority", frame(frameHeaders, flagEndHeaders|flagPadded|flagPriority, 1, "\x04"+priority(0)+"abc"), conn(ProtocolError, 1)},
		{"no room for priority", frame(frameHeaders, flagEndHeaders|flagPriority, 1, "abcd"), conn(FrameSizeError, 1)},

		{"DATA on stream 0", frame(frameData, 0, 0, "x"), conn(ProtocolError, 0)},
		{"DATA on an idle stream", frame(frameData, 0, 1, "x"), conn(ProtocolError, 0)},
		{"DATA on an even stream", frame(frameData, 0, 2, "x"), conn(ProtocolError, 0)},
		{"DATA after END_STREAM", getEnd + data(0, "x"),
			[]string{"head 1 GET / end", "reset 1 STREAM_CLOSED local", "> RST_STREAM 1 STREAM_CLOSED"}},
		{"DATA on a skipped stream", headers(5, 1, get...) + frame(frameData, 0, 3, "x"), after(conn(StreamClosed, 5), "head 5 GET / end")},
		{"DATA after RST_STREAM", postOpen + frame(frameReset, 0, 1, u32(8)) + data(0, "x"),
			after(conn(StreamClosed, 1), "head 1 POST /", "reset 1 CANCEL")},
		{"too long", postOpen + frame(frameData, 0, 1, strings.Repeat("x", maxFrame+1)), after(conn(FrameSizeError, 1), "head 1 POST /")},
		{"the longest", postOpen + frame(frameData, 0, 1, strings.Repeat("x", maxFrame)),
			[]string{"head 1 POST /", "data 1 " + strings.Repeat("x", maxFrame)}},

		{"HEADERS on stream 0", frame(frameHeaders, flagEndHeaders, 0, block(get...)), conn(ProtocolError, 0)},
		{"HEADERS on an even stream", headers(2, 1, get...), conn(ProtocolError, 0)},
		{"HEADERS on a lower stream", headers(5, 1, get...) + headers(3, 1, get...), after(conn(ProtocolError, 5), "head 5 GET / end")},
		{"HEADERS after END_STREAM", getEnd + headers(1, 1, "x-t: 1"),
			[]string{"head 1 GET / end", "reset 1 STREAM_CLOSED local", "> RST_STREAM 1 STREAM_CLOSED"}},
		{"HEADERS after RST_STREAM", postOpen + frame(frameReset, 0, 1, u32(0)) + headers(1, 1, "x-t: 1"),
			after(conn(StreamClosed, 1), "head 1 POST /", "reset 1 NO_ERROR")},
		{"trailers without END_STREAM", postOpen + headers(1, 0, "x-t: 1"),
			[]string{"head 1 POST /", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"frames after our RST_STREAM", postOpen + headers(1, 0, "x-t: 1") + data(0, "abc") + headers(1, 1, "x-t: 1") + windowUpdate(1, 1) + frame(frameReset, 0, 1, u32(8)),
			[]string{"head 1 POST /", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"depends on itself", frame(frameHeaders, flagEndHeaders|flagEndStream|flagPriority, 1, priority(1)+block(get...)),
			[]string{"> RST_STREAM 1 PROTOCOL_ERROR"}},

		{"PRIORITY", frame(framePriority, 0, 9, priority(3)) + frame(framePriority, 0, 2, priority(3)) + getEnd + frame(framePriority, 0, 1, priority(3)),
			[]string{"head 1 GET / end"}},
		{"PRIORITY on stream 0", frame(framePriority, 0, 0, priority(3)), conn(ProtocolError, 0)},
		{"PRIORITY of 6 bytes", getEnd + frame(framePriority, 0, 1, "123456"),
			[]string{"head 1 GET / end", "reset 1 FRAME_SIZE_ERROR local", "> RST_STREAM 1 FRAME_SIZE_ERROR"}},
		{"PRIORITY of no bytes on an idle stream", frame(framePriority, 0, 1, ""), conn(FrameSizeError, 0)},
		{"PRIORITY on itself", getEnd + frame(framePriority, 0, 1, priority(1)),
			[]string{"head 1 GET / end", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"PRIORITY on itself, idle", frame(framePriority, 0, 1, priority(1)), conn(ProtocolError, 0)},

		{"RST_STREAM", getEnd + frame(frameReset, 0, 1, u32(8)), []string{"head 1 GET / end", "reset 1 CANCEL"}},
		{"RST_STREAM on stream 0", frame(frameReset, 0, 0, u32(8)), conn(ProtocolError, 0)},
		{"RST_STREAM on an idle stream", frame(frameReset, 0, 1, u32(8)), conn(ProtocolError, 0)},
		{"RST_STREAM of 3 bytes", getEnd + frame(frameReset, 0, 1, "123"), after(conn(FrameSizeError, 1), "head 1 GET / end")},
		{"RST_STREAM twice", getEnd + frame(frameReset, 0, 1, u32(8)) + frame(frameReset, 0, 1, u32(8)), []string{"head 1 GET / end", "reset 1 CANCEL"}},

		{"PUSH_PROMISE", getEnd + frame(framePushPromise, flagEndHeaders, 1, u32(2)), after(conn(ProtocolError, 1), "head 1 GET / end")},

		{"PING", frame(framePing, 0xfe, 0, "12345678"), []string{`> PING "12345678"`}},
		{"PING ack", frame(framePing, flagAck, 0, "12345678"), nil},
		{"PING of 7 bytes", frame(framePing, 0, 0, "1234567"), conn(FrameSizeError, 0)},
		{"PING on a stream", frame(framePing, 0, 1, "12345678"), conn(ProtocolError, 0)},

		{"GOAWAY", frame(frameGoAway, 0, 0, u32(1<<31)+u32(2)+"why") + getEnd, []string{"goaway INTERNAL_ERROR", "head 1 GET / end"}},
		{"GOAWAY with an unknown code", frame(frameGoAway, 0, 0, u32(0)+u32(0xabcdef)+strings.Repeat("d", 500)), []string{"goaway unknown error code"}},
		{"GOAWAY of 7 bytes", frame(frameGoAway, 0, 0, "1234567"), conn(FrameSizeError, 0)},
		{"GOAWAY on a stream", frame(frameGoAway, 0, 1, "12345678"), conn(ProtocolError, 0)},

		{"CONTINUATION", frame(frameHeaders, flagEndStream, 1, block(get...)) + frame(frameContinuation, 0xf9&^4, 1, block("x: 1")) + frame(frameContinuation, flagEndHeaders, 1, ""),
			[]string{"head 1 GET / end"}},
		{"CONTINUATION after END_HEADERS", postOpen + frame(frameContinuation, flagEndHeaders, 1, ""), after(conn(ProtocolError, 1), "head 1 POST /")},
		{"CONTINUATION on another stream", frame(frameHeaders, 0, 1, "") + frame(frameContinuation, 4, 3, ""), conn(ProtocolError, 1)},
		{"CONTINUATION first", frame(frameContinuation, 4, 1, block(get...)), conn(ProtocolError, 0)},
		{"PING in a block", frame(frameHeaders, 0, 1, "") + frame(framePing, 0, 0, "12345678"), conn(ProtocolError, 1)},
		{"HEADERS in a block", frame(frameHeaders, 0, 1, "") + headers(3, 1, get...), conn(ProtocolError, 1)},
		{"an unknown frame in a block", frame(frameHeaders, 0, 1, "") + junk, conn(ProtocolError, 1)},
		{"nine empty CONTINUATION", frame(frameHeaders, 0, 1, "") + strings.Repeat(frame(frameContinuation, 0, 1, ""), 9), conn(EnhanceYourCalm, 1)},
		{"64 CONTINUATION", frame(frameHeaders, flagEndStream, 1, block(get...)) + strings.Repeat(frame(frameContinuation, 0, 1, block("x: 1")), 63) + frame(frameContinuation, 4, 1, ""),
			[]string{"head 1 GET / end"}},
		{"65 CONTINUATION", frame(frameHeaders, 0, 1, block(get...)) + strings.Repeat(frame(frameContinuation, 0, 1, block("x: 1")), 65), conn(EnhanceYourCalm, 1)},

		{"WINDOW_UPDATE of 0", windowUpdate(0, 1<<31), conn(ProtocolError, 0)},
		{"WINDOW_UPDATE of 0 on a stream", getEnd + windowUpdate(1, 0),
			[]string{"head 1 GET / end", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"WINDOW_UPDATE on an idle stream", windowUpdate(1, 1), conn(ProtocolError, 0)},
		{"WINDOW_UPDATE on a skipped stream", headers(5, 1, get...) + windowUpdate(3, 1), []string{"head 5 GET / end"}},
		{"WINDOW_UPDATE of 3 bytes", frame(frameWindowUpdate, 0, 0, "123"), conn(FrameSizeError, 0)},
		{"the largest window", windowUpdate(0, maxWindow-initialWindow), nil},
		{"a window that is too large", windowUpdate(0, maxWindow-initialWindow) + windowUpdate(0, 1), conn(FlowControlError, 0)},
		{"a stream's window that is too large", getEnd + windowUpdate(1, maxWindow-initialWindow) + windowUpdate(1, 1),
			[]string{"head 1 GET / end", "reset 1 FLOW_CONTROL_ERROR local", "> RST_STREAM 1 FLOW_CONTROL_ERROR"}},

		{"PRIORITY_UPDATE", frame(framePriorityUpdate, 0, 0, u32(1)+"u=1") + getEnd + frame(framePriorityUpdate, 0, 0, u32(1)+"((("), []string{"head 1 GET / end"}},
		{"PRIORITY_UPDATE on a stream", getEnd + frame(framePriorityUpdate, 0, 1, u32(1)+"u=1"), after(conn(ProtocolError, 1), "head 1 GET / end")},
		{"PRIORITY_UPDATE for stream 0", frame(framePriorityUpdate, 0, 0, u32(0)+"u=1"), conn(ProtocolError, 0)},
		{"PRIORITY_UPDATE for an even stream", frame(framePriorityUpdate, 0, 0, u32(2)+"u=1"), conn(ProtocolError, 0)},
		{"PRIORITY_UPDATE of 3 bytes", frame(framePriorityUpdate, 0, 0, "123"), conn(FrameSizeError, 0)},
		{"a long PRIORITY_UPDATE", frame(framePriorityUpdate, 0, 0, u32(1)+"u=1"+strings.Repeat(" ", 100)) + getEnd, []string{"head 1 GET / end"}},

		{"a second preface", Preface + strings.Repeat("\x00", 100), conn(FrameSizeError, 0)},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, chunk := range []int{0, 1, 2, 7, 10, 100} {
				p := newPeer(t, Config{}).greet()
				p.chunk = chunk
				p.send(x.in).want(x.want...)
				if t.Failed() {
					t.Fatalf("in pieces of %d", chunk)
				}
			}
		})
	}
}

func TestPreface(t *testing.T) {
	for _, x := range []struct {
		name, in string
		want     []string
	}{
		{"good", Preface + settings(3, 100), []string{"> SETTINGS ack"}},
		{"SETTINGS without settings", Preface + settings(), []string{"> SETTINGS ack"}},
		{"wrong", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"HTTP/1", "GET / HTTP/1.1\r\n\r\n", []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"PING first", Preface + frame(framePing, 0, 0, "12345678"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"HEADERS first", Preface + headers(1, 1, get...), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"ack first", Preface + frame(frameSettings, flagAck, 0, ""), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"unknown frame first", Preface + frame(0xee, 0, 0, ""), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
	} {
		for _, chunk := range []int{0, 1, 5} {
			p := newPeer(t, Config{})
			p.want("> SETTINGS", fmt.Sprintf("> WINDOW_UPDATE 0 %d", DefaultConnWindow-initialWindow))
			p.chunk = chunk
			p.send(x.in).want(x.want...)
			if p.c.Greeted() != (x.want[0] == "> SETTINGS ack") {
				t.Errorf("%s: Greeted is %v", x.name, p.c.Greeted())
			}
		}
	}
}

// A caller bounds the time for what has come in part.
func TestInFrame(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	for _, x := range []struct {
		in            string
		inFrame, head bool
	}{
		{"", false, false},
		{frame(framePing, 0, 0, "12345678")[:5], true, false},
		{frame(framePing, 0, 0, "12345678")[5:], false, false},
		{frame(frameHeaders, 0, 1, block(post...)), false, true},
		{frame(frameContinuation, flagEndHeaders, 1, "")[:8], true, true},
		{frame(frameContinuation, flagEndHeaders, 1, "")[8:], false, false},
		{frame(frameData, 0, 1, "abc"), false, false},
		{frame(frameData, flagPadded, 1, "\x01abc\x00")[:13], true, false},
		{"\x00", false, false},
		{frame(frameHeaders, flagEndHeaders|1, 1, block("x-t: 1"))[:9], true, true},
		{frame(frameHeaders, flagEndHeaders|1, 1, block("x-t: 1"))[9:12], true, true},
		{frame(frameHeaders, flagEndHeaders|1, 1, block("x-t: 1"))[12:], false, false},
		{frame(frameHeaders, flagEndHeaders|flagPadded|1, 3, "\x01"+block(get...)+"\x00")[:9], true, true},
		{frame(frameHeaders, flagEndHeaders|flagPadded|1, 3, "\x01"+block(get...)+"\x00")[9:], false, false},
		{frame(0xee, 0, 1, "junk"), false, false},
	} {
		if p.send(x.in); p.c.InFrame() != x.inFrame || p.c.InHead() != x.head {
			t.Errorf("after %q: InFrame %v, InHead %v", x.in, p.c.InFrame(), p.c.InHead())
		}
		if since := p.c.FrameSince(); x.inFrame != (since != 0) || since > p.now {
			t.Errorf("after %q: a frame since %v, now is %v", x.in, since, p.now)
		}
		p.now += second
	}
}

// Every type, with every flag, on the connection, on an idle stream, on an open one and on
// closed ones, of several lengths: nothing panics, and the connection goes on or fails in order.
func TestAllFrames(t *testing.T) {
	payloads := []string{"", "\x00", "\x00\x00\x00\x01", "\x00\x00\x00\x00\x05", "\x00\x00\x00\x01u=1,i", "12345678", strings.Repeat("\xff", 100)}
	for typ := range 256 {
		all := []uint8{0, 1, 4, 5, 8, 9, 12, 13, 0x20, 0x21, 0x24, 0x25, 0x2c, 0x2d, 0xff}
		if typ > 0x11 {
			if race.Enabled && typ%16 != 0 { // slow, and nothing new
				continue
			}
			all = []uint8{0, 0xff}
		}
		for _, flags := range all {
			for _, stream := range []uint32{0, 1, 2, 3, 5, 7, 1 << 30} {
				for _, payload := range payloads {
					p := newPeer(t, Config{}).greet()
					p.send(headers(1, 0, post...), headers(3, 1, get...), headers(5, 0, post...), frame(frameReset, 0, 5, u32(8)))
					p.send(frame(frameType(typ), flags, stream, payload))
					if !p.c.Failed() {
						p.send(frame(frameContinuation, flagEndHeaders, stream, block(get...)))
					}
				}
			}
		}
	}
}

// After the connection has failed, no field block is waited for.
func TestNoHeadAfterFailure(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(frame(frameHeaders, 0, 2, "x")).want("failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR")
	if p.c.InHead() || p.c.InFrame() {
		t.Errorf("in a head: %v, in a frame: %v", p.c.InHead(), p.c.InFrame())
	}
}
