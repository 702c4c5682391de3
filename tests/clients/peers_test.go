package clients

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// The paths of the servers that the client talks to:
//
//	/hello     helloText
//	/large     peerLarge, 1 MiB
//	/gzip      peerText, compressed for clients that accept gzip
//	/chunked   peerText in pieces, without a length
//	/slow      three lines with 50 ms between them
//	/broken    a body that is cut off
//	/redirect  302 to /hello
//	/keep      307 to /echo
//	/echo      the body of the request
//	/gone      410
//	/once/N    the path and the body of the request; X-Ran says how often it ran
//	/duplex    the body of the request, while it comes
//	/trailers  the trailer X-Sum of the request; the trailer X-Checksum
var (
	peerText  = strings.Repeat("a line of text that compresses\n", 2000)
	peerLarge = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
)

const peerSlow = "one\ntwo\nthree\n"

// peerHandler is such a server in Go. Other servers forward to it what they can't do
// themselves.
func peerHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, helloText) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(peerLarge)))
		_, _ = w.Write(peerLarge)
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			fmt.Fprint(w, peerText)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, peerText)
		_ = z.Close()
	})
	pieces := func(w http.ResponseWriter, pieces []string, pause time.Duration) {
		for _, p := range pieces {
			fmt.Fprint(w, p)
			w.(http.Flusher).Flush()
			time.Sleep(pause) // a slow server
		}
	}
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, r *http.Request) {
		pieces(w, strings.SplitAfter(peerText, "\n"), 0)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		pieces(w, strings.SplitAfter(peerSlow, "\n"), 50*time.Millisecond)
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "cut ")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hello", http.StatusFound) })
	mux.HandleFunc("/keep", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body) // this server doesn't read and write at once
		if err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		_, _ = w.Write(b)
	})
	var mu sync.Mutex
	ran := map[string]int{}
	mux.HandleFunc("/once/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ran[r.URL.Path]++
		n := ran[r.URL.Path]
		mu.Unlock()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Ran", fmt.Sprint(n))
		fmt.Fprintf(w, "%s %s", r.URL.Path, b)
	})
	mux.HandleFunc("/duplex", func(w http.ResponseWriter, r *http.Request) {
		rc, buf := http.NewResponseController(w), make([]byte, 4096)
		_ = rc.EnableFullDuplex()
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			if err != nil {
				return
			}
			_ = rc.Flush()
		}
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "x-sum=%s", r.Trailer.Get("X-Sum"))
		w.Header().Set("X-Checksum", "abc")
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "gone", http.StatusGone) })
	return mux
}

// peer has the two addresses of a server that the client talks to.
type peer struct{ plain, secure string }

// certificate makes a certificate for 127.0.0.1, writes it into dir and returns a
// configuration that trusts it.
func certificate(t *testing.T, dir string) (cert, key string, trust *tls.Config) {
	t.Helper()
	certPEM, keyPEM, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, b := range map[string][]byte{cert: certPEM, key: keyPEM} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return cert, key, &tls.Config{RootCAs: pool}
}

// startPeer starts a program that listens on addr, and ends it with the test. It returns
// the output of the program.
func startPeer(t *testing.T, addr string, cmd *exec.Cmd) *lockedBuffer {
	t.Helper()
	out := new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	exited := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		exited <- cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("%s says: %s", filepath.Base(cmd.Path), out.String())
		}
	})
	waitListening(t, addr, exited)
	return out
}

