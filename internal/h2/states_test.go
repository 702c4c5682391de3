package h2

import (
	"fmt"
	"strings"
	"testing"
)

// A stream that was reset counts until its handler has ended.
func TestConcurrency(t *testing.T) {
	p := newPeer(t, Config{Streams: 2}).greet()
	p.send(headers(1, 1, get...), headers(3, 0, post...), headers(5, 1, get...))
	p.want("head 1 GET / end", "head 3 POST /", "> RST_STREAM 5 REFUSED_STREAM")
	p.send(frame(frameReset, 0, 1, u32(8)), headers(7, 1, get...)).want("reset 1 CANCEL", "> RST_STREAM 7 REFUSED_STREAM")
	p.c.Done(p.open[1])
	p.send(headers(9, 1, get...), headers(11, 1, get...)).want("head 9 GET / end", "> RST_STREAM 11 REFUSED_STREAM")
	p.c.ResetStream(p.open[3], Cancel)
	p.send(frame(frameData, 0, 3, "abc"), headers(13, 1, get...)).want("> RST_STREAM 3 CANCEL", "> RST_STREAM 13 REFUSED_STREAM")
	p.c.Done(p.open[3])
	// The table is in step after all these.
	p.send(frame(frameHeaders, flagEndHeaders|1, 15, block(get...)+"\x40\x01x\x01y"))
	p.want("head 15 GET / end")
	p.send(frame(frameHeaders, flagEndHeaders|1, 17, block(get...)+"\x40\x01y\x01z")).want("> RST_STREAM 17 REFUSED_STREAM")
	p.c.Done(p.open[15])
	p.send(frame(frameHeaders, flagEndHeaders|1, 19, block(get...)+"\xbe\xbf"))
	if got := p.heads[19]; !strings.HasSuffix(got, "|y: z|x: y") {
		t.Error(got)
	}
}

// A stream that both sides have ended doesn't count any more, even before Done: the client
// may know already that it has ended. There may be as many of these as of open ones.
func TestConcurrencyOfAnswered(t *testing.T) {
	p := newPeer(t, Config{Streams: 2}).greet()
	p.send(headers(1, 1, get...), headers(3, 1, get...)).want("head 1 GET / end", "head 3 GET / end")
	answer(p.c, p.open[1], 200, "")
	p.log = nil
	p.send(headers(5, 1, get...), headers(7, 1, get...)).want("head 5 GET / end", "> RST_STREAM 7 REFUSED_STREAM")
	answer(p.c, p.open[3], 200, "")
	p.log = nil
	p.send(headers(9, 1, get...)).want("head 9 GET / end") // the fourth
	answer(p.c, p.open[5], 200, "")
	p.log = nil
	p.send(headers(11, 1, get...)).want("> RST_STREAM 11 REFUSED_STREAM")
	p.c.ResetStream(p.open[1], Cancel) // which changes nothing any more
	p.c.Done(p.open[1])
	p.send(headers(13, 1, get...), headers(15, 1, get...)).want("head 13 GET / end", "> RST_STREAM 15 REFUSED_STREAM")
	for _, id := range []uint32{3, 5, 9, 13} {
		p.c.Done(p.open[id])
	}
	p.send() // the resets
	p.log = nil
	p.send(headers(17, 1, get...), headers(19, 1, get...), headers(21, 1, get...))
	p.want("head 17 GET / end", "head 19 GET / end", "> RST_STREAM 21 REFUSED_STREAM")
}

