package galetest_test

import (
	"fmt"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

func greet(ctx *gale.RequestCtx) {
	name := ctx.QueryArgs().Peek("name")
	if len(name) == 0 {
		ctx.Error("name is missing", gale.StatusBadRequest)
		return
	}
	fmt.Fprintf(ctx, "Hello, %s!", name)
}

// A handler is tested without a server.
func ExampleRecord() {
	for _, target := range []string{"/?name=Ann", "/"} {
		r := galetest.Record(greet, galetest.NewContext(gale.MethodGet, target, nil))
		fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	}
	// Output:
	// 200 Hello, Ann!
	// 400 name is missing
}

// A handler is tested as clients see it, by way of a server in memory.
func ExampleNewServer() {
	s := galetest.NewServer(greet)
	defer s.Close()

	resp, err := s.Get("/?name=Ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 200 Hello, Ann!
}

// A request with more to it than a path, and a server with TLS.
func ExampleServer_Do() {
	s := galetest.NewTLSServer(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s", ctx.URI().Scheme(), ctx.Request.Header.Peek("X-Field"), ctx.PostBody())
	})
	defer s.Close()

	req := galetest.NewRequest(gale.MethodPost, "/path", []byte("body"))
	req.Header.Set("X-Field", "value")
	var resp gale.Response
	if err := s.Do(req, &resp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: https value body
}
