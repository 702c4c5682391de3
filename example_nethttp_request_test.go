package gale_test

// The examples in example_nethttp_*_test.go show what to write instead of code for
// net/http; docs/moving/from-nethttp.md lists them.

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"io"
	"mime/multipart"
	"net/netip"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// Instead of io.ReadAll(r.Body): the body has been read already.
func ExampleRequestCtx_PostBody() {
	handler := func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%d bytes: %s", len(ctx.PostBody()), ctx.PostBody())
	}
	r := galetest.Record(handler, galetest.NewContext("POST", "/", []byte("hello")))
	fmt.Printf("%s\n", r.Response.Body())
	// Output: 5 bytes: hello
}

// Instead of json.NewDecoder(r.Body).Decode(&v). ErrorStatus returns the status for its
// error, whose text is for the client.
func ExampleRequestCtx_BindJSON() {
	handler := func(ctx *gale.RequestCtx) {
		var v struct {
			Name string `json:"name"`
		}
		if err := ctx.BindJSON(&v); err != nil {
			ctx.Fail(gale.ErrorStatus(err), err)
			return
		}
		fmt.Fprintf(ctx, "Hello, %s!", v.Name)
	}
	for _, body := range []string{`{"name": "Ann"}`, `{"name": 1}`, ``} {
		ctx := galetest.NewContext("POST", "/", []byte(body))
		ctx.Request.Header.SetContentType("application/json")
		r := galetest.Record(handler, ctx)
		fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	}
	// Output:
	// 200 Hello, Ann!
	// 400 "name" must be a string, not a number, at byte 10
	// 400 the body is empty
}

// Instead of reading r.Body while it arrives.
func ExampleRequestCtx_RequestBodyStream() {
	s := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		fmt.Fprint(ctx, n, err)
	})
	s.Config.StreamRequestBody = true
	s.Start()
	defer s.Close()

	var resp gale.Response
	if err := s.Do(galetest.NewRequest("POST", "/", make([]byte, 10_000_000)), &resp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: 10000000 <nil>
}

// Instead of http.MaxBytesReader, for streamed bodies. Server.MaxRequestBodySize limits
// the others.
func ExampleRequestCtx_LimitRequestBody() {
	s := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		ctx.LimitRequestBody(1 << 20)
		if _, err := io.ReadAll(ctx.RequestBodyStream()); err == gale.ErrBodyTooLarge {
			ctx.Error("at most a megabyte, please", gale.StatusRequestEntityTooLarge)
		}
	})
	s.Config.StreamRequestBody = true
	s.Start()
	defer s.Close()

	var resp gale.Response
	if err := s.Do(galetest.NewRequest("POST", "/", make([]byte, 1<<20+1)), &resp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 413 at most a megabyte, please
}

// Instead of r.URL.Path. It is cleaned: there is neither "//" nor "/../"
// in it.
func ExampleRequestCtx_Path() {
	ctx := galetest.NewContext("GET", "/a/%62/../c?d=e", nil)
	fmt.Printf("%s\n", ctx.Path())
	// Output: /a/c
}

// Instead of r.URL.EscapedPath().
func ExampleURI_PathOriginal() {
	ctx := galetest.NewContext("GET", "/a/%62/../c?d=e", nil)
	fmt.Printf("%s\n", ctx.URI().PathOriginal())
	// Output: /a/%62/../c
}

// Instead of r.URL.Query().
func ExampleRequestCtx_QueryArgs() {
	ctx := galetest.NewContext("GET", "/?name=Ann&n=3&tag=a&tag=b", nil)
	args := ctx.QueryArgs()
	n, err := args.GetUint("n")
	fmt.Printf("%s %d %v %s %t\n", args.Peek("name"), n, err, args.PeekMulti("tag"), args.Has("other"))
	// Output: Ann 3 <nil> [a b] false
}

// Instead of r.URL.RawQuery.
func ExampleURI_QueryString() {
	ctx := galetest.NewContext("GET", "/?name=Ann&n=3", nil)
	fmt.Printf("%s\n", ctx.URI().QueryString())
	// Output: name=Ann&n=3
}

// Instead of r.URL.String(); here it has scheme and host, too.
func ExampleURI_FullURI() {
	ctx := galetest.NewContext("GET", "http://example.com/a?b=c", nil)
	fmt.Printf("%s\n", ctx.URI().FullURI())
	// Output: http://example.com/a?b=c
}

