package client

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// testProxy is a proxy of net/http: it forwards requests and makes tunnels.
type testProxy struct {
	*httptest.Server
	mu  sync.Mutex
	log []string
}

func newTestProxy(t *testing.T, withTLS bool) *testProxy {
	p := &testProxy{}
	p.Server = httptest.NewUnstartedServer(p)
	if withTLS {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *testProxy) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := strings.Join(p.log, "; ")
	p.log = nil
	return s
}

func (p *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.log = append(p.log, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization")))
	p.mu.Unlock()
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.Header.Del("Proxy-Authorization")
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func (p *testProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = from.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	join(from, rw.Reader, to)
}

// join copies both ways until one ends.
func join(a net.Conn, fromA io.Reader, b net.Conn) {
	go func() {
		_, _ = io.Copy(b, fromA)
		_ = b.Close()
		_ = a.Close()
	}()
	_, _ = io.Copy(a, b)
	_ = a.Close()
	_ = b.Close()
}

func via1(proxy string) func(*gale.URI) (*url.URL, error) {
	return func(*gale.URI) (*url.URL, error) { return url.Parse(proxy) }
}

// Requests for http go to a proxy as they are, and those for https through a tunnel. The
// proxy's password goes only to the proxy.
func TestClientProxy(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s %s%s", r.Method, r.Host, r.RequestURI, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer secure.Close()
	for _, withTLS := range []bool{false, true} {
		p := newTestProxy(t, withTLS)
		withUser := strings.Replace(p.URL, "://", "://u:p@", 1)
		c := &gale.Client{Proxy: via1(withUser), TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		host := strings.TrimPrefix(plain.URL, "http://")
		for range 2 {
			if _, body, err := c.Get(nil, plain.URL+"/x?y"); err != nil || string(body) != "GET "+host+" /x?y" {
				t.Errorf("http by %s: %q, %v", p.URL, body, err)
			}
			if got, want := p.take(), "GET "+plain.URL+"/x?y Basic dTpw"; got != want {
				t.Errorf("the proxy saw %q, want %q", got, want)
			}
		}
		secureHost := strings.TrimPrefix(secure.URL, "https://")
		for range 2 {
			if _, body, err := c.Get(nil, secure.URL+"/x?y"); err != nil || string(body) != "GET "+secureHost+" /x?y" {
				t.Errorf("https by %s: %q, %v", p.URL, body, err)
			}
		}
		if got, want := p.take(), "CONNECT "+secureHost+" Basic dTpw"; got != want {
			t.Errorf("the proxy saw %q, want one tunnel: %q", got, want)
		}
		// A redirect from one to the other.
		if _, body, err := c.Get(nil, plain.URL+"/?to="+url.QueryEscape(secure.URL+"/end")); err != nil || string(body) != "GET "+secureHost+" /end" {
			t.Errorf("redirect: %q, %v", body, err)
		}
		if s := c.PoolStats(); s.Open != 2 {
			t.Errorf("%d connections, want one to the proxy and one through it", s.Open)
		}
		c.CloseIdleConnections()
	}
}

// Proxies that refuse, or that say more than they may, are errors.
func TestClientProxyErrors(t *testing.T) {
	n := peers.NewNetwork(t)
	for addr, answer := range map[string]string{
		"refuses.test:3128": "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
		"talks.test:3128":   "HTTP/1.1 200 OK\r\n\r\ngarbage",
		"breaks.test:3128":  "nonsense\r\n\r\n",
		"closes.test:3128":  "",
	} {
		ln := n.Listen(addr)
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
				if answer != "" {
					_, _ = io.Copy(io.Discard, c)
				}
				_ = c.Close()
			}
		}()
	}
	for proxy, want := range map[string]string{
		"http://refuses.test:3128": "gale: proxy refuses.test:3128 refuses a connection to host.test:443: 407 Proxy Authentication Required",
		"http://talks.test:3128":   "tls: first record does not look like a TLS handshake",
		"http://breaks.test:3128":  "gale: proxy breaks.test:3128: ",
		"http://closes.test:3128":  "gale: proxy closes.test:3128: the proxy closes the connection instead of answering",
		"http://gone.test":         "no host gone.test:80",
		"ftp://u:secret@gone.test": `gale: proxy ftp://u:xxxxx@gone.test: unsupported protocol "ftp". http, https and socks5 are supported`,
		"http://":                  "gale: proxy http: has no host",
	} {
		c := &gale.Client{Dial: n.Dial, Proxy: via1(proxy)}
		if _, _, err := c.Get(nil, "https://host.test/"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", proxy, err, want)
		}
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%s: %d connections are left", proxy, n)
		}
	}
	boom := errors.New("boom")
	c := &gale.Client{Proxy: func(*gale.URI) (*url.URL, error) { return nil, boom }}
	if _, _, err := c.Get(nil, "http://host.test/"); err != boom {
		t.Errorf("%v, want the error of Proxy", err)
	}
}

// A proxy that doesn't answer doesn't hold a call beyond its time limit.
func TestClientProxyTimeout(t *testing.T) {
	n := peers.NewNetwork(t)
	ln := n.Listen("silent.test:80")
	go func() {
		for {
			if _, err := ln.Accept(); err != nil {
				return
			}
		}
	}()
	c := &gale.Client{Dial: n.Dial, Proxy: via1("http://silent.test")}
	if _, _, err := c.GetTimeout(nil, "https://host.test/", 50e6); err != gale.ErrTimeout {
		t.Errorf("%v, want ErrTimeout", err)
	}
	if n := c.ConnsCount(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// socksServer speaks the necessary part of SOCKS5 (RFC 1928), and connects everything to
// the same host.
func socksServer(t *testing.T, to string) (addr string, asked chan string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	asked = make(chan string, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 262)
				_, _ = io.ReadFull(c, b[:2])
				_, _ = io.ReadFull(c, b[:b[1]])
				_, _ = c.Write([]byte{5, 0})
				_, _ = io.ReadFull(c, b[:5])
				name := make([]byte, b[4])
				_, _ = io.ReadFull(c, name)
				_, _ = io.ReadFull(c, b[:2])
				asked <- fmt.Sprintf("%s:%d", name, binary.BigEndian.Uint16(b))
				_, _ = c.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 0})
				host, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				join(c, c, host)
			}()
		}
	}()
	return ln.Addr().String(), asked
}

func TestClientProxySOCKS(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	defer s.Close()
	addr, asked := socksServer(t, s.Listener.Addr().String())
	c := &gale.Client{Proxy: via1("socks5://" + addr)}
	defer c.CloseIdleConnections()
	if _, body, err := c.Get(nil, "http://far.test:8080/"); err != nil || string(body) != "far.test:8080" {
		t.Fatalf("%q, %v", body, err)
	}
	if got := <-asked; got != "far.test:8080" {
		t.Errorf("the proxy was asked for %s", got)
	}
}
