package gale_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// serveTCP starts a server for the clients of the examples.
func serveTCP(handler gale.RequestHandler) *galetest.Server {
	s := galetest.NewUnstartedServer(handler)
	s.Network = "tcp"
	s.Start()
	return s
}

// Instead of http.Get and reading the body. The first argument is a buffer
// to append the body to, or nil.
func ExampleGet() {
	s := serveTCP(func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") })
	defer s.Close()

	status, body, err := gale.Get(nil, s.URL+"/")
	fmt.Println(status, string(body), err)
	// Output: 200 hello <nil>
}

// Instead of http.PostForm.
func ExamplePost() {
	s := serveTCP(func(ctx *gale.RequestCtx) { fmt.Fprintf(ctx, "Hello, %s!", ctx.PostArgs().Peek("name")) })
	defer s.Close()

	args := gale.AcquireArgs()
	defer gale.ReleaseArgs(args)
	args.Set("name", "Ann")
	status, body, err := gale.Post(nil, s.URL+"/", args)
	fmt.Println(status, string(body), err)
	// Output: 200 Hello, Ann! <nil>
}

// Instead of http.NewRequest and http.Client.Do. There is no body to close:
// it has been read.
func ExampleClient_Do() {
	s := serveTCP(func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Method", string(ctx.Method()))
		fmt.Fprintf(ctx, "%s, %s", ctx.Request.Header.Peek("X-Field"), ctx.PostBody())
	})
	defer s.Close()

	client := &gale.Client{ReadTimeout: 10 * time.Second, MaxConnsPerHost: 100}
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.Header.SetMethod(gale.MethodPut)
	req.SetRequestURI(s.URL + "/path")
	req.Header.Set("X-Field", "value")
	req.SetBodyString("body")
	if err := client.Do(req, resp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d %s %s\n", resp.StatusCode(), resp.Header.Peek("X-Method"), resp.Body())
	// Output: 200 PUT value, body
}

// Instead of http.NewRequestWithContext.
func ExampleClient_DoContext_cancelled() {
	s := serveTCP(func(ctx *gale.RequestCtx) { <-ctx.Done() })
	defer s.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var client gale.Client
	defer client.CloseIdleConnections()
	var req gale.Request
	var resp gale.Response
	req.SetRequestURI(s.URL + "/")
	err := client.DoContext(ctx, &req, &resp)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// Instead of http.Client.Timeout.
func ExampleClient_DoTimeout_over() {
	s := serveTCP(func(ctx *gale.RequestCtx) { <-ctx.Done() })
	defer s.Close()

	var client gale.Client
	defer client.CloseIdleConnections()
	var req gale.Request
	var resp gale.Response
	req.SetRequestURI(s.URL + "/")
	err := client.DoTimeout(&req, &resp, 10*time.Millisecond)
	fmt.Println(errors.Is(err, gale.ErrTimeout))
	// Output: true
}

// Instead of a client that follows redirects, as http.Client does by
// itself; Do doesn't follow any.
func ExampleClient_DoRedirects_followed() {
	s := serveTCP(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/old" {
			ctx.Redirect("/new", gale.StatusFound)
			return
		}
		ctx.SetBodyString("it is here")
	})
	defer s.Close()

	var client gale.Client
	defer client.CloseIdleConnections()
	var req gale.Request
	var resp gale.Response
	req.SetRequestURI(s.URL + "/old")
	err := client.DoRedirects(&req, &resp, 10)
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: it is here <nil>
}

// Instead of reading resp.Body while it arrives.
func ExampleClient_streamResponseBody() {
	s := serveTCP(func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintln(w, i)
				w.Flush()
			}
		})
	})
	defer s.Close()

	client := &gale.Client{StreamResponseBody: true}
	defer client.CloseIdleConnections()
	var req gale.Request
	var resp gale.Response
	req.SetRequestURI(s.URL + "/")
	if err := client.Do(&req, &resp); err != nil {
		fmt.Println(err)
		return
	}
	defer resp.CloseBodyStream()
	for lines := bufio.NewScanner(resp.BodyStream()); lines.Scan(); {
		fmt.Println(lines.Text())
	}
	// Output:
	// 0
	// 1
	// 2
}

// Instead of a request with a body of unknown length.
func ExampleRequest_SetBodyStreamWriter() {
	s := serveTCP(func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.PostBody()) })
	defer s.Close()

	var req gale.Request
	var resp gale.Response
	req.Header.SetMethod(gale.MethodPost)
	req.SetRequestURI(s.URL + "/")
	req.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "written while it is sent") })
	err := gale.Do(&req, &resp)
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: written while it is sent <nil>
}
