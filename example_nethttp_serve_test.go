package gale_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/galetest"
)

// Instead of http.ListenAndServe and http.Serve.
func ExampleServe() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go gale.Serve(ln, func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") })
	defer ln.Close()

	status, body, err := gale.Get(nil, "http://"+ln.Addr().String()+"/")
	fmt.Println(status, string(body), err)
	// Output: 200 hello <nil>
}

// Instead of http.Server and its Shutdown, which waits for running requests.
func ExampleServer_ShutdownWithContext_waits() {
	started := make(chan bool)
	server := &gale.Server{
		ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute,
		Handler: func(ctx *gale.RequestCtx) {
			close(started)
			<-ctx.Done() // the server shuts down
			ctx.SetBodyString("the last answer")
		},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(ln)

	answer := make(chan string)
	go func() {
		_, body, err := gale.Get(nil, "http://"+ln.Addr().String()+"/")
		answer <- fmt.Sprint(string(body), " ", err)
	}()
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(server.ShutdownWithContext(ctx))
	fmt.Println(<-answer)
	// Output:
	// <nil>
	// the last answer <nil>
}

// Instead of http.ServeMux, for a few paths. Packages such as
// github.com/fasthttp/router do more.
func ExampleRequestHandler_mux() {
	mux := func(ctx *gale.RequestCtx) {
		switch path := string(ctx.Path()); {
		case path == "/":
			ctx.SetBodyString("home")
		case path == "/things" && ctx.IsPost():
			ctx.SetStatusCode(gale.StatusCreated)
		default:
			ctx.NotFound()
		}
	}
	for _, r := range [][2]string{{"GET", "/"}, {"POST", "/things"}, {"GET", "/other"}} {
		fmt.Println(galetest.Record(mux, galetest.NewContext(r[0], r[1], nil)).Response.StatusCode())
	}
	// Output:
	// 200
	// 201
	// 404
}

// Instead of functions that take and return an http.Handler.
func ExampleRequestHandler_middleware() {
	authorized := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			if len(ctx.Request.Header.Peek("Authorization")) == 0 {
				ctx.Error("unauthorized", gale.StatusUnauthorized)
				return
			}
			next(ctx)
		}
	}
	handler := authorized(func(ctx *gale.RequestCtx) { ctx.SetBodyString("a secret") })
	fmt.Println(galetest.Record(handler, galetest.NewContext("GET", "/", nil)).Response.StatusCode())
	// Output: 401
}

// Instead of r.Context(). RequestCtx is a context, valid until the handler returns;
// Context returns one that may be kept. Both end when the client leaves.
func ExampleRequestCtx_Done() {
	left := make(chan error, 1)
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		kept := ctx.Context()
		ctx.Flush() // the client knows that the handler runs
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute): // the work
		}
		left <- context.Cause(kept)
	})
	defer s.Close()

	resp, err := s.HTTPClient().Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(<-left)
	// Output: gale: the client has gone
}

// Instead of http.Server.ConnContext.
func ExampleServer_connContext() {
	type key struct{}
	s := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Value(key{})) })
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, key{}, "known for the whole connection")
	}
	s.Start()
	defer s.Close()
	resp, err := s.Get("/")
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: known for the whole connection <nil>
}

// Instead of http.FileServerFS and http.FileServer, with http.StripPrefix.
func ExampleFS_NewRequestHandler() {
	files := fstest.MapFS{
		"index.html": {Data: []byte("<h1>Home</h1>")},
		"a/b.txt":    {Data: []byte("some text")},
	}
	fs := &gale.FS{
		FS:          files, // or Root: "/var/www"
		IndexNames:  []string{"index.html"},
		PathRewrite: gale.NewPathPrefixStripper(len("/static")),
	}
	handler := fs.NewRequestHandler()
	for _, path := range []string{"/static/", "/static/a/b.txt", "/static/c"} {
		r := galetest.Record(handler, galetest.NewContext("GET", path, nil))
		fmt.Printf("%d %s %s\n", r.Response.StatusCode(), r.Response.Header.ContentType(), r.Response.Body())
	}
	// Output:
	// 200 text/html; charset=utf-8 <h1>Home</h1>
	// 200 text/plain; charset=utf-8 some text
	// 404 text/plain; charset=utf-8 Cannot open requested path
}

// Instead of http.ServeFile and http.ServeFileFS.
func ExampleServeFS() {
	files := fstest.MapFS{"report.csv": {Data: []byte("a,b\n1,2\n")}}
	handler := func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Content-Disposition", `attachment; filename="report.csv"`)
		gale.ServeFS(ctx, files, "report.csv") // or ServeFile(ctx, "/path/report.csv")
	}
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("Range", "bytes=0-2")
	r := galetest.Record(handler, ctx)
	fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	// Output: 206 a,b
}

// Instead of http.TimeoutHandler.
func ExampleTimeoutHandler_slow() {
	handler := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Done()
	}, 10*time.Millisecond, "that took too long")
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	// Output: 408 that took too long
}

// Handlers of net/http can stay as they are while a program moves to Gale.
func ExampleRequestHandler_netHTTP() {
	old := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "as ever: %s", r.URL.Path)
	})
	handler := adaptor.NewFastHTTPHandler(old)
	fmt.Printf("%s\n", galetest.Record(handler, galetest.NewContext("GET", "/path", nil)).Response.Body())
	// Output: as ever: /path
}
