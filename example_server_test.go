package gale_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/galeutil"
)

// A server with a handler that switches over the path.
func Example() {
	handler := func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/":
			fmt.Fprintf(ctx, "Hello, %s!\n", ctx.QueryArgs().Peek("name"))
		default:
			ctx.Error("not found", gale.StatusNotFound)
		}
	}
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

// A server on the internet should also set the timeouts that have no default.
func ExampleServer() {
	server := &gale.Server{
		Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("hello\n")
		},
		ReadTimeout:        30 * time.Second,
		WriteTimeout:       30 * time.Second,
		IdleTimeout:        2 * time.Minute,
		MaxRequestBodySize: 1 << 20,
	}
	log.Fatal(server.ListenAndServe(":8080"))
}

// Run serves until the process gets SIGINT or SIGTERM. It drains for five seconds then, and
// returns when all requests are answered, at most ten seconds later.
func ExampleRun() {
	server := &gale.Server{
		DrainTime: 5 * time.Second,
		Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("hello\n")
		},
	}
	if err := gale.Run(context.Background(), server, "127.0.0.1:8080"); err != nil {
		log.Print(err)
	}
}

// On SIGTERM the server goes on serving for five seconds, and tells clients to close
// their connections. Then it stops accepting, and answers the requests that it has
// received, for ten more seconds at most.
func ExampleServer_ShutdownWithContext() {
	server := &gale.Server{
		DrainTime: 5 * time.Second,
		Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("hello\n")
		},
	}
	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	go func() {
		if err := server.ListenAndServe("127.0.0.1:8080"); err != nil {
			log.Fatal(err)
		}
	}()

	<-stop.Done()
	release() // a second signal ends the process at once
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); err != nil {
		log.Printf("not all requests were answered: %v", err)
	}
}

// While a server drains it answers all requests. Health checks fail, and each answer
// tells its client not to use the connection again.
func ExampleServer_Draining() {
	server := &gale.Server{DrainTime: time.Hour}
	server.Handler = func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/ready" && server.Draining() {
			ctx.Error("draining", gale.StatusServiceUnavailable)
			return
		}
		ctx.SetBodyString("fine")
	}
	ln := galeutil.NewInmemoryListener()
	go server.Serve(ln)

	client := &gale.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	ask := func(path string) {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		defer gale.ReleaseRequest(req)
		defer gale.ReleaseResponse(resp)
		req.SetRequestURI("http://example.com" + path)
		if err := client.Do(req, resp); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(path, resp.StatusCode(), string(resp.Body()), "- close:", resp.ConnectionClose())
	}
	ask("/ready")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.ShutdownWithContext(ctx) }()
	for !server.Draining() {
		time.Sleep(time.Millisecond) // between two looks
	}
	ask("/ready")
	ask("/")
	cancel() // otherwise it would drain for an hour
	<-ended
	// Output:
	// /ready 200 fine - close: false
	// /ready 503 draining - close: true
	// / 200 fine - close: true
}

// TLS with a generated certificate, for tests: clients must be told to trust it.
func ExampleListenAndServeTLSEmbed() {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(gale.ListenAndServeTLSEmbed("127.0.0.1:8443", certPEM, keyPEM, func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "TLS: %v\n", ctx.IsTLS())
	}))
}

// A server on a connection in memory: all of HTTP, no network.
func ExampleServeConn() {
	client, server := net.Pipe()
	go func() {
		_ = gale.ServeConn(server, func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "you sent %s", ctx.PostBody())
		})
	}()
	defer client.Close()

	fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhello")
	var resp gale.Response
	if err := resp.Read(bufio.NewReader(client)); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output:
	// 200 you sent hello
}

// A handler is tested with a context that has no connection.
func ExampleRequestCtx_Init() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusCreated)
		fmt.Fprintf(ctx, "%s %s", ctx.Method(), ctx.QueryArgs().Peek("name"))
	}

	var req gale.Request
	req.Header.SetMethod(gale.MethodPut)
	req.SetRequestURI("http://example.com/items?name=lamp")

	var ctx gale.RequestCtx
	ctx.Init(&req, nil, nil)
	handler(&ctx)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	// Output:
	// 201 PUT lamp
}

