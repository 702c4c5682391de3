package clients

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
)

// The client speaks HTTP/2 with other servers: in the clear with prior knowledge, and with
// TLS by ALPN.

// http2Peer is a kind of server.
type http2Peer struct {
	name string
	// commands returns the programs to run. It skips the test if they aren't installed.
	commands func(t *testing.T, e *http2Env) func() []*exec.Cmd
	workers  bool // it has processes of its own, which it ends when it is asked to end
	files    bool // it has files, and echoes uploads, but has nothing else of peerHandler
	duplex   bool // /duplex answers while the request is being sent
	once     bool // /once/N counts
	shrinks  bool // its windows are smaller than those of a new connection
	slow     bool // it takes much time for a body
	// goesAway says that connections end with GOAWAY after some requests: nginx's after 50,
	// or as many as run gets.
	goesAway bool
	trailers string // what /trailers answers, "" if there is no such path
}

// http2Env is where such a server runs.
type http2Env struct {
	dir, cert, key string
	trust          *tls.Config
	plain, secure  string // addresses
	behind         string // the address of a server that does what this one can't
	requests       int    // after which nginx ends a connection
}

var http2Peers = []http2Peer{
	{name: "nghttpd", files: true, trailers: helloText, commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		return nghttpd(t, e, "--trailer=x-checksum: abc")
	}},
	{name: "nghttpd with small windows and padding", files: true, shrinks: true, commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		return nghttpd(t, e, "-b", "200", "-w", "12", "-W", "14", "-m", "2", "--no-content-length", "--early-response")
	}},
	{name: "nginx", workers: true, once: true, goesAway: true, commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		path, conf := find(t, "nginx", "/usr/sbin/nginx"), e.configured(t, "http2_nginx.conf", "user root;")
		return e.program(path, "-p", e.dir, "-c", conf, "-e", filepath.Join(e.dir, "error.log"))
	}},
	{name: "h2o", once: true, commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		path, conf := find(t, "h2o"), e.configured(t, "http2_h2o.conf", "user: root")
		return e.program(path, "-c", conf)
	}},
	{name: "node", once: true, duplex: true, goesAway: true, trailers: "x-sum=1", commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		node := find(t, "node", "nodejs")
		if exec.Command(node, "-e", `require("http2")`).Run() != nil {
			t.Skip("not installed: http2 of Node")
		}
		return e.program(node, "testdata/http2_server.cjs", e.plain, e.secure, e.cert, e.key)
	}},
	{name: "hypercorn", slow: true, once: true, duplex: true, commands: func(t *testing.T, e *http2Env) func() []*exec.Cmd {
		python := find(t, "python3", "python")
		if exec.Command(python, "-c", "import hypercorn").Run() != nil {
			t.Skipf("not installed: hypercorn in %s", python)
		}
		return e.program(python, "testdata/http2_server.py", e.plain, e.secure, e.cert, e.key)
	}},
}

// nghttpd has one address, so there are two of it.
func nghttpd(t *testing.T, e *http2Env, args ...string) func() []*exec.Cmd {
	path := find(t, "nghttpd", "/usr/sbin/nghttpd")
	args = append([]string{"-a", "127.0.0.1", "-d", e.dir, "--echo-upload"}, args...)
	_, plain, _ := strings.Cut(e.plain, ":")
	_, secure, _ := strings.Cut(e.secure, ":")
	return func() []*exec.Cmd {
		return []*exec.Cmd{
			exec.Command(path, append(slices.Clone(args), "--no-tls", plain)...),
			exec.Command(path, append(slices.Clone(args), secure, e.key, e.cert)...),
		}
	}
}

// program returns a function that makes a command.
func (e *http2Env) program(name string, args ...string) func() []*exec.Cmd {
	return func() []*exec.Cmd { return []*exec.Cmd{exec.Command(name, args...)} }
}

