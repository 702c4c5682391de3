package h2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// newClient is newPeer for a client.
func newClient(t testing.TB, cfg Config) *peer {
	cfg.Fill()
	p := &peer{t: t, c: new(Conn), now: 1, open: map[uint32]*Stream{}, heads: map[uint32]string{}}
	first := string(p.c.BeginClient(&cfg, nil))
	if !strings.HasPrefix(first, Preface) {
		t.Fatalf("the connection begins with %q", first)
	}
	p.sent([]byte(first[len(Preface):]))
	return p
}

// greeted sends the first frames of a server, and forgets what was logged.
func (p *peer) greeted(pairs ...uint32) *peer {
	p.send(settings(pairs...), frame(frameSettings, flagAck, 0, ""))
	p.log = nil
	return p
}

// makeRequest makes a request, with fields as "Name: value".
func makeRequest(method, target string, fields ...string) *head.Request {
	r := new(head.Request)
	r.Reset()
	r.SetPart(msg.Method, []byte(method))
	r.SetPart(msg.Target, []byte(target))
	for _, f := range append([]string{"Host: a.test"}, fields...) {
		name, value, _ := strings.Cut(f, ": ")
		r.Add(msg.Lookup([]byte(name)), []byte(name), []byte(value))
	}
	return r
}

// request opens a stream and logs nothing.
func (p *peer) request(method string, end bool) *Stream {
	p.t.Helper()
	_, st, err := p.c.AppendRequest(nil, makeRequest(method, "/"), "http", end)
	if err != nil {
		p.t.Fatal(err)
	}
	p.open[st.ID()] = st
	p.check()
	return st
}

// response decodes the response of a Head event, and checks that DecodeResponse and the
// stream agree.
func (p *peer) response(st *Stream, end string) {
	var h head.Response
	h.Reset()
	id := st.ID()
	if err := p.c.DecodeResponse(&h.ResponseHead); err != nil {
		p.logf("refused %d %s%s", id, err.Error()[len("h2: "):], end)
		if h.Len() != 0 || len(h.Buf) != 0 || h.Status != 0 {
			p.t.Errorf("a refused head is not empty: %q", h.Buf)
		}
		if !st.WasReset() {
			p.t.Errorf("stream %d was not reset", id)
		}
		return
	}
	if err := h.Check(); err != nil {
		p.t.Error(err)
	}
	p.heads[id] = showResponse(&h)
	p.logf("head %d %d%s", id, h.Status, end)
}

func showResponse(h *head.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d length=%d", h.Part(msg.Proto), h.Status, h.ContentLength)
	for i := range h.Recs {
		if h.Recs[i].Flags&msg.Dead == 0 {
			fmt.Fprintf(&b, "|%s: %s", h.RawName(i), h.Value(i))
		}
	}
	return b.String()
}

func makeResponseHead() *msg.ResponseHead {
	h := new(msg.ResponseHead)
	h.Reset()
	return h
}
