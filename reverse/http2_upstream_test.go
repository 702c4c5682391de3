package reverse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// overHTTP2 is a client that speaks HTTP/2 without TLS.
func overHTTP2(t *testing.T) *http.Client {
	tr := &http.Transport{Protocols: peers.Protocols(2), DisableCompression: true, ExpectContinueTimeout: wait}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: wait}
}

// serve2 runs p for clients of HTTP/1.1 and HTTP/2, and returns its address.
func serve2(t *testing.T, p *reverse.Proxy) string {
	t.Helper()
	return serveOn(t, p, &gale.Server{Handler: p.Handler, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0)})
}

// over2 is an upstream of HTTP/2 without TLS, and counts its connections.
func over2(t *testing.T, h http.HandlerFunc) (p *reverse.Proxy, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return &reverse.Proxy{Upstreams: []string{s.Listener.Addr().String()}, HTTP2: gale.HTTP2Only}, conns
}

// galeOver2 is an upstream of this library.
func galeOver2(t *testing.T, e gale.Engine, h gale.RequestHandler) *reverse.Proxy {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: h, Engine: e, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return &reverse.Proxy{Upstreams: []string{ln.Addr().String()}, HTTP2: gale.HTTP2Only}
}

// Messages go both ways in turns, as in gRPC, over HTTP/2 on both sides. The trailer sections
// of both sides arrive, and TE says that the proxy takes them.
func TestHTTP2Duplex(t *testing.T) { onEngines(t, testHTTP2Duplex) }

func testHTTP2Duplex(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Te", r.Header.Get("TE"))
		w.Header().Set("X-Proto", r.Proto)
		w.Header().Set("Content-Type", "application/grpc")
		w.(http.Flusher).Flush()
		b := make([]byte, 5)
		for {
			if _, err := io.ReadFull(r.Body, b); err != nil {
				break
			}
			w.Write(bytes.ToUpper(b))
			w.(http.Flusher).Flush()
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"X-Sum", r.Trailer.Get("X-Sum"))
	}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(handler))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	nethttp, conns := over2(t, handler)
	own := func(e gale.Engine) *reverse.Proxy {
		return galeOver2(t, e, func(ctx *gale.RequestCtx) {
			h := &ctx.Response.Header
			h.SetBytesV("X-Te", ctx.Request.Header.Peek("TE"))
			h.SetBytesV("X-Proto", ctx.Request.Header.Protocol())
			body := ctx.RequestBodyStream()
			_ = ctx.Flush()
			b := make([]byte, 5)
			for {
				if _, err := io.ReadFull(body, b); err != nil {
					break
				}
				_, _ = ctx.Write(bytes.ToUpper(b))
				_ = ctx.Flush()
			}
			_ = h.AddTrailerValue("Grpc-Status", "0")
			_ = h.AddTrailerValue("X-Sum", string(ctx.PeekTrailer("X-Sum")))
		})
	}
	for name, p := range map[string]*reverse.Proxy{
		"net/http":             nethttp,
		"net/http, TLS":        {Upstreams: []string{secure.URL}, TLSConfig: secure.Client().Transport.(*http.Transport).TLSClientConfig},
		"this, block":          own(gale.EngineBlock),
		"this, event":          own(gale.EngineAuto),
		"MaxConns, TLS, Only2": {Upstreams: []string{secure.URL}, TLSConfig: secure.Client().Transport.(*http.Transport).TLSClientConfig, HTTP2: gale.HTTP2Only, MaxConns: 1},
	} {
		addr := serve2(t, p)
		client := overHTTP2(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, w := io.Pipe()
				req, _ := http.NewRequest("POST", "http://"+addr+"/service/Method", r)
				req.Header.Set("TE", "trailers")
				req.Trailer = http.Header{"X-Sum": nil}
				resp, err := client.Do(req)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				defer resp.Body.Close()
				if te, proto := resp.Header.Get("X-Te"), resp.Header.Get("X-Proto"); te != "trailers" || proto != "HTTP/2.0" {
					t.Errorf("%s: the upstream got TE %q over %s", name, te, proto)
				}
				b := make([]byte, 5)
				for i := range 20 {
					text := fmt.Sprintf("ab%03d", i)
					io.WriteString(w, text)
					if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != strings.ToUpper(text) {
						t.Errorf("%s: message %d: %q, %v", name, i, b, err)
						return
					}
				}
				req.Trailer.Set("X-Sum", "42")
				w.Close()
				rest, err := io.ReadAll(resp.Body)
				if len(rest) > 0 || err != nil || resp.Trailer.Get("Grpc-Status") != "0" || resp.Trailer.Get("X-Sum") != "42" {
					t.Errorf("%s: at the end %q, %v, trailer section %v", name, rest, err, resp.Trailer)
				}
			})
		}
		wg.Wait()
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 8 requests side by side", n)
	}
}