func (e *http2Env) configured(t *testing.T, name, user string) string {
	if os.Getuid() != 0 {
		user = ""
	}
	plain, secure := e.plain, e.secure
	if strings.Contains(name, "h2o") {
		_, plain, _ = strings.Cut(plain, ":")
		_, secure, _ = strings.Cut(secure, ":")
	}
	return configured(t, e.dir, name, "{{DIR}}", e.dir, "{{PLAIN}}", plain, "{{SECURE}}", secure, "{{CERT}}", e.cert, "{{KEY}}", e.key,
		"{{BEHIND}}", e.behind, "{{REQUESTS}}", strconv.Itoa(e.requests), "{{USER}}", user)
}

// program is a running server that can be started again.
type program struct {
	t     *testing.T
	make  func() []*exec.Cmd
	addrs []string
	asks  bool // the program is asked to end
	cmds  []*exec.Cmd
	ends  []chan error // of cmds
	out   lockedBuffer
}

// run starts a server of that kind, which ends with the test.
func (p *http2Peer) run(t *testing.T, requests int) (*http2Env, *program) {
	t.Helper()
	e := &http2Env{dir: t.TempDir(), plain: freeAddr(t), secure: freeAddr(t), behind: quietGo(t).Listener.Addr().String(), requests: requests}
	e.cert, e.key, e.trust = certificate(t, e.dir)
	peerFiles(t, e.dir)
	pr := &program{t: t, make: p.commands(t, e), asks: p.workers, addrs: []string{e.plain, e.secure}}
	t.Cleanup(func() {
		pr.stop()
		if t.Failed() {
			t.Logf("%s says: %s", p.name, pr.out.String())
		}
	})
	pr.start()
	return e, pr
}

func (pr *program) start() {
	pr.t.Helper()
	pr.cmds, pr.ends = nil, nil
	for _, cmd := range pr.make() {
		cmd.Stdout, cmd.Stderr = &pr.out, &pr.out
		if err := cmd.Start(); err != nil {
			pr.t.Error(err)
			return
		}
		end := make(chan error, 1)
		pr.cmds, pr.ends = append(pr.cmds, cmd), append(pr.ends, end)
		go func() {
			end <- cmd.Wait()
			close(end)
		}()
	}
	for _, addr := range pr.addrs {
		waitListening(pr.t, addr, pr.ends[0])
	}
}

// stop ends the server at once.
func (pr *program) stop() {
	for i, cmd := range pr.cmds {
		if pr.asks {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		} else {
			_ = cmd.Process.Kill()
		}
		select {
		case <-pr.ends[i]:
		case <-time.After(2 * time.Second):
			_ = cmd.Process.Kill()
			<-pr.ends[i]
		}
	}
}

// crashed reports whether the server has ended by a signal, of its own accord: then what it didn't
// answer says nothing about the client.
func (pr *program) crashed() bool {
	for i, cmd := range pr.cmds {
		select {
		case <-pr.ends[i]:
		case <-time.After(time.Second):
			continue
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return true
		}
	}
	return false
}

// http2Clients calls f with a client in the clear, and with one over TLS.
func http2Clients(t *testing.T, e *http2Env, f func(t *testing.T, c *gale.Client, url string)) {
	t.Run("clear", func(t *testing.T) {
		c := &gale.Client{HTTP2: gale.HTTP2Only, Uncompress: true, ReadTimeout: patience, ExpectContinueTimeout: 50 * time.Millisecond}
		defer c.CloseIdleConnections()
		f(t, c, "http://"+e.plain)
	})
	t.Run("TLS", func(t *testing.T) {
		c := &gale.Client{TLSConfig: e.trust, Uncompress: true, ReadTimeout: patience, ExpectContinueTimeout: 50 * time.Millisecond}
		defer c.CloseIdleConnections()
		f(t, c, "https://"+e.secure)
	})
}

// send sends a request and returns the response.
func send(c *gale.Client, method, url, body string) (*gale.Response, error) {
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(url)
	req.Header.SetMethod(method)
	if body != "" {
		req.SetBodyString(body)
	}
	return resp, c.Do(req, resp)
}

// fetch is send. The response must be one of HTTP/2.
func fetch(t *testing.T, c *gale.Client, method, url, body string) *gale.Response {
	t.Helper()
	resp, err := send(c, method, url, body)
	return fetched(t, resp, err, method+" "+url)
}

