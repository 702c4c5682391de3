package h2

import (
	"fmt"
	"strings"
	"testing"
)

func TestReceiveWindows(t *testing.T) {
	post1 := headers(1, 0, post...)
	full := strings.Repeat(frame(frameData, 0, 1, strings.Repeat("x", maxFrame)), 4)
	t.Run("too much for a stream", func(t *testing.T) {
		p := newPeer(t, Config{StreamWindow: 65535}).greet()
		p.keep = true
		p.send(post1, full)
		p.log = p.log[len(p.log)-2:]
		p.want("reset 1 FLOW_CONTROL_ERROR local", "> RST_STREAM 1 FLOW_CONTROL_ERROR")
		// The data that was refused has taken the connection's window, and given it back.
		if c := p.c; c.in.window+c.in.credit != DefaultConnWindow {
			t.Errorf("window %d, credit %d", c.in.window, c.in.credit)
		}
	})
	t.Run("too much for the connection", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		p.c.in.window = 5
		p.send(post1, frame(frameData, 0, 1, "123456"))
		p.want("head 1 POST /", "failed FLOW_CONTROL_ERROR", "> GOAWAY 1 FLOW_CONTROL_ERROR")
	})
	t.Run("padding counts", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		p.keep = true
		p.send(post1, frame(frameData, flagPadded, 1, "\x02abc\x00\x00"))
		if f := p.open[1].in; f.window != DefaultStreamWindow-6 || f.unread != 3 || f.credit != 3 {
			t.Errorf("%+v", f)
		}
		if p.open[1].Unread() != 3 {
			t.Error("Unread is", p.open[1].Unread())
		}
	})
	t.Run("a body that is consumed has room", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		p.send(post1)
		for range 1000 {
			p.send(frame(frameData, 0, 1, strings.Repeat("x", maxFrame)))
			if p.c.Failed() || p.open[1].WasReset() {
				t.Fatal(p.log)
			}
			p.log = nil
		}
		if f := p.open[1].in; f.size != DefaultStreamWindowMax {
			t.Errorf("the window has grown to %d", f.size)
		}
	})
}

// TestWindowsGrowTogether: what the windows of all streams grow by is bounded, and streams
// that have ended leave theirs to others.
func TestWindowsGrowTogether(t *testing.T) {
	const budget = 1 << 20
	p := newPeer(t, Config{ConnWindow: budget}).greet()
	take := func(id uint32) int64 {
		for range 500 {
			p.send(frame(frameData, 0, id, strings.Repeat("x", maxFrame)))
		}
		p.log = nil
		return p.open[id].in.size
	}
	p.send(headers(1, 0, post...), headers(3, 0, post...))
	if n := take(1); n != DefaultStreamWindow+budget {
		t.Errorf("the first window has grown to %d", n)
	}
	if n := take(3); n != DefaultStreamWindow {
		t.Errorf("the second window has grown to %d", n)
	}
	p.c.Done(p.open[1])
	if n := take(3); n != DefaultStreamWindow+budget {
		t.Errorf("the second window has grown to %d after the first stream's end", n)
	}
}

// TestKnownLength: a peer that has room for the rest of a body isn't told of more.
func TestKnownLength(t *testing.T) {
	data := func(n int) string { return frame(frameData, 0, 1, strings.Repeat("x", n)) }
	has := func(p *peer, what string) bool { return strings.Contains(fmt.Sprint(p.log), what) }
	t.Run("within the window", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 0, with(post, "content-length: 65536")...))
		for range 4 {
			p.send(data(maxFrame))
		}
		if has(p, "WINDOW_UPDATE") {
			t.Errorf("%+v", p.open[1].in)
		}
	})
	t.Run("padded beyond the window", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 0, with(post, "content-length: 60000")...))
		padded := frame(frameData, flagPadded, 1, "\xff"+"x"+strings.Repeat("\x00", 255))
		for range 60000 { // all that the peer sends has room
			p.send(padded)
			if p.c.Failed() || p.open[1].WasReset() {
				t.Fatal(p.log)
			}
			p.log = nil
		}
	})
}

func TestSmallStreamWindow(t *testing.T) {
	p := newPeer(t, Config{StreamWindow: 1000})
	p.keep = true
	p.send(Preface, settings(), headers(1, 0, post...), frame(frameData, 0, 1, strings.Repeat("x", 16000)))
	// Until the peer has our SETTINGS it may send 65,535 bytes.
	if p.open[1].WasReset() || p.open[1].in.window != initialWindow-16000 {
		t.Fatalf("%+v", p.open[1].in)
	}
	p.send(frame(frameSettings, flagAck, 0, ""))
	if w := p.open[1].in.window; w != 1000-16000 {
		t.Errorf("after the acknowledgement the window is %d", w)
	}
	p.send(headers(3, 0, post...))
	p.log = nil
	p.send(frame(frameData, 0, 3, strings.Repeat("x", 1001))).want("reset 3 FLOW_CONTROL_ERROR local", "> RST_STREAM 3 FLOW_CONTROL_ERROR")
	p.c.Consumed(p.open[1], 16000)
	p.send().want("> WINDOW_UPDATE 1 17000") // twice as large
	if w := p.open[1].in.window; w != 2000 {
		t.Errorf("the window is %d", w)
	}
}