// When a client leaves, whatever it sends or waits for, its stream is reset. The connection to
// the upstream serves the next requests.
func TestHTTP2ClientLeaves(t *testing.T) { onEngines(t, testHTTP2ClientLeaves) }

func testHTTP2ClientLeaves(t *testing.T) {
	begun, gone := make(chan bool), make(chan bool, 1)
	p, conns := over2(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/answers":
			io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			fallthrough
		case "/waits":
			begun <- true
			<-r.Context().Done()
			gone <- true
		default:
			io.Copy(w, r.Body)
		}
	})
	addr := serve(t, p)
	for _, request := range []string{
		"GET /waits HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /answers HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /waits HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\nonly this",
		"POST /answers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
		"POST /answers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
	} {
		c, br := dial(t, addr)
		io.WriteString(c, request)
		<-begun
		if strings.Contains(request, "/answers") {
			readHead(br)
		}
		reset(c)
		select {
		case <-gone:
		case <-time.After(wait):
			t.Fatalf("%q: the upstream's stream is still open", request)
		}
		c, br = dial(t, addr)
		io.WriteString(c, post)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "body" || err != nil {
			t.Errorf("after %q: %q, %v", request, b, err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// If an upstream of HTTP/2 can't be reached, the next one gets the request, also with a body.
func TestHTTP2NextUpstream(t *testing.T) { onEngines(t, testHTTP2NextUpstream) }

func testHTTP2NextUpstream(t *testing.T) {
	p, _ := over2(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", n, err)
	})
	p.Upstreams = []string{closedAddr(t), closedAddr(t), p.Upstreams[0]}
	addr := serve(t, p)
	for request, want := range map[string]string{get: "0 <nil>", post: "4 <nil>", long: "20000 <nil>"} {
		c, br := dial(t, addr)
		io.WriteString(c, request)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); string(b) != want {
			t.Errorf("%.4s: %d %q", request, resp.StatusCode, b)
		}
	}
}

// Faults of the client's body are told from faults of the upstream. The upstream sees a reset,
// not the end of a body.
func TestHTTP2BodyFaults(t *testing.T) { onEngines(t, testHTTP2BodyFaults) }

func testHTTP2BodyFaults(t *testing.T) {
	ends := make(chan error, 10)
	p, conns := over2(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ends <- err
	})
	var got atomic.Pointer[reverse.Error]
	p.MaxRequestBodySize, p.Timeout, p.MaxFails = 1000, 500*time.Millisecond, 1
	p.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
		var e *reverse.Error
		errors.As(err, &e)
		got.Store(e)
		reverse.WriteError(ctx, err)
	}
	addr := serve(t, p)
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		half          bool // the client ends its side
		status        int
	}{
		{"not chunked", head + "4\r\nbody\r\nzz\r\n", false, 400},
		{"too large", head + "4\r\nbody\r\n400\r\n" + strings.Repeat("a", 1024) + "\r\n", false, 413},
		{"ends", head + "4\r\nbody\r\n", true, 400},
		{"slow", head + "4\r\nbody\r\n", false, 408},
	} {
		c, br := dial(t, addr)
		io.WriteString(c, tt.request)
		if tt.half {
			_ = c.CloseWrite()
		}
		if head := readHead(br); !tt.half && !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", tt.status)) {
			t.Errorf("%s: %q", tt.name, head)
		}
		if err := <-ends; err == nil {
			t.Errorf("%s: the upstream got a whole body", tt.name)
		}
		if e := got.Load(); e == nil || e.StatusCode != tt.status {
			t.Errorf("%s: %v", tt.name, e)
		}
		c.Close()
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A body waits for the upstream's 100, and isn't asked for if a final response comes instead.
func TestHTTP2Expect(t *testing.T) { onEngines(t, testHTTP2Expect) }

func testHTTP2Expect(t *testing.T) {
	p, _ := over2(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", n, err)
	})
	addr := serve(t, p)
	for _, length := range []string{"Content-Length: 4", "Content-Length: 20000", "Transfer-Encoding: chunked"} {
		c, br := dial(t, addr)
		io.WriteString(c, "POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"+length+"\r\n\r\n")
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 417 ") {
			t.Errorf("%s: refused with %q", length, head)
		}
		c, br = dial(t, addr)
		io.WriteString(c, "POST /yes HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"+length+"\r\n\r\n")
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 100 ") {
			t.Errorf("%s: %q", length, head)
		}
		want := "4 <nil>"
		switch length {
		case "Content-Length: 4":
			io.WriteString(c, "body")
		case "Content-Length: 20000":
			want = "20000 <nil>"
			io.WriteString(c, strings.Repeat("a", 20000))
		default:
			io.WriteString(c, "4\r\nbody\r\n0\r\n\r\n")
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); string(b) != want {
			t.Errorf("%s: %q", length, b)
		}
	}
}