// configured writes a configuration file from testdata, with the names of pairs replaced,
// and returns its path.
func configured(t *testing.T, dir, name string, pairs ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(b))), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// peerFiles makes a folder with the files that nginx and Apache serve.
func peerFiles(t *testing.T, dir string) {
	t.Helper()
	for name, b := range map[string]string{"hello": helloText, "large": string(peerLarge), "gzip": peerText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// quietGo starts a server of net/http that doesn't log errors of broken requests.
func quietGo(t *testing.T) *httptest.Server {
	s := httptest.NewServer(peerHandler())
	t.Cleanup(s.Close)
	return s
}

// The client works with other servers, with TLS and without.
func TestPeers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, dir, cert, key string) peer{
		"go": func(t *testing.T, _, cert, key string) peer {
			plain, secure := quietGo(t), httptest.NewUnstartedServer(peerHandler())
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			secure.Config.ErrorLog = log.New(io.Discard, "", 0)
			secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			secure.StartTLS()
			t.Cleanup(secure.Close)
			return peer{plain.URL, secure.URL}
		},
		"node": func(t *testing.T, _, cert, key string) peer {
			plain, secure := freeAddr(t), freeAddr(t)
			startPeer(t, plain, exec.Command(find(t, "node"), "testdata/node_server.cjs", plain, secure, cert, key))
			return peer{"http://" + plain, "https://" + secure}
		},
		"aiohttp": func(t *testing.T, _, cert, key string) peer {
			python := find(t, "python3")
			if exec.Command(python, "-c", "import aiohttp").Run() != nil {
				t.Skip("not installed: aiohttp")
			}
			plain, secure := freeAddr(t), freeAddr(t)
			startPeer(t, secure, exec.Command(python, "testdata/aiohttp_server.py", plain, secure, cert, key))
			return peer{"http://" + plain, "https://" + secure}
		},
		"nginx": func(t *testing.T, dir, cert, key string) peer {
			path := find(t, "nginx", "/usr/sbin/nginx")
			peerFiles(t, dir)
			plain, secure := freeAddr(t), freeAddr(t)
			conf := configured(t, dir, "nginx_server.conf", "{{DIR}}", dir, "{{PLAIN}}", plain, "{{SECURE}}", secure,
				"{{CERT}}", cert, "{{KEY}}", key, "{{BEHIND}}", quietGo(t).Listener.Addr().String())
			startPeer(t, plain, exec.Command(path, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log")))
			return peer{"http://" + plain, "https://" + secure}
		},
		"apache": func(t *testing.T, dir, cert, key string) peer {
			path := find(t, "apache2", "/usr/sbin/apache2", "httpd", "/usr/sbin/httpd")
			modules := "/usr/lib/apache2/modules"
			if _, err := os.Stat(modules); err != nil {
				t.Skip("not installed: the modules of Apache where Debian has them")
			}
			peerFiles(t, dir)
			plain, secure := freeAddr(t), freeAddr(t)
			conf := configured(t, dir, "apache.conf", "{{DIR}}", dir, "{{PLAIN}}", plain, "{{SECURE}}", secure,
				"{{CERT}}", cert, "{{KEY}}", key, "{{BEHIND}}", quietGo(t).Listener.Addr().String(), "{{MODULES}}", modules)
			startPeer(t, plain, exec.Command(path, "-X", "-f", conf))
			return peer{"http://" + plain, "https://" + secure}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cert, key, trust := certificate(t, dir)
			p := start(t, dir, cert, key)
			waitListening(t, p.secure[strings.LastIndexByte(p.secure, '/')+1:], nil)
			for _, url := range []string{p.plain, p.secure} {
				scheme, _, _ := strings.Cut(url, ":")
				t.Run(scheme, func(t *testing.T) { talkTo(t, url, trust) })
			}
		})
	}
}

// talkTo sends every kind of request to a server, on one connection after another and on
// several at the same time.
func talkTo(t *testing.T, url string, trust *tls.Config) {
	c := &gale.Client{TLSConfig: trust, Uncompress: true, ReadTimeout: patience}
	defer c.CloseIdleConnections()
	for range 3 { // so that each comes after each on some connection
		exchanges(t, c, url)
	}
	// Each broken answer closes a connection.
	if s := c.PoolStats(); s.Dials > 8 {
		t.Errorf("%d connections were dialed for requests that came one after another: %+v", s.Dials, s)
	}
	streaming := &gale.Client{TLSConfig: trust, StreamResponseBody: true, Uncompress: true}
	defer streaming.CloseIdleConnections()
	streams(t, streaming, url)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { exchanges(t, c, url) })
	}
	wg.Wait()
}