// body sends b as far as the windows let it.
func (p *peer) body(id uint32, b string, end bool) int {
	out, n := p.c.AppendData(nil, p.open[id], []byte(b), end)
	p.sent(out)
	p.check()
	return n
}

func TestSendWindows(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(settings(settingInitialWindow, 5), headers(1, 1, get...), headers(3, 1, get...))
	p.log = nil
	if n := p.body(1, "123456789", true); n != 5 {
		t.Error(n)
	}
	p.want("> DATA 1 12345")
	if n := p.body(1, "6789", true); n != 0 {
		t.Error(n)
	}
	p.want()
	p.send(windowUpdate(1, 2)).want("room 1")
	if room := p.c.SendRoom(p.open[1]); room != 2 {
		t.Error("SendRoom is", room)
	}
	p.body(1, "6789", true)
	p.want("> DATA 1 67")
	// Smaller windows: below zero.
	p.send(settings(settingInitialWindow, 0)).want("> SETTINGS ack")
	if w := p.open[1].out.window; w != -5 {
		t.Error("the window is", w)
	}
	p.send(windowUpdate(1, 5)).want()
	p.send(windowUpdate(1, 1)).want("room 1")
	p.body(1, "89", true)
	p.want("> DATA 1 8")
	p.send(settings(settingInitialWindow, 10)).want("room 0", "> SETTINGS ack")
	p.body(1, "9", true)
	p.want("> DATA 1 9 end")
	if !p.open[1].Ended() || p.c.streams.n != 2 {
		t.Error("the stream has not ended")
	}
	p.body(1, "more", true)
	p.want()
	p.c.Done(p.open[1])
	// The end of a body needs no window.
	p.send(settings(settingInitialWindow, 0))
	p.log = nil
	p.body(3, "", false)
	p.body(3, "", true)
	p.want("> DATA 3  end")
}

func TestSendConnWindow(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(settings(settingInitialWindow, 1<<20), headers(1, 1, get...), headers(3, 1, get...))
	big := strings.Repeat("x", 100000)
	out, n := p.c.AppendData(nil, p.open[1], []byte(big), true)
	if n != initialWindow || len(out) != n+4*frameHeaderLen {
		t.Fatal(n, len(out))
	}
	p.log = nil
	p.c.Queue(p.open[3])
	if p.c.Next() != nil {
		t.Error("Next returns a stream although the connection's window is closed")
	}
	p.send(windowUpdate(0, 3)).want("room 0")
	if p.c.Next() != p.open[3] {
		t.Error("Next doesn't return the stream that waits")
	}
	p.body(3, "1234", true)
	p.want("> DATA 3 123")
	p.send(windowUpdate(0, 1<<20)).want("room 0")
	if _, n = p.c.AppendDataHeader(nil, p.open[1], 100000-initialWindow, true); n != maxFrame {
		t.Error(n)
	}
	if _, n = p.c.AppendDataHeader(nil, p.open[1], 100, true); n != 100 || !p.open[1].Ended() {
		t.Error(n)
	}
}

func TestSettings(t *testing.T) {
	for _, x := range []struct {
		in   string
		want Code // NoError: acknowledged
	}{
		{settings(), NoError},
		{settings(1, 0, 2, 0, 3, 0, 4, maxWindow, 5, 16384, 6, 0, 8, 1, 9, 0, 0x1234, 5), NoError},
		{settings(5, 1<<24-1), NoError},
		{settings(4, 5, 4, 5), NoError},
		{settings(2, 2), ProtocolError},
		{settings(4, 1<<31), FlowControlError},
		{settings(5, 16383), ProtocolError},
		{settings(5, 1<<24), ProtocolError},
		{settings(8, 2), ProtocolError},
		{settings(9, 2), ProtocolError},
		{settings(9, 1), ProtocolError}, // it was 0
		{frame(frameSettings, 0, 0, "12345"), FrameSizeError},
		{frame(frameSettings, flagAck, 0, "123456"), FrameSizeError},
		{frame(frameSettings, 0, 1, ""), ProtocolError},
	} {
		for _, chunk := range []int{0, 1} {
			p := newPeer(t, Config{}).greet()
			p.chunk = chunk
			p.send(x.in)
			if x.want == NoError {
				p.want("> SETTINGS ack")
				continue
			}
			p.want(fmt.Sprintf("failed %v", x.want), fmt.Sprintf("> GOAWAY 0 %v", x.want))
		}
	}
}