// Instead of r.RequestURI.
func ExampleRequestCtx_RequestURI() {
	ctx := galetest.NewContext("GET", "/a/%62/../c?d=e", nil)
	fmt.Printf("%s\n", ctx.RequestURI())
	// Output: /a/%62/../c?d=e
}

// Instead of r.Method.
func ExampleRequestCtx_Method() {
	ctx := galetest.NewContext("PUT", "/", nil)
	fmt.Printf("%s %t\n", ctx.Method(), ctx.IsPut())
	// Output: PUT true
}

// Instead of r.Host.
func ExampleRequestCtx_Host() {
	ctx := galetest.NewContext("GET", "http://example.com:8080/", nil)
	fmt.Printf("%s\n", ctx.Host())
	// Output: example.com:8080
}

// Instead of r.Proto and r.ProtoAtLeast(1, 1).
func ExampleRequestHeader_Protocol() {
	ctx := galetest.NewContext("GET", "/", nil)
	fmt.Printf("%s %t\n", ctx.Request.Header.Protocol(), ctx.Request.Header.IsHTTP11())
	// Output: HTTP/1.1 true
}

// Instead of r.Header.Get.
func ExampleRequestHeader_Peek() {
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("X-Request-Id", "42")
	fmt.Printf("%s\n", ctx.Request.Header.Peek("x-request-id"))
	// Output: 42
}

// Instead of r.Header.Values.
func ExampleRequestHeader_PeekAll() {
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Add("X-Forwarded-For", "192.0.2.1")
	ctx.Request.Header.Add("X-Forwarded-For", "192.0.2.2")
	fmt.Printf("%s\n", ctx.Request.Header.PeekAll("X-Forwarded-For"))
	// Output: [192.0.2.1 192.0.2.2]
}

// Instead of a loop over r.Header.
func ExampleRequestHeader_All() {
	ctx := galetest.NewContext("GET", "http://example.com/", nil)
	ctx.Request.Header.Set("Accept", "text/html")
	ctx.Request.Header.Set("DNT", "1")
	for name, value := range ctx.Request.Header.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output:
	// Host: example.com
	// Accept: text/html
	// Dnt: 1
}

// Instead of r.ContentLength.
func ExampleRequestHeader_ContentLength() {
	ctx := galetest.NewContext("POST", "/", []byte("hello"))
	ctx.Request.Header.SetContentLength(5) // on a server it comes from the client
	fmt.Println(ctx.Request.Header.ContentLength())
	// Output: 5
}

// Instead of r.FormValue: looks in the query and in forms of both kinds.
func ExampleRequestCtx_FormValue() {
	ctx := galetest.NewContext("POST", "/?page=3", []byte("name=Ann"))
	ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
	fmt.Printf("%s %s %q\n", ctx.FormValue("name"), ctx.FormValue("page"), ctx.FormValue("other"))
	// Output: Ann 3 ""
}

// Instead of r.PostForm and r.PostFormValue.
func ExampleRequestCtx_PostArgs() {
	ctx := galetest.NewContext("POST", "/?name=Bob", []byte("name=Ann&tag=a&tag=b"))
	ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
	fmt.Printf("%s %s\n", ctx.PostArgs().Peek("name"), ctx.PostArgs().PeekMulti("tag"))
	// Output: Ann [a b]
}

// Instead of r.Form, which has the values of the body before those of the
// query.
func ExampleRequestCtx_PostArgs_form() {
	ctx := galetest.NewContext("POST", "/?name=Bob", []byte("name=Ann"))
	ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
	names := append(ctx.PostArgs().PeekMulti("name"), ctx.QueryArgs().PeekMulti("name")...)
	fmt.Printf("%s\n", names)
	// Output: [Ann Bob]
}

// Instead of r.MultipartForm, r.ParseMultipartForm and r.FormFile.
func ExampleRequestCtx_MultipartForm() {
	handler := func(ctx *gale.RequestCtx) {
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		file, err := ctx.FormFile("upload") // or form.File["upload"][0]
		if err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		f, err := file.Open()
		if err != nil {
			ctx.Error(err.Error(), gale.StatusInternalServerError)
			return
		}
		defer f.Close()
		content, _ := io.ReadAll(f)
		fmt.Fprintf(ctx, "%s, %s: %s", form.Value["title"], file.Filename, content)
	}

	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("title", "My file")
	part, _ := w.CreateFormFile("upload", "notes.txt")
	io.WriteString(part, "some notes")
	w.Close()
	ctx := galetest.NewContext("POST", "/", body.Bytes())
	ctx.Request.Header.SetContentType(w.FormDataContentType())
	fmt.Printf("%s\n", galetest.Record(handler, ctx).Response.Body())
	// Output: [My file], notes.txt: some notes
}

