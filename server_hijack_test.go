package gale

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// A connection that a handler takes with HijackNow belongs only to the handler. Answers
// to earlier requests were sent, and the bytes after the request can be read. The server
// writes nothing more to it and doesn't close it when the server ends.
func TestHijackNow(t *testing.T) {
	conns := make(chan net.Conn, 1)
	s := &Server{StreamRequestBody: true, ReadTimeout: time.Minute}
	ts := startServer(t, s, func(ctx *RequestCtx) {
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
		if _, err := ctx.HijackNow(); err != ErrNilConnection {
			t.Errorf("a second time: %v", err)
		}
		if err := ctx.Flush(); err != ErrNilConnection {
			t.Errorf("Flush after it: %v", err)
		}
		ctx.SetBodyString("never sent")
		conns <- c
		if string(ctx.Path()) == "/panic" {
			panic("on purpose")
		}
	})
	for _, path := range []string{"/", "/quiet", "/panic"} {
		c := ts.dial()
		c.send(get("/first") + get(path) + "early")
		c.want("GET", 200, "one")
		nc := <-conns
		b := make([]byte, 5)
		if _, err := io.ReadFull(nc, b); string(b) != "early" {
			t.Errorf("%s: read %q, %v", path, b, err)
		}
		c.send("later")
		if _, err := io.ReadFull(nc, b); string(b) != "later" {
			t.Errorf("%s: read %q, %v", path, b, err)
		}
		if path == "/" {
			for ts.s.GetOpenConnectionsCount() > 0 {
				time.Sleep(time.Millisecond)
			}
			if err := ts.s.Shutdown(); err != nil { // doesn't wait for the hijacked connection, and leaves it open
				t.Error(err)
			}
			ts = startServer(t, &Server{}, s.Handler)
		}
		io.WriteString(nc, "bye")
		nc.Close()
		if b, err := io.ReadAll(c.br); string(b) != "bye" || err != nil {
			t.Errorf("%s: the client read %q, %v", path, b, err)
		}
	}
	var ctx RequestCtx
	if _, err := ctx.HijackNow(); err != ErrNilConnection {
		t.Errorf("without a connection: %v", err)
	}
}

// Informational responses are sent at once, each with its own headers. The final one
// comes after them.
func TestSendInterim(t *testing.T) {
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		var h ResponseHeader
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
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	const want = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
	b := make([]byte, len(want))
	if io.ReadFull(c.br, b); string(b) != want {
		t.Fatalf("got %q", b)
	}
	c.send("ab")
	c.want("POST", 200, "ab")
	c.send("GET / HTTP/1.0\r\n\r\n")
	c.want("GET", 200, "")
}

// CloseRequestBody ends a Read that waits for the client. The answer is sent, and then
// the connection is closed.
func TestCloseRequestBody(t *testing.T) {
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		got := make(chan error)
		body := ctx.RequestBodyStream()
		go func() {
			_, err := io.ReadAll(body)
			got <- err
		}()
		time.Sleep(10 * time.Millisecond)
		ctx.CloseRequestBody()
		if err := <-got; err == nil {
			t.Error("the body was read to its end")
		}
		if _, err := body.Read(make([]byte, 1)); !errors.Is(err, errStreamClosed) {
			t.Error(err)
		}
		ctx.SetBodyString("answer")
	})
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
	if a := c.want("POST", 200, "answer"); !a.Close {
		t.Error("the connection is used on")
	}
}