// TestInitialWindows: values of SETTINGS are processed in order (RFC 9113 section 6.5.3), and
// none may make a window too large (section 6.9.2), one that another follows included.
func TestInitialWindows(t *testing.T) {
	for _, x := range []struct {
		name   string
		values []uint32
		want   int64 // the window of the stream, 0 if the connection fails
	}{
		{"one", []uint32{4, 5}, maxWindow - 100 - initialWindow + 5},
		{"the last one counts", []uint32{4, 5, 4, 0, 4, initialWindow}, maxWindow - 100},
		{"largest", []uint32{4, initialWindow + 100}, maxWindow},
		{"too large", []uint32{4, initialWindow + 101}, 0},
		{"too large, then smaller", []uint32{4, initialWindow + 101, 4, 5}, 0},
		{"too large, then as before", []uint32{4, initialWindow + 101, 4, initialWindow}, 0},
		{"smaller, then too large", []uint32{4, 5, 4, initialWindow + 101}, 0},
		{"smaller, largest, smaller", []uint32{4, 5, 4, initialWindow + 100, 1, 0, 4, 7}, maxWindow - 100 - initialWindow + 7},
		{"no window, then too large", []uint32{4, 1 << 31, 4, 5}, 0},
	} {
		for _, chunk := range []int{0, 1} {
			p := newPeer(t, Config{}).greet()
			p.chunk = chunk
			p.send(headers(1, 1, get...), windowUpdate(1, maxWindow-initialWindow-100), settings(4, initialWindow))
			p.log = nil
			if p.send(settings(x.values...)); x.want == 0 {
				p.want("failed FLOW_CONTROL_ERROR", "> GOAWAY 1 FLOW_CONTROL_ERROR")
				continue
			}
			p.want("> SETTINGS ack")
			if w := p.open[1].out.window; w != x.want {
				t.Errorf("%s: the window is %d, want %d", x.name, w, x.want)
			}
			p.log = nil
			p.send(settings(4, initialWindow+100)).want("> SETTINGS ack") // nothing is left of those before
		}
	}
}

func TestOurSettings(t *testing.T) {
	cfg := Config{Streams: 7, HeaderList: 5000, StreamWindow: 70000, ConnWindow: initialWindow, TableSize: -1, ExtendedConnect: true}
	cfg.Fill()
	var c Conn
	want := settings(3, 7, 4, 70000, 6, 5000, 1, 0, 8, 1, 9, 1)
	if got := string(c.Begin(&cfg, nil)); got != want {
		t.Errorf("%x", got)
	}
}

// Data is given back if the window that the peer's acknowledgement leaves doesn't allow the
// rest, however large it is before.
func TestSmallWindowGivesBack(t *testing.T) {
	p := newPeer(t, Config{StreamWindow: 1000})
	p.send(Preface, settings(), headers(1, 0, with(post, "content-length: 5000")...))
	p.log = nil
	send := func(n int, want ...string) {
		t.Helper()
		p.log = nil
		p.send(frame(frameData, 0, 1, strings.Repeat("x", n)))
		p.log = p.log[1:]
		p.want(want...)
	}
	send(1000, "> WINDOW_UPDATE 1 2000") // the window has grown to 2000
	p.send(frame(frameSettings, flagAck, 0, "")).want()
	if w := p.open[1].in.window; w != 2000 {
		t.Errorf("the window is %d", w)
	}
	send(2000, "> WINDOW_UPDATE 1 4000")
	send(2000)
}

// An acknowledgement causes no burst of frames, however many streams are open.
func TestSmallWindowsOfManyStreams(t *testing.T) {
	const n = maxQueued + 10
	p := newPeer(t, Config{Streams: n, StreamWindow: 1000})
	p.send(Preface, settings())
	for i := range uint32(n) {
		p.send(headers(2*i+1, 0, with(post, "content-length: 5000")...), frame(frameData, 0, 2*i+1, strings.Repeat("x", 1000)))
	}
	p.log = nil
	p.send(frame(frameSettings, flagAck, 0, "")).want()
}

// An empty DATA frame needs no window: it may end a stream whose window an acknowledgement
// has made negative (RFC 9113 section 6.9).
func TestEmptyEndNeedsNoWindow(t *testing.T) {
	p := newPeer(t, Config{StreamWindow: 1000})
	p.keep = true
	p.send(Preface, settings(), headers(1, 0, post...), frame(frameData, 0, 1, strings.Repeat("x", 5000)), frame(frameSettings, flagAck, 0, ""))
	if w := p.open[1].in.window; w != -4000 {
		t.Errorf("the window is %d", w)
	}
	p.log = nil
	p.send(frame(frameData, 1, 1, "")).want("data 1  end")
}

// A window never becomes larger than the largest that exists (RFC 9113 section 6.9.1).
func TestLargestWindow(t *testing.T) {
	p := newPeer(t, Config{StreamWindow: maxWindow, StreamWindowMax: maxWindow, ConnWindow: maxWindow}).greet()
	p.send(headers(1, 0, with(post, "content-length: 5000000000")...))
	p.c.Collect(p.open[1])
	for range 100 {
		p.send(frame(frameData, 0, 1, strings.Repeat("x", maxFrame))) // send checks the window
	}
}
