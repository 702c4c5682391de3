package gale_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// exampleServer serves handler in memory and returns how to dial it.
func exampleServer(handler gale.RequestHandler) (dial gale.DialFunc, stop func()) {
	ln := galeutil.NewInmemoryListener()
	s := &gale.Server{Handler: handler}
	go func() { _ = s.Serve(ln) }()
	return func(string) (net.Conn, error) { return ln.Dial() }, func() { _ = s.Shutdown() }
}

// The short forms return status and body, and follow redirects. The body's
// buffer can be used again and again.
func ExampleClient_Get() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/old" {
			ctx.Redirect("/new", gale.StatusFound)
			return
		}
		fmt.Fprintf(ctx, "this is %s", ctx.Path())
	})
	defer stop()
	client := &gale.Client{Dial: dial}

	var buf []byte
	status, body, err := client.Get(buf, "http://example.com/old")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status, string(body))
	buf = body // for the next request
	_ = buf
	// Output: 200 this is /new
}

// Post sends a form.
func ExampleClient_Post() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "hello %s", ctx.PostArgs().Peek("name"))
	})
	defer stop()
	client := &gale.Client{Dial: dial}

	form := gale.AcquireArgs()
	defer gale.ReleaseArgs(form)
	form.Set("name", "Ada & Charles")
	_, body, err := client.Post(nil, "http://example.com/", form)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output: hello Ada & Charles
}

// Do sends any request. Request and response come from pools and go back there.
func ExampleClient_Do_json() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		var in struct{ A, B int }
		if err := json.Unmarshal(ctx.PostBody(), &in); err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		ctx.SetContentType("application/json")
		_ = json.NewEncoder(ctx).Encode(map[string]int{"sum": in.A + in.B})
	})
	defer stop()
	client := &gale.Client{Dial: dial}

	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://example.com/add")
	req.Header.SetMethod(gale.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetBodyString(`{"A": 2, "B": 3}`)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	var out struct{ Sum int }
	if err := json.Unmarshal(resp.Body(), &out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode(), out.Sum)
	// Output: 200 5
}

// A timeout is for everything together: waiting for a connection, dialing, TLS, the
// request and the whole response.
func ExampleClient_DoTimeout() {
	hold := make(chan struct{})
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) { <-hold })
	defer stop()
	defer close(hold)
	client := &gale.Client{Dial: dial}

	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://example.com/")
	err := client.DoTimeout(req, resp, 50*time.Millisecond)
	fmt.Println(errors.Is(err, gale.ErrTimeout))
	// Output: true
}

// A context that ends also ends the request, whatever it waits for.
func ExampleClient_DoContext() {
	reached, hold := make(chan struct{}), make(chan struct{})
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		close(reached)
		<-hold
	})
	defer stop()
	defer close(hold)
	client := &gale.Client{Dial: dial}

	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-reached
		cancel()
	}()
	_, _, err := client.GetContext(ctx, nil, "http://example.com/")
	fmt.Println(err)
	// Output: context canceled
}

// A streamed response is read as it arrives. It may be closed early; that also closes the
// connection.
func ExampleClient_Do_stream() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(bytes.NewReader(bytes.Repeat([]byte("0123456789"), 1<<20)), -1)
	})
	defer stop()
	client := &gale.Client{Dial: dial, StreamResponseBody: true}

	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp) // closes the stream, too
	req.SetRequestURI("http://example.com/large")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.BodyStream(), 1<<20))
	fmt.Println(n, err)
	// Output: 1048576 <nil>
}

// A streamed request is sent while it is read. Its length need not be known.
func ExampleClient_Do_upload() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%d bytes, length %d", len(ctx.PostBody()), ctx.Request.Header.ContentLength())
	})
	defer stop()
	client := &gale.Client{Dial: dial}

	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://example.com/upload")
	req.Header.SetMethod(gale.MethodPut)
	req.SetBodyStream(bytes.NewReader(make([]byte, 100_000)), -1)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	// Output: 100000 bytes, length -1
}

