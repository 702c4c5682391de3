//lint:file-ignore SA1019 deprecated names have to work, too

package message

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// peered has the methods that the tests call on a received header.
type peered interface {
	Set(key, value string)
	Add(key, value string)
	Del(key string)
	Peek(key string) []byte
	PeekAll(key string) [][]byte
	SetTrailer(trailer string) error
	AddTrailer(trailer string) error
	AddTrailerValue(name, value string) error
	ReadTrailer(r *bufio.Reader) error
	TrailerHeader() []byte
	PeekTrailerKeys() [][]byte
	SetConnectionClose()
	ResetConnectionClose()
	ConnectionClose() bool
	SetContentLength(n int)
	String() string
}

// TestReceivedThenSet proves that nothing that a peer sent makes a call of the program
// ineffective, or stays in addition to what the program set. Each row has a received
// head, perhaps a trailer section that comes before or after the calls, and the calls.
// Then it has the results for the field: of Peek, PeekAll and All, and what is written in
// the head and in the trailer section.
func TestReceivedThenSet(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\r\n"
	type row struct {
		name         string
		head         string
		before, late string // trailer sections
		calls        func(h peered)
		field        string

		peek, all string // results of Peek and PeekAll
		visited   string // values that All yields
		written   string // values in the head that is written
		section   string // the trailer section that is written
		list      string // the Trailer field that is written
	}
	set := func(h peered) { h.Set("X-A", "mine") }
	for _, c := range []row{
		{name: "plain", head: "X-A: theirs\r\nX-a: more\r\n", calls: set, field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine"},
		{name: "declared", head: "Trailer: X-A\r\nX-A: theirs\r\n", calls: set, field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine"},
		{name: "declared, chunked", head: chunked + "Trailer: x-a\r\nTrailer: X-B\r\nX-A: theirs\r\n", calls: set, field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine", list: "X-A, X-B"},
		{name: "declared, looked at", head: "Trailer: X-A\r\nX-A: theirs\r\n", calls: func(h peered) {
			h.Peek("Trailer")
			h.PeekTrailerKeys()
			set(h)
		}, field: "X-A", peek: "mine", all: "mine", visited: "mine", written: "mine"},
		{name: "sent late", head: chunked + "Trailer: X-A\r\n", before: "X-A: theirs\r\nX-B: b\r\n", calls: set, field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine", section: "X-B: b\r\n", list: "X-A, X-B"},
		{name: "sent later", head: chunked + "Trailer: X-A\r\n", calls: set, late: "X-A: theirs\r\nX-B: b\r\n", field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine", section: "X-B: b\r\n", list: "X-A, X-B"},
		{name: "both", head: chunked + "X-A: theirs\r\n", late: "X-A: late\r\n", calls: set, field: "X-A",
			peek: "mine", all: "mine", visited: "mine", written: "mine"},
		{name: "both, untouched", head: chunked + "X-A: theirs\r\n", late: "X-A: late\r\n", field: "X-A",
			peek: "theirs", all: "theirs|late", visited: "theirs", written: "theirs", section: "X-A: late\r\n", list: "X-A"},
		{name: "late, untouched", head: chunked, late: "X-A: 1\r\nx-a: 2\r\n", field: "X-A",
			peek: "1", all: "1|2", section: "X-A: 1\r\nX-A: 2\r\n", list: "X-A"},
		{name: "Add", head: "Trailer: X-A\r\nX-A: theirs\r\n", calls: func(h peered) { h.Add("X-A", "mine") }, field: "X-A",
			peek: "theirs", all: "theirs|mine", visited: "theirs|mine", written: "theirs|mine"},
		{name: "Del", head: "Trailer: X-A\r\nX-A: theirs\r\n", calls: func(h peered) { h.Del("x-a") }, field: "X-A"},
		{name: "Del, sent late", head: chunked, before: "X-A: theirs\r\n", calls: func(h peered) { h.Del("x-a") }, field: "X-A"},
		{name: "Del, sent later", head: chunked, calls: func(h peered) { h.Del("x-a") }, late: "X-A: theirs\r\n", field: "X-A"},
		{name: "Del, framing first", head: chunked, calls: func(h peered) {
			h.Del("Transfer-Encoding")
			h.Del("x-a")
		}, late: "X-A: theirs\r\n", field: "X-A"},
		{name: "many deleted", head: chunked, calls: func(h peered) {
			for i := range 2 * head.MaxTrailers {
				h.Del(fmt.Sprintf("x-%d", i))
			}
			h.Del("x-a")
		}, late: "X-A: theirs\r\nX-0: theirs\r\n", field: "X-A"},
		{name: "declared by the program", head: "X-A: theirs\r\n", calls: func(h peered) {
			set(h)
			_ = h.SetTrailer("X-A")
		}, field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-A"},
		{name: "declared by the program, set then", head: "X-A: theirs\r\n", calls: func(h peered) {
			_ = h.AddTrailer("X-A")
			set(h)
		}, field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-A"},
		{name: "declared by the program and before", head: "Trailer: X-A\r\nX-A: theirs\r\n", calls: func(h peered) {
			set(h)
			_ = h.SetTrailer("X-A")
		}, field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-A"},
		{name: "declared by Set", head: "Trailer: X-B\r\nX-A: theirs\r\n", calls: func(h peered) {
			h.Set("Trailer", "X-A")
			set(h)
		}, field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-A"},
		{name: "declared by both", head: chunked + "Trailer: X-B, X-A\r\nX-B: theirs\r\n", calls: func(h peered) {
			_ = h.AddTrailer("X-A")
			set(h)
		}, late: "X-A: theirs\r\n", field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-B, X-A"},
		{name: "AddTrailerValue, then Set", head: chunked + "X-A: theirs\r\n", before: "X-A: late\r\n", calls: func(h peered) {
			_ = h.AddTrailerValue("X-A", "first")
			set(h)
		}, field: "X-A", peek: "mine", all: "mine", section: "X-A: mine\r\n", list: "X-A"},
		{name: "Del Trailer", head: chunked + "Trailer: X-A\r\n", before: "X-A: theirs\r\n", calls: func(h peered) { h.Del("Trailer") }, field: "X-A",
			peek: "theirs", all: "theirs", visited: "theirs", written: "theirs"},
		{name: "Del Trailer before", head: chunked + "Trailer: X-A\r\n", calls: func(h peered) { h.Del("Trailer") }, late: "X-A: theirs\r\n", field: "X-A"},
		{name: "SetTrailer before", head: chunked + "Trailer: X-A\r\n", calls: func(h peered) { _ = h.SetTrailer("X-B") }, late: "X-A: theirs\r\nX-B: b\r\n", field: "X-A",
			section: "X-B: b\r\n", list: "X-B"},

		{name: "close over a list", head: "Connection: keep-alive, X-Hop\r\nConnection: upgrade\r\n", calls: peered.SetConnectionClose, field: "Connection",
			peek: "close", all: "close", visited: "close", written: "close"},
		{name: "no close", head: "Connection: X-Hop\r\nConnection: close\r\n", calls: peered.ResetConnectionClose, field: "Connection"},
		{name: "another connection", head: "Connection: close\r\nConnection: X-Hop\r\n", calls: func(h peered) { h.Set("Connection", "keep-alive") }, field: "Connection",
			peek: "keep-alive", all: "keep-alive", visited: "keep-alive", written: "keep-alive"},
		{name: "two connection fields", head: "Connection: X-Hop\r\nConnection: X-Hop2, close\r\n", field: "Connection",
			peek: "X-Hop, X-Hop2, close", all: "X-Hop, X-Hop2, close", visited: "X-Hop, X-Hop2, close", written: "X-Hop, X-Hop2, close"},
		{name: "two fields of a connection that stays", head: "Connection: X-Hop\r\nConnection: X-Hop2\r\n", field: "Connection",
			peek: "X-Hop, X-Hop2", all: "X-Hop, X-Hop2", visited: "X-Hop, X-Hop2", written: "X-Hop, X-Hop2"},
		{name: "length", head: "Content-Length: 005\r\n", calls: func(h peered) { h.SetContentLength(7) }, field: "Content-Length",
			peek: "7", all: "7", visited: "7", written: "7"},
		{name: "length by Set", head: chunked, calls: func(h peered) { h.Set("Content-Length", "7") }, field: "Content-Length",
			peek: "7", all: "7", visited: "7", written: "7"},
		{name: "length instead of a coding", head: chunked, calls: func(h peered) { h.SetContentLength(7) }, field: "Transfer-Encoding"},
		{name: "coding", head: "Transfer-Encoding: CHUNKED\r\n", field: "Transfer-Encoding",
			peek: "chunked", all: "chunked", visited: "chunked", written: "chunked"},
		{name: "coding set", head: chunked, calls: func(h peered) { h.Set("Transfer-Encoding", "gzip") }, field: "Transfer-Encoding",
			peek: "chunked", all: "chunked", visited: "chunked", written: "chunked"},
		{name: "coding set where there is a length", head: "Content-Length: 5\r\n", calls: func(h peered) { h.SetContentLength(-1) }, field: "Content-Length"},
		{name: "Upgrade", head: "Upgrade: a\r\nUpgrade: b\r\n", calls: func(h peered) { h.Set("Upgrade", "c") }, field: "Upgrade",
			peek: "c", all: "c", visited: "c", written: "c"},
		{name: "Keep-Alive", head: "Keep-Alive: timeout=1\r\nConnection: keep-alive\r\nKeep-Alive: max=2\r\n", calls: func(h peered) { h.Del("Keep-Alive") }, field: "Keep-Alive"},
		{name: "Vary", head: "Vary: a\r\nVary: *\r\nTrailer: Vary\r\n", calls: func(h peered) { h.Set("Vary", "b") }, field: "Vary",
			peek: "b", all: "b", visited: "b", written: "b"},
		{name: "types", head: "Content-Type: a/b\r\nContent-Type: c/d\r\n", field: "Content-Type",
			peek: "c/d", all: "c/d", visited: "c/d", written: "c/d"},
		{name: "types set", head: "Content-Type: a/b\r\nContent-Type: c/d\r\n", calls: func(h peered) { h.Set("Content-Type", "e/f") }, field: "Content-Type",
			peek: "e/f", all: "e/f", visited: "e/f", written: "e/f"},
		{name: "encodings set", head: "Content-Encoding: a\r\nContent-Encoding: b\r\n", calls: func(h peered) { h.Set("Content-Encoding", "c") }, field: "Content-Encoding",
			peek: "c", all: "c", visited: "c", written: "c"},
		{name: "Date", head: "Date: a\r\nDate: b\r\n", calls: func(h peered) { h.Set("Date", "c") }, field: "Date",
			peek: "c", all: "c", visited: "c", written: "c"},
	} {
		for _, side := range []string{"request", "response"} {
			t.Run(side+"/"+c.name, func(t *testing.T) {
				var h peered
				var visit func(f func(k, v []byte))
				if side == "request" {
					r := new(gale.RequestHeader)
					peers.ReadHeader(t, r.Read, "POST / HTTP/1.1\r\nHost: h\r\n"+c.head+"\r\n")
					h, visit = r, r.VisitAll
				} else {
					r := new(gale.ResponseHeader)
					head := c.head
					if !strings.Contains(head, "Content-Length") && !strings.Contains(head, "Transfer-Encoding") {
						head += "Content-Length: 0\r\n" // otherwise the body would last until the connection ends
					}
					peers.ReadHeader(t, r.Read, "HTTP/1.1 200 OK\r\n"+head+"\r\n")
					r.SetNoDefaultContentType(true)
					h, visit = r, r.VisitAll
				}
				if c.before != "" {
					peers.ReadHeader(t, h.ReadTrailer, c.before+"\r\n")
				}
				if c.calls != nil {
					c.calls(h)
				}
				if c.late != "" {
					peers.ReadHeader(t, h.ReadTrailer, c.late+"\r\n")
				}
				equal := func(what, got, want string) {
					t.Helper()
					if got != want {
						t.Errorf("%s: got %q, want %q", what, got, want)
					}
				}
				equal("Peek", string(h.Peek(c.field)), c.peek)
				equal("PeekAll", string(bytes.Join(h.PeekAll(c.field), []byte("|"))), c.all)
				var visited []string
				visit(func(k, v []byte) {
					if strings.EqualFold(string(k), c.field) {
						visited = append(visited, string(v))
					}
				})
				equal("All", strings.Join(visited, "|"), c.visited)
				head := h.String()
				if side == "request" || c.field != "Date" || c.written != "" {
					equal("the head", strings.Join(peers.Written(head, c.field), "|"), c.written)
				}
				equal("the trailer section", string(h.TrailerHeader()), c.section+"\r\n")
				equal("Trailer", strings.Join(peers.Written(head, "Trailer"), "|"), c.list)
			})
		}
	}
}

// TestReceivedCookies proves that a cookie that the program sets is the only one with its
// name.
func TestReceivedCookies(t *testing.T) {
	many := strings.Repeat("a=; ", head.MaxCookies)
	for _, c := range []struct {
		name, head string
		calls      func(h *gale.RequestHeader)
		want       string
	}{
		{"SetCookie", "Cookie: a=1; b=2\r\nCookie: a=3; a=4; c=5\r\n", func(h *gale.RequestHeader) { h.SetCookie("a", "mine") }, "a=mine; b=2; c=5"},
		{"DelCookie", "Cookie: a=1; b=2\r\nCookie: a=3\r\n", func(h *gale.RequestHeader) { h.DelCookie("a") }, "b=2"},
		{"Set", "Cookie: a=1; b=2\r\nCookie: a=3\r\n", func(h *gale.RequestHeader) { h.Set("Cookie", "a=mine; c=5") }, "b=2; a=mine; c=5"},
		{"Set after Set", "", func(h *gale.RequestHeader) {
			h.Set("Cookie", "a=1; b=2")
			h.Set("Cookie", "a=mine")
		}, "b=2; a=mine"},
		{"Set of another", "Cookie: a=\"1\"\r\n", func(h *gale.RequestHeader) { h.Set("Cookie", "b=\"2\"") }, "a=\"1\"; b=\"2\""},
		{"Add", "Cookie: a=1\r\n", func(h *gale.RequestHeader) { h.Add("Cookie", "a=2") }, "a=1; a=2"},
		{"Set of itself", "Cookie: a=1; b=2\r\n", func(h *gale.RequestHeader) { h.SetBytesV("Cookie", h.Peek("Cookie")) }, "a=1; b=2"},
		{"Set behind many", "Cookie: " + many + "b=theirs\r\n", func(h *gale.RequestHeader) { h.Set("Cookie", "b=mine") }, strings.TrimSuffix(many, "; ") + "; b=mine"},
		{"SetCookie behind many", "Cookie: " + many + "b=theirs\r\n", func(h *gale.RequestHeader) { h.SetCookie("b", "mine") }, strings.TrimSuffix(many, "; ") + "; b=mine"},
	} {
		var h gale.RequestHeader
		if err := h.Read(bufio.NewReaderSize(strings.NewReader("GET / HTTP/1.1\r\nHost: h\r\n"+c.head+"\r\n"), 64<<10)); err != nil {
			t.Fatal(err)
		}
		c.calls(&h)
		if got := strings.Join(peers.Written(h.String(), "Cookie"), "|"); got != c.want {
			t.Errorf("%s: got %.200q, want %.200q", c.name, got, c.want)
		}
	}

	const head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; path=/\r\nSet-Cookie: b=2\r\nSet-Cookie: a=3; path=/x\r\nset-cookie: a =4\r\n\r\n"
	var h gale.ResponseHeader
	peers.ReadHeader(t, h.Read, head)
	var cookie gale.Cookie
	cookie.SetKey("a")
	cookie.SetValue("mine")
	h.SetCookie(&cookie)
	if got := strings.Join(peers.Written(h.String(), "Set-Cookie"), "|"); got != "a=mine|b=2" {
		t.Errorf("SetCookie leaves %q", got)
	}
	peers.ReadHeader(t, h.Read, head)
	h.DelCookie("a")
	if got := strings.Join(peers.Written(h.String(), "Set-Cookie"), "|"); got != "b=2" {
		t.Errorf("DelCookie leaves %q", got)
	}
}

// TestReceivedTypes proves that of several Content-Type fields servers and clients use
// the first, and nothing is left of the others.
func TestReceivedTypes(t *testing.T) {
	const types = "Content-Type: a/b\r\ncontent-type: c/d\r\nContent-Type: \r\n"
	up := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		req := p.Request()
		types := strings.Join(peers.Written(req.Raw, "Content-Type"), "|")
		p.Say("HTTP/1.1 200 OK\r\nX-Got: " + types + "\r\n" + "Content-Type: e/f\r\nContent-Type: g/h\r\nContent-Length: 0\r\n\r\n")
	})
	c := &gale.HostClient{Addr: up.Addr()}
	defer c.CloseIdleConnections()
	got := make(chan string, 1)
	s := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		got <- fmt.Sprintf("%s %s", h.ContentType(), h.PeekAll("Content-Type"))
		if err := c.Do(&ctx.Request, &ctx.Response); err != nil {
			t.Error(err)
		}
		r := &ctx.Response.Header
		got <- fmt.Sprintf("%s %s %s", r.Peek("X-Got"), r.ContentType(), peers.Written(r.String(), "Content-Type"))
	})
	conn := s.Dial()
	conn.Send("POST / HTTP/1.1\r\nHost: h\r\n" + types + "Content-Length: 2\r\n\r\nhi")
	if s := <-got; s != "a/b [a/b]" {
		t.Errorf("the request: %s", s)
	}
	if s := <-got; s != "a/b e/f [e/f]" {
		t.Errorf("passed on: %s", s)
	}
}

// A trailer name that a program removes from the Trailer field of a request doesn't
// become a header field.
func TestServerTrailersUndeclared(t *testing.T) {
	got := make(chan string, 1)
	s := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		h.Del("Trailer")
		got <- fmt.Sprintf("%q %q %q", h.Peek("X-A"), h.TrailerHeader(), ctx.PeekTrailer("X-A"))
	})
	s.Dial().Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: theirs\r\n\r\n")
	if s := <-got; s != `"" "\r\n" "theirs"` {
		t.Error(s)
	}
}

// A length that was received with a bodyless status doesn't override the program's.
func TestReceivedLengthOf304(t *testing.T) {
	var h gale.ResponseHeader
	peers.ReadHeader(t, h.Read, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
	if got := peers.Written(h.String(), "Content-Length"); len(got) != 1 || got[0] != "5" {
		t.Errorf("passed on: %q", got)
	}
	h.SetContentLength(7)
	if got := peers.Written(h.String(), "Content-Length"); len(got) > 0 || h.Peek("Content-Length") != nil {
		t.Errorf("after SetContentLength: %q", got)
	}
}

// A copy of a header, and a header that is used again, have the trailer names that the
// program declared, and no others.
func TestTrailersCopyReset(t *testing.T) {
	var h, c gale.RequestHeader
	peers.ReadHeader(t, h.Read, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n")
	_ = h.AddTrailer("X-B")
	h.Set("X-B", "b")
	h.Del("X-C")
	h.CopyTo(&c)
	for _, h := range []*gale.RequestHeader{&h, &c} {
		peers.ReadHeader(t, h.ReadTrailer, "X-A: a\r\nX-C: c\r\n\r\n")
		h.Set("X-A", "mine")
		h.Set("X-B", "mine")
		if got := string(h.TrailerHeader()); got != "X-B: mine\r\n\r\n" || string(h.Peek("X-A")) != "mine" {
			t.Errorf("%q, X-A is %q", got, h.Peek("X-A"))
		}
		h.Reset()
		h.Set("X-A", "a")
		h.Set("X-B", "b")
		if h.String() != "GET / HTTP/1.1\r\nX-A: a\r\nX-B: b\r\n\r\n" || string(h.TrailerHeader()) != "\r\n" || len(h.PeekTrailerKeys()) > 0 {
			t.Errorf("after Reset: %q", h.String())
		}
	}
}

// Iterating in the received order shows a Trailer field as it was received, and those of
// the program.
func TestTrailersInOrder(t *testing.T) {
	var h gale.RequestHeader
	peers.ReadHeader(t, h.Read, "POST / HTTP/1.1\r\nTrailer: x-a,Host\r\nHost: h\r\n\r\n")
	_ = h.AddTrailer("X-B")
	var got []string
	for k, v := range h.AllInOrder() {
		got = append(got, string(k)+"="+string(v))
	}
	if s := strings.Join(got, " "); s != "Trailer=x-a,Host Host=h Trailer=X-B" {
		t.Error(s)
	}
	if s := string(h.Peek("Trailer")); s != "X-A, X-B" {
		t.Error(s)
	}
	for name := range h.Trailers() { // it may change the header
		h.Set("Trailer", "X-C")
		if s := string(name); s != "X-A" && s != "X-B" {
			t.Error(s)
		}
	}
}
