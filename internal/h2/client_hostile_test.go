package h2

import (
	"fmt"
	"strings"
	"testing"
)

// Each flood of a server ends the connection with ENHANCE_YOUR_CALM.
func TestClientFloods(t *testing.T) {
	open := headers(1, 0, ":status: 200")
	last := uint32(maxStreamID)
	for _, x := range []struct {
		name  string
		first string
		flood func() string // one more
		most  int
	}{
		{"PING", "", func() string { return frame(framePing, 0, 0, "12345678") }, 10010},
		{"PING ack", "", func() string { return frame(framePing, 1, 0, "12345678") }, 10010},
		{"SETTINGS", "", func() string { return settings() }, 10010},
		{"SETTINGS ack", "", func() string { return frame(frameSettings, 1, 0, "") }, 10010},
		{"windows that change", "", func() string { return settings(settingInitialWindow, 1, settingInitialWindow, 0) }, 10010},
		{"tables that change", "", func() string { return settings(settingTableSize, 0, settingTableSize, 4096) }, 10010},
		{"PRIORITY", "", func() string { return frame(framePriority, 0, 99, u32(3)+"\x00") }, 10010},
		{"unknown types", "", func() string { return frame(99, 0, 0, "") }, 10010},
		{"WINDOW_UPDATE", "", func() string { return windowUpdate(1, 1) }, 10010},
		{"WINDOW_UPDATE of the connection", "", func() string { return windowUpdate(0, 1) }, 10010},
		{"RST_STREAM", "", func() string { return frame(frameReset, 0, 1, u32(8)) }, 10010},
		{"GOAWAY", "", func() string { return frame(frameGoAway, 0, 0, u32(9)+u32(0)) }, 10010},
		{"GOAWAY with other ids", "", func() string { last--; return frame(frameGoAway, 0, 0, u32(last)+u32(0)) }, 10010},
		{"empty DATA", open, func() string { return frame(frameData, 0, 1, "") }, 1001},
		{"padding", open, func() string { return frame(frameData, flagPadded, 1, "\x00") }, 1001},
		{"HEADERS of a stream that was reset", headers(1, 0, "x: y"), func() string { return headers(1, 0, ":status: 200") }, 10010},
		{"DATA of a stream that was reset", headers(1, 0, "x: y"), func() string { return frame(frameData, 0, 1, "x") }, 10010},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newClient(t, Config{}).greeted()
			p.request("GET", true)
			p.send(x.first)
			n := 0
			for ; !p.c.Failed() && n < 20000; n++ {
				p.send(x.flood())
				p.log, p.raw = nil, nil
			}
			if p.c.code != EnhanceYourCalm || n > x.most || n < min(x.most, 1000)-1 {
				t.Errorf("after %d: %v", n, p.c.code)
			}
		})
	}
}

// What a server may do to each stream that the client opens ends no connection, as long as
// the client opens streams.
func TestClientNoFloods(t *testing.T) {
	for _, x := range []struct {
		name string
		in   func(id uint32) string
	}{
		{"answers", func(id uint32) string { return headers(id, 1, ":status: 200") }},
		{"refusals", func(id uint32) string { return frame(frameReset, 0, id, u32(uint32(RefusedStream))) }},
		{"answers before the end", func(id uint32) string {
			return headers(id, 1, ":status: 413") + frame(frameReset, 0, id, u32(uint32(NoError)))
		}},
		{"windows", func(id uint32) string {
			return windowUpdate(id, 1) + windowUpdate(0, 1) + headers(id, 1, ":status: 200")
		}},
		{"an empty frame before each end", func(id uint32) string {
			return headers(id, 0, ":status: 200") + frame(frameData, 0, id, "") + frame(frameData, 1, id, "x")
		}},
		{"late answers", func(id uint32) string {
			if id < 20 {
				return ""
			}
			return headers(id-18, 0, ":status: 200") + frame(frameData, 1, id-18, "x")
		}},
	} {
		p := newClient(t, Config{}).greeted()
		for range 11000 { // more than oddBurst
			out, st, err := p.c.AppendRequest(nil, makeRequest("POST", "/"), "http", false)
			if err != nil || len(out) == 0 {
				t.Fatalf("%s: %v, %v", x.name, err, p.c.code)
			}
			late := x.name == "late answers"
			if late {
				p.c.Done(st)
			}
			p.send(x.in(st.ID()))
			if !late {
				p.c.Done(st)
			}
			p.log, p.raw = nil, nil
			clear(p.heads)
		}
	}
}

