package proxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http/httpproxy"
	netproxy "golang.org/x/net/proxy"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/proxy"
)

func pool(cert []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(cert)
	return p
}

// Every way to write a proxy: the proxy is asked for the target with the right
// credentials, and the tunnel passes bytes.
func TestProxies(t *testing.T) {
	var log proxyLog
	host := listen(t, echo)
	http := listen(t, connectProxy(&log, "http", host))
	socks := listen(t, socksProxy(&log, "socks", "", "", host))
	locked := listen(t, socksProxy(&log, "locked", "us:er", "s@cret", host))
	ipv6 := ""
	if ln, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		ipv6 = serveOn(t, ln, connectProxy(&log, "ipv6", host))
	}
	for _, tt := range []struct {
		name string
		dial gale.DialFunc
		want string
	}{
		{"without a scheme", proxy.FasthttpHTTPDialer(http), "http CONNECT a.example:8080"},
		{"http", proxy.FasthttpHTTPDialer("http://" + http), "http CONNECT a.example:8080"},
		{"with a slash", proxy.FasthttpHTTPDialer("http://" + http + "/"), "http CONNECT a.example:8080"},
		{"user", proxy.FasthttpHTTPDialer("user@" + http), "http CONNECT a.example:8080 Basic dXNlcg=="},
		{"user and password", proxy.FasthttpHTTPDialer("user:pa:ss@" + http), "http CONNECT a.example:8080 Basic dXNlcjpwYTpzcw=="},
		{"encoded", proxy.FasthttpHTTPDialerTimeout("http://us%40er:p%3A%0Ass@"+http, wait), "http CONNECT a.example:8080 Basic dXNAZXI6cDoKc3M="},
		{"dual stack", proxy.FasthttpHTTPDialerDualStack(http), "http CONNECT a.example:8080"},
		{"dual stack, timeout", proxy.FasthttpHTTPDialerDualStackTimeout(http, wait), "http CONNECT a.example:8080"},
		{"ipv6", proxy.FasthttpHTTPDialerDualStack(ipv6), "ipv6 CONNECT a.example:8080"},
		{"socks5", proxy.FasthttpSocksDialer("socks5://" + socks), "socks a.example:8080"},
		{"socks5h", proxy.FasthttpSocksDialer("socks5h://" + socks), "socks a.example:8080"},
		{"socks without a scheme", proxy.FasthttpSocksDialer(socks), "socks a.example:8080"},
		{"socks dual stack", proxy.FasthttpSocksDialerDualStack("socks5://" + socks), "socks a.example:8080"},
		{"socks user", proxy.FasthttpSocksDialer("socks5://us%3Aer:s%40cret@" + locked), "locked a.example:8080 us:er"},
		{"socks for http", proxy.FasthttpHTTPDialer("socks5://" + socks), "socks a.example:8080"},
	} {
		if tt.name == "ipv6" && ipv6 == "" {
			continue
		}
		c, err := tt.dial("a.example:8080")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		checkEcho(t, c)
		if got := log.take(); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: asked for %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A proxy may be spoken to over TLS.
func TestHTTPSProxy(t *testing.T) {
	var log proxyLog
	server, client := testTLS(t, "127.0.0.1")
	ln, err := tls.Listen("tcp4", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	addr := serveOn(t, ln, connectProxy(&log, "https", listen(t, echo)))
	d := &proxy.Dialer{ProxyTLSConfig: client, Config: httpproxy.Config{HTTPSProxy: "https://u:p@" + addr}}
	dial, err := d.GetDialFuncForTLS(false, true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial("a.example:443")
	if err != nil {
		t.Fatal(err)
	}
	checkEcho(t, c)
	if got := log.take(); !slices.Equal(got, []string{"https CONNECT a.example:443 Basic dTpw"}) {
		t.Errorf("asked for %q", got)
	}

	// Not to one that can't prove who it is.
	if c, err := proxy.FasthttpHTTPDialer("https://u:secret@" + addr)("a.example:443"); err == nil {
		c.Close()
		t.Error("a proxy with a certificate that nobody knows was trusted")
	} else if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the password: %v", err)
	}
	if got := log.take(); got != nil {
		t.Errorf("it was asked for %q", got)
	}
}

// Which proxy is used for what, by configuration and by the environment.
func TestChoice(t *testing.T) {
	var log proxyLog
	host := listen(t, echo)
	one := "http://" + listen(t, connectProxy(&log, "one", host))
	two := "http://" + listen(t, connectProxy(&log, "two", host))
	_, port, _ := net.SplitHostPort(host)
	local := "localhost:" + port

	const inferred, plain, overTLS = 0, 1, 2
	for _, tt := range []struct {
		name         string
		http, https  string
		no           string
		kind         int
		target, want string // an empty want is a direct connection
		env          string // what differs if the configuration is the environment's, "-" for a direct connection
	}{
		{name: "http by port", http: one, https: two, target: "a.example:80", want: "one"},
		{name: "http by any port", http: one, https: two, target: "a.example:8443", want: "one"},
		{name: "https by port", http: one, https: two, target: "a.example:443", want: "two"},
		{name: "http as said", http: one, https: two, kind: plain, target: "a.example:443", want: "one"},
		{name: "https as said", http: one, https: two, kind: overTLS, target: "a.example:8443", want: "two"},
		{name: "excepted", http: one, https: two, no: "127.0.0.1", target: host},
		{name: "excepted with its port", http: one, https: one, no: "127.0.0.1:" + port, target: host},
		{name: "excepted for another port", http: one, https: one, no: "a.example:81", target: "a.example:80", want: "one"},
		{name: "excepted network", http: one, https: one, no: "a.example, 127.0.0.0/8", kind: overTLS, target: host},
		{name: "all excepted", http: one, https: one, no: "*", kind: plain, target: host},
		{name: "another one excepted", http: one, https: one, no: "a.example", target: "b.example:80", want: "one"},
		{name: "a subdomain excepted", http: one, https: one, no: ".example", target: "a.test:80", want: "one"},
		{name: "loopback", http: one, https: two, target: host},
		{name: "loopback by name", http: one, https: two, target: local},
		{name: "loopback, one for all", http: one, https: one, target: host, want: "one", env: "-"},
		{name: "loopback, as said", http: one, https: two, kind: overTLS, target: host, want: "two", env: "-"},
		{name: "loopback, one for all but some", http: one, https: one, no: "a.example", target: host},
		{name: "only http", http: one, target: "a.example:80", want: "one"},
		{name: "only https", https: two, target: "a.example:443", want: "two"},
		{name: "none", target: host},
		{name: "none, as said", kind: overTLS, target: host},
		{name: "none for https", http: one, kind: overTLS, target: host},
	} {
		for _, env := range []bool{false, true} {
			d := &proxy.Dialer{Timeout: wait, ConnectTimeout: wait}
			if env {
				t.Setenv("HTTP_PROXY", tt.http)
				t.Setenv("HTTPS_PROXY", tt.https)
				t.Setenv("NO_PROXY", tt.no)
			} else {
				d.Config = httpproxy.Config{HTTPProxy: tt.http, HTTPSProxy: tt.https, NoProxy: tt.no}
				t.Setenv("HTTP_PROXY", "ftp://not.used")
				t.Setenv("HTTPS_PROXY", "ftp://not.used")
			}
			var dial gale.DialFunc
			var err error
			if tt.kind == inferred {
				dial, err = d.GetDialFunc(env)
			} else {
				dial, err = d.GetDialFuncForTLS(env, tt.kind == overTLS)
			}
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			c, err := dial(tt.target)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			checkEcho(t, c)
			var want []string
			if tt.want != "" && (!env || tt.env != "-") {
				want = []string{tt.want + " CONNECT " + tt.target}
			}
			if got := log.take(); !slices.Equal(got, want) {
				t.Errorf("%s, env %v: asked %q, want %q", tt.name, env, got, want)
			}
		}
	}
}

// In a CGI program the HTTP_PROXY variable may come from a client.
func TestCGI(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "")
	t.Setenv("REQUEST_METHOD", "GET")
	if _, err := new(proxy.Dialer).GetDialFuncForTLS(true, false); err == nil || !strings.Contains(err.Error(), "refusing to use HTTP_PROXY") {
		t.Errorf("got %v", err)
	}
	if _, err := proxy.FasthttpProxyHTTPDialer()("a.example:80"); err == nil || !strings.Contains(err.Error(), "refusing to use HTTP_PROXY") {
		t.Errorf("got %v", err)
	}
	if _, err := new(proxy.Dialer).GetDialFuncForTLS(true, true); err != nil {
		t.Error(err)
	}
}

// A proxy that is wrong is an error, and neither skipped nor shown with its
// password.
func TestBadProxies(t *testing.T) {
	host := listen(t, echo)
	for _, tt := range []struct{ proxy, text string }{
		{"ftp://user:secret@127.0.0.1:1", "proxy: unknown scheme: ftp"},
		{"socks4://user:secret@127.0.0.1:1", "proxy: unknown scheme: socks4"},
		{"http://user:secret@%zz", "can't be read"},
		{"user:secret%zz@127.0.0.1:1", "can't be read"},
		{"::secret::", "can't be read"},
		{"http://", "can't be read"},
		{"http://:80", "can't be read"},
		{"http://user:secret@", "can't be read"},
	} {
		for name, dial := range map[string]gale.DialFunc{
			"http":  proxy.FasthttpHTTPDialer(tt.proxy),
			"socks": proxy.FasthttpSocksDialerDualStack(tt.proxy),
			"rules": must((&proxy.Dialer{Config: httpproxy.Config{HTTPProxy: tt.proxy, NoProxy: "b.example"}}).GetDialFunc(false)),
		} {
			if name == "socks" && !strings.Contains(tt.proxy, "://") {
				continue
			}
			target := host
			if name == "rules" {
				target = "a.example:80"
			}
			c, err := dial(target)
			if err == nil {
				c.Close()
				t.Errorf("%s %q: connected", name, tt.proxy)
				continue
			}
			if !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s %q: got %q, want %q and no password", name, tt.proxy, err, tt.text)
			}
		}
	}
}

