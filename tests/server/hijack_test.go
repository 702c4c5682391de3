package server

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A connection that a handler takes with HijackNow belongs only to the handler. Answers
// to earlier requests were sent, and the bytes after the request can be read. The server
// writes nothing more to it and doesn't close it when the server ends.
func TestHijackNow(t *testing.T) {
	conns := make(chan net.Conn, 1)
	s := &gale.Server{StreamRequestBody: true, ReadTimeout: time.Minute}
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/first" {
			ctx.SetBodyString("one")
			return
		}
		if string(ctx.Path()) != "/quiet" {
			_ = ctx.Done() // makes the server watch the connection
		}
		c, err := ctx.HijackNow()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := ctx.HijackNow(); err != gale.ErrNilConnection {
			t.Errorf("a second time: %v", err)
		}
		if err := ctx.Flush(); err != gale.ErrNilConnection {
			t.Errorf("Flush after it: %v", err)
		}
		ctx.SetBodyString("never sent")
		conns <- c
		if string(ctx.Path()) == "/panic" {
			panic("on purpose")
		}
	})
	for _, path := range []string{"/", "/quiet", "/panic"} {
		c := ts.Dial()
		c.Send(peers.Get("/first") + peers.Get(path) + "early")
		c.Want("GET", 200, "one")
		nc := <-conns
		b := make([]byte, 5)
		if _, err := io.ReadFull(nc, b); string(b) != "early" {
			t.Errorf("%s: read %q, %v", path, b, err)
		}
		c.Send("later")
		if _, err := io.ReadFull(nc, b); string(b) != "later" {
			t.Errorf("%s: read %q, %v", path, b, err)
		}
		if path == "/" {
			peers.WaitClosed(t, ts.S, "the handler has the connection")
			if err := ts.S.Shutdown(); err != nil { // doesn't wait for the hijacked connection, and leaves it open
				t.Error(err)
			}
			ts = harness.Start(t, &gale.Server{}, s.Handler)
		}
		io.WriteString(nc, "bye")
		nc.Close()
		if b, err := io.ReadAll(c.Br); string(b) != "bye" || err != nil {
			t.Errorf("%s: the client read %q, %v", path, b, err)
		}
	}
	var ctx gale.RequestCtx
	if _, err := ctx.HijackNow(); err != gale.ErrNilConnection {
		t.Errorf("without a connection: %v", err)
	}
}

// Informational responses are sent at once, each with its own headers. The final one
// comes after them.
func TestSendInterim(t *testing.T) {
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
		var h gale.ResponseHeader
		h.Set("Link", "</a.css>")
		h.Set("Content-Length", "5")
		h.SetConnectionClose()
		if err := ctx.SendInterim(103, &h); err != nil {
			t.Error(err)
		}
		if err := ctx.SendInterim(102, nil); err != nil {
			t.Error(err)
		}
		for _, code := range []int{0, 101, 200} {
			if ctx.SendInterim(code, nil) == nil {
				t.Errorf("%d was sent", code)
			}
		}
		if ctx.IsPost() {
			ctx.SendInterim(100, nil)
		}
		ctx.SetBody(ctx.PostBody())
		ctx.Flush()
		if ctx.SendInterim(103, nil) == nil {
			t.Error("sent within the final response")
		}
	})
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	const want = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
	b := make([]byte, len(want))
	if io.ReadFull(c.Br, b); string(b) != want {
		t.Fatalf("got %q", b)
	}
	c.Send("ab")
	c.Want("POST", 200, "ab")
	c.Send("GET / HTTP/1.0\r\n\r\n")
	c.Want("GET", 200, "")
}

// What a handler has not read of a body is the first that a program reads which answers itself,
// whether it asks for the connection at once or after the handler, as the client has sent it.
func TestHijackUnreadBody(t *testing.T) {
	const chunks = "7\r\nabcdefg\r\n2;x=y\r\nhi\r\n0\r\n\r\n"
	for _, tt := range []struct {
		name, body, fields string
		read               int // bytes that the handler reads
		left               string
	}{
		{"nothing read", "abcdefghi", "Content-Length: 9", 0, "abcdefghi"},
		{"a part", "abcdefghi", "Content-Length: 9", 2, "cdefghi"},
		{"all", "abcdefghi", "Content-Length: 9", 9, ""},
		{"chunks, nothing read", chunks, "Transfer-Encoding: chunked", 0, chunks},
		{"chunks, a part", chunks, "Transfer-Encoding: chunked", 2, chunks[5:]},
		{"chunks, to a chunk's end", chunks, "Transfer-Encoding: chunked", 7, chunks[12:]},
		{"chunks, within the last", chunks, "Transfer-Encoding: chunked", 8, chunks[20:]},
	} {
		for _, way := range []string{"HijackNow", "HijackSetNoResponse"} {
			t.Run(tt.name+"/"+way, func(t *testing.T) {
				conns := make(chan net.Conn, 1)
				ts := harness.Start(t, &gale.Server{StreamRequestBody: true, KeepHijackedConns: true}, func(ctx *gale.RequestCtx) {
					b := make([]byte, 1)
					for range tt.read {
						if _, err := io.ReadFull(ctx.RequestBodyStream(), b); err != nil {
							t.Error(err)
						}
					}
					if way == "HijackNow" {
						nc, err := ctx.HijackNow()
						if err != nil {
							t.Error(err)
						}
						conns <- nc
						return
					}
					ctx.HijackSetNoResponse(true)
					ctx.Hijack(func(nc net.Conn) { conns <- nc })
				})
				c := ts.Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\n" + tt.fields + "\r\n\r\n" + tt.body + "more")
				nc := <-conns
				defer nc.Close()
				want := tt.left + "more"
				b := make([]byte, len(want))
				if _, err := io.ReadFull(nc, b); err != nil || string(b) != want {
					t.Errorf("read %q, %v; want %q", b, err, want)
				}
			})
		}
	}
}
