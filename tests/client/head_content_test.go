//go:build unix

package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// evil is the content of a wrong answer to HEAD. If a client took it for an answer, it would be a
// valid one.
var evil = peers.OkAnswer("evil")

// headAnswers are answers to HEAD that content follows, against RFC 9110 section 9.3.2.
var headAnswers = []struct{ name, head, content string }{
	{"length", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(evil)), evil},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(evil), evil)},
	{"neither", "HTTP/1.1 200 OK\r\n\r\n", evil},
	{"long", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", evil + strings.Repeat("e", 100_000-len(evil))},
}

// headUpstream answers HEAD with content, and everything else with "good".
type headUpstream struct {
	*peers.Script
	more chan struct{} // if it isn't nil, the content is sent when it has a token
	gone chan struct{} // has a token for each connection that has ended

	mu     sync.Mutex
	dialed []*net.TCPConn // ends of the client
}

// startHead starts a headUpstream. With secure it speaks TLS.
func startHead(t *testing.T, head, content string, later bool, secure *tls.Config) *headUpstream {
	u := &headUpstream{gone: make(chan struct{}, 10)}
	if later {
		u.more = make(chan struct{})
	}
	u.Script = peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		defer func() { u.gone <- struct{}{} }()
		if secure != nil {
			p = peers.NewScriptConn(tls.Server(p.Conn, secure), p.S)
		}
		for r := p.Request(); r != nil; r = p.Request() {
			switch {
			case r.Method != "HEAD":
				p.Say(peers.OkAnswer("good"))
			case u.more == nil:
				p.Say(head + content)
			default:
				p.Say(head)
				<-u.more
				p.Say(content)
			}
		}
	})
	if later {
		t.Cleanup(func() { close(u.more) }) // a test that ends early must not leave it waiting
	}
	return u
}

// dial makes a connection for the client.
func (u *headUpstream) dial(string) (net.Conn, error) {
	nc, err := net.Dial("tcp", u.Addr())
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dialed = append(u.dialed, nc.(*net.TCPConn))
	return nc, nil
}

func (u *headUpstream) dialContext(context.Context, string, string) (net.Conn, error) {
	return u.dial("")
}

// awaitBytes waits until the client's first connection has bytes to read, or has ended.
func (u *headUpstream) awaitBytes(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	nc := u.dialed[0]
	u.mu.Unlock()
	await.Until(t, "the content to arrive", func() bool {
		raw, err := nc.SyscallConn()
		if err != nil {
			return true
		}
		var b [1]byte
		closed := raw.Control(func(fd uintptr) {
			_, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		})
		return closed != nil || err != syscall.EAGAIN && err != syscall.EINTR
	})
}

// headClient is a client, with what it promises when its upstream answers HEAD with content.
type headClient struct {
	name   string
	secure bool
	// open returns a function that sends a request and returns the body of the response.
	open func(t *testing.T, u *headUpstream) func(method string) (string, error)
	// late says what is promised of content that comes when the client has the answer to HEAD, and
	// before it sends the next request. Content that comes with the header never is an answer.
	late latePromise
}

type latePromise int

const (
	taken latePromise = iota // noticed when the connection is taken from the pool again
	read                     // noticed when it comes, because a goroutine always reads
	none                     // not noticed: it becomes the next answer
)

// headClients are all clients. Nothing is promised of content that comes when the next request was
// sent: no client can tell it from an answer.
var headClients = []headClient{
	{"HostClient", false, openHost(nil), taken},
	{"HostClient, streamed", false, openHost(func(c *gale.HostClient) { c.StreamResponseBody = true }), taken},
	{"HostClient, time limit", false, openHost(func(c *gale.HostClient) { c.ReadTimeout, c.ResponseHeaderTimeout = 1<<40, 1<<39 }), taken},
	{"HostClient, TLS", true, openHost(func(c *gale.HostClient) { c.IsTLS = true }), taken},
	{"HostClient, no socket", false, openHost(func(c *gale.HostClient) {
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) {
			nc, err := dial(addr)
			return struct{ net.Conn }{nc}, err
		}
	}), none},
	{"Client", false, func(_ *testing.T, u *headUpstream) func(string) (string, error) {
		return askBy((&gale.Client{Dial: u.dial}).Do, false)
	}, taken},
	{"LBClient", false, func(_ *testing.T, u *headUpstream) func(string) (string, error) {
		c := &gale.HostClient{Addr: "a", Dial: u.dial}
		return askBy((&gale.LBClient{Clients: []gale.BalancingClient{c}}).Do, false)
	}, taken},
	{"PipelineClient", false, openPipeline(func(nc net.Conn) net.Conn { return nc }), read},
	{"PipelineClient, no socket", false, openPipeline(func(nc net.Conn) net.Conn { return struct{ net.Conn }{nc} }), read},
	{"adaptor", false, func(_ *testing.T, u *headUpstream) func(string) (string, error) {
		return askNetHTTP(&http.Client{Transport: adaptor.NewRoundTripper(&gale.Client{Dial: u.dial})}, "http://a/", "")
	}, taken},
	{"reverse", false, openReverse(""), taken},
	{"reverse, body", false, openReverse("body"), taken}, // with an upload
}

