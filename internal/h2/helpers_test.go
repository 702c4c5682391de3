package h2

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// peer is a Conn and what the other side sends to it and sees of it. What happens is told by
// lines of text: events as "head 1 GET / end", frames that the Conn sends as "> RST_STREAM 1
// CANCEL".
type peer struct {
	t     testing.TB
	c     *Conn
	now   clock.Tick
	chunk int // bytes that Read gets at once, 0 for all
	log   []string
	open  map[uint32]*Stream
	heads map[uint32]string // what DecodeRequest made, see showHead
	keep  bool              // don't call Consumed
	raw   []byte            // all that the Conn gave

	failed bool   // it was logged
	reacts bool   // see react
	about  uint32 // the stream of the event
}

func newPeer(t testing.TB, cfg Config) *peer {
	cfg.Fill()
	p := &peer{t: t, c: new(Conn), now: 1, open: map[uint32]*Stream{}, heads: map[uint32]string{}}
	first := p.c.Begin(&cfg, nil)
	p.sent(first)
	return p
}

// greet sends preface and SETTINGS, and forgets what was logged.
func (p *peer) greet() *peer {
	p.send(Preface, settings(), frame(frameSettings, flagAck, 0, ""))
	p.log = nil
	return p
}

func frame(typ frameType, flags uint8, stream uint32, payload string) string {
	return string(appendFrameHeader(nil, len(payload), typ, flags, stream)) + payload
}

func u32(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

func settings(pairs ...uint32) string {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = appendSetting(b, uint16(pairs[i]), int(pairs[i+1]))
	}
	return frame(frameSettings, 0, 0, string(b))
}

func windowUpdate(stream, n uint32) string { return frame(frameWindowUpdate, 0, stream, u32(n)) }

// block is a field block of literals that don't enter the table: "name: value" each.
func block(fields ...string) string {
	var b []byte
	for _, f := range fields {
		i := strings.Index(f[min(1, len(f)):], ": ") + 1
		b = append(b, 0)
		b = appendPlain(b, f[:i])
		b = appendPlain(b, f[i+2:])
	}
	return string(b)
}

