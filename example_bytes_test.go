package gale_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// Functions that append accept nil as the first slice, or the result of another call.
func ExampleAppendUint() {
	b := gale.AppendUint(nil, 42)
	b = append(b, " <"...)
	b = gale.AppendHTMLEscape(b, "a & b")
	b = append(b, '>')
	fmt.Printf("%s\n", b)
	// Output: 42 <a &amp; b>
}

// To use a buffer again, cut its length to 0: its memory stays.
func ExampleAppendHTTPDate() {
	var b []byte
	for day := range 2 {
		b = gale.AppendHTTPDate(b[:0], time.Date(2030, 1, 1+day, 0, 0, 0, 0, time.UTC))
		fmt.Printf("%s\n", b)
	}
	// Output:
	// Tue, 01 Jan 2030 00:00:00 GMT
	// Wed, 02 Jan 2030 00:00:00 GMT
}

// A missing value is nil, and all functions take nil as an empty slice.
func ExampleRequestHeader_Peek_missing() {
	var ctx gale.RequestCtx
	v := ctx.Request.Header.Peek("X-Missing")
	fmt.Println(v == nil, len(v), string(v) == "", bytes.HasPrefix(v, []byte("x")))
	ctx.SetBody(v)
	ctx.Write(nil)
	ctx.Response.Header.SetBytesV("X-Copy", v)
	fmt.Printf("%q\n", ctx.Response.Body())
	// Output:
	// true 0 true false
	// ""
}

// These uses of string(b) don't copy: the compiler sees that the string isn't used
// afterwards.
func ExampleRequestCtx_Path_strings() {
	const long = "/things/a-name-that-is-too-long-for-the-stack/42"
	ctx := galetest.NewContext("GET", long, nil)
	prices := map[string]int{long: 17}
	path := ctx.Path()
	sum := 0
	for name, f := range map[string]func(){
		"compare": func() {
			if string(path) == long || string(path) < "/" {
				sum++
			}
		},
		"switch": func() {
			switch string(path) {
			case "/", "/things":
			default:
				sum++
			}
		},
		"look up": func() { sum += prices[string(path)] },
		"range": func() {
			for range []byte(long) {
				sum++
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			fmt.Println(name, "copies")
		}
	}
	fmt.Println("done")
	// Output: done
}

// Copy what you need after the handler returns: string(b) and bytes.Clone make copies.
func ExampleRequestCtx_PostBody_kept() {
	var last struct {
		sync.Mutex
		path string
		body []byte
	}
	handler := func(ctx *gale.RequestCtx) {
		last.Lock()
		defer last.Unlock()
		last.path = string(ctx.Path())
		last.body = bytes.Clone(ctx.PostBody())
	}
	s := galetest.NewServer(handler)
	defer s.Close()
	if err := s.Do(galetest.NewRequest("POST", "/path", []byte("body")), nil); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s %s\n", last.path, last.body)
	// Output: /path body
}

// Setters copy, so a buffer may be changed at once.
func ExampleRequestCtx_SetBody() {
	var ctx gale.RequestCtx
	b := []byte("first")
	ctx.SetBody(b)
	copy(b, "other")
	fmt.Printf("%s\n", ctx.Response.Body())
	// Output: first
}

// SetBodyRaw doesn't copy. Use it for bytes that don't change, such as those of a page
// that is made once.
func ExampleResponse_SetBodyRaw() {
	page := bytes.Repeat([]byte("text "), 1000)
	handler := func(ctx *gale.RequestCtx) { ctx.Response.SetBodyRaw(page) }
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Println(len(r.Response.Body()))
	// Output: 5000
}

// SwapBody takes the body out of a response without copying it. The bytes then belong to
// the caller.
func ExampleResponse_SwapBody() {
	var resp gale.Response
	resp.SetBodyString("kept")
	body := resp.SwapBody(nil)
	resp.Reset()
	fmt.Printf("%s %d\n", body, len(resp.Body()))
	// Output: kept 0
}

// One response body after the other is written to the same buffer.
func ExampleClient_Get_buffer() {
	s := serveTCP(func(ctx *gale.RequestCtx) { ctx.Write(ctx.Path()) })
	defer s.Close()

	var body []byte
	for _, path := range []string{"/one", "/two"} {
		var err error
		if _, body, err = gale.Get(body[:0], s.URL+path); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", body)
	}
	// Output:
	// /one
	// /two
}

// A pool holds pointers to slices: with the slice itself, each Put would allocate.
func ExampleRequestCtx_Write_pool() {
	pool := sync.Pool{New: func() any { return new([]byte) }}
	handler := func(ctx *gale.RequestCtx) {
		buf := pool.Get().(*[]byte)
		defer pool.Put(buf)
		b := (*buf)[:0]
		for i := range 3 {
			b = gale.AppendUint(b, i)
		}
		*buf = b // it may have grown
		ctx.Write(b)
	}
	r := galetest.Record(handler, galetest.NewContext("GET", "/", nil))
	fmt.Printf("%s\n", r.Response.Body())
	// Output: 012
}

// A function that runs after the handler must use copies of what it needs.
func ExampleRequestCtx_SetBodyStream_kept() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		name := string(ctx.QueryArgs().Peek("name")) // not the []byte
		ctx.SetBodyStream(gale.NewStreamReader(func(w *bufio.Writer) {
			io.WriteString(w, "Hello, "+name)
		}), -1)
	})
	defer s.Close()
	resp, err := s.Get("/?name=Ann")
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: Hello, Ann <nil>
}

func ExampleArgs() {
	var args gale.Args
	args.Parse("q=hello+world&page=2&tag=a&tag=b&debug")

	fmt.Printf("%s\n", args.Peek("q"))
	fmt.Println(args.GetUintOrZero("page"), args.Has("debug"))
	fmt.Printf("%s\n", args.PeekMulti("tag"))

	args.SetUint("page", 3)
	args.Del("tag")
	fmt.Println(args.String())
	// Output:
	// hello world
	// 2 true
	// [a b]
	// q=hello+world&page=3&debug
}

func ExampleURI() {
	var u gale.URI
	if err := u.Parse(nil, []byte("https://Example.com/a%20b/../docs//x?lang=en#top")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s %s\n", u.Scheme(), u.Host(), u.Path(), u.QueryArgs().Peek("lang"))
	fmt.Printf("%s\n", u.PathOriginal())

	u.Update("../y?z")
	fmt.Println(u.String())
	// Output:
	// https example.com /docs/x en
	// /a%20b/../docs//x
	// https://example.com/y?z
}

func ExampleCookie() {
	c := gale.AcquireCookie()
	defer gale.ReleaseCookie(c)
	c.SetKey("session")
	c.SetValue("0123; Domain=evil.example")
	c.SetPath("/")
	c.SetMaxAge(3600)
	c.SetHTTPOnly(true)
	c.SetSameSite(gale.CookieSameSiteLaxMode)
	fmt.Println(c.String())
	// Output:
	// session=0123  Domain=evil.example; max-age=3600; path=/; HttpOnly; SameSite=Lax
}
