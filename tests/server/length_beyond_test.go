package server

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// smuggled is the end of a body: a request, if a gateway has declared a shorter body.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: admin\r\n\r\n"

// beyondInt is the length of a body that an int of 32 bits doesn't hold.
const beyondInt = int64(math.MaxInt32) + int64(len(smuggled))

// gateways are the ways in which a message is passed on. The handlers ask the server at addr.
var gateways = []struct {
	name     string
	netHTTP  bool // on net/http's server
	upstream int  // the version of HTTP that the upstream speaks
	handler  func(t *testing.T, addr string) gale.RequestHandler
}{
	{"HostClient", false, 1, func(_ *testing.T, addr string) gale.RequestHandler {
		c := &gale.HostClient{Addr: addr, StreamResponseBody: true}
		return func(ctx *gale.RequestCtx) {
			if err := c.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), 502)
			}
		}
	}},
	{"reverse", false, 1, reverseTo(gale.HTTP2Off)},
	{"reverse over HTTP2", false, 2, reverseTo(gale.HTTP2Only)},
	{"reverse on net http", true, 1, reverseTo(gale.HTTP2Off)},
	{"net http", false, 1, func(_ *testing.T, addr string) gale.RequestHandler {
		return adaptor.NewFastHTTPHandler(&httputil.ReverseProxy{Rewrite: rewriteTo(addr), FlushInterval: -1, ErrorLog: silent})
	}},
	{"RoundTripper", false, 1, func(_ *testing.T, addr string) gale.RequestHandler {
		return adaptor.NewFastHTTPHandler(&httputil.ReverseProxy{
			Rewrite:       rewriteTo(addr),
			Transport:     adaptor.NewRoundTripper(&gale.HostClient{Addr: addr}),
			FlushInterval: -1,
			ErrorLog:      silent,
		})
	}},
}

// silent is for servers and proxies that log each body that is broken off.
var silent = log.New(io.Discard, "", 0)

func reverseTo(mode gale.HTTP2Mode) func(t *testing.T, addr string) gale.RequestHandler {
	return func(t *testing.T, addr string) gale.RequestHandler {
		p, err := reverse.New("http://" + addr)
		if err != nil {
			t.Fatal("reverse.New:", err)
		}
		p.HTTP2, p.MaxRequestBodySize = mode, -1
		return p.Handler
	}
}

func rewriteTo(addr string) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: addr}) }
}

// eachGateway calls f with a connection to each gateway, which asks upstream.
func eachGateway(t *testing.T, upstream http.Handler, f func(t *testing.T, c net.Conn)) {
	for _, g := range gateways {
		t.Run(g.name, func(t *testing.T) {
			up := &http.Server{Handler: upstream, Protocols: peers.Protocols(g.upstream), ErrorLog: silent}
			h := g.handler(t, serveNetHTTP(t, up))
			var addr string
			if g.netHTTP {
				addr = serveNetHTTP(t, &http.Server{Handler: adaptor.NewHTTPHandler(h), ErrorLog: silent})
			} else {
				addr = harness.Start(t, &gale.Server{Handler: h, StreamRequestBody: true, MaxRequestBodySize: -1}, nil).Addr
			}
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal("connecting to the gateway:", err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
			f(t, c)
		})
	}
}

func serveNetHTTP(t *testing.T, s *http.Server) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal("listening:", err)
	}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// sendBeyond sends the first bytes of a body of beyondInt bytes, and with GALE_FULL all of it.
func sendBeyond(w io.Writer) error {
	n := int64(256 << 10)
	if gate.Full() {
		n = math.MaxInt32
	}
	_, err := io.CopyN(w, peers.Zeros{}, n)
	if err == nil && gate.Full() {
		_, err = io.WriteString(w, smuggled)
	}
	return err
}