// fetched checks the result of send, and returns nil if it is wrong.
func fetched(t *testing.T, resp *gale.Response, err error, what string) *gale.Response {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	if p := string(resp.Header.Protocol()); p != "HTTP/2.0" {
		t.Errorf("%s: the answer came by %s", what, p)
	}
	return resp
}

// TestHTTP2Peers proves that requests of every kind are answered.
func TestHTTP2Peers(t *testing.T) {
	t.Parallel()
	for _, p := range http2Peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			// Streamed bodies are among the requests, which can't be sent again. So nginx doesn't
			// end a connection: what it does then is in TestHTTP2PeersGoAway.
			e, _ := p.run(t, 1<<20)
			http2Clients(t, e, func(t *testing.T, c *gale.Client, url string) {
				if p.files {
					talkToFiles(t, c, url, p.shrinks)
				} else {
					talkHTTP2(t, c, url, map[bool]int{false: 6, true: 2}[p.slow])
				}
				if p.duplex {
					talkDuplex(t, c, url)
				}
				switch {
				case p.trailers != "" && p.files:
					if resp := fetch(t, c, "GET", url+"/hello", ""); resp != nil && (string(resp.Body()) != helloText || string(resp.Header.Peek("X-Checksum")) != "abc") {
						t.Errorf("trailers: %q", resp)
					}
				case p.trailers != "":
					talkTrailers(t, c, url, p.trailers)
				}
			})
		})
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		e := &http2Env{dir: t.TempDir()}
		e.cert, e.key, e.trust = certificate(t, e.dir)
		g := startGo(t, e)
		defer g.stop(t)
		http2Clients(t, e, func(t *testing.T, c *gale.Client, url string) {
			talkHTTP2(t, c, url, 6)
			talkDuplex(t, c, url)
			talkTrailers(t, c, url, "x-sum=1")
		})
	})
}

// talkHTTP2 sends every kind of request, one after the other and several at a time.
func talkHTTP2(t *testing.T, c *gale.Client, url string, several int) {
	if resp := fetch(t, c, "GET", url+"/hello", ""); resp == nil {
		return
	}
	exchanges(t, c, url)
	var wg sync.WaitGroup
	for range several {
		wg.Go(func() { exchanges(t, c, url) })
	}
	wg.Wait()
	streaming := &gale.Client{HTTP2: c.HTTP2, TLSConfig: c.TLSConfig, Uncompress: true, StreamResponseBody: true, ReadTimeout: patience}
	defer streaming.CloseIdleConnections()
	streams(t, streaming, url)
}

// talkToFiles is talkHTTP2 for servers that have files and echo uploads. If shrinks is true,
// the server may reset a stream on which data came before the client had its SETTINGS with
// a smaller window (RFC 9113 section 6.9.3). Then the request is sent again.
func talkToFiles(t *testing.T, c *gale.Client, url string, shrinks bool) {
	post := func(body string) *gale.Response {
		var reset *gale.StreamResetError
		resp, err := send(c, "POST", url+"/hello", body)
		for tries := 1; shrinks && tries < 5 && errors.As(err, &reset) && !reset.Local && reset.Code == uint32(http2.ErrCodeFlowControl); tries++ {
			resp, err = send(c, "POST", url+"/hello", body)
		}
		return fetched(t, resp, err, "POST "+url+"/hello")
	}
	some := func() {
		for path, want := range map[string]string{"/hello": helloText, "/large": string(peerLarge), "/gzip": peerText} {
			if resp := fetch(t, c, "GET", url+path, ""); resp != nil && (resp.StatusCode() != 200 || string(resp.Body()) != want) {
				t.Errorf("GET %s: %d with %d bytes", path, resp.StatusCode(), len(resp.Body()))
			}
		}
		if resp := fetch(t, c, "GET", url+"/none", ""); resp != nil && resp.StatusCode() != 404 {
			t.Errorf("want 404, got %d", resp.StatusCode())
		}
		if resp := fetch(t, c, "HEAD", url+"/large", ""); resp != nil && (resp.StatusCode() != 200 || len(resp.Body()) > 0) {
			t.Errorf("HEAD: %d with %d bytes", resp.StatusCode(), len(resp.Body()))
		}
		for _, body := range []string{"short", string(peerLarge)} {
			if resp := post(body); resp != nil && string(resp.Body()) != body {
				t.Errorf("POST of %d bytes: %d came back", len(body), len(resp.Body()))
			}
		}
	}
	some()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(some)
	}
	wg.Wait()
}

