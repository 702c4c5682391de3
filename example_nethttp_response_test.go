package gale_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// Instead of w.Header().Set, Get and Del.
func ExampleResponseHeader_Set() {
	var ctx gale.RequestCtx
	h := &ctx.Response.Header
	h.Set("Cache-Control", "no-store")
	h.Set("X-Temporary", "1")
	h.Del("X-Temporary")
	fmt.Printf("%s %q\n", h.Peek("Cache-Control"), h.Peek("X-Temporary"))
	// Output: no-store ""
}

// Instead of w.Header().Add.
func ExampleResponseHeader_Add() {
	var ctx gale.RequestCtx
	ctx.Response.Header.Add("Vary", "Accept")
	ctx.Response.Header.Add("Vary", "Origin")
	fmt.Printf("%s\n", ctx.Response.Header.PeekAll("Vary"))
	// Output: [Accept Origin]
}

// Instead of w.Header().Set("Content-Type", ...). Without it the type is text/plain: Gale
// doesn't guess it from the body.
func ExampleRequestCtx_SetContentType() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBodyString("<h1>Hello</h1>")
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%s\n", r.Response.Header.ContentType())
	// Output: text/html; charset=utf-8
}

// Instead of w.Write, io.WriteString(w, ...) and fmt.Fprintf(w, ...).
func ExampleRequestCtx_Write() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.Write([]byte("one"))
		ctx.WriteString(", two")
		fmt.Fprintf(ctx, ", %s", "three")
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%s\n", r.Response.Body())
	// Output: one, two, three
}

// Instead of json.NewEncoder(w).Encode(v).
func ExampleRequestCtx_JSON() {
	handler := func(ctx *gale.RequestCtx) {
		if err := ctx.JSON(gale.StatusOK, map[string]int{"answer": 42}); err != nil {
			ctx.Error("Internal Server Error", gale.StatusInternalServerError)
		}
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%s %s\n", r.Response.Header.ContentType(), r.Response.Body())
	// Output: application/json {"answer":42}
}

// Instead of w.WriteHeader. It sends nothing, so status and header can be set after the
// body, and changed again.
func ExampleRequestCtx_SetStatusCode() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetBodyString("created")
		ctx.SetStatusCode(gale.StatusCreated)
		ctx.Response.Header.Set("Location", "/things/1")
	}
	r := galetest.Record(handler, galetest.NewContext("POST", "/things", nil))
	fmt.Printf("%d %s %s\n", r.Response.StatusCode(), r.Response.Header.Peek("Location"), r.Response.Body())
	// Output: 201 /things/1 created
}

// Instead of w.WriteHeader(http.StatusEarlyHints).
func ExampleRequestCtx_EarlyHints() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Add("Link", "</style.css>; rel=preload; as=style")
		ctx.EarlyHints()
		ctx.SetBodyString("the page")
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%d %s\n", r.Interim[0].StatusCode(), r.Interim[0].Header.Peek("Link"))
	fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	// Output:
	// 103 </style.css>; rel=preload; as=style
	// 200 the page
}

// Instead of http.Error.
func ExampleRequestCtx_Error() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetBodyString("dropped")
		ctx.Error("come back later", gale.StatusServiceUnavailable)
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	// Output: 503 come back later
}

// Instead of http.NotFound.
func ExampleRequestCtx_NotFound() {
	handler := func(ctx *gale.RequestCtx) { ctx.NotFound() }
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Println(r.Response.StatusCode())
	// Output: 404
}

// Instead of io.Copy(w, r), for large bodies: the stream is sent while it is read, and
// closed afterwards.
func ExampleRequestCtx_SetBodyStream() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
	}
	s := galetest.NewServer(handler)
	defer s.Close()
	resp, err := s.Get("/")
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: streamed <nil>
}

// Instead of http.Flusher: Flush sends what was written, and the handler goes on.
func ExampleRequestCtx_Flush_parts() {
	next := make(chan bool)
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		for i := range 2 {
			fmt.Fprintf(ctx, "data: %d\n", i)
			if err := ctx.Flush(); err != nil {
				return // the client has gone
			}
			<-next // the client has got it
		}
	})
	defer s.Close()

	resp, err := s.HTTPClient().Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); next <- true {
		fmt.Println(lines.Text())
	}
	// Output:
	// data: 0
	// data: 1
}

// Instead of http.Hijacker: the function gets the connection when the
// handler has returned and the response is sent.
func ExampleRequestCtx_Hijack_echo() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
	})
	defer s.Close()

	c, err := s.Dial()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
	var resp gale.Response
	r := bufio.NewReader(c)
	if err := resp.Header.Read(r); err != nil {
		fmt.Println(err)
		return
	}
	line, _ := r.ReadString('\n')
	fmt.Printf("%d %q\n", resp.StatusCode(), line)
	// Output: 101 "hello\n"
}

// Instead of http.Hijacker, if the handler needs the connection at once. The connection
// belongs to the caller, and nothing else is sent.
func ExampleRequestCtx_HijackNow() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		c, err := ctx.HijackNow()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "not even HTTP")
	})
	defer s.Close()

	c, err := s.Dial()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	b, _ := io.ReadAll(c)
	fmt.Printf("%s\n", b)
	// Output: not even HTTP
}

// Instead of the deadlines of http.ResponseController.
func ExampleRequestCtx_SetWriteDeadline() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		if err := ctx.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			ctx.Error(err.Error(), gale.StatusInternalServerError)
			return
		}
		ctx.SetBodyString("in time")
	})
	defer s.Close()
	resp, err := s.Get("/")
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: in time <nil>
}

// Instead of the Trailer field and http.TrailerPrefix.
func ExampleResponseHeader_SetTrailer() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetTrailer("X-Sum")
		ctx.WriteString("hello")
		ctx.Response.Header.Set("X-Sum", "5d41")
	})
	defer s.Close()
	resp, err := s.HTTPClient().Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s %s\n", body, resp.Trailer.Get("X-Sum"))
	// Output: hello 5d41
}

// Instead of panic(http.ErrAbortHandler): the connection is closed, and the
// client sees that the response is not complete.
func ExampleErrAbortHandler() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		ctx.WriteString("part of it")
		ctx.Flush()
		panic(gale.ErrAbortHandler)
	})
	defer s.Close()
	resp, err := s.HTTPClient().Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s: %v\n", body, err)
	// Output: part of it: unexpected EOF
}