// Malformed responses reset their streams; too many of them end the connection.
func TestClientMalformed(t *testing.T) {
	for _, x := range []struct{ name, in string }{
		{"heads", headers(1, 0, ":status: 200", "X: y")},
		{"DATA before the head", frame(frameData, 0, 1, "x")},
		{"trailers without an end", headers(1, 0, ":status: 200") + headers(1, 0, "x: y")},
	} {
		p := newClient(t, Config{}).greeted()
		n := 0
		for ; !p.c.Failed() && n < 5000; n++ {
			st := p.request("GET", true)
			in := []byte(x.in)
			for b := in; len(b) > 0; b = b[frameHeaderLen+parseFrameHeader(b).length:] {
				f := parseFrameHeader(b)
				setFrameHeader(b, f.length, f.typ, f.flags, st.ID())
			}
			p.send(string(in))
			if !p.c.Failed() && !st.WasReset() {
				t.Fatalf("%s: the stream goes on", x.name)
			}
			p.c.Done(st)
			p.log, p.raw = nil, nil
		}
		if n != resetBurst+1 || p.c.code != EnhanceYourCalm {
			t.Errorf("%s: after %d: %v", x.name, n, p.c.code)
		}
	}
}

// Informational responses have a limit, however they are decoded.
func TestClientInterims(t *testing.T) {
	for _, status := range []bool{false, true} {
		p := newClient(t, Config{}).greeted()
		st := p.request("GET", true)
		in := []byte(headers(1, 0, ":status: 103"))
		for n := 1; ; n++ {
			var ev Event
			p.c.Read(in, 1, &ev)
			var err error
			if status {
				_, err = p.c.DecodeStatus()
			} else {
				h := makeResponseHead()
				err = p.c.DecodeResponse(h)
			}
			if n <= maxInterims && err == nil {
				continue
			}
			if n != maxInterims+1 || err != ErrInterims || !st.WasReset() || p.c.Failed() {
				t.Errorf("after %d: %v", n, err)
			}
			break
		}
		p.send().want("> RST_STREAM 1 ENHANCE_YOUR_CALM")
	}
}

// Heads that are too long, in bytes or in frames.
func TestClientHeaderBombs(t *testing.T) {
	begin := func(p *peer) { p.request("GET", true); p.send(frame(frameHeaders, 0, 1, block(":status: 200"))) }
	for _, x := range []struct {
		name, one string
	}{
		{"CONTINUATION", frame(frameContinuation, 0, 1, "\x00\x01a\x01b")},
		{"long CONTINUATION", frame(frameContinuation, 0, 1, strings.Repeat("x", maxFrame))},
		{"empty CONTINUATION", frame(frameContinuation, 0, 1, "")},
	} {
		p := newClient(t, Config{}).greeted()
		begin(p)
		for n := 0; !p.c.Failed(); n++ {
			if p.send(x.one); n > maxContinuations {
				t.Fatalf("%s: no end", x.name)
			}
		}
		p.want("failed ENHANCE_YOUR_CALM", "> GOAWAY 0 ENHANCE_YOUR_CALM")
	}
	// A small block that decodes to a long head.
	p := newClient(t, Config{HeaderList: 10000}).greeted()
	p.request("GET", true)
	p.send(frame(frameHeaders, flagEndHeaders, 1, block(":status: 200")+"\x40\x01a\x7f\x81\x06"+strings.Repeat("v", 896)+strings.Repeat("\xbe", 100)))
	p.want("refused 1 head too long", "> RST_STREAM 1 ENHANCE_YOUR_CALM")
	// The heads of all streams together.
	p = newClient(t, Config{HeaderList: 2000, Heads: 4000}).greeted()
	for i := range uint32(4) {
		p.request("GET", true)
		p.send(headers(2*i+1, 0, ":status: 200", "a: "+strings.Repeat("b", 1200)))
	}
	p.want("head 1 200", "head 3 200", "head 5 200", "refused 7 the heads of all streams are too long", "> RST_STREAM 7 ENHANCE_YOUR_CALM")
	p.c.Done(p.open[1])
	p.send().want("> RST_STREAM 1 CANCEL")
	p.request("GET", true)
	p.send(headers(9, 0, ":status: 200", "a: "+strings.Repeat("b", 1200))).want("head 9 200")
}

// Windows of requests can't be made too large by SETTINGS.
func TestClientWindowOverflow(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	p.request("POST", false)
	p.send(windowUpdate(1, maxWindow-initialWindow)).want()
	p.send(settings(settingInitialWindow, initialWindow+1)).want("failed FLOW_CONTROL_ERROR", "> GOAWAY 0 FLOW_CONTROL_ERROR")
}

// A server that sizes the table of the client's encoder as it likes.
func TestClientTableGames(t *testing.T) {
	p := newClient(t, Config{Streams: 1 << 10}).greeted(settingStreams, 1<<20)
	s := newPeer(t, Config{Streams: 1 << 10}).greet()
	var rep Repeated
	r := makeRequest("GET", "/", "X-A: b", "X-C: d")
	for i := range 300 {
		sizes := []uint32{settingTableSize, uint32(i*97) % 5000, settingTableSize, uint32(i*31) % 200, settingTableSize, 1<<32 - 1}
		p.send(settings(sizes[:2*(i%4)]...))
		out, st, err := p.c.AppendRepeated(nil, &rep, r, "http", true)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeFields(t, s, out); got != "GET / HTTP/2.0 length=-2|host: a.test|x-a: b|x-c: d" {
			t.Fatal(fmt.Sprint(i, ": ", got))
		}
		s.c.Done(s.open[st.ID()])
		p.c.Done(st)
	}
}