// talkDuplex sends lines, and reads each before it sends the next one.
func talkDuplex(t *testing.T, c *gale.Client, url string) {
	req, resp := &gale.Request{}, &gale.Response{StreamBody: true}
	r, w := io.Pipe()
	req.SetRequestURI(url + "/duplex")
	req.Header.SetMethod("POST")
	req.SetBodyStream(r, -1)
	lines := make(chan string)
	go func() {
		for line := range lines {
			_, _ = io.WriteString(w, line)
		}
		_ = w.Close()
	}()
	lines <- "first\n"
	if err := c.Do(req, resp); err != nil {
		close(lines)
		t.Errorf("streams both ways: %v", err)
		return
	}
	defer resp.CloseBodyStream()
	br := bufio.NewReader(resp.BodyStream())
	want := "first\n"
	for n := range 50 {
		if got, err := br.ReadString('\n'); got != want || err != nil {
			t.Errorf("line %d: got %q, %v, want %q", n, got, err, want)
			break
		}
		want = fmt.Sprintf("%d %s\n", n, strings.Repeat("x", n*100))
		lines <- want
	}
	close(lines)
	if rest, err := io.ReadAll(br); string(rest) != want || err != nil {
		t.Errorf("the rest: %q, %v, want %q", rest, err, want)
	}
}

// talkTrailers sends a request with a trailer, and reads a response with one.
func talkTrailers(t *testing.T, c *gale.Client, url, want string) {
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(url + "/trailers")
	req.Header.SetMethod("POST")
	req.SetBodyStream(strings.NewReader("body"), -1)
	if err := req.Header.SetTrailer("X-Sum"); err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Sum", "1")
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != want || string(resp.Header.Peek("X-Checksum")) != "abc" {
		t.Errorf("trailers: %v, %q, %q, want %q", err, resp.Body(), resp.Header.Peek("X-Checksum"), want)
	}
}

// sendOnce sends n requests with numbers, 16 at a time, half of them POST, and calls between
// from time to time. Each answer must be the right one. A POST may not run twice. It
// returns the errors.
func sendOnce(t *testing.T, c *gale.Client, url string, n int, between func()) (failed []error) {
	var next, served atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	run := time.Now().UnixNano()
	for range 16 {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if between != nil && i%(n/4) == n/8 {
					between()
				}
				req, resp := gale.AcquireRequest(), gale.AcquireResponse()
				path, body := fmt.Sprintf("/once/%d-%d", run, i), ""
				req.SetRequestURI(url + path)
				if i%2 == 0 {
					body = strings.Repeat("b", i*20)
					req.Header.SetMethod("POST")
					req.SetBodyString(body)
				}
				req.SetTimeout(patience)
				err := c.Do(req, resp)
				switch {
				case err != nil:
					mu.Lock()
					failed = append(failed, fmt.Errorf("%s %s: %w", req.Header.Method(), path, err))
					mu.Unlock()
					if errors.Is(err, gale.ErrTimeout) {
						t.Errorf("%s %s is stuck", req.Header.Method(), path)
					}
					time.Sleep(50 * time.Millisecond) // the server may be down
				case resp.StatusCode() >= 500: // a proxy without its server
					mu.Lock()
					failed = append(failed, fmt.Errorf("%s: %d", path, resp.StatusCode()))
					mu.Unlock()
				case string(resp.Body()) != path+" "+body, i%2 == 0 && string(resp.Header.Peek("X-Ran")) != "1":
					t.Errorf("%s %s: %d, %.60q, ran %s times", req.Header.Method(), path, resp.StatusCode(), resp.Body(), resp.Header.Peek("X-Ran"))
				default:
					served.Add(1)
				}
				gale.ReleaseRequest(req)
				gale.ReleaseResponse(resp)
			}
		})
	}
	wg.Wait()
	t.Logf("%d answered, %d failed, %d connections", served.Load(), len(failed), c.PoolStats().Dials)
	if len(failed) > 0 {
		t.Logf("the first error: %v", failed[0])
	}
	return failed
}

