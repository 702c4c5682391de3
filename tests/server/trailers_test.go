//lint:file-ignore SA1019 deprecated names have to work, too

package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestServerTrailersApart proves that Trailers and PeekTrailer find the fields of a
// request's trailer section. The header's methods find them only with MergeTrailers, and
// only those that were declared and that the header doesn't have.
func TestServerTrailersApart(t *testing.T) {
	const request = "POST / HTTP/1.1\r\nHost: h\r\nX-Both: head\r\nTransfer-Encoding: chunked\r\n" +
		"Trailer: X-Late, X-Both, X-Set, X-Del, Authorization, Host\r\n\r\n" +
		"2\r\nhi\r\n0\r\nX-Late: 1\r\nX-Both: late\r\nX-Other: 2\r\nx-late: 3\r\nX-Set: theirs\r\nX-Del: theirs\r\nUser-Agent: theirs\r\n\r\n"
	for _, stream := range []bool{false, true} {
		for _, merge := range []bool{false, true} {
			got := make(chan string, 1)
			s := harness.Start(t, &gale.Server{StreamRequestBody: stream, MergeTrailers: merge}, func(ctx *gale.RequestCtx) {
				h := &ctx.Request.Header
				if stream {
					h.Set("X-Set", "mine")
					h.Del("X-Del")
					io.Copy(io.Discard, ctx.RequestBodyStream())
				} else {
					h.Set("X-Set", "mine")
					h.Del("X-Del")
				}
				var b bytes.Buffer
				for _, name := range []string{"X-Late", "X-Both", "X-Other", "X-Set", "X-Del", "User-Agent", "Authorization"} {
					fmt.Fprintf(&b, "%s=%s/%s/%s ", name, h.Peek(name), bytes.Join(h.PeekAll(name), []byte("+")), ctx.PeekTrailer(name))
				}
				for k := range h.All() {
					fmt.Fprintf(&b, "%s,", k)
				}
				fmt.Fprintf(&b, " host=%s", ctx.Host())
				for k, v := range ctx.Trailers() {
					fmt.Fprintf(&b, " %s:%s", k, v)
				}
				got <- b.String()
			})
			c := s.Dial()
			c.Send(request)
			c.Want("POST", 200, "")
			late := "X-Late=//1"
			if merge {
				late = "X-Late=1/1+3/1"
			}
			want := late + " X-Both=head/head/late X-Other=//2 X-Set=mine/mine/theirs X-Del=//theirs User-Agent=//theirs Authorization=//" +
				" Host,Trailer,Transfer-Encoding,X-Both,X-Set, host=h" +
				" X-Late:1 X-Both:late X-Other:2 X-Late:3 X-Set:theirs X-Del:theirs User-Agent:theirs"
			if s := <-got; s != want {
				t.Errorf("stream %v, merge %v: got\n%s, want\n%s", stream, merge, s, want)
			}
		}
	}
}

// TestUndeclaredSection proves that a trailer section without a Trailer field is
// received, with MergeTrailers and without, and that the getters of the header find
// nothing of it.
func TestUndeclaredSection(t *testing.T) {
	for _, way := range peers.ClearWays[harness.H2Way]() {
		for _, stream := range []bool{false, true} {
			for _, merge := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v,stream=%v,merge=%v", way, stream, merge), func(t *testing.T) {
					hs := way.Start(t, &gale.Server{StreamRequestBody: stream, MergeTrailers: merge, Handler: func(ctx *gale.RequestCtx) {
						body := ctx.PostBody()
						fmt.Fprintf(ctx, "%s %s/%s", body, ctx.Request.Header.Peek("X-Late"), ctx.PeekTrailer("X-Late"))
					}})
					h1 := hs.Dial()
					h1.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n")
					h1.Want("POST", 200, "hi /1")
					c := hs.DialH2()
					id := c.Open("POST", "/", false)
					c.Data(id, "hi", false)
					c.Trailers(id, "x-late", "1")
					c.WantAnswer(id, "200", "hi /1")
					if n := hs.S.GetPanicsCount(); n != 0 {
						t.Errorf("%d panics", n)
					}
				})
			}
		}
	}
}