// A middleware wraps a handler: it may act before it, after it, or instead of it.
func ExampleRequestHandler() {
	logged := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			next(ctx)
			fmt.Printf("%s %s: %d, %d bytes\n", ctx.Method(), ctx.Path(),
				ctx.Response.StatusCode(), len(ctx.Response.Body()))
		}
	}
	handler := logged(func(ctx *gale.RequestCtx) {
		ctx.Error("not found", gale.StatusNotFound)
	})

	var ctx gale.RequestCtx
	ctx.Request.SetRequestURI("http://example.com/a?b=c")
	handler(&ctx)
	// Output:
	// GET /a: 404, 9 bytes
}

// A middleware passes a value to later handlers.
func ExampleRequestCtx_SetUserValue() {
	type user struct{ name string }
	type userKey struct{}

	authenticated := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			name := ctx.Request.Header.Peek("X-User")
			if len(name) == 0 {
				ctx.Error("unauthorized", gale.StatusUnauthorized)
				return
			}
			ctx.SetUserValue(userKey{}, user{string(name)}) // a copy
			next(ctx)
		}
	}
	handler := authenticated(func(ctx *gale.RequestCtx) {
		u := ctx.UserValue(userKey{}).(user)
		fmt.Println("hello,", u.name)
	})

	var ctx gale.RequestCtx
	ctx.Request.Header.Set("X-User", "ada")
	handler(&ctx)
	// Output:
	// hello, ada
}

// Server-sent events: write, flush, and stop when the client leaves.
func ExampleRequestCtx_Flush() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.Response.Header.Set("Cache-Control", "no-cache")
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			fmt.Fprintf(ctx, "data: %s\n\n", time.Now().Format(time.RFC3339))
			if err := ctx.Flush(); err != nil {
				return // the client has gone
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return // the client has gone, or the server shuts down
			}
		}
	}
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

// The function runs after the handler. It must not use ctx, only copies of what it needs.
func ExampleRequestCtx_SetBodyStreamWriter() {
	handler := func(ctx *gale.RequestCtx) {
		n := ctx.QueryArgs().GetUintOrZero("n")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range n {
				if _, err := fmt.Fprintln(w, i); err != nil {
					return // the client has gone
				}
			}
		})
	}
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

// Work that ends with the request, or a second after it began.
func ExampleRequestCtx_Context() {
	query := func(ctx context.Context) error { // as of a database
		<-ctx.Done()
		return context.Cause(ctx)
	}
	handler := func(ctx *gale.RequestCtx) {
		limited, cancel := context.WithTimeout(ctx.Context(), time.Second)
		defer cancel()
		switch err := query(limited); {
		case errors.Is(err, gale.ErrClientGone):
			log.Print("the client has gone: the answer is not needed")
		case err != nil:
			ctx.Error("the database is too slow", gale.StatusGatewayTimeout)
		}
	}
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

// Save an uploaded file under a name that the server chooses.
func ExampleRequestCtx_FormFile() {
	handler := func(ctx *gale.RequestCtx) {
		file, err := ctx.FormFile("photo")
		if err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		path := filepath.Join("uploads", time.Now().Format("20060102-150405.000000000"))
		if err := gale.SaveMultipartFile(file, path); err != nil {
			ctx.Error("the file can't be kept", gale.StatusInternalServerError)
			return
		}
		fmt.Fprintf(ctx, "%q, %d bytes, titled %q\n", file.Filename, file.Size, ctx.FormValue("title"))
	}
	server := &gale.Server{Handler: handler, MaxRequestBodySize: 64 << 20}
	log.Fatal(server.ListenAndServe("127.0.0.1:8080"))
}

// Large uploads are read as a stream; other requests are read as usual.
func ExampleRequestCtx_MultipartReader() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.LimitRequestBody(10 << 30) // a stream has no limit of its own
		form, err := ctx.MultipartReader()
		if err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		for {
			part, err := form.NextPart()
			if err == io.EOF {
				return
			}
			var n int64
			if err == nil {
				n, err = io.Copy(io.Discard, part)
			}
			switch {
			case errors.Is(err, gale.ErrBodyTooLarge):
				ctx.Error("that is too much", gale.StatusRequestEntityTooLarge)
				return
			case err != nil:
				ctx.Error("the form is broken", gale.StatusBadRequest)
				return
			}
			fmt.Fprintf(ctx, "%s: %d bytes\n", part.FormName(), n)
		}
	}
	server := &gale.Server{
		Handler: handler,
		HeaderReceived: func(header *gale.RequestHeader) gale.RequestConfig {
			return gale.RequestConfig{StreamRequestBody: string(header.RequestURI()) == "/upload"}
		},
	}
	log.Fatal(server.ListenAndServe("127.0.0.1:8080"))
}

