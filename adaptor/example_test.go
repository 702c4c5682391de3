package adaptor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// A net/http handler on a Gale server, beside handlers of Gale.
func ExampleNewFastHTTPHandler() {
	files := adaptor.NewFastHTTPHandler(http.StripPrefix("/old", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "net/http got %s", r.URL.Path) })))
	handler := func(ctx *gale.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/old/") {
			files(ctx)
			return
		}
		ctx.SetBodyString("Gale got " + string(ctx.Path()))
	}

	for _, path := range []string{"/old/page", "/new/page"} {
		var ctx gale.RequestCtx
		ctx.Request.SetRequestURI("http://example.com" + path)
		handler(&ctx)
		fmt.Printf("%s\n", ctx.Response.Body())
	}
	// Output:
	// net/http got /page
	// Gale got /new/page
}

// A Gale handler in a net/http program.
func ExampleNewHTTPHandler() {
	mux := http.NewServeMux()
	mux.Handle("/hello/", adaptor.NewHTTPHandler(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "Hello from %s", ctx.Path())
	}))

	s := httptest.NewServer(mux)
	defer s.Close()
	resp, err := http.Get(s.URL + "/hello/gale")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s\n", b)
	// Output: Hello from /hello/gale
}

// A request of net/http sent by Gale's client.
func ExampleConvertNetHTTPRequestToFastHTTPRequest() {
	r, _ := http.NewRequest("POST", "http://user:secret@example.com/path?q=1", strings.NewReader("body"))
	r.Header.Set("X-Field", "value")

	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	adaptor.ConvertNetHTTPRequestToFastHTTPRequest(r, req)
	fmt.Printf("%s %s %s\n", req.Header.Method(), req.Header.Host(), req.RequestURI())
	fmt.Printf("%s\n", req.Header.Peek("Authorization"))
	fmt.Printf("%s\n", req.Body())
	// Output:
	// POST example.com /path?q=1
	// Basic dXNlcjpzZWNyZXQ=
	// body
}

// The request of a context for a library that wants one of net/http.
func ExampleConvertRequest() {
	var ctx gale.RequestCtx
	ctx.Request.SetRequestURI("http://example.com/path?q=1")
	ctx.Request.Header.Set("X-Field", "value")

	var r http.Request
	if err := adaptor.ConvertRequest(&ctx, &r, true); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Method, r.Host, r.URL.Path, r.FormValue("q"), r.Header.Get("X-Field"))
	// Output: GET example.com /path 1 value
}
