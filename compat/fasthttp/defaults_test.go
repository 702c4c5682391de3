package fasthttp_test

import (
	"bufio"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/galehttp/gale"
)

// TestServerName: a program that imports this package answers as fasthttp does,
// also where it uses Gale's own name.
func TestServerName(t *testing.T) {
	for name, serve := range map[string]func(net.Conn, fasthttp.RequestHandler) error{
		"fasthttp": fasthttp.ServeConn,
		"gale":     gale.ServeConn,
	} {
		t.Run(name, func(t *testing.T) {
			client, server := net.Pipe()
			defer client.Close()
			go serve(server, func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") })
			go client.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
			var res fasthttp.Response
			if err := res.Read(bufio.NewReader(client)); err != nil {
				t.Fatal(err)
			}
			if got := string(res.Header.Peek(fasthttp.HeaderServer)); got != "fasthttp" {
				t.Errorf("Server: %q", got)
			}
		})
	}
}

// TestAssign: an assignment by the one name is seen by the other, and by Gale
// itself.
func TestAssign(t *testing.T) {
	saved := fasthttp.NetHttpFormValueFunc
	defer func() { fasthttp.NetHttpFormValueFunc = saved }()
	fasthttp.NetHttpFormValueFunc = func(*fasthttp.RequestCtx, string) []byte { return []byte("mine") }
	if got := gale.NetHttpFormValueFunc(nil, ""); string(got) != "mine" {
		t.Errorf("gale.NetHttpFormValueFunc returned %q", got)
	}
	fasthttp.FSCompressedFileSuffixes["x"] = ".y"
	defer delete(fasthttp.FSCompressedFileSuffixes, "x")
	if gale.FSCompressedFileSuffixes["x"] != ".y" {
		t.Error("gale.FSCompressedFileSuffixes is another map")
	}
}

// TestRedirectedBody: a POST that a 301 or 302 makes a GET takes its body along,
// as fasthttp has it, but not to another server.
func TestRedirectedBody(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	go fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		if to := ctx.QueryArgs().Peek("to"); len(to) > 0 {
			ctx.Redirect(string(to), ctx.QueryArgs().GetUintOrZero("code"))
			return
		}
		ctx.WriteString(string(ctx.Method()) + " " + string(ctx.PostBody()))
	})
	c := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	for _, test := range []struct {
		query, want string
		streamErr   error
	}{
		{"code=301&to=/end", "GET body", fasthttp.ErrRedirectBodyStream},
		{"code=302&to=/end", "GET body", fasthttp.ErrRedirectBodyStream},
		{"code=302&to=http://b.test/end", "GET ", nil},
		{"code=303&to=/end", "GET ", nil},
		{"code=307&to=/end", "POST body", fasthttp.ErrRedirectBodyStream},
	} {
		for _, stream := range []bool{false, true} {
			var req fasthttp.Request
			var resp fasthttp.Response
			req.Header.SetMethod("POST")
			req.SetRequestURI("http://a.test/?" + test.query)
			if req.SetBodyString("body"); stream {
				req.SetBodyStream(strings.NewReader("body"), 4)
			}
			err := c.DoRedirects(&req, &resp, 1)
			if stream && err != test.streamErr || !stream && err != nil {
				t.Errorf("%s: %v", test.query, err)
			}
			if err == nil && string(resp.Body()) != test.want {
				t.Errorf("%s: %q, want %q", test.query, resp.Body(), test.want)
			}
		}
	}
}

// TestFSMethods: an FS answers methods other than GET, as that of fasthttp does.
func TestFSMethods(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := fasthttp.FSHandler(dir, 0)
	for method, want := range map[string]int{"GET": 200, "POST": 200, "OPTIONS": 200, "TRACE": 405} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI("/a")
		h(&ctx)
		if got := ctx.Response.StatusCode(); got != want {
			t.Errorf("%s: %d, want %d", method, got, want)
		}
	}
}

// TestHTTP2: servers offer HTTP/2 only if the program asks for it.
func TestHTTP2(t *testing.T) {
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[gale.HTTP2Mode]string{gale.HTTP2Auto: "http/1.1", gale.HTTP2On: "h2"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, HTTP2: gale.HTTP2Config{Mode: mode}}
		go s.ServeTLSEmbed(ln, cert, key)
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().NegotiatedProtocol; got != want {
			t.Errorf("mode %d: negotiated %q, want %q", mode, got, want)
		}
		c.Close()
		s.Shutdown()
	}
}

// TestUpdateKeepsHash: URI.Update with a query replaces the query only, as that of fasthttp
// does.
func TestUpdateKeepsHash(t *testing.T) {
	for _, test := range []struct{ base, ref, want string }{
		{"http://h/a?q#f", "?x", "http://h/a?x#f"},
		{"http://h/a?q#f", "?", "http://h/a#f"},
		{"http://h/a?q#f", "http:?x", "http://h/a?x#f"},
		{"http://h/a?q#f", "?x#g", "http://h/a?x#g"},
		{"http://h/a?q#f", "?x#", "http://h/a?x"},
		{"http://h/a?q#f", "#", "http://h/a?q"},
		{"http://h/a?q#f", "b?x", "http://h/b?x"},
		{"http://h/a?q#f", "/?x", "http://h/?x"},
		{"http://h/a?q#f", "//i/a?x", "http://i/a?x"},
		{"http://h/a?q", "?x", "http://h/a?x"},
	} {
		var u fasthttp.URI
		if err := u.Parse(nil, []byte(test.base)); err != nil {
			t.Fatal(err)
		}
		if u.Update(test.ref); u.String() != test.want {
			t.Errorf("%q + %q = %q, want %q", test.base, test.ref, u.String(), test.want)
		}
	}
}