// forwarded describes one message: the header fields with names beginning with X, the
// Trailer field, the body, and the trailer section.
func forwarded(h *gale.ResponseHeader, q *gale.RequestHeader, body []byte) string {
	var b strings.Builder
	show := func(k, v []byte) {
		if k[0] == 'X' || string(k) == gale.HeaderTrailer {
			fmt.Fprintf(&b, "%s=%s ", k, v)
		}
	}
	var section []byte
	if q != nil {
		q.VisitAllInOrder(show)
		section = q.TrailerHeader()
	} else {
		h.VisitAll(show)
		section = h.TrailerHeader()
	}
	return fmt.Sprintf("%s%s %s", &b, body, strings.ReplaceAll(strings.TrimSpace(string(section)), "\r\n", " "))
}

// TestForwardTrailers proves that if a handler forwards a request and its response, what
// it has set or deleted is what arrives, whatever both peers declared or sent. No field
// of a peer with that name arrives in the header or after the body.
func TestForwardTrailers(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\r\n"
	arrived := make(chan string, 1)
	var response string // of the upstream server
	up := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		for req := p.Request(); req != nil; req = p.Request() {
			var got gale.Request
			if err := got.Read(bufio.NewReader(strings.NewReader(req.Raw))); err != nil {
				t.Errorf("reading %q: %v", req.Raw, err)
			}
			arrived <- forwarded(nil, &got.Header, got.Body())
			p.Say(response)
		}
	})
	client := &gale.HostClient{Addr: up.Addr()}
	defer client.CloseIdleConnections()
	streaming := &gale.HostClient{Addr: up.Addr(), StreamResponseBody: true}
	defer streaming.CloseIdleConnections()
	for _, c := range []struct {
		name              string
		fields, body      string // of the request: its fields, beginning with the framing of the body, and its body
		resp, respBody    string // of the upstream's response
		request, response string // what arrived
	}{
		{name: "plain", fields: "X-A: theirs\r\n", body: "Content-Length: 2\r\n\r\nhi", resp: "X-A: theirs\r\n", respBody: "Content-Length: 2\r\n\r\nok",
			request: "X-A=mine hi ", response: "X-A=mine ok "},
		{name: "declared", fields: "X-A: theirs\r\nTrailer: X-A\r\n", body: "Content-Length: 2\r\n\r\nhi", resp: "X-A: theirs\r\nTrailer: x-a\r\n", respBody: "Content-Length: 2\r\n\r\nok",
			request: "X-A=mine hi ", response: "X-A=mine ok "},
		{name: "sent late", fields: "Trailer: X-A, X-B\r\n", body: chunked + "\r\n2\r\nhi\r\n0\r\nX-A: theirs\r\nX-B: b\r\nX-Gone: theirs\r\n\r\n",
			resp: "Trailer: X-A, X-B\r\n", respBody: chunked + "\r\n2\r\nok\r\n0\r\nX-A: theirs\r\nX-B: b\r\nX-Gone: theirs\r\n\r\n",
			request: "X-A=mine Trailer=X-A, X-B hi X-B: b", response: "Trailer=X-A, X-B X-A=mine ok X-B: b"},
		{name: "not declared", body: chunked + "\r\n2\r\nhi\r\n0\r\nX-A: theirs\r\nX-B: b\r\n\r\n", respBody: chunked + "\r\n2\r\nok\r\n0\r\nX-A: theirs\r\nX-B: b\r\n\r\n",
			request: "X-A=mine Trailer=X-B hi X-B: b", response: "Trailer=X-B X-A=mine ok X-B: b"},
	} {
		for _, stream := range []bool{false, true} {
			s := harness.Start(t, &gale.Server{StreamRequestBody: stream}, func(ctx *gale.RequestCtx) {
				ctx.Request.Header.Set("X-A", "mine")
				ctx.Request.Header.Del("X-Gone")
				use := client
				if stream {
					use = streaming
				}
				if err := use.Do(&ctx.Request, &ctx.Response); err != nil {
					t.Error(err)
				}
				ctx.Response.Header.Set("X-A", "mine")
				ctx.Response.Header.Del("X-Gone")
			})
			response = "HTTP/1.1 200 OK\r\n" + c.resp + c.respBody
			conn, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+c.fields+c.body)
			b, err := io.ReadAll(conn)
			conn.Close()
			if err != nil {
				t.Fatal(err)
			}
			var resp gale.Response
			peers.ReadHeader(t, resp.Read, string(b))
			if got := <-arrived; got != c.request {
				t.Errorf("%s, stream %v: the server got %q, want %q", c.name, stream, got, c.request)
			}
			if got := forwarded(&resp.Header, nil, resp.Body()); got != c.response {
				t.Errorf("%s, stream %v: the client got %q, want %q\n%q", c.name, stream, got, c.response, b)
			}
		}
	}
}