func TestDone(t *testing.T) {
	for _, x := range []struct {
		name string
		end  bool // of the request
		send bool
		want string
	}{
		{"both have ended", true, true, ""},
		{"the request goes on", false, true, "> RST_STREAM 1 NO_ERROR"},
		{"no response", true, false, "> RST_STREAM 1 INTERNAL_ERROR"},
	} {
		p := newPeer(t, Config{}).greet()
		fields, flags := post, uint8(0)
		if x.end {
			flags = flagEndStream
		}
		p.send(headers(1, flags, fields...))
		if x.send {
			answer(p.c, p.open[1], 200, "body")
		}
		p.log = nil
		p.c.Done(p.open[1])
		if p.c.Streams() != 0 {
			t.Error("a stream is left")
		}
		p.send()
		if got := strings.Join(p.log, ""); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		p.log = nil
		// What comes later: data that was on its way is dropped, and data after the end isn't.
		p.send(windowUpdate(1, 1), frame(frameReset, 0, 1, u32(0))).want()
		p.send(frame(frameData, 0, 1, strings.Repeat("x", 2000)))
		if x.want == "" {
			p.want("failed STREAM_CLOSED", "> GOAWAY 1 STREAM_CLOSED")
		} else {
			p.want()
		}
	}
}

func TestResetStreamDropsOutput(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, post...))
	p.log = nil
	st := p.open[1]
	p.c.Queue(st)
	p.c.ResetStream(st, Cancel)
	p.c.ResetStream(st, Cancel)
	out := answer(p.c, st, 200, "body")
	out, _ = p.c.AppendDataHeader(out, st, 5, true)
	out = p.c.AppendInterim(out, st, 103, nil)
	if len(out) > 0 || p.c.Next() != nil || !st.WasReset() {
		t.Errorf("%q", out)
	}
	p.c.Queue(st)
	p.c.Consumed(st, 100000)
	p.check()
	p.send().want("> RST_STREAM 1 CANCEL")
}

// How streams were closed is known for the last 512 of them.
func TestClosedStreams(t *testing.T) {
	var c closedStreams
	last := uint32(0)
	how := map[uint32]closing{}
	open := func(id uint32, h closing) {
		c.open(last, id)
		last = id
		c.set(last, id, h)
		how[id] = h
	}
	for i := uint32(1); i < 5000; i += 2 {
		switch {
		case i%7 == 0: // skipped
		case i == 3001:
			open(i+1200, byUs)
			i += 1200
		default:
			open(i, closing(1+i/2%3))
		}
		for id := uint32(1); id <= last; id += 2 {
			got, known := c.of(last, id)
			if wantKnown := (last-id)/2 < closingKept; known != wantKnown || known && got != how[id] {
				t.Fatalf("after %d stream %d is %d, %v; want %d, %v", last, id, got, known, how[id], wantKnown)
			}
		}
		if i > 600 && i%97 != 0 {
			i += 12
		}
	}
}

func TestGoAway(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, post...))
	p.c.Drain()
	p.c.Drain()
	p.send(headers(3, 0, post...)).want("head 1 POST /", "head 3 POST /", fmt.Sprintf("> GOAWAY %d NO_ERROR", maxStreamID))
	p.c.Stop()
	p.c.Stop()
	p.c.Drain()
	// Streams that are opened now are ignored, but their heads and data count.
	p.send(frame(frameHeaders, flagEndHeaders, 5, block(get...)+"\x40\x01x\x01y"), frame(frameData, 1, 5, strings.Repeat("x", 100)),
		frame(frameData, flagEndStream, 1, "abc")).want("data 1 abc end", "> GOAWAY 3 NO_ERROR")
	p.send(headers(3, 1, "x-t: 1")).want("trailers 3 X-T=1")
	if len(answer(p.c, p.open[1], 200, "x")) == 0 {
		t.Error("streams that are open can't be answered")
	}
	p.c.Fail(EnhanceYourCalm)
	p.c.Fail(ProtocolError)
	p.send("x").want("failed ENHANCE_YOUR_CALM", "> GOAWAY 3 ENHANCE_YOUR_CALM")
	if !p.open[3].WasReset() || len(answer(p.c, p.open[3], 200, "x")) != 0 {
		t.Error("after Fail something is sent")
	}
	p.c.Done(p.open[1])
	p.c.Done(p.open[3])
	p.send().want()
}

// The handler may end while a frame is being read.
func TestDoneWithinData(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, post...), frame(frameData, 0, 1, "abcdef")[:frameHeaderLen+3])
	p.c.Done(p.open[1])
	p.send("def", frame(frameData, 1, 1, "ghi"), headers(3, 1, get...))
	p.want("head 1 POST /", "data 1 abc", "head 3 GET / end", "> RST_STREAM 1 INTERNAL_ERROR")
}

