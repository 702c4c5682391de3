package adaptor

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// galeHandlers are handlers that answer alike on both servers.
var galeHandlers = map[string]gale.RequestHandler{
	"nothing": func(ctx *gale.RequestCtx) {},
	"text":    func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") },
	"request": func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %s %s\n", ctx.Method(), ctx.RequestURI(), ctx.Path(), ctx.Host(), ctx.QueryArgs())
		fmt.Fprintf(ctx, "%s %q %q\n", ctx.Request.Header.Protocol(), ctx.Request.Header.Peek("X-Field"), ctx.Request.Header.Cookie("a"))
		fmt.Fprintf(ctx, "%q %s\n", ctx.PostBody(), ctx.FormValue("c"))
		fmt.Fprintf(ctx, "%v %v %t\n", ctx.RemoteAddr(), ctx.LocalAddr(), ctx.IsTLS())
	},
	"status":      func(ctx *gale.RequestCtx) { ctx.Error("gone", 410) },
	"status 99":   func(ctx *gale.RequestCtx) { ctx.Error("what", 99) },
	"status 1000": func(ctx *gale.RequestCtx) { ctx.Error("what", 1000) },
	"304":         func(ctx *gale.RequestCtx) { ctx.NotModified() },
	"redirect":    func(ctx *gale.RequestCtx) { ctx.Redirect("/x", 301) },
	"fields": func(ctx *gale.RequestCtx) {
		h := &ctx.Response.Header
		h.Add("X-Two", "1")
		h.Add("X-Two", "2")
		h.Set("Server", "me")
		var c gale.Cookie
		c.SetKey("a")
		c.SetValue("b")
		h.SetCookie(&c)
		c.SetKey("c")
		h.SetCookie(&c)
		h.SetNoDefaultContentType(true)
		ctx.WriteString("<html>")
	},
	"close":  func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() },
	"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("streamed"), -1) },
	"sized":  func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("streamed"), 8) },
	"short":  func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("stream"), 8) },
	"writer": func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "a"); w.Flush(); fmt.Fprint(w, "b") })
	},
	"flush": func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") },
	"flush compressed": func(ctx *gale.RequestCtx) {
		ctx.Request.Header.Set("Accept-Encoding", "gzip")
		gale.CompressHandler(func(ctx *gale.RequestCtx) {
			ctx.WriteString("a")
			ctx.Flush()
			ctx.WriteString(strings.Repeat("b", 1000))
		})(ctx)
	},
	"flush sized": func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(2)
		ctx.WriteString("a")
		ctx.Flush()
		ctx.WriteString("b")
	},
	"trailers": func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetTrailer("X-Sum")
		ctx.Response.Header.Set("X-Sum", "1")
		ctx.WriteString("body")
	},
	"large": func(ctx *gale.RequestCtx) { ctx.SetBodyString(strings.Repeat("x", 1<<20)) },
	"timeout": gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond) // a handler that goes on for long
		ctx.WriteString("too late")
		ctx.Flush()
	}, 10*time.Millisecond, "slow"),
	"abort": func(ctx *gale.RequestCtx) { ctx.WriteString("x"); ctx.Flush(); panic(gale.ErrAbortHandler) },
	"hijack": func(ctx *gale.RequestCtx) {
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "hi") })
		ctx.SetStatusCode(101)
	},
	"hijack silently": func(ctx *gale.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 299 Mine\r\n\r\nhi") })
	},
	"hijack now": func(ctx *gale.RequestCtx) {
		c, err := ctx.HijackNow()
		must(err, nil)
		io.WriteString(c, "HTTP/1.1 299 Mine\r\n\r\nhi")
		c.Close()
	},
	"too large": func(ctx *gale.RequestCtx) { ctx.LimitRequestBody(2); fmt.Fprintf(ctx, "%s", ctx.PostBody()) },
	"values": func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("a", 1)
		fmt.Fprint(ctx, ctx.Value("a"), ctx.Value("b"), ctx.Err(), ctx.Context().Err())
	},
}

// A Gale handler answers alike on both servers.
func TestGaleHandlerOnNetHTTP(t *testing.T) {
	reqs := map[string]string{
		"GET":  "GET /a%20/b?q=1 HTTP/1.1\r\nHost: h:80\r\nX-Field: v\r\nCookie: a=b\r\n\r\n",
		"HEAD": "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
		"1.0":  "GET / HTTP/1.0\r\nHost: h\r\n\r\n",
		"POST": "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\nc=123",
		"PUT":  "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
	}
	for name, h := range galeHandlers {
		t.Run(name, func(t *testing.T) {
			gl := serveGale(t, &gale.Server{Handler: h, StreamRequestBody: true, Logger: &quiet{}})
			nl := onNetHTTP(t, NewHTTPHandler(h))
			for method, req := range reqs {
				if strings.HasPrefix(name, "hijack") && method != "GET" {
					continue
				}
				g, n := dial(t, gl), dial(t, nl)
				g.send(req)
				n.send(req)
				a, b := g.read(method), n.read(method)
				normalize(&a)
				normalize(&b)
				if method == "HEAD" {
					a.Trailer = nil // Gale declares it there, too
				}
				if a.String() != b.String() {
					t.Errorf("%s: on Gale\n%.1000s\non net/http\n%.1000s", method, a, b)
				}
			}
		})
	}
}