// An upgrade uses a connection of HTTP/1.1, next to that of HTTP/2, which other requests share.
// With HTTP2Only it is refused.
func TestHTTP2Upgrade(t *testing.T) { onEngines(t, testHTTP2Upgrade) }

func testHTTP2Upgrade(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, r.Proto)
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer c.Close()
		io.WriteString(c, switchd)
		io.Copy(c, rw)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	var text bytes.Buffer
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2Auto, gale.HTTP2Only} {
		p := &reverse.Proxy{Upstreams: []string{s.URL}, HTTP2: mode, TLSConfig: s.Client().Transport.(*http.Transport).TLSClientConfig}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		front := &gale.Server{Handler: p.Handler, Engine: engine, StreamRequestBody: true, Logger: log.New(&text, "", 0)}
		go front.Serve(ln)
		c, br := dial(t, ln.Addr().String())
		io.WriteString(c, get)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); string(b) != "HTTP/2.0" {
			t.Errorf("mode %d: a plain request: %q", mode, b)
		}
		io.WriteString(c, upgrade)
		resp, err = http.ReadResponse(br, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case mode == gale.HTTP2Only:
			if resp.StatusCode != 501 {
				t.Errorf("HTTP2Only: %d", resp.StatusCode)
			}
		case resp.StatusCode != 101:
			t.Errorf("status %d", resp.StatusCode)
		default:
			io.WriteString(c, "hello")
			b := make([]byte, 5)
			if _, err := io.ReadFull(br, b); err != nil || string(b) != "hello" {
				t.Errorf("%q, %v", b, err)
			}
		}
		c.Close()
		front.Close()
		p.Close()
	}
	if !strings.Contains(text.String(), "an upgrade needs HTTP/1.1") {
		t.Errorf("the log says %q", text.String())
	}
}

// An upgrade has a place of its own: with one connection for requests, which is one of HTTP/2,
// upgrades and requests go on.
func TestHTTP2UpgradePlace(t *testing.T) { onEngines(t, testHTTP2UpgradePlace) }

func testHTTP2UpgradePlace(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, r.Proto)
			return
		}
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(c, switchd)
			c.Close()
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	p := &reverse.Proxy{Upstreams: []string{s.URL}, MaxConns: 1, TLSConfig: s.Client().Transport.(*http.Transport).TLSClientConfig}
	addr := serve(t, p)
	for range 3 {
		for request, want := range map[string]string{get: "HTTP/1.1 200 ", upgrade: "HTTP/1.1 101 "} {
			c, br := dial(t, addr)
			io.WriteString(c, request)
			if head := readHead(br); !strings.HasPrefix(head, want) {
				t.Errorf("%.10q: %q", request, head)
			}
			c.Close()
			awaitNone(t, p)
		}
	}
}

// An https upstream that doesn't choose HTTP/2 is asked over HTTP/1.1, also with bodies, and
// with HTTP2Only not at all. TLSConfig and HTTP2Off turn HTTP/2 off.
func TestHTTP2Choice(t *testing.T) { onEngines(t, testHTTP2Choice) }