// After the response the connection belongs to the function.
func ExampleRequestCtx_Hijack() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Hijack(func(c net.Conn) {
			_, _ = io.Copy(c, c)
		})
	}
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

func ExampleRequestCtx_Redirect() {
	var ctx gale.RequestCtx
	ctx.Request.SetRequestURI("http://example.com/old/page")
	ctx.Redirect("../new?from=old", gale.StatusMovedPermanently)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Header.Peek("Location"))
	// Output:
	// 301 http://example.com/new?from=old
}

// In a request, a cookie has only a name and a value.
func ExampleResponseHeader_SetCookie() {
	handler := func(ctx *gale.RequestCtx) {
		fmt.Printf("it was %s\n", ctx.Request.Header.Cookie("theme"))

		c := gale.AcquireCookie()
		defer gale.ReleaseCookie(c)
		c.SetKey("theme")
		c.SetValue("dark")
		c.SetPath("/")
		c.SetMaxAge(3600)
		c.SetHTTPOnly(true)
		c.SetSameSite(gale.CookieSameSiteLaxMode)
		ctx.Response.Header.SetCookie(c)
	}

	var ctx gale.RequestCtx
	ctx.Request.Header.SetCookie("theme", "light")
	handler(&ctx)
	fmt.Printf("%s\n", ctx.Response.Header.PeekCookie("theme"))
	// Output:
	// it was light
	// theme=dark; max-age=3600; path=/; HttpOnly; SameSite=Lax
}

// Slow answers become 408; answers in time are compressed.
func ExampleTimeoutHandler() {
	handler := func(ctx *gale.RequestCtx) {
		select {
		case <-time.After(3 * time.Second): // work
			ctx.SetBodyString("done\n")
		case <-ctx.Done():
			// No one needs the response any more: the timeout has passed, or the client
			// has gone.
		}
	}
	handler = gale.TimeoutHandler(gale.CompressHandler(handler), time.Second, "that took too long")
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", handler))
}

// Files below /static/, with compressed copies in a folder of their own.
func ExampleFS() {
	files := &gale.FS{
		Root:            "./public",
		IndexNames:      []string{"index.html"},
		AcceptByteRange: true,
		GenerateETag:    true,
		HideDotFiles:    true,
		Compress:        true,
		CompressRoot:    "./compressed",
		PathRewrite:     gale.NewPathSlashesStripper(1), // "/static/a.css" is "./public/a.css"
	}
	serveFile := files.NewRequestHandler()
	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", serveFile))
}

// lineEcho answers each line with the same line. A connection that waits needs no goroutine
// on the event engine.
type lineEcho struct{}

func (lineEcho) Opened(c *gale.UpgradedConn) {
	c.SetTimeout(time.Minute)
	c.SetWriteTimeout(10 * time.Second)
}

func (lineEcho) Received(c *gale.UpgradedConn, in []byte) (n int) {
	n = bytes.LastIndexByte(in, '\n') + 1
	*c.Out() = append(*c.Out(), in[:n]...)
	switch {
	case c.Stopping():
		*c.Out() = append(*c.Out(), "the server stops\n"...)
		c.Close()
	case len(in)-n > 1000:
		c.Close() // the line is too long
	}
	return n
}

func (lineEcho) Stalled(c *gale.UpgradedConn, why error) { c.Close() }

func (lineEcho) Closed(c *gale.UpgradedConn, err error) {}

// A protocol of lines on connections that begin with a request.
func ExampleRequestCtx_Upgrade() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Request.Header.Peek("Upgrade")) != "lines" {
			ctx.Fail(gale.StatusUpgradeRequired, nil)
			return
		}
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "lines")
		ctx.Upgrade(lineEcho{})
	})
	defer s.Close()

	c, err := s.Dial()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\nhello\n")
	b := make([]byte, 1000)
	n := 0
	for n < len(b) && !bytes.HasSuffix(b[:n], []byte("hello\n")) && err == nil {
		var more int
		more, err = c.Read(b[n:])
		n += more
	}
	fmt.Printf("%s\n%q\n", b[:bytes.IndexByte(b, '\r')], b[bytes.Index(b, []byte("\r\n\r\n"))+4:n])
	// Output:
	// HTTP/1.1 101 Switching Protocols
	// "hello\n"
}