// appendPlain appends a string literal without Huffman code.
func appendPlain(b []byte, s string) []byte {
	n := len(s)
	if n < 127 {
		return append(append(b, byte(n)), s...)
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(append(b, byte(n)), s...)
}

var get = []string{":method: GET", ":scheme: http", ":authority: a.test", ":path: /"}
var post = []string{":method: POST", ":scheme: http", ":authority: a.test", ":path: /"}

// headers is a HEADERS frame with END_HEADERS.
func headers(stream uint32, flags uint8, fields ...string) string {
	return frame(frameHeaders, flagEndHeaders|flags, stream, block(fields...))
}

func with(fields []string, more ...string) []string { return append(slices.Clone(fields), more...) }

// send feeds the Conn and logs.
func (p *peer) send(parts ...string) *peer {
	in := []byte(strings.Join(parts, ""))
	for len(in) > 0 {
		n := len(in)
		if p.chunk > 0 {
			n = min(n, p.chunk)
		}
		p.feed(in[:n:n])
		in = in[n:]
	}
	if p.c.Failed() && !p.failed {
		p.failed = true
		p.logf("failed %v", p.c.code)
	}
	p.sent(p.c.AppendControl(nil))
	for p.c.HasHeld() {
		p.sent(p.c.AppendHeld(nil))
	}
	return p
}

func (p *peer) feed(in []byte) {
	for more := true; more; {
		var ev Event
		n := p.c.Read(in, p.now, &ev)
		in = in[n:]
		p.about = 0
		if ev.Stream != nil {
			p.about = ev.Stream.ID()
		}
		p.event(&ev)
		if p.reacts && ev.Kind != None && ev.Kind != Failed {
			if p.c.client {
				p.call(&ev)
			} else {
				p.react(&ev)
			}
		}
		if ev.Kind != None && ev.Kind != Failed {
			p.check()
		}
		more = len(in) > 0
		if more && ev.Kind == None {
			p.t.Fatalf("Read returned no event and left %d bytes", len(in))
		}
	}
	p.check()
}

func (p *peer) logf(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func endOf(ev *Event) string {
	if ev.End {
		return " end"
	}
	return ""
}

func (p *peer) event(ev *Event) {
	st := ev.Stream
	switch ev.Kind {
	case Head:
		if p.c.client {
			p.response(st, endOf(ev))
			return
		}
		var h msg.RequestHead
		h.Reset()
		id := st.ID()
		if err := p.c.DecodeRequest(&h); err != nil {
			p.logf("refused %d %s%s", id, err.Error()[len("h2: "):], endOf(ev))
			if err.(*Error).Status != 0 {
				p.open[id] = st
			}
			if h.Len() != 0 || len(h.Buf) != 0 {
				p.t.Errorf("a refused head is not empty: %q", h.Buf)
			}
			return
		}
		if err := h.Check(); err != nil {
			p.t.Error(err)
		}
		p.open[id] = st
		p.heads[id] = showHead(&h)
		p.logf("head %d %s %s%s", id, h.Part(msg.Method), h.Part(msg.Target), endOf(ev))
	case Data:
		p.data(ev)
		if !p.keep {
			p.c.Consumed(st, len(ev.Data))
		}
	case Trailers:
		var f msg.Fields
		if err := p.c.DecodeTrailers(&f); err != nil {
			p.logf("trailers refused %d %s", st.ID(), err.Error()[len("h2: "):])
			return
		}
		line := fmt.Sprintf("trailers %d", st.ID())
		for i := range f.Recs {
			line += fmt.Sprintf(" %s=%s", f.Name(i), f.Value(i))
		}
		p.log = append(p.log, line)
	case Reset:
		who := ""
		if ev.Local {
			who = " local"
		}
		if st.Unprocessed() {
			who += " unprocessed"
		}
		p.logf("reset %d %v%s", st.ID(), ev.Code, who)
	case Room:
		id := uint32(0)
		if st != nil {
			id = st.ID()
		}
		p.logf("room %d", id)
	case GoAway:
		p.logf("goaway %v", ev.Code)
	case Settings:
		p.logf("settings")
	case Pong:
		p.logf("pong %s", ev.Data)
	}
}

// data logs data, in one line for what comes in pieces.
func (p *peer) data(ev *Event) {
	line := fmt.Sprintf("data %d ", ev.Stream.ID())
	if last := len(p.log) - 1; last >= 0 && strings.HasPrefix(p.log[last], line) && !strings.HasSuffix(p.log[last], " end") {
		p.log[last] += string(ev.Data) + endOf(ev)
		return
	}
	p.log = append(p.log, line+string(ev.Data)+endOf(ev))
}

func showHead(h *msg.RequestHead) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s length=%d", h.Part(msg.Method), h.Part(msg.Target), h.Part(msg.Proto), h.ContentLength)
	for i := range h.Recs {
		if h.Recs[i].Flags&msg.Dead == 0 {
			fmt.Fprintf(&b, "|%s: %s", h.RawName(i), h.Value(i))
		}
	}
	return b.String()
}

var typeNames = map[frameType]string{
	frameData: "DATA", frameHeaders: "HEADERS", frameReset: "RST_STREAM", frameSettings: "SETTINGS",
	framePing: "PING", frameGoAway: "GOAWAY", frameWindowUpdate: "WINDOW_UPDATE", frameContinuation: "CONTINUATION",
}

// sent logs frames that the Conn sends.
func (p *peer) sent(b []byte) {
	p.raw = append(p.raw, b...)
	for len(b) > 0 {
		f := parseFrameHeader(b)
		payload := b[frameHeaderLen : frameHeaderLen+f.length]
		b = b[frameHeaderLen+f.length:]
		line := "> " + typeNames[f.typ]
		switch f.typ {
		case frameReset:
			line += fmt.Sprintf(" %d %v", f.stream, Code(binary.BigEndian.Uint32(payload)))
		case frameGoAway:
			line += fmt.Sprintf(" %d %v", binary.BigEndian.Uint32(payload), Code(binary.BigEndian.Uint32(payload[4:])))
		case frameWindowUpdate:
			line += fmt.Sprintf(" %d %d", f.stream, binary.BigEndian.Uint32(payload))
		case frameSettings:
			if f.flags&flagAck != 0 {
				line += " ack"
			}
		case framePing:
			line += fmt.Sprintf(" %q", payload)
		case frameData:
			line += fmt.Sprintf(" %d %s", f.stream, payload)
			if f.flags&flagEndStream != 0 {
				line += " end"
			}
		case frameHeaders:
			line += fmt.Sprintf(" %d", f.stream)
			if f.flags&flagEndStream != 0 {
				line += " end"
			}
		}
		p.log = append(p.log, line)
	}
}

// want compares the log with lines, and empties it.
func (p *peer) want(lines ...string) *peer {
	p.t.Helper()
	if !slices.Equal(p.log, lines) {
		p.t.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(p.log, "\n\t"), strings.Join(lines, "\n\t"))
	}
	p.log = nil
	return p
}

// check checks what must hold between calls.
func (p *peer) check() {
	p.t.Helper()
	if err := p.c.check(); err != nil {
		p.t.Fatal(err)
	}
}

// answer is a whole response.
func answer(c *Conn, st *Stream, status int, body string) []byte {
	var r head.Response
	r.Reset()
	r.Status, r.ContentLength = status, int64(len(body))
	out := c.AppendHead(nil, st, &r, head.Sender{Date: testDate}, body == "")
	if body != "" {
		out, _ = c.AppendData(out, st, []byte(body), true)
	}
	return out
}

var testDate = (*[head.DateLen]byte)([]byte("Sun, 22 Nov 2026 23:00:00 GMT"))