func testHTTP2Choice(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %d %q", r.Proto, n, r.Header.Get("TE"))
	})
	both, old := httptest.NewUnstartedServer(handler), httptest.NewUnstartedServer(handler)
	both.EnableHTTP2 = true
	both.StartTLS()
	defer both.Close()
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	config := both.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.RootCAs = config.RootCAs.Clone()
	config.RootCAs.AddCert(old.Certificate())
	config.NextProtos = nil
	only1 := config.Clone()
	only1.NextProtos = []string{"http/1.1"}
	for _, tt := range []struct {
		name   string
		p      *reverse.Proxy
		proto  string
		status int
	}{
		{"auto", &reverse.Proxy{Upstreams: []string{both.URL}, TLSConfig: config}, "HTTP/2.0", 200},
		{"auto, old", &reverse.Proxy{Upstreams: []string{old.URL}, TLSConfig: config}, "HTTP/1.1", 200},
		{"on, old", &reverse.Proxy{Upstreams: []string{old.URL}, TLSConfig: config, HTTP2: gale.HTTP2On}, "HTTP/1.1", 200},
		{"off", &reverse.Proxy{Upstreams: []string{both.URL}, TLSConfig: config, HTTP2: gale.HTTP2Off}, "HTTP/1.1", 200},
		{"configured off", &reverse.Proxy{Upstreams: []string{both.URL}, TLSConfig: only1}, "HTTP/1.1", 200},
		{"configured off, on", &reverse.Proxy{Upstreams: []string{both.URL}, TLSConfig: only1, HTTP2: gale.HTTP2On}, "HTTP/2.0", 200},
		{"only, old", &reverse.Proxy{Upstreams: []string{old.URL}, TLSConfig: config, HTTP2: gale.HTTP2Only}, "", 502},
	} {
		for first, request := range []string{
			long, get, post, "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		} {
			p := tt.p
			if first > 0 { // the first request must find the protocol, whatever it is
				p = &reverse.Proxy{Upstreams: p.Upstreams, TLSConfig: p.TLSConfig, HTTP2: p.HTTP2}
			}
			addr := serve(t, p)
			for range 2 {
				c, br := dial(t, addr)
				io.WriteString(c, request)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(resp.Body)
				te := tt.proto == "HTTP/2.0" && strings.Contains(request, "TE: ")
				if resp.StatusCode != tt.status || tt.status == 200 && (!strings.HasPrefix(string(b), tt.proto) || strings.HasSuffix(string(b), `"trailers"`) != te) {
					t.Errorf("%s: %.40q: %d %q", tt.name, request, resp.StatusCode, b)
				}
			}
		}
	}
}

// foreign starts another implementation of HTTP/2 without TLS, which serves the files of dir, and
// returns its address. args gets the folder and a port.
func foreign(t *testing.T, name, dir string, args func(port string) []string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " isn't installed")
	}
	addr := closedAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, args(port)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	await.Until(t, name+" to listen", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}

// nghttpd and h2o, other implementations, behind the proxy: files, HEAD, trailer sections, and
// uploads, which nghttpd sends back as they come.
func TestHTTP2Foreign(t *testing.T) {
	dir := t.TempDir()
	file := strings.Repeat("0123456789", 20000)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]func(port string) []string{
		"nghttpd": func(port string) []string {
			return []string{"--no-tls", "-a", "127.0.0.1", "-d", dir, "--echo-upload", "--trailer", "x-sum: 42", port}
		},
		"h2o": func(port string) []string {
			conf := filepath.Join(dir, "h2o.conf")
			text := fmt.Sprintf("listen: {port: %s, host: 127.0.0.1}\nhosts: {default: {paths: {/: {file.dir: %q}}}}\n", port, dir)
			if os.Getuid() == 0 {
				text += "user: root\n" // else it takes a user who can't read dir
			}
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"-c", conf}
		},
	} {
		t.Run(name, func(t *testing.T) {
			upstream := foreign(t, name, dir, args)
			onEngines(t, func(t *testing.T) { testHTTP2Foreign(t, name, upstream, file) })
		})
	}
}

func testHTTP2Foreign(t *testing.T, name, upstream, file string) {
	addr := serve2(t, &reverse.Proxy{Upstreams: []string{upstream}, HTTP2: gale.HTTP2Only})
	over1 := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: wait}
	defer over1.CloseIdleConnections()
	for protocol, client := range map[string]*http.Client{"HTTP/1.1": over1, "HTTP/2": overHTTP2(t)} {
		for i := range 3 {
			resp, err := client.Head("http://" + addr + "/file")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: HEAD: %v, %v", protocol, resp, err)
			}
			resp, err = client.Get("http://" + addr + "/file")
			if err != nil {
				t.Fatal(err)
			}
			trailers := protocol == "HTTP/2" && name == "nghttpd"
			if b, err := io.ReadAll(resp.Body); string(b) != file || err != nil || trailers && resp.Trailer.Get("X-Sum") != "42" {
				t.Errorf("%s: %d bytes, %v, trailer section %v", protocol, len(b), err, resp.Trailer)
			}
			body := strings.Repeat(fmt.Sprint(i), 100000)
			resp, err = client.Post("http://"+addr+"/up", "text/plain", io.MultiReader(strings.NewReader(body)))
			if err != nil {
				t.Fatalf("%s: an upload: %v", protocol, err)
			}
			b, err := io.ReadAll(resp.Body)
			if name == "nghttpd" && string(b) != body || err != nil || name == "h2o" && resp.StatusCode/100 != 4 {
				t.Errorf("%s: an upload: status %d, %d bytes, %v", protocol, resp.StatusCode, len(b), err)
			}
		}
	}
}