func must(dial gale.DialFunc, err error) gale.DialFunc {
	if err != nil {
		panic(err)
	}
	return dial
}

// What a proxy may do wrong: each is an error of the kind that is documented,
// without the password.
func TestBadAnswers(t *testing.T) {
	answer := func(text string) string {
		return listen(t, func(c net.Conn) {
			b := make([]byte, 1024)
			_, _ = c.Read(b)
			_, _ = io.WriteString(c, text)
		})
	}
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	drip := listen(t, func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "H"); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // a slow proxy
		}
	})
	closed := listen(t, func(net.Conn) {})
	refusing := freeAddr(t)
	for _, tt := range []struct {
		name, proxy string
		timeout     time.Duration
		is          error
		text        string
	}{
		{name: "407", proxy: "u:secret@" + answer("HTTP/1.1 407 No\r\n\r\n"), text: "status code: 407"},
		{name: "503", proxy: "u:secret@" + answer("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"), text: "could not connect to proxy addr: 127.0.0.1:"},
		{name: "garbage", proxy: "u:secret@" + answer("garbage\r\n\r\n"), text: "broken"},
		{name: "closed", proxy: "u:secret@" + closed, text: "proxy 127.0.0.1:"},
		{name: "silent", proxy: "u:secret@" + silent, timeout: 50 * time.Millisecond, is: gale.ErrTimeout},
		{name: "drip", proxy: "u:secret@" + drip, timeout: 100 * time.Millisecond, text: ""},
		{name: "silent TLS", proxy: "https://u:secret@" + silent, timeout: 50 * time.Millisecond, is: gale.ErrTimeout},
		{name: "not there", proxy: "u:secret@" + refusing, text: "error when dialing"},
		{name: "socks silent", proxy: "socks5://u:secret@" + silent, timeout: 50 * time.Millisecond, is: gale.ErrTimeout},
		{name: "socks closed", proxy: "socks5://u:secret@" + closed, text: "socks connect"},
		{name: "socks garbage", proxy: "socks5://u:secret@" + answer("HTTP/1.1 400 Bad Request\r\n\r\n"), text: "socks connect"},
		{name: "socks wrong password", proxy: "socks5://u:secret@" + listen(t, socksProxy(new(proxyLog), "", "u", "other", "")), text: "socks connect"},
		{name: "socks not there", proxy: "socks5://u:secret@" + refusing, text: "error when dialing"},
	} {
		if tt.timeout == 0 {
			tt.timeout = wait
		}
		d := &proxy.Dialer{
			Config:         httpproxy.Config{HTTPProxy: tt.proxy, HTTPSProxy: tt.proxy},
			Timeout:        wait,
			ConnectTimeout: tt.timeout,
		}
		c, err := must(d.GetDialFunc(false))("a.example:80")
		if err == nil {
			c.Close()
			t.Errorf("%s: connected", tt.name)
			continue
		}
		if c != nil {
			t.Errorf("%s: a connection besides the error", tt.name)
		}
		if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %v %q", tt.name, err, tt.is, tt.text)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// A target that would write into the request is refused before the proxy is
// dialed.
func TestBadTargets(t *testing.T) {
	var log proxyLog
	http := listen(t, connectProxy(&log, "http", ""))
	socks := listen(t, socksProxy(&log, "socks", "", "", ""))
	for _, target := range []string{"a:443\r\nX-Injected: yes", "a", "", ":80", "a b:80", "u@a:80", "a:0", "a:http"} {
		for _, dial := range []gale.DialFunc{proxy.FasthttpHTTPDialer(http), proxy.FasthttpSocksDialer(socks)} {
			if c, err := dial(target); err == nil {
				c.Close()
				t.Errorf("%q: connected", target)
			}
		}
	}
	if got := log.take(); got != nil {
		t.Errorf("the proxy was asked for %q", got)
	}
	if _, err := proxy.FasthttpHTTPDialer(http)("a:443\r\nX-Injected: yes"); err == nil || !strings.Contains(err.Error(), "cr or lf") {
		t.Errorf("got %v", err)
	}
}

// After the tunnel is made no deadline is left on it.
func TestNoDeadlineStays(t *testing.T) {
	slow := listen(t, func(c net.Conn) {
		time.Sleep(600 * time.Millisecond) // longer than the time limit of the dialer
		_, _ = io.WriteString(c, "late")
	})
	for _, p := range []string{
		"http://" + listen(t, connectProxy(new(proxyLog), "", slow)),
		"socks5://" + listen(t, socksProxy(new(proxyLog), "", "", "", slow)),
	} {
		c, err := proxy.FasthttpHTTPDialerTimeout(p, 500*time.Millisecond)("a.example:80")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || string(b) != "late" {
			t.Errorf("%s: got %q, %v", p, b, err)
		}
		c.Close()
	}
}

// The Dialer is what package golang.org/x/net/proxy wants, and dials directly.
func TestDial(t *testing.T) {
	host := listen(t, echo)
	d := &proxy.Dialer{Config: httpproxy.Config{HTTPProxy: "http://127.0.0.1:1", HTTPSProxy: "http://127.0.0.1:1"}}
	for _, network := range []string{"tcp", "tcp4"} {
		c, err := netproxy.Dialer(d).Dial(network, host)
		if err != nil {
			t.Fatal(err)
		}
		checkEcho(t, c)
	}
	if _, err := d.Dial("udp", host); err == nil || err.Error() != "dont support the network: udp" {
		t.Errorf("got %v", err)
	}
	c, err := proxy.DialerFunc(func(network, addr string) (net.Conn, error) { return net.Dial(network, addr) }).Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	checkEcho(t, c)
}