// TestHTTP2PeersGoAway proves that no request fails because servers end their connections
// with GOAWAY under load, nor because nginx gets another configuration.
func TestHTTP2PeersGoAway(t *testing.T) {
	t.Parallel()
	for _, p := range http2Peers {
		if !p.goesAway {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			e, pr := p.run(t, 50)
			between := func() {}
			if p.name == "nginx" {
				between = func() { _ = pr.cmds[0].Process.Signal(syscall.SIGHUP) }
			}
			http2Clients(t, e, func(t *testing.T, c *gale.Client, url string) {
				failed := sendOnce(t, c, url, 800, between)
				for range 2 {
					if len(failed) == 0 || !pr.crashed() {
						break
					}
					t.Logf("%s has crashed and is started again: %s", p.name, pr.out.String())
					pr.stop()
					pr.start()
					failed = sendOnce(t, c, url, 800, between)
				}
				for _, err := range failed {
					t.Error(err)
				}
				if n := c.PoolStats().Dials; n < 3 {
					t.Errorf("%d connections: the server doesn't end them", n)
				}
			})
		})
	}
}

// TestHTTP2PeersRestart proves that each request is answered or has an error when servers
// end under load and start again, and that requests are answered after that.
func TestHTTP2PeersRestart(t *testing.T) {
	t.Parallel()
	for _, p := range http2Peers {
		if !p.once {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			e, pr := p.run(t, 50)
			http2Clients(t, e, func(t *testing.T, c *gale.Client, url string) {
				var mu sync.Mutex
				sendOnce(t, c, url, 800, func() {
					mu.Lock()
					defer mu.Unlock()
					pr.stop()
					pr.start()
				})
				for _, err := range sendOnce(t, c, url, 100, nil) {
					t.Error(err)
				}
			})
		})
	}
}

// goServer is a server of net/http in this process. Another one takes its place when it
// shuts down.
type goServer struct {
	e   *http2Env
	h   http.Handler
	mu  sync.Mutex
	all []*http.Server
	wg  sync.WaitGroup
}

// startGo starts it, and sets the addresses of e.
func startGo(t *testing.T, e *http2Env) *goServer {
	g := &goServer{e: e, h: peerHandler()}
	g.roll(t)
	return g
}

// roll starts a server with new addresses, and shuts the one before it down.
func (g *goServer) roll(t *testing.T) {
	pair, err := tls.LoadX509KeyPair(g.e.cert, g.e.key)
	if err != nil {
		t.Error(err)
		return
	}
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: g.h, Protocols: p, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	var addrs [2]string
	for i := range addrs {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		addrs[i] = ln.Addr().String()
		g.wg.Go(func() {
			if i == 0 {
				_ = s.Serve(ln)
			} else {
				_ = s.ServeTLS(ln, "", "")
			}
		})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.e.plain, g.e.secure = addrs[0], addrs[1]
	if n := len(g.all); n > 0 {
		old := g.all[n-1]
		g.wg.Go(func() { shutdown(t, old) })
	}
	g.all = append(g.all, s)
}

func shutdown(t *testing.T, s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func (g *goServer) stop(t *testing.T) {
	shutdown(t, g.all[len(g.all)-1])
	g.wg.Wait()
}

// TestHTTP2GoRolling proves that no request fails while servers of net/http replace each
// other, each with a graceful shutdown.
func TestHTTP2GoRolling(t *testing.T) {
	t.Parallel()
	e := &http2Env{dir: t.TempDir()}
	e.cert, e.key, e.trust = certificate(t, e.dir)
	g := startGo(t, e)
	defer g.stop(t)
	http2Clients(t, e, func(t *testing.T, c *gale.Client, url string) {
		c.Dial = func(string) (net.Conn, error) {
			g.mu.Lock()
			addr := e.plain
			if strings.HasPrefix(url, "https:") {
				addr = e.secure
			}
			g.mu.Unlock()
			return net.Dial("tcp", addr)
		}
		for _, err := range sendOnce(t, c, url, 4000, func() { g.roll(t) }) {
			t.Error(err)
		}
	})
}