// A request whose length an int of 32 bits doesn't hold is passed on with that length, or
// chunked: a shorter one would make the end of its body the next request of the upstream.
func TestRequestLengthBeyondInt(t *testing.T) {
	type seen struct {
		request string
		length  int64
		read    int64
	}
	requests := make(chan seen, 10)
	read := make(chan seen, 10)
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{r.Method + " " + r.URL.Path, r.ContentLength, 0}
		requests <- s
		s.read, _ = io.Copy(io.Discard, r.Body)
		read <- s
	})
	eachGateway(t, up, func(t *testing.T, c net.Conn) {
		fmt.Fprintf(c, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", beyondInt)
		sent := make(chan error, 1)
		go func() { sent <- sendBeyond(c) }()
		if s := <-requests; s.request != "POST /upload" || s.length != beyondInt && s.length != -1 {
			t.Errorf("the upstream got %q of %d bytes, want POST /upload of %d bytes", s.request, s.length, beyondInt)
		}
		if err := <-sent; err != nil {
			t.Error("sending the body:", err)
		}
		if !gate.Full() {
			c.Close()
			if s := <-read; s.read >= beyondInt {
				t.Errorf("the upstream has read %d bytes of a body that was broken off", s.read)
			}
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Error("the response:", resp, err)
		}
		if s := <-read; s.read != beyondInt {
			t.Errorf("the upstream has read %d bytes, want %d", s.read, beyondInt)
		}
		select {
		case s := <-requests:
			t.Errorf("the end of the body became the request %q", s.request)
		default:
		}
	})
}

// A response whose length an int of 32 bits doesn't hold is passed on with that length, or
// without one: with a shorter one it would be cut, and look complete.
func TestResponseLengthBeyondInt(t *testing.T) {
	headCame := make(chan struct{})
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(beyondInt))
		if r.Method == "HEAD" {
			return
		}
		_ = sendBeyond(w)
		if !gate.Full() {
			_ = http.NewResponseController(w).Flush()
			<-headCame
			panic(http.ErrAbortHandler)
		}
	})
	for _, method := range []string{"GET", "HEAD"} {
		t.Run(method, func(t *testing.T) {
			eachGateway(t, up, func(t *testing.T, c net.Conn) {
				fmt.Fprintf(c, "%s / HTTP/1.1\r\nHost: a\r\n\r\n", method)
				resp, err := http.ReadResponse(bufio.NewReaderSize(c, 64<<10), &http.Request{Method: method})
				if method == "GET" && !gate.Full() {
					headCame <- struct{}{}
				}
				if err != nil {
					t.Fatal("reading the head of the response:", err)
				}
				mayBe := int64(-1) // chunked
				if method == "HEAD" {
					mayBe = beyondInt
				}
				if n := resp.ContentLength; resp.StatusCode != 200 || n != beyondInt && n != mayBe {
					t.Errorf("status %d, the length is %d, want %d", resp.StatusCode, n, beyondInt)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				switch {
				case method == "HEAD":
				case gate.Full():
					if n != beyondInt || err != nil {
						t.Errorf("%d bytes came (%v), want %d", n, err, beyondInt)
					}
				case err == nil:
					t.Errorf("a response that was broken off after %d bytes looks complete", n)
				}
			})
		})
	}
}

// A limit above what an int of 32 bits holds refuses a body by its head.
func TestLimitBeyondInt(t *testing.T) {
	p, err := reverse.New("127.0.0.1:1")
	if err != nil {
		t.Fatal("reverse.New:", err)
	}
	p.MaxRequestBodySize = 3 << 30
	ts := harness.Start(t, &gale.Server{Handler: p.Handler, StreamRequestBody: true, MaxRequestBodySize: -1}, nil)
	c := ts.Dial()
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", int64(5<<30)))
	if a := c.Answer("POST"); a.StatusCode != 413 {
		t.Errorf("the answer is %d %q, want 413", a.StatusCode, strings.TrimSpace(a.Text))
	}
}
