package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestStreamedRequestBody(t *testing.T) {
	step := make(chan string)
	s := &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/read":
			b := make([]byte, 4)
			for {
				n, err := ctx.RequestBodyStream().Read(b)
				if n > 0 {
					step <- string(b[:n])
				}
				if err != nil {
					fmt.Fprint(ctx, err)
					return
				}
			}
		case "/limit":
			ctx.LimitRequestBody(5)
			_, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprint(ctx, err == gale.ErrBodyTooLarge)
		case "/back":
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		}
	}}
	ts := harness.Start(t, s, nil)
	c := ts.Dial()
	c.Send("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc")
	for _, want := range []string{"abc", "def"} {
		if got := <-step; got != want {
			t.Fatalf("read %q, want %q", got, want)
		}
		if want == "abc" {
			c.Send("def" + peers.Get("/unread"))
		}
	}
	c.Want("POST", 200, "EOF")
	c.Want("GET", 200, "")
	c.Send(peers.Post("/limit", "0123456789"))
	c.Want("POST", 200, "true")
	big := strings.Repeat("0123456789", 100_000)
	go io.WriteString(c, peers.Post("/back", big))
	c.Want("POST", 200, big)
	// Bytes that the handler did not read never become the next request.
	c.Send(peers.Post("/unread", strings.Repeat("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", 100)) + peers.Get("/next"))
	c.Want("POST", 200, "")
	c.Want("GET", 200, "")
	c = ts.Dial()
	go io.WriteString(c, peers.Post("/unread", strings.Repeat("x", 1<<20)))
	if a := c.Answer("POST"); !a.Close {
		t.Error("a megabyte that nobody read was drained")
	}
}

func TestResponseStreams(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/chunked":
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("a"), strings.NewReader("b")), -1)
		case "/sized":
			ctx.SetBodyStream(strings.NewReader("0123456789"), 10)
		case "/short":
			ctx.SetBodyStream(strings.NewReader("0123"), 10)
		case "/writer":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for i := range 3 {
					fmt.Fprint(w, i)
					w.Flush()
				}
			})
		case "/panic":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x"); w.Flush(); panic("in a stream") })
		case "/large":
			ctx.SetBody(bytes.Repeat([]byte("x"), 1<<20))
		}
	})
	c := ts.Dial()
	for _, method := range []string{"GET", "HEAD"} {
		for path, body := range map[string]string{"/chunked": "ab", "/sized": "0123456789", "/writer": "012", "/large": strings.Repeat("x", 1<<20)} {
			if method == "HEAD" {
				body = ""
			}
			c.Send(method + " " + path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			c.Want(method, 200, body)
		}
	}
	for _, path := range []string{"/short", "/panic"} {
		c := ts.Dial()
		c.Send(peers.Get(path))
		resp, err := http.ReadResponse(c.Br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: the truncated body looks complete", path)
		}
	}
}

func TestFlushInHandler(t *testing.T) {
	more := make(chan struct{})
	left := make(chan error, 1)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.WriteString("data: 1\n\n")
		if err := ctx.Flush(); err != nil {
			t.Error(err)
		}
		<-more
		ctx.WriteString("data: 2\n\n")
		if string(ctx.Path()) == "/leave" {
			<-ctx.Done()
			left <- ctx.Err()
			return
		}
		ctx.Flush()
		ctx.WriteString("end")
	})
	c := ts.Dial()
	c.Send(peers.Get("/") + peers.Get("/"))
	for range 2 {
		resp, err := http.ReadResponse(c.Br, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 9)
		if io.ReadFull(resp.Body, b); string(b) != "data: 1\n\n" {
			t.Fatalf("before the handler's end: %q", b)
		}
		more <- struct{}{}
		if rest, err := io.ReadAll(resp.Body); string(rest) != "data: 2\n\nend" || err != nil {
			t.Fatalf("rest %q, %v", rest, err)
		}
	}
	c.Send(peers.Get("/leave"))
	if _, err := http.ReadResponse(c.Br, nil); err != nil {
		t.Fatal(err)
	}
	more <- struct{}{}
	c.Close()
	if err := <-left; err == nil {
		t.Error("Err is nil after the client has left")
	}
}