// A caller may give up a stream while a field block comes that is refused: one reset is
// enough (RFC 9113 section 5.1), and the block still changes the table.
func TestDoneWithinRefusedBlock(t *testing.T) {
	begin := frame(frameHeaders, 0, 1, "\x40\x01x\x01y") // trailers without an end
	end := frame(frameContinuation, flagEndHeaders, 1, "")
	for _, x := range []struct {
		name string
		give func(c *Conn, st *Stream)
	}{
		{"Done", func(c *Conn, st *Stream) { c.Done(st) }},
		{"ResetStream", func(c *Conn, st *Stream) { c.ResetStream(st, InternalError) }},
	} {
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 0, post...), begin)
		x.give(p.c, p.open[1])
		p.send(end, frame(frameHeaders, flagEndHeaders|1, 3, block(get...)+"\xbe"))
		p.want("head 1 POST /", "head 3 GET / end", "> RST_STREAM 1 INTERNAL_ERROR")
		p = newClient(t, Config{}).greeted()
		p.request("GET", true)
		p.send(headers(1, 0, ":status: 200"), begin)
		x.give(p.c, p.open[1])
		p.send(end)
		if p.log = p.log[1:]; len(p.log) != 1 {
			t.Errorf("%s of a client: %q", x.name, p.log)
		}
	}
}

// TestHeldResets: the reset after a response is not written together with it, and waits for
// one write only, whatever else is queued.
func TestHeldResets(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	answerEarly := func(id uint32) {
		p.feed([]byte(headers(id, 0, post...)))
		answer(p.c, p.open[id], 204, "")
		p.c.Done(p.open[id])
	}
	write := func(want ...string) {
		t.Helper()
		p.log = nil
		p.sent(p.c.AppendHeld(p.c.AppendControl(nil)))
		p.want(want...)
		p.check()
	}
	ping := func() { p.feed([]byte(frame(framePing, 0, 0, "12345678"))) }
	answerEarly(1)
	ping()
	write(`> PING "12345678"`)
	if !p.c.HasHeld() || p.c.HasControl() {
		t.Errorf("held: %v, control: %v", p.c.HasHeld(), p.c.HasControl())
	}
	ping()
	answerEarly(3)
	ping()
	answerEarly(5)
	write(`> PING "12345678"`, `> PING "12345678"`, "> RST_STREAM 1 NO_ERROR")
	write("> RST_STREAM 3 NO_ERROR", "> RST_STREAM 5 NO_ERROR")
	if write(); p.c.HasHeld() {
		t.Error("something is held")
	}
}

// TestManyHeldResets proves that early answers don't count as control frames that the peer
// causes and doesn't read: all streams that are allowed may end between two writes.
func TestManyHeldResets(t *testing.T) {
	const streams = 6000
	p := newPeer(t, Config{Streams: streams}).greet()
	resets := 0
	write := func(out []byte) {
		p.log = nil
		p.sent(out)
		for _, line := range p.log {
			if strings.Contains(line, "RST_STREAM") {
				resets++
			}
		}
		p.check()
	}
	for i := range uint32(streams) {
		id := 2*i + 1
		p.feed([]byte(headers(id, 0, post...)))
		answer(p.c, p.open[id], 204, "")
		p.c.Done(p.open[id])
		write(p.c.AppendControl(nil))
	}
	p.feed([]byte(frame(framePing, 0, 0, "12345678")))
	if p.c.Failed() {
		t.Fatalf("the connection failed: %v", p.c.code)
	}
	write(p.c.AppendControl(nil))
	for p.c.HasHeld() {
		write(p.c.AppendHeld(nil))
	}
	if resets != streams {
		t.Errorf("%d resets, want %d", resets, streams)
	}
	if p.c.Rest(); cap(p.c.control.b) > keepQueue {
		t.Errorf("an idle connection keeps %d bytes", cap(p.c.control.b))
	}
}