// exchanges sends one request of each kind.
func exchanges(t *testing.T, c *gale.Client, url string) {
	for _, e := range []struct {
		path   string
		status int
		body   string
	}{
		{"/hello", 200, helloText},
		{"/large", 200, string(peerLarge)},
		{"/gzip", 200, peerText},
		{"/chunked", 200, peerText},
		{"/slow", 200, peerSlow},
		{"/redirect", 200, helloText},
	} {
		if status, body, err := c.Get(nil, url+e.path); status != e.status || string(body) != e.body || err != nil {
			t.Errorf("GET %s: %d, %d bytes, %v, want %d and %d bytes", e.path, status, len(body), err, e.status, len(e.body))
		}
	}
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	do := func(what string, setup func()) bool {
		req.Reset()
		req.SetRequestURI(url + "/echo")
		setup()
		err := c.DoRedirects(req, resp, 2)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return err == nil
	}
	if do("410", func() { req.SetRequestURI(url + "/gone") }) && resp.StatusCode() != 410 {
		t.Errorf("want 410, got %d", resp.StatusCode())
	}
	if do("HEAD", func() { req.SetRequestURI(url + "/large"); req.Header.SetMethod("HEAD") }) {
		if n := resp.Header.ContentLength(); resp.StatusCode() != 200 || n != len(peerLarge) || len(resp.Body()) != 0 {
			t.Errorf("HEAD: %d, Content-Length %d, %d bytes", resp.StatusCode(), n, len(resp.Body()))
		}
	}
	for what, setup := range map[string]func(){
		"POST":                       func() { req.SetBody(peerLarge) },
		"POST in chunks":             func() { req.SetBodyStream(bytes.NewReader(peerLarge), -1) },
		"POST of a stream":           func() { req.SetBodyStream(bytes.NewReader(peerLarge), len(peerLarge)) },
		"POST with a 100":            func() { req.SetBody(peerLarge); req.Header.Set("Expect", "100-continue") },
		"POST with a 100, in chunks": func() { req.SetBodyStream(bytes.NewReader(peerLarge), -1); req.Header.Set("Expect", "100-continue") },
		"POST that is redirected":    func() { req.SetRequestURI(url + "/keep"); req.SetBody(peerLarge) },
	} {
		if do(what, func() { req.Header.SetMethod("POST"); setup() }) && (resp.StatusCode() != 200 || !bytes.Equal(resp.Body(), peerLarge)) {
			t.Errorf("%s: %d, %d bytes came back of %d", what, resp.StatusCode(), len(resp.Body()), len(peerLarge))
		}
	}
	req.Reset()
	req.SetRequestURI(url + "/broken")
	// A proxy may notice the broken body before it has sent anything.
	if err := c.Do(req, resp); err == nil && resp.StatusCode() < 500 {
		t.Errorf("a body that is cut off: %d, %q and no error", resp.StatusCode(), resp.Body())
	} else if errors.Is(err, gale.ErrTimeout) {
		t.Errorf("a body that is cut off: %v", err)
	}
}

// streams reads bodies as they arrive, to the end or not.
func streams(t *testing.T, c *gale.Client, url string) {
	for path, want := range map[string]string{
		"/large": string(peerLarge), "/gzip": peerText, "/chunked": peerText, "/slow": peerSlow, "/hello": helloText,
	} {
		for _, whole := range []bool{true, false} {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI(url + path)
			if err := c.Do(req, resp); err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if whole {
				if b, err := io.ReadAll(resp.BodyStream()); string(b) != want || err != nil {
					t.Errorf("%s: %d bytes, %v, want %d", path, len(b), err, len(want))
				}
			} else if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 3)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
		}
	}
	if n := c.ConnsCount() - c.IdleConnsCount(); n != 0 {
		t.Errorf("%d connections are left in use", n)
	}
}