// The context of a Gale handler is that of the request, with TLS and HTTP/2.
func TestGaleHandlerOnHTTP2(t *testing.T) {
	type key struct{}
	left := make(chan error, 1)
	h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/wait" {
			ctx.Flush()
			<-ctx.Done()
			left <- ctx.Err()
			return
		}
		if !ctx.IsTLS() || ctx.TLSConnectionState() == nil || string(ctx.URI().Scheme()) != "https" {
			t.Error("no TLS")
		}
		if ctx.Value(key{}) != "v" || ctx.Context().Value(key{}) != "v" {
			t.Error("the context lacks a value")
		}
		if ctx.RemoteIP().String() != "127.0.0.1" || ctx.LocalIP().String() != "127.0.0.1" {
			t.Error(ctx.RemoteAddr(), ctx.LocalAddr())
		}
		if _, err := ctx.HijackNow(); err == nil {
			t.Error("HTTP/2 was hijacked")
		}
		ctx.Response.Header.Add("Link", "</a>")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		if err := ctx.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		ctx.Write(ctx.PostBody())
	})
	s := httptest.NewUnstartedServer(h)
	s.Config.BaseContext = func(net.Listener) context.Context { return context.WithValue(context.Background(), key{}, "v") }
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	resp, err := s.Client().Post(s.URL+"/", "text/plain", io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(b) != "body" || err != nil || resp.ProtoMajor != 2 || resp.Header.Get("Link") != "</a>" {
		t.Errorf("%q, %v, %s %v", b, err, resp.Proto, resp.Header)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+"/wait", nil)
	resp, err = s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	if err := <-left; err != context.Canceled {
		t.Error(err)
	}
}

// A body that is asked for as a whole is bounded, as by Server, which answers for a handler
// that doesn't notice.
func TestBodyLimitOnNetHTTP(t *testing.T) {
	ln := onNetHTTP(t, NewHTTPHandler(func(ctx *gale.RequestCtx) {
		if n := len(ctx.PostBody()); n > gale.DefaultMaxRequestBodySize {
			t.Errorf("read %d bytes", n)
		}
		ctx.SetConnectionClose()
	}))
	c := dial(t, ln)
	go io.Copy(c, io.MultiReader(strings.NewReader("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n"),
		strings.NewReader(strings.Repeat("x", gale.DefaultMaxRequestBodySize+100_000))))
	if a := c.read("POST"); a.Status != 413 {
		t.Error(a)
	}
}

// A net/http handler on a Gale handler on net/http is still one.
func TestThereAndBack(t *testing.T) {
	h := NewHTTPHandler(NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Field", r.Header.Get("X-Field"))
		w.WriteHeader(201)
		w.Write(b)
		w.(http.Flusher).Flush()
		if string(b) == "abort" {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "!")
	}))
	c := dial(t, onNetHTTP(t, h))
	c.send("POST / HTTP/1.1\r\nHost: h\r\nX-Field: v\r\nContent-Length: 2\r\n\r\nhi")
	if a := c.read("POST"); a.Status != 201 || a.Body != "hi!" || a.Header.Get("X-Field") != "v" {
		t.Error(a)
	}
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabort")
	if a := c.read("POST"); a.Err == "" {
		t.Error(a)
	}
}

func TestTLSOnGale(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("h")
	if err != nil {
		t.Fatal(err)
	}
	ln := galeutil.NewInmemoryListener()
	s := &gale.Server{Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.ServerName, r.TLS.HandshakeComplete)
	})}
	go s.ServeTLSEmbed(ln, certPEM, keyPEM)
	t.Cleanup(func() { s.Close() })
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	tc := tls.Client(nc, &tls.Config{ServerName: "h", InsecureSkipVerify: true})
	defer tc.Close()
	c := &client{tc, t, bufio.NewReader(tc)}
	c.send(get("/"))
	if a := c.read("GET"); a.Body != "htrue" {
		t.Error(a)
	}
}

// CloseRequestBody ends a Read that waits for the client, and fails one that comes later. The
// client, which sends no more, gets the answer.
func TestCloseRequestBodyEndsRead(t *testing.T) {
	for _, tt := range []struct{ h2, late bool }{{}, {h2: true}, {late: true}, {h2: true, late: true}} {
		failed := make(chan error, 1)
		s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
			first, closed := make(chan struct{}), make(chan struct{})
			body := ctx.RequestBodyStream()
			go func() {
				_, _ = io.ReadFull(body, make([]byte, 1))
				close(first)
				if tt.late {
					<-closed
				}
				_, err := io.ReadFull(body, make([]byte, 1))
				failed <- err
			}()
			<-first
			ctx.CloseRequestBody()
			close(closed)
			if err := <-failed; err == nil {
				t.Errorf("%+v: the body was read after CloseRequestBody", tt)
			}
			ctx.SetBodyString("answered")
		}))
		s.EnableHTTP2 = tt.h2
		s.StartTLS()
		r, w := io.Pipe()
		go w.Write([]byte("x")) // and no end
		resp, err := s.Client().Post(s.URL, "text/plain", r)
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
		} else {
			if b, err := io.ReadAll(resp.Body); string(b) != "answered" {
				t.Errorf("%+v: the answer is %q, %v", tt, b, err)
			}
			resp.Body.Close()
		}
		w.Close()
		s.Close()
	}
}