func openHost(set func(c *gale.HostClient)) func(*testing.T, *headUpstream) func(string) (string, error) {
	return func(t *testing.T, u *headUpstream) func(string) (string, error) {
		c := &gale.HostClient{Addr: "a", Dial: u.dial, TLSConfig: insecureTLS()}
		if set != nil {
			set(c)
		}
		t.Cleanup(c.CloseIdleConnections)
		return askBy(c.Do, c.IsTLS)
	}
}

func openPipeline(wrap func(nc net.Conn) net.Conn) func(*testing.T, *headUpstream) func(string) (string, error) {
	return func(_ *testing.T, u *headUpstream) func(string) (string, error) {
		c := &gale.PipelineClient{Addr: "a", Dial: func(addr string) (net.Conn, error) {
			nc, err := u.dial(addr)
			return wrap(nc), err
		}}
		return askBy(c.Do, false)
	}
}

// openReverse puts a proxy before the upstream. Requests have a body that doesn't come at once, if
// it isn't "".
func openReverse(body string) func(*testing.T, *headUpstream) func(string) (string, error) {
	return func(t *testing.T, u *headUpstream) func(string) (string, error) {
		p := &reverse.Proxy{Upstreams: []string{"a:80"}, DialContext: u.dialContext}
		t.Cleanup(func() { _ = p.Close() })
		s := harness.Start(t, &gale.Server{StreamRequestBody: true}, p.Handler)
		c := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(c.CloseIdleConnections)
		return askNetHTTP(c, "http://"+s.Addr+"/", body)
	}
}

func askBy(do func(*gale.Request, *gale.Response) error, secure bool) func(method string) (string, error) {
	url := "http://a/"
	if secure {
		url = "https://a/"
	}
	return func(method string) (string, error) {
		req, resp := &gale.Request{}, &gale.Response{}
		req.Header.SetMethod(method)
		req.SetRequestURI(url)
		err := do(req, resp)
		return string(resp.Body()), err
	}
}

func askNetHTTP(c *http.Client, url, body string) func(method string) (string, error) {
	return func(method string) (string, error) {
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			return "", err
		}
		if body != "" {
			if method == "GET" {
				req.Method = "POST"
			}
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), -1
		}
		resp, err := c.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		return string(got), err
	}
}

// The content of a wrong answer to HEAD is not read as the answer to the next request, which may
// be that of another user, where the client can know it: if the content has come when the
// connection goes back to the pool, or before it is taken again.
func TestHeadContent(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal("making a certificate:", err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal("reading the certificate:", err)
	}
	for _, c := range headClients {
		for _, a := range headAnswers {
			for _, later := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s, later %t", c.name, a.name, later), func(t *testing.T) {
					var secure *tls.Config
					if c.secure {
						secure = &tls.Config{Certificates: []tls.Certificate{cert}}
					}
					u := startHead(t, a.head, a.content, later, secure)
					ask := c.open(t, u)
					if body, err := ask("HEAD"); err != nil || body != "" {
						t.Fatalf("the answer to HEAD is %.20q, %v", body, err)
					}
					if later {
						u.more <- struct{}{}
						if c.late == read {
							<-u.gone
						} else {
							u.awaitBytes(t)
						}
					}
					body, err := ask("GET")
					switch {
					case later && c.late == none:
						if err == nil && body == "good" {
							t.Error("the content was noticed: the table can promise more")
						}
					case strings.Contains(body, "evil") || err != nil && strings.Contains(err.Error(), "evil"):
						gate.Unforgiven(t, "the content of the answer to HEAD became the next answer: %.20q, %v", body, err)
					case err != nil || body != "good":
						t.Errorf("the next answer is %.20q, %v", body, err)
					case u.Accepted.Load() != 2:
						t.Errorf("there were %d connections, want another one for the next request", u.Accepted.Load())
					}
				})
			}
		}
	}
}

// After a right answer to HEAD, which declares the content of the answer to GET and has none, the
// connection is used again.
func TestHeadReuse(t *testing.T) {
	for _, c := range headClients {
		if c.secure || c.name == "reverse, body" {
			continue // reverse closes the connection if the answer comes before it knows that the body was sent
		}
		t.Run(c.name, func(t *testing.T) {
			for _, a := range headAnswers {
				u := startHead(t, a.head, "", false, nil)
				ask := c.open(t, u)
				for _, method := range []string{"HEAD", "GET", "HEAD", "HEAD", "GET"} {
					want := map[string]string{"GET": "good"}[method]
					if body, err := ask(method); err != nil || body != want {
						t.Fatalf("%s: the answer to %s is %q, %v", a.name, method, body, err)
					}
				}
				if n := u.Accepted.Load(); n != 1 {
					t.Errorf("%s: there were %d connections, want 1", a.name, n)
				}
			}
		})
	}
}