// DoRedirects follows redirects. Credentials aren't sent to another host.
func ExampleClient_DoRedirects() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Host()) == "a.example" {
			ctx.Redirect("http://b.example/", gale.StatusTemporaryRedirect)
			return
		}
		fmt.Fprintf(ctx, "%s %s, Authorization: %q", ctx.Method(), ctx.PostBody(), ctx.Request.Header.Peek("Authorization"))
	})
	defer stop()
	client := &gale.Client{Dial: dial}

	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://a.example/")
	req.Header.SetMethod(gale.MethodPost)
	req.Header.Set("Authorization", "Bearer secret")
	req.SetBodyString("data")
	if err := client.DoRedirects(req, resp, 5); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	fmt.Println(req.URI())
	// Output:
	// POST data, Authorization: ""
	// http://b.example/
}

// Settings for a program that calls servers on the internet.
func ExampleClient_settings() {
	client := &gale.Client{
		Name:                  "example/1.0",
		MaxConnsPerHost:       100,
		MaxConnWaitTimeout:    time.Second,
		ReadTimeout:           30 * time.Second,
		WriteTimeout:          30 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
		MaxResponseBodySize:   10 << 20,
		Uncompress:            true,
		Proxy:                 gale.ProxyFromEnvironment,
	}
	_, _, err := client.Get(nil, "ftp://example.com/")
	fmt.Println(err)
	// Output: gale: unsupported protocol "ftp". http and https are supported
}

// Settings that differ from host to host.
func ExampleClient_configureClient() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.UserAgent()) })
	defer stop()
	client := &gale.Client{Dial: dial, ConfigureClient: func(hc *gale.HostClient) error {
		if hc.Addr == "slow.example:80" {
			hc.Name = "patient"
			hc.ReadTimeout = time.Minute
		}
		return nil
	}}
	for _, u := range []string{"http://slow.example/", "http://fast.example/"} {
		_, body, err := client.Get(nil, u)
		fmt.Println(string(body), err)
	}
	// Output:
	// patient <nil>
	// gale <nil>
}

// The proxy depends on the host.
func ExampleClient_proxy() {
	proxy := &url.URL{Scheme: "http", Host: "proxy.example:3128", User: url.UserPassword("user", "password")}
	client := &gale.Client{Proxy: func(uri *gale.URI) (*url.URL, error) {
		if string(uri.Host()) == "intranet.example" {
			return nil, nil
		}
		return proxy, nil
	}}
	client.Dial = func(addr string) (net.Conn, error) {
		return nil, fmt.Errorf("dialed %s", addr)
	}
	for _, u := range []string{"http://intranet.example/", "http://example.com/", "https://example.com/"} {
		_, _, err := client.Get(nil, u)
		fmt.Println(err)
	}
	// Output:
	// dialed intranet.example:80
	// dialed proxy.example:3128
	// dialed proxy.example:3128
}

// jar adapts a cookie jar of net/http to Gale.
type jar struct{ http.CookieJar }

func (j jar) SetCookies(u *gale.URI, cookies []*gale.Cookie) {
	var all []*http.Cookie
	for _, c := range cookies {
		all = append(all, &http.Cookie{
			Name: string(c.Key()), Value: string(c.Value()), Path: string(c.Path()), Domain: string(c.Domain()),
			Expires: c.Expire(), MaxAge: c.MaxAge(), Secure: c.Secure(), HttpOnly: c.HTTPOnly(),
		})
	}
	j.CookieJar.SetCookies(asURL(u), all)
}

func (j jar) Cookies(u *gale.URI) []*gale.Cookie {
	var all []*gale.Cookie
	for _, c := range j.CookieJar.Cookies(asURL(u)) {
		cookie := new(gale.Cookie)
		cookie.SetKey(c.Name)
		cookie.SetValue(c.Value)
		all = append(all, cookie)
	}
	return all
}

func asURL(u *gale.URI) *url.URL {
	return &url.URL{Scheme: string(u.Scheme()), Host: string(u.Host()), Path: string(u.Path())}
}

// Use the cookie jar of net/http, which follows RFC 6265.
func ExampleCookieJar() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/login" {
			ctx.Response.Header.Add("Set-Cookie", "session=42; Path=/; HttpOnly")
			return
		}
		fmt.Fprintf(ctx, "session %s", ctx.Request.Header.Cookie("session"))
	})
	defer stop()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := &gale.Client{Dial: dial, Jar: jar{cookies}}

	if _, _, err := client.Get(nil, "http://example.com/login"); err != nil {
		log.Fatal(err)
	}
	_, body, err := client.Get(nil, "http://example.com/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output: session 42
}
