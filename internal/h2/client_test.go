package h2

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// A client begins with the preface and SETTINGS that allow no push (RFC 9113 section 3.4).
func TestClientBegins(t *testing.T) {
	cfg := Config{StreamWindow: 1 << 20, HeaderList: 2000, TableSize: 100, ConnWindow: 1 << 20}
	cfg.Fill()
	var c Conn
	got := string(c.BeginClient(&cfg, []byte("before ")))
	want := "before " + Preface + settings(settingPush, 0, settingInitialWindow, 1<<20, settingHeaderList, 2000, settingTableSize, 100) +
		windowUpdate(0, 1<<20-initialWindow)
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// What a server sends on one stream, and what the client makes of it. The request has
// ended, unless the case says that it goes on.
func TestClientStreams(t *testing.T) {
	h := func(flags uint8, fields ...string) string { return headers(1, flags, fields...) }
	d := func(flags uint8, data string) string { return frame(frameData, flags, 1, data) }
	reset := func(code Code) string { return frame(frameReset, 0, 1, u32(uint32(code))) }
	ok := h(0, ":status: 200")
	for _, x := range []struct {
		name, method string
		in           string
		want         []string
	}{
		{"no body", "GET", h(1, ":status: 200"), []string{"head 1 200 end"}},
		{"a body", "GET", ok + d(1, "abc"), []string{"head 1 200", "data 1 abc end"}},
		{"an empty end", "GET", ok + d(0, "abc") + d(1, ""), []string{"head 1 200", "data 1 abc end"}},
		{"padding", "GET", ok + d(flagPadded|1, "\x02abc\x00\x00"), []string{"head 1 200", "data 1 abc end"}},
		{"trailers", "GET", ok + d(0, "abc") + h(1, "x-t: 1"), []string{"head 1 200", "data 1 abc", "trailers 1 X-T=1"}},
		{"informational", "GET", h(0, ":status: 103", "link: x") + h(0, ":status: 100") + h(1, ":status: 404"), []string{"head 1 103", "head 1 100", "head 1 404 end"}},
		{"a length", "GET", h(0, ":status: 200", "content-length: 3") + d(1, "abc"), []string{"head 1 200", "data 1 abc end"}},
		{"a length of 0", "GET", h(1, ":status: 200", "content-length: 0"), []string{"head 1 200 end"}},
		{"HEAD", "HEAD", h(1, ":status: 200", "content-length: 3"), []string{"head 1 200 end"}},
		{"HEAD with a late end", "HEAD", h(0, ":status: 200", "content-length: 3") + d(1, ""), []string{"head 1 200", "data 1  end"}},
		{"HEAD with trailers", "HEAD", h(0, ":status: 200", "content-length: 3") + h(1, "x-t: 1"), []string{"head 1 200", "trailers 1 X-T=1"}},
		{"304", "GET", h(1, ":status: 304", "content-length: 3"), []string{"head 1 304 end"}},
		{"204", "GET", h(0, ":status: 204") + d(1, ""), []string{"head 1 204", "data 1  end"}},
		{"RFC 7540 priority", "GET", frame(frameHeaders, flagPriority|flagEndHeaders|1, 1, u32(0)+"\x10"+block(":status: 200")), []string{"head 1 200 end"}},
		{"CONTINUATION", "GET", frame(frameHeaders, 1, 1, block(":status: 200")) + frame(frameContinuation, flagEndHeaders, 1, block("x: y")), []string{"head 1 200 end"}},
		{"reset", "GET", reset(Cancel), []string{"reset 1 CANCEL"}},
		{"reset after the head", "GET", ok + reset(RefusedStream), []string{"head 1 200", "reset 1 REFUSED_STREAM"}},
		{"refused", "GET", reset(RefusedStream), []string{"reset 1 REFUSED_STREAM unprocessed"}},
		{"refused after an informational response", "GET", h(0, ":status: 100") + reset(RefusedStream), []string{"head 1 100", "reset 1 REFUSED_STREAM"}},
		{"a second reset", "GET", reset(Cancel) + reset(Cancel), []string{"reset 1 CANCEL"}},
		{"WINDOW_UPDATE after the end", "GET", h(1, ":status: 200") + windowUpdate(1, 1), []string{"head 1 200 end"}},
		{"reset after the end", "GET", h(1, ":status: 200") + reset(NoError), []string{"head 1 200 end"}},

		// Stream errors.
		{"DATA before the head", "GET", d(0, "abc"), []string{"reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"DATA after an informational response", "GET", h(0, ":status: 100") + d(1, ""), []string{"head 1 100", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"informational with an end", "GET", h(1, ":status: 100"), []string{"refused 1 invalid :status end"}},
		{"101", "GET", h(0, ":status: 101"), []string{"refused 1 invalid :status", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"trailers without an end", "GET", ok + h(0, "x-t: 1"), []string{"head 1 200", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"trailers with :status", "GET", ok + h(1, ":status: 200"), []string{"head 1 200", "trailers refused 1 invalid pseudo-field"}},
		{"trailers too early", "GET", h(0, ":status: 200", "content-length: 3") + h(1, "x-t: 1"), []string{"head 1 200", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"too much data", "GET", h(0, ":status: 200", "content-length: 2") + d(1, "abc"), []string{"head 1 200", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"too little data", "GET", h(0, ":status: 200", "content-length: 4") + d(1, "abc"), []string{"head 1 200", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"no data", "GET", h(1, ":status: 200", "content-length: 4"), []string{"refused 1 invalid Content-Length end"}},
		{"data of HEAD", "HEAD", ok + d(1, "a"), []string{"head 1 200", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"data of a 304", "GET", h(0, ":status: 304") + d(1, "a"), []string{"head 1 304", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"data of a 204", "GET", h(0, ":status: 204", "content-length: 1") + d(1, "a"), []string{"head 1 204", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"a window of 0 more", "GET", windowUpdate(1, 0), []string{"reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"a window that is too large", "GET", windowUpdate(1, maxWindow), []string{"reset 1 FLOW_CONTROL_ERROR local", "> RST_STREAM 1 FLOW_CONTROL_ERROR"}},
		{"a stream that depends on itself", "GET", frame(frameHeaders, flagPriority|flagEndHeaders, 1, u32(1)+"\x10"+block(":status: 200")), []string{"reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"late frames of a stream that was reset", "GET", d(0, "abc") + ok + d(1, "abc"), []string{"reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},

		// Connection errors.
		{"DATA after the end", "GET", h(1, ":status: 200") + d(0, "abc"), []string{"head 1 200 end", "failed STREAM_CLOSED", "> GOAWAY 0 STREAM_CLOSED"}},
		{"HEADERS after the end", "GET", h(1, ":status: 200") + ok, []string{"head 1 200 end", "failed STREAM_CLOSED", "> GOAWAY 0 STREAM_CLOSED"}},
		{"HEADERS after a reset", "GET", reset(Cancel) + ok, []string{"reset 1 CANCEL", "failed STREAM_CLOSED", "> GOAWAY 0 STREAM_CLOSED"}},
		{"PUSH_PROMISE", "GET", frame(framePushPromise, flagEndHeaders, 1, u32(2)+block(get...)), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"HEADERS of an even stream", "GET", headers(2, 1, ":status: 200"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"DATA of an even stream", "GET", frame(frameData, 0, 2, "x"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"HEADERS of an idle stream", "GET", headers(3, 1, ":status: 200"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"DATA of an idle stream", "GET", frame(frameData, 0, 3, "x"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"RST_STREAM of an idle stream", "GET", frame(frameReset, 0, 3, u32(8)), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"WINDOW_UPDATE of an idle stream", "GET", windowUpdate(3, 1), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"PRIORITY_UPDATE", "GET", frame(framePriorityUpdate, 0, 0, u32(1)+"u=1"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"CONTINUATION alone", "GET", frame(frameContinuation, flagEndHeaders, 1, ""), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"another frame in a block", "GET", frame(frameHeaders, 0, 1, "") + windowUpdate(1, 1), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"an invalid block", "GET", frame(frameHeaders, flagEndHeaders, 1, "\xbf"), []string{"refused 1 invalid field block", "failed COMPRESSION_ERROR", "> GOAWAY 0 COMPRESSION_ERROR"}},
		{"a frame that is too long", "GET", frame(frameData, 0, 1, strings.Repeat("x", maxFrame+1)), []string{"failed FRAME_SIZE_ERROR", "> GOAWAY 0 FRAME_SIZE_ERROR"}},
		{"a window of the connection of 0 more", "GET", windowUpdate(0, 0), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"a window of the connection that is too large", "GET", windowUpdate(0, maxWindow), []string{"failed FLOW_CONTROL_ERROR", "> GOAWAY 0 FLOW_CONTROL_ERROR"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for chunk := range 12 {
				p := newClient(t, Config{}).greeted()
				p.chunk = chunk
				p.request(x.method, true)
				p.send(x.in).want(x.want...)
				if st := p.open[1]; !p.c.Failed() {
					p.c.Done(st)
					p.send()
				}
			}
		})
	}
}

// An extended CONNECT of a client is one for a server, and a response with 2xx makes the
// stream a tunnel: its Content-Length means nothing.
func TestAppendConnect(t *testing.T) {
	c, s := newClient(t, Config{}), newPeer(t, Config{ExtendedConnect: true}).greet()
	if c.c.PeerConnects() {
		t.Error("extended CONNECT is allowed before SETTINGS")
	}
	if c.greeted(settingExtendedConnect, 1); !c.c.PeerConnects() {
		t.Error("extended CONNECT isn't allowed after SETTINGS")
	}
	r := makeRequest("GET", "/chat?a", "Upgrade: websocket", "Connection: Upgrade", "Content-Length: 3", "X-A: b")
	r.OwnCookies()
	r.Cookies.Add("c", "3")
	open := func() *Stream {
		t.Helper()
		out, st, err := c.c.AppendConnect(nil, r, "https", "websocket")
		if err != nil {
			t.Fatal(err)
		}
		c.open[st.ID()] = st
		if got, want := decodeFields(t, s, out), "CONNECT /chat?a HTTP/2.0 length=-2|host: a.test|x-a: b|cookie: c=3"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := string(s.open[st.ID()].Protocol()); got != "websocket" || string(st.Protocol()) != got {
			t.Errorf("the protocols are %q and %q", got, st.Protocol())
		}
		return st
	}
	for _, status := range []string{"200", "204"} {
		st := open()
		c.send(headers(st.ID(), 0, ":status: "+status, "content-length: 1"), frame(frameData, 0, st.ID(), "more"))
		if st.WasReset() || st.PeerEnded() || st.Ended() {
			t.Errorf("%s: the stream isn't open", status)
		}
	}
	st := open()
	c.send(headers(st.ID(), 0, ":status: 403", "content-length: 1"), frame(frameData, 0, st.ID(), "more"))
	if !st.WasReset() {
		t.Error("a refusal that is longer than its Content-Length was taken")
	}
	if _, _, err := c.c.AppendConnect(nil, makeRequest("GET", "a:1"), "https", "websocket"); err != ErrPath {
		t.Errorf("a target that is no path: %v", err)
	}
	if _, _, err := c.c.AppendConnect(nil, r, "https", "web socket"); err != ErrPseudo {
		t.Errorf("a protocol that is no token: %v", err)
	}
}

// The frames of the connection, and the settings.
func TestClientConnection(t *testing.T) {
	for _, x := range []struct {
		name, in string
		want     []string
	}{
		{"SETTINGS", settings(), []string{"settings", "> SETTINGS ack"}},
		{"PING", settings() + frame(framePing, 0, 0, "12345678"), []string{"settings", "> SETTINGS ack", `> PING "12345678"`}},
		{"an unknown type", settings() + frame(99, 0, 5, "12345678"), []string{"settings", "> SETTINGS ack"}},
		{"no push", settings(settingPush, 0), []string{"settings", "> SETTINGS ack"}},
		{"extended CONNECT", settings(settingExtendedConnect, 0, settingExtendedConnect, 1) + settings(settingExtendedConnect, 1), []string{"settings", "settings", "> SETTINGS ack", "> SETTINGS ack"}},
		{"extended CONNECT taken back", settings(settingExtendedConnect, 1, settingExtendedConnect, 0), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"a wrong value for extended CONNECT", settings(settingExtendedConnect, 2), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"another frame first", frame(framePing, 0, 0, "12345678"), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"an acknowledgement first", frame(frameSettings, 1, 0, ""), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", []string{"failed FRAME_SIZE_ERROR", "> GOAWAY 0 FRAME_SIZE_ERROR"}},
		{"push", settings(settingPush, 1), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"small frames", settings(settingMaxFrame, 1<<14-1), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"large frames", settings(settingMaxFrame, 1<<24), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"a large window", settings(settingInitialWindow, 1<<31), []string{"failed FLOW_CONTROL_ERROR", "> GOAWAY 0 FLOW_CONTROL_ERROR"}},
		{"a part of a setting", frame(frameSettings, 0, 0, "12345"), []string{"failed FRAME_SIZE_ERROR", "> GOAWAY 0 FRAME_SIZE_ERROR"}},
		{"SETTINGS on a stream", frame(frameSettings, 0, 1, ""), []string{"failed PROTOCOL_ERROR", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"GOAWAY", settings() + frame(frameGoAway, 0, 0, u32(maxStreamID)+u32(0)+"text"), []string{"settings", "goaway NO_ERROR", "> SETTINGS ack"}},
		{"GOAWAY again", settings() + frame(frameGoAway, 0, 0, u32(5)+u32(0)) + frame(frameGoAway, 0, 0, u32(5)+u32(0)) + frame(frameGoAway, 0, 0, u32(3)+u32(2)),
			[]string{"settings", "goaway NO_ERROR", "goaway INTERNAL_ERROR", "> SETTINGS ack"}},
		{"GOAWAY with an error later", settings() + frame(frameGoAway, 0, 0, u32(5)+u32(0)) + frame(frameGoAway, 0, 0, u32(5)+u32(11)),
			[]string{"settings", "goaway NO_ERROR", "goaway ENHANCE_YOUR_CALM", "> SETTINGS ack"}},
		{"GOAWAY that rises", settings() + frame(frameGoAway, 0, 0, u32(5)+u32(0)) + frame(frameGoAway, 0, 0, u32(7)+u32(0)),
			[]string{"settings", "goaway NO_ERROR", "failed PROTOCOL_ERROR", "> SETTINGS ack", "> GOAWAY 0 PROTOCOL_ERROR"}},
		{"a PING answer that wasn't asked for", settings() + frame(framePing, 1, 0, "12345678"), []string{"settings", "> SETTINGS ack"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for chunk := range 12 {
				p := newClient(t, Config{})
				p.chunk, p.log = chunk, nil
				p.send(x.in).want(x.want...)
			}
		})
	}
}

func TestClientSettled(t *testing.T) {
	p := newClient(t, Config{})
	if p.c.Greeted() || p.c.Settled() {
		t.Error("a new connection is greeted or settled")
	}
	p.send(settings())
	if !p.c.Greeted() || p.c.Settled() {
		t.Error("SETTINGS are no acknowledgement")
	}
	p.send(frame(frameSettings, flagAck, 0, ""))
	if !p.c.Settled() {
		t.Error("an acknowledgement isn't seen")
	}
}

func TestClientPing(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	p.c.Ping([8]byte([]byte("abcdefgh")))
	p.send().want(`> PING "abcdefgh"`)
	ack := frame(framePing, flagAck, 0, "abcdefgh")
	p.chunk = 5
	p.send(ack, ack).want("pong abcdefgh")
	for range 2 * maxPings {
		p.c.Ping([8]byte{})
	}
	if p.send(); len(p.log) != maxPings {
		t.Errorf("%d PING frames are sent", len(p.log))
	}
}

// How many streams may be open is the least of what both sides say.
func TestClientCanOpen(t *testing.T) {
	p := newClient(t, Config{Streams: 120})
	want := func(n int, e error) {
		t.Helper()
		if got := p.c.CanOpen(); got != n {
			t.Fatalf("%d streams can be opened, want %d", got, n)
		}
		if n > 0 {
			return
		}
		out, st, err := p.c.AppendRequest([]byte("x"), makeRequest("GET", "/"), "http", true)
		if err != e || st != nil || string(out) != "x" {
			t.Fatalf("%q, %v, %v", out, st, err)
		}
	}
	want(firstStreams, nil)
	for range firstStreams {
		p.request("GET", true)
	}
	want(0, ErrStreamLimit)
	p.send(settings())
	want(20, nil)
	p.send(settings(settingStreams, 3))
	want(0, ErrStreamLimit)
	p.send(settings(settingStreams, 1<<32-1))
	want(20, nil)
	p.send(settings(settingStreams, 101))
	want(1, nil)
	p.c.Done(p.open[1])
	want(2, nil)
	p.c.last = maxStreamID - 4
	want(2, nil)
	p.c.last = maxStreamID - 2
	want(1, nil)
	p.c.last = maxStreamID
	want(0, ErrNoMoreStreams)
	p.c.last = 2*firstStreams - 1
	p.send(frame(frameGoAway, 0, 0, u32(maxStreamID)+u32(0)))
	want(0, ErrNoMoreStreams)

	p = newClient(t, Config{}).greeted()
	p.c.Stop()
	want(0, ErrNoMoreStreams)
	p.send().want("> GOAWAY 0 NO_ERROR")
	p = newClient(t, Config{}).greeted()
	p.c.Fail(SettingsTimeout)
	want(0, ErrNoMoreStreams)
}

// A stream that was reset makes room for another one only if the server knows of the reset
// first. So does an answer to SETTINGS before what the SETTINGS have allowed.
func TestClientOrder(t *testing.T) {
	for _, repeated := range []bool{false, true} {
		p := newClient(t, Config{}).greeted(settingStreams, 1)
		p.c.Done(p.request("GET", true))
		p.feed([]byte(settings(settingTableSize, 100)))
		r := makeRequest("GET", "/")
		var out []byte
		var err error
		if repeated {
			out, _, err = p.c.AppendRepeated(nil, new(Repeated), r, "http", true)
		} else {
			out, _, err = p.c.AppendRequest(nil, r, "http", true)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.log = nil
		p.sent(out)
		p.send().want("> RST_STREAM 1 CANCEL", "> SETTINGS ack", "> HEADERS 3 end")
	}
}

// GOAWAY ends the streams that the server won't process.
func TestClientGoAway(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	for range 5 {
		p.request("GET", true)
	}
	upload := p.request("POST", false)
	p.send(headers(1, 1, ":status: 200"), headers(7, 0, ":status: 200"), headers(9, 1, ":status: 200"))
	if p.c.PeerLast() != maxStreamID {
		t.Error(p.c.PeerLast())
	}
	p.log = nil
	p.send(frame(frameGoAway, 0, 0, u32(3)+u32(0))).want("goaway NO_ERROR")
	if p.c.PeerLast() != 3 {
		t.Error(p.c.PeerLast())
	}
	got := ""
	p.c.All(func(st *Stream) bool {
		if st.WasReset() {
			got += fmt.Sprint(" ", st.ID(), st.Unprocessed())
		}
		return true
	})
	if sorted := strings.Fields(got); len(sorted) != 6 || !strings.Contains(got, "5 true") || !strings.Contains(got, "7 false") || !strings.Contains(got, "11 true") {
		t.Errorf("%q", got)
	}
	if out, n := p.c.AppendData(nil, upload, []byte("x"), true); n != 0 || len(out) != 0 {
		t.Errorf("%q", out)
	}
	// What comes nevertheless is dropped. Lower streams continue.
	p.send(headers(5, 0, ":status: 200"), frame(frameData, 1, 5, "abc"), headers(3, 1, ":status: 200")).want("head 3 200 end")
	for _, st := range p.open {
		p.c.Done(st)
	}
	p.send().want()
	if p.c.Streams() != 0 {
		t.Error("streams are left")
	}
}

// Done and ResetStream of a client.
func TestClientDone(t *testing.T) {
	for _, x := range []struct {
		name     string
		end      bool // of the request
		response string
		want     string
	}{
		{"both have ended", true, headers(1, 1, ":status: 200"), ""},
		{"no response", true, "", "> RST_STREAM 1 CANCEL"},
		{"half a response", true, headers(1, 0, ":status: 200"), "> RST_STREAM 1 CANCEL"},
		{"the request goes on", false, headers(1, 1, ":status: 200"), "> RST_STREAM 1 CANCEL"},
		{"it was reset", false, frame(frameReset, 0, 1, u32(0)), ""},
	} {
		p := newClient(t, Config{}).greeted()
		st := p.request("POST", x.end)
		p.send(x.response)
		p.log = nil
		p.c.Done(st)
		p.send()
		if got := strings.Join(p.log, ""); got != x.want || p.c.Streams() != 0 {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		p.log = nil
		if p.send(windowUpdate(1, 1), frame(frameReset, 0, 1, u32(0))).want(); x.want != "" {
			p.send(frame(frameData, 0, 1, "abc"), headers(1, 1, "x: y")).want()
		}
	}
	// A stream that was forgotten long ago.
	p := newClient(t, Config{}).greeted()
	for range closingKept + 10 {
		p.c.Done(p.request("GET", true))
		p.c.AppendControl(nil)
	}
	p.log = nil
	p.send(headers(1, 0, ":status: 200"), frame(frameData, 1, 1, "abc")).want()
}

// A request's body keeps to the windows, also when SETTINGS make them smaller.
func TestClientUpload(t *testing.T) {
	p := newClient(t, Config{}).greeted(settingInitialWindow, 10)
	st := p.request("POST", false)
	append := func(s string, end bool) int {
		out, n := p.c.AppendData(nil, st, []byte(s), end)
		p.sent(out)
		return n
	}
	if n := append("0123456789abc", true); n != 10 {
		t.Error(n)
	}
	p.c.Queue(st)
	p.want("> DATA 1 0123456789")
	p.send(settings(settingInitialWindow, 8)).want("settings", "> SETTINGS ack") // the window is -2
	p.send(windowUpdate(1, 2)).want()
	p.send(windowUpdate(1, 1)).want("room 1")
	if n := append("abc", true); n != 1 {
		t.Error(n)
	}
	p.send(settings(settingInitialWindow, 100))
	if p.c.Next() != st {
		t.Error("SETTINGS don't continue the stream")
	}
	if n := append("bc", true); n != 2 {
		t.Error(n)
	}
	p.want("> DATA 1 a", "settings", "> SETTINGS ack", "> DATA 1 bc end")
	// The connection's window.
	st = p.request("POST", false)
	p.send(windowUpdate(st.ID(), 1<<20))
	p.c.out.window = 5
	append("0123456789", true)
	p.send(windowUpdate(0, 100)).want("> DATA 3 01234", "room 0")
	// Trailers.
	var trailers head.Trailers
	var f msg.Fields
	if err := trailers.AddValue(&f, []byte("X-Sum"), []byte("1"), msg.Normalized); err != nil {
		t.Fatal(err)
	}
	p.sent(p.c.AppendTrailers(nil, st, &trailers))
	p.want("> HEADERS 3 end")
	p.send(headers(3, 1, ":status: 200")).want("head 3 200 end")
}

// A client gives windows back as a server does.
func TestClientConsumed(t *testing.T) {
	p := newClient(t, Config{StreamWindow: 1 << 17, StreamWindowMax: 1 << 17}).greeted()
	p.keep = true
	st := p.request("GET", true)
	p.send(headers(1, 0, ":status: 200"))
	for range 4 {
		p.send(frame(frameData, 0, 1, strings.Repeat("x", maxFrame)))
	}
	p.log = nil
	p.c.Consumed(st, 4*maxFrame)
	p.send().want("> WINDOW_UPDATE 1 65536")
	for range 9 {
		p.send(frame(frameData, 0, 1, strings.Repeat("x", maxFrame)))
	}
	p.log[0] = ""
	p.want("", "reset 1 FLOW_CONTROL_ERROR local", "> RST_STREAM 1 FLOW_CONTROL_ERROR")
}

// A response is whole when its last byte has come, also if the stream goes on. A frame of which only
// a part has come doesn't count, although its length says that it is the last one.
func TestIsWhole(t *testing.T) {
	data := frame(frameData, 0, 1, "abc")
	for _, x := range []struct {
		name, method, in string
		want             bool
	}{
		{"nothing", "GET", "", false},
		{"an informational response", "GET", headers(1, 0, ":status: 100"), false},
		{"a head", "GET", headers(1, 0, ":status: 200", "content-length: 3"), false},
		{"a part of the last frame", "GET", headers(1, 0, ":status: 200", "content-length: 3") + data[:len(data)-1], false},
		{"all bytes", "GET", headers(1, 0, ":status: 200", "content-length: 3") + data, true},
		{"an empty frame after them", "GET", headers(1, 0, ":status: 200", "content-length: 3") + data + frame(frameData, 0, 1, ""), true},
		{"no length", "GET", headers(1, 0, ":status: 200") + data, false},
		{"a length of 0", "GET", headers(1, 0, ":status: 200", "content-length: 0"), true},
		{"HEAD", "HEAD", headers(1, 0, ":status: 200", "content-length: 3"), true},
		{"304", "GET", headers(1, 0, ":status: 304"), true},
	} {
		p := newClient(t, Config{}).greeted()
		st := p.request(x.method, true)
		p.send(x.in)
		if got := p.c.IsWhole(st); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// decodeFields returns the fields of a request, as our own server decodes them.
func decodeFields(t *testing.T, server *peer, frames []byte) string {
	t.Helper()
	server.send(string(frames))
	id := server.c.Last()
	if server.heads[id] == "" {
		t.Fatalf("%v", server.log)
	}
	return server.heads[id]
}

// What a request becomes.
func TestAppendRequest(t *testing.T) {
	for _, x := range []struct {
		name string
		r    func() *head.Request
		want string
	}{
		{"GET", func() *head.Request { return makeRequest("", "", "User-Agent: a") }, "GET / HTTP/2.0 length=-2|host: a.test|user-agent: a"},
		{"connection-specific fields", func() *head.Request {
			return makeRequest("GET", "/a?b#c", "Connection: close", "Keep-Alive: 1", "Proxy-Connection: a", "Upgrade: h2c", "Transfer-Encoding: chunked", "TE: gzip", "X-A: b")
		}, "GET /a?b HTTP/2.0 length=-2|host: a.test|x-a: b"},
		{"TE", func() *head.Request { return makeRequest("GET", "/", "TE: Trailers") }, "GET / HTTP/2.0 length=-2|host: a.test|te: trailers"},
		{"names and values", func() *head.Request { return makeRequest("GET", "/ \x01", "X-Ab:   c ") }, "GET /%20%01 HTTP/2.0 length=-2|host: a.test|x-ab: c"},
		{"cookies", func() *head.Request {
			r := makeRequest("GET", "/", "Cookie: a=1; b=2")
			r.OwnCookies()
			r.Cookies.Add("c", "3")
			return r
		}, "GET / HTTP/2.0 length=-2|host: a.test|cookie: a=1; b=2; c=3"},
		{"OPTIONS *", func() *head.Request { return makeRequest("OPTIONS", "*") }, "OPTIONS * HTTP/2.0 length=-2|host: a.test"},
	} {
		c, s := newClient(t, Config{}).greeted(), newPeer(t, Config{}).greet()
		out, _, err := c.c.AppendRequest(nil, x.r(), "https", true)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeFields(t, s, out); got != x.want {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
	}
	c, s := newClient(t, Config{}).greeted(), newPeer(t, Config{}).greet()
	r := makeRequest("POST", "/")
	r.ContentLength = 5
	out, _, _ := c.c.AppendRequest(nil, r, "https", false)
	if got, want := decodeFields(t, s, out), "POST / HTTP/2.0 length=5|host: a.test|content-type: application/octet-stream|content-length: 5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.ContentLength = msg.LenChunked
	out, _, _ = c.c.AppendRequest(nil, r, "https", false)
	if got, want := decodeFields(t, s, out), "POST / HTTP/2.0 length=-1|host: a.test"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAppendRequestErrors(t *testing.T) {
	noHost := makeRequest("GET", "/")
	noHost.Del(msg.Host, nil)
	for _, x := range []struct {
		r    *head.Request
		want error
	}{
		{makeRequest("CONNECT", "a.test:80"), ErrConnect},
		{makeRequest("GE T", "/"), ErrMethod},
		{makeRequest("GET", "http://a.test/"), ErrPath},
		{noHost, ErrHost},
	} {
		p := newClient(t, Config{}).greeted()
		var rep Repeated
		out, st, err := p.c.AppendRequest(nil, x.r, "http", true)
		if out != nil || st != nil || err != x.want || p.c.Streams() != 0 || p.c.Last() != 0 {
			t.Errorf("%q, %v, %v, want %v", out, st, err, x.want)
		}
		if out, st, err = p.c.AppendRepeated(nil, &rep, x.r, "http", true); out != nil || st != nil || err != x.want {
			t.Errorf("repeated: %q, %v, %v, want %v", out, st, err, x.want)
		}
	}
}

// A head that is longer than a frame continues in others.
func TestAppendRequestLong(t *testing.T) {
	c, s := newClient(t, Config{}).greeted(), newPeer(t, Config{}).greet()
	value := strings.Repeat("~", 20000) // has no shorter Huffman code
	out, _, _ := c.c.AppendRequest(nil, makeRequest("GET", "/", "X-A: "+value, "X-B: "+value), "http", true)
	var types []frameType
	for b := out; len(b) > 0; {
		f := parseFrameHeader(b)
		types = append(types, f.typ)
		b = b[frameHeaderLen+f.length:]
	}
	if !slices.Equal(types, []frameType{frameHeaders, frameContinuation, frameContinuation}) {
		t.Errorf("%v", types)
	}
	if got := decodeFields(t, s, out); got != "GET / HTTP/2.0 length=-2|host: a.test|x-a: "+value+"|x-b: "+value {
		t.Errorf("%.100s", got)
	}
}

// A repeated request is always the same one, whatever happens to the table.
func TestAppendRepeated(t *testing.T) {
	c, s := newClient(t, Config{Streams: 1000}).greeted(settingStreams, 1000), newPeer(t, Config{Streams: 1000}).greet()
	r := makeRequest("GET", "/a", "User-Agent: bench", "X-Name: value", "Authorization: secret", "Accept: */*")
	want := "GET /a HTTP/2.0 length=-2|host: a.test|user-agent: bench|x-name: value|authorization: secret|accept: */*"
	var rep Repeated
	send := func() int {
		t.Helper()
		out, st, err := c.c.AppendRepeated(nil, &rep, r, "http", true)
		if err != nil {
			t.Fatal(err)
		}
		if !st.Ended() {
			t.Error("the request has no end")
		}
		if got := decodeFields(t, s, out); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		return len(out)
	}
	for range 5 {
		send()
	}
	short := send()
	if !rep.valid || short > frameHeaderLen+25 {
		t.Errorf("a repeated request has %d bytes", short)
	}
	// Other requests change the table.
	for i := range 100 {
		out, _, _ := c.c.AppendRequest(nil, makeRequest("GET", "/", fmt.Sprintf("X-%d: %0100d", i, i)), "http", true)
		decodeFields(t, s, out)
		if i%10 == 0 {
			send()
		}
	}
	for range 4 {
		send()
	}
	if n := send(); n != short {
		t.Errorf("%d bytes, want %d", n, short)
	}
	// The server has no table any more.
	c.send(settings(settingTableSize, 0))
	for range 4 {
		send()
	}
	rep.Reset()
	r = makeRequest("GET", "/b")
	want = "GET /b HTTP/2.0 length=-2|host: a.test"
	send()
}

// What is made of a response, and why it is refused.
func TestDecodeResponse(t *testing.T) {
	for _, x := range []struct {
		name   string
		flags  uint8
		fields []string
		want   string // the head, or the error
	}{
		{"fields", 0, []string{":status: 200", "server: a", "x-b: c"}, "HTTP/2.0 200 length=-1|server: a|x-b: c"},
		{"an end", 1, []string{":status: 999"}, "HTTP/2.0 999 length=0"},
		{"a length", 0, []string{":status: 200", "content-length: 12"}, "HTTP/2.0 200 length=12|content-length: 12"},
		{"types", 0, []string{":status: 200", "content-type: a/b", "content-type: c/d"}, "HTTP/2.0 200 length=-1|content-type: a/b"},
		{"cookies", 0, []string{":status: 200", "set-cookie: a=1", "set-cookie: b=2"}, "HTTP/2.0 200 length=-1|set-cookie: a=1|set-cookie: b=2"},
		{"no fields", 0, nil, "pseudo-field missing"},
		{"no :status", 0, []string{"server: a"}, "pseudo-field missing"},
		{"two :status", 0, []string{":status: 200", ":status: 200"}, "invalid pseudo-field"},
		{"late :status", 0, []string{"server: a", ":status: 200"}, "invalid pseudo-field"},
		{":method", 0, []string{":status: 200", ":method: GET"}, "invalid pseudo-field"},
		{":path", 0, []string{":path: /", ":status: 200"}, "invalid pseudo-field"},
		{"an unknown pseudo-field", 0, []string{":status: 200", ":x: y"}, "invalid pseudo-field"},
		{"two digits", 0, []string{":status: 20"}, "invalid :status"},
		{"four digits", 0, []string{":status: 2000"}, "invalid :status"},
		{"099", 0, []string{":status: 099"}, "invalid :status"},
		{"letters", 0, []string{":status: 2x0"}, "invalid :status"},
		{"no digits", 0, []string{":status: "}, "invalid :status"},
		{"capital letters", 0, []string{":status: 200", "Server: a"}, "invalid field name"},
		{"a name with a space", 0, []string{":status: 200", "a b: a"}, "invalid field name"},
		{"no name", 0, []string{":status: 200", ": a"}, "invalid field name"},
		{"a newline", 0, []string{":status: 200", "a: b\nc"}, "invalid field value"},
		{"a space at the end", 0, []string{":status: 200", "a: b "}, "invalid field value"},
		{"Connection", 0, []string{":status: 200", "connection: close"}, "connection-specific field"},
		{"Keep-Alive", 0, []string{":status: 200", "keep-alive: 1"}, "connection-specific field"},
		{"Transfer-Encoding", 0, []string{":status: 200", "transfer-encoding: chunked"}, "connection-specific field"},
		{"TE", 0, []string{":status: 200", "te: trailers"}, "connection-specific field"},
		{"two lengths", 0, []string{":status: 200", "content-length: 1", "content-length: 1"}, "invalid Content-Length"},
		{"a sign", 0, []string{":status: 200", "content-length: +1"}, "invalid Content-Length"},
		{"a huge length", 0, []string{":status: 200", "content-length: 99999999999999999999"}, "length of the body too large"},
		{"a length without data", 1, []string{":status: 200", "content-length: 1"}, "invalid Content-Length"},
		{"too long", 0, []string{":status: 200", "a: " + strings.Repeat("b", 2000)}, "head too long"},
		{"too many fields", 0, append([]string{":status: 200"}, slices.Repeat([]string{"a: b"}, 20)...), "too many fields"},
	} {
		t.Run(x.name, func(t *testing.T) {
			for chunk := range 12 {
				p := newClient(t, Config{HeaderList: 1500, Fields: 15}).greeted()
				p.chunk = chunk
				p.request("GET", true)
				p.send(headers(1, x.flags, x.fields...))
				got := p.heads[1]
				if got == "" {
					got = strings.TrimSuffix(p.log[0][len("refused 1 "):], " end")
				}
				if got != x.want {
					t.Errorf("%s, want %s", got, x.want)
				}
				// The table is in step.
				p.request("GET", true)
				p.request("GET", true)
				p.send(frame(frameHeaders, flagEndHeaders|1, 3, block(":status: 200")+"\x40\x01x\x01y"), frame(frameHeaders, flagEndHeaders|1, 5, "\x88\xbe"))
				if got := p.heads[5]; got != "HTTP/2.0 200 length=0|x: y" {
					t.Error(got)
				}
			}
		})
	}
}

// DecodeStatus decodes less, and keeps the table in step.
func TestDecodeStatus(t *testing.T) {
	for _, x := range []struct {
		block string
		flags uint8
		want  int
		err   error
	}{
		{block(":status: 200"), 1, 200, nil},
		{"\x89\x40\x01x\x01y", 1, 204, nil},
		{block(":status: 103"), 0, 103, nil},
		{block(":status: 103"), 1, 0, ErrStatus},
		{block(":status: 20"), 0, 0, ErrStatus},
		{"\x40\x01x\x01y" + block(":status: 200"), 0, 0, ErrPseudoMissing},
		{"", 0, 0, ErrPseudoMissing},
		{"\xbf", 0, 0, ErrCompression},
		{"\x88\xbf", 0, 0, ErrCompression},
	} {
		p := newClient(t, Config{}).greeted()
		st := p.request("GET", true)
		var ev Event
		p.c.Read([]byte(frame(frameHeaders, flagEndHeaders|x.flags, 1, x.block)), 1, &ev)
		got, err := p.c.DecodeStatus()
		if got != x.want || err != x.err || st.WasReset() != (x.err != nil) || p.c.Failed() != (x.err == ErrCompression) {
			t.Errorf("%q: %d, %v, want %d, %v", x.block, got, err, x.want, x.err)
		}
		if p.c.Failed() {
			continue
		}
		p.check()
		p.request("GET", true)
		p.send(frame(frameHeaders, flagEndHeaders|1, 3, "\x88"+strings.Repeat("\xbe", strings.Count(x.block, "\x40"))))
		if want := "HTTP/2.0 200 length=0" + strings.Repeat("|x: y", strings.Count(x.block, "\x40")); p.heads[3] != want {
			t.Errorf("%s, want %s", p.heads[3], want)
		}
	}
}

// A trailer section that can't be decoded is an error, also if it is dropped.
func TestDropInvalidTrailers(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	p.request("GET", true)
	p.send(headers(1, 0, ":status: 200"))
	var ev Event
	p.c.Read([]byte(frame(frameHeaders, flagEndHeaders|1, 1, "\xbf")), 1, &ev)
	if err := p.c.DecodeTrailers(nil); err != ErrCompression || !p.c.Failed() {
		t.Errorf("%v, failed: %v", err, p.c.Failed())
	}
}

// The ids of streams follow each other.
func TestClientIDs(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	for i := range uint32(10) {
		out, st, err := p.c.AppendRequest(nil, makeRequest("GET", "/"), "http", i%2 == 0)
		if err != nil || st.ID() != 2*i+1 || binary.BigEndian.Uint32(out[5:]) != st.ID() || st.Ended() != (i%2 == 0) {
			t.Errorf("stream %d: %v, %v", i, st, err)
		}
	}
}