// Instead of r.RemoteAddr.
func ExampleRequestCtx_RemoteAddr() {
	ctx := galetest.NewContext("GET", "/", nil)
	fmt.Println(ctx.RemoteAddr(), ctx.RemoteIP())
	// Output: 192.0.2.1:1234 192.0.2.1
}

// Instead of r.TLS.
func ExampleRequestCtx_TLSConnectionState() {
	s := galetest.NewTLSServer(func(ctx *gale.RequestCtx) {
		fmt.Fprint(ctx, ctx.IsTLS(), " ", ctx.TLSConnectionState().ServerName)
	})
	defer s.Close()
	resp, err := s.Get("/")
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: true gale.test <nil>
}

// Instead of r.Cookie and r.Cookies().
func ExampleRequestHeader_Cookie() {
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("Cookie", "theme=dark; lang=en")
	fmt.Printf("%s\n", ctx.Request.Header.Cookie("theme"))
	for name, value := range ctx.Request.Header.Cookies() {
		fmt.Printf("%s is %s\n", name, value)
	}
	// Output:
	// dark
	// theme is dark
	// lang is en
}

// Instead of r.Referer().
func ExampleRequestCtx_Referer() {
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("Referer", "https://example.com/")
	fmt.Printf("%s\n", ctx.Referer())
	// Output: https://example.com/
}

// Instead of r.UserAgent().
func ExampleRequestCtx_UserAgent() {
	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("User-Agent", "example/1.0")
	fmt.Printf("%s\n", ctx.UserAgent())
	// Output: example/1.0
}

// Instead of r.BasicAuth().
func ExampleRequestCtx_BasicAuth() {
	handler := func(ctx *gale.RequestCtx) {
		user, password, ok := ctx.BasicAuth()
		if !ok || user != "Ann" || subtle.ConstantTimeCompare([]byte(password), []byte("secret")) == 0 {
			ctx.Error("unauthorized", gale.StatusUnauthorized)
			ctx.Response.Header.Set("WWW-Authenticate", `Basic realm="example"`)
			return
		}
		ctx.WriteString("welcome")
	}
	for _, credentials := range []string{"", "Basic QW5uOnNlY3JldA=="} {
		ctx := galetest.NewContext("GET", "/", nil)
		ctx.Request.Header.Set("Authorization", credentials)
		r := galetest.Record(handler, ctx)
		fmt.Printf("%d %s\n", r.Response.StatusCode(), r.Response.Body())
	}
	// Output:
	// 401 unauthorized
	// 200 welcome
}

// Instead of reading X-Forwarded-For, which clients can write, too.
func ExampleRequestCtx_ClientIP() {
	s := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		fmt.Fprint(ctx, ctx.ClientIP())
	})
	s.Network = "tcp" // the server's peer, the proxy, has an address
	s.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	s.Start()
	defer s.Close()

	req := galetest.NewRequest("GET", "/", nil)
	req.Header.Set("X-Forwarded-For", "6.6.6.6, 203.0.113.7") // the first address is from a client
	var resp gale.Response
	err := s.Do(req, &resp)
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: 203.0.113.7 <nil>
}

// Instead of r.Trailer.
func ExampleRequestCtx_PeekTrailer() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s, sum %s", ctx.PostBody(), ctx.PeekTrailer("X-Sum"))
	})
	defer s.Close()

	req := galetest.NewRequest("POST", "/", nil)
	req.SetBodyStream(strings.NewReader("hello"), -1)
	req.Header.SetTrailer("X-Sum")
	req.Header.Set("X-Sum", "5d41")
	var resp gale.Response
	err := s.Do(req, &resp)
	fmt.Printf("%s %v\n", resp.Body(), err)
	// Output: hello, sum 5d41 <nil>
}

// Instead of r.Clone. The copy may be kept, and used by another goroutine.
func ExampleRequest_CopyTo() {
	kept := make(chan *gale.Request, 1)
	handler := func(ctx *gale.RequestCtx) {
		req := new(gale.Request)
		ctx.Request.CopyTo(req)
		kept <- req
	}
	galetest.Record(handler, galetest.NewContext("POST", "/path", []byte("body")))
	req := <-kept
	fmt.Printf("%s %s %s\n", req.Header.Method(), req.RequestURI(), req.Body())
	// Output: POST /path body
}
