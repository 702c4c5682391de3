package harness

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// BreakOff answers one request.
func BreakOff(c net.Conn, br *bufio.Reader, answer string, end peers.BrokenEnd) {
	if (&gale.Request{}).Read(br) != nil {
		return
	}
	_, _ = io.WriteString(c, answer)
	switch end {
	case peers.Closes:
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	case peers.Resets:
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	_, _ = io.Copy(io.Discard, br)
}

// UsedResponse returns a response that was used for another request before.
func UsedResponse() *gale.Response {
	resp := &gale.Response{KeepBodyBuffer: true}
	resp.Header.Set("X-Pad", "pppppppppp")
	resp.Header.Set("Set-Cookie", "sid=alice-secret-0123456789; HttpOnly")
	resp.Header.SetContentType("alice/secret")
	resp.SetBodyString(strings.Repeat("alice", 1000))
	return resp
}

// WantNonePending waits until no call is pending: connections for which no call waits may
// still be ending.
func WantNonePending(t *testing.T, c *gale.PipelineClient) {
	t.Helper()
	await.Until(t, "no request to be pending", func() bool { return c.PendingRequests() == 0 })
}

// EchoHost answers with the Host of the request.
func EchoHost(ctx *gale.RequestCtx) { ctx.SetBody(ctx.Host()) }

// ServeAt makes Gale serve h at addr in n, with TLS if the port is 443.
func ServeAt(t *testing.T, n *peers.Network, addr string, h gale.RequestHandler) {
	t.Helper()
	n.Serve(t, addr, &gale.Server{Handler: h}, gale.GenerateTestCertificate)
}

// RedirectWorld is a network whose hosts redirect as the query says: /?code=302&to=URL.
// Other requests are answered with 200.
type RedirectWorld struct {
	*peers.Network
	mu   sync.Mutex
	seen []peers.SeenRequest
}

func NewRedirectWorld(t *testing.T, addrs ...string) *RedirectWorld {
	w := &RedirectWorld{Network: peers.NewNetwork(t)}
	for _, addr := range addrs {
		ServeAt(t, w.Network, addr, w.handle)
	}
	return w
}

func (w *RedirectWorld) handle(ctx *gale.RequestCtx) {
	r := &ctx.Request
	w.mu.Lock()
	w.seen = append(w.seen, peers.SeenRequest{
		Method: string(r.Header.Method()), Host: string(r.Header.Host()), URI: string(r.Header.RequestURI()), Body: string(r.Body()), Head: r.Header.String(),
	})
	w.mu.Unlock()
	q := ctx.QueryArgs()
	if code, err := q.GetUint("code"); err == nil {
		ctx.SetStatusCode(code)
		if q.Has("to") {
			ctx.Response.Header.SetBytesV(gale.HeaderLocation, q.Peek("to"))
		}
	}
	ctx.SetBodyString("at " + string(ctx.Host()))
}

// Take returns the requests that were seen, and forgets them.
func (w *RedirectWorld) Take() []peers.SeenRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

func (w *RedirectWorld) Client(t *testing.T) *gale.Client {
	c := &gale.Client{Dial: w.Dial, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// GetFrom sends a request without a body.
func GetFrom(c *gale.HostClient, method, url string) (*gale.Response, error) {
	req, resp := &gale.Request{}, &gale.Response{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return resp, c.Do(req, resp)
}

// PostTo sends a POST with a body.
func PostTo(c *gale.HostClient, url, body string) (*gale.Response, error) {
	req, resp := &gale.Request{}, &gale.Response{}
	req.Header.SetMethod("POST")
	req.SetRequestURI(url)
	req.SetBodyString(body)
	return resp, c.Do(req, resp)
}

// PeerClient returns a client of the server.
func PeerClient(p *peers.H2Peer) *gale.HostClient {
	c := &gale.HostClient{Addr: p.Addr, HTTP2: gale.HTTP2Only}
	p.T.Cleanup(c.CloseIdleConnections)
	return c
}

// OriginClient returns a client that speaks only HTTP/2 to the server.
func OriginClient(t *testing.T, g *peers.H2Origin) *gale.HostClient {
	c := &gale.HostClient{Addr: g.Host, IsTLS: g.TLS, HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// EachH2Origin runs a test for Gale's server on both engines, and for net/http's, with TLS and
// without. All have the same handlers.
func EachH2Origin(t *testing.T, f func(t *testing.T, g *peers.H2Origin)) {
	peers.EachWay(t, func(t *testing.T, way H2Way) {
		hs := way.Start(t, &gale.Server{Handler: H2OriginHandler, StreamRequestBody: true, Name: "gale"})
		f(t, &peers.H2Origin{Name: "gale", URL: hs.URL(""), TLS: way.TLS, Host: hs.Addr})
	})
	for _, secure := range []bool{false, true} {
		name := "nethttp"
		if secure {
			name += ",tls"
		}
		t.Run(name, func(t *testing.T) {
			g := peers.NetHTTPOrigin(t, secure)
			f(t, g)
		})
	}
}

// H2OriginHandler is the handler of Gale's server. The path says what it does.
func H2OriginHandler(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/echo": // the body of the request, when it has come
		ctx.Response.Header.Set("X-Method", string(ctx.Method()))
		if ctx.RequestBodyStream() == nil {
			return
		}
		b, err := io.ReadAll(ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.SetBody(b)
	case "/duplex": // the body of the request, as it comes
		body := ctx.RequestBodyStream()
		_ = ctx.Flush()
		buf := make([]byte, 4096)
		for {
			n, err := body.Read(buf)
			if n > 0 {
				ctx.Write(buf[:n])
				if ctx.Flush() != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	case "/large":
		ctx.SetBodyString(strings.Repeat("0123456789abcdef", 1<<16))
	case "/trailers":
		_ = ctx.Response.Header.SetTrailer("X-Sum")
		ctx.SetBodyString("body")
		ctx.Response.Header.Set("X-Sum", "42")
	case "/wait":
		<-ctx.Done()
	case "/204":
		ctx.SetStatusCode(204)
	case "/early":
		_ = ctx.EarlyHints()
		ctx.SetBodyString("hello")
	case "/got-trailers":
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
		ctx.SetBody(ctx.PeekTrailer("X-Sum"))
	default:
		ctx.SetBodyString("hello")
	}
}

// MustFetch sends a request and returns the response.
func MustFetch(t *testing.T, c *gale.HostClient, method, url, body string) *gale.Response {
	t.Helper()
	req := &gale.Request{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	req.SetBodyString(body)
	resp := &gale.Response{}
	if err := c.DoTimeout(req, resp, time.Minute); err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	return resp
}

// ConnectRequest returns an extended CONNECT for path.
func ConnectRequest(path string) *gale.Request {
	req := &gale.Request{}
	req.SetRequestURI(path)
	req.Header.SetHost("a.test")
	req.SetConnectProtocol("websocket")
	return req
}

// OpenClient returns a client of hs.
func OpenClient(hs *H2Server) *gale.HostClient {
	c := &gale.HostClient{Addr: hs.Addr, IsTLS: hs.Way.TLS, HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	hs.T.Cleanup(c.CloseIdleConnections)
	return c
}

// ScriptClient returns a client of the server.
func ScriptClient(s *peers.H2Script) *gale.HostClient {
	if s.TLS != nil {
		return &gale.HostClient{Addr: "a.test:443", IsTLS: true, HTTP2: gale.HTTP2On, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Dial: s.Dial}
	}
	return &gale.HostClient{Addr: "a.test:80", HTTP2: gale.HTTP2Only, Dial: s.Dial}
}

// H2Get sends a GET and returns the body of the response.
func H2Get(c *gale.HostClient, path string) (string, error) {
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://a.test" + path)
	if c.IsTLS {
		req.SetRequestURI("https://a.test" + path)
	}
	err := c.Do(req, resp)
	return string(resp.Body()), err
}

// WantServed checks that c gets a right answer.
func WantServed(t testing.TB, c *gale.HostClient) {
	t.Helper()
	peers.Within(t, "a request to a good server", func() {
		if body, err := H2Get(c, "/good"); body != "GET /good " || err != nil {
			t.Errorf("a request to a good server: %q, %v", body, err)
		}
	})
}

// FinishScript ends a test of c: nothing of its connections may be left.
func FinishScript(s *peers.H2Script, c *gale.HostClient) {
	s.T.Helper()
	s.Calm.Store(true)
	c.CloseIdleConnections()
	WantServed(s.T, c)
	c.CloseIdleConnections()
	s.WantClosed(c)
}

// H2ErrorOf returns the code of an error of HTTP/2, and whether it is one of the connection.
func H2ErrorOf(err error) (ofConn bool, code uint32, known bool) {
	var conn *gale.HTTP2ConnError
	var stream *gale.StreamResetError
	switch {
	case errors.As(err, &conn):
		return true, conn.Code, true
	case errors.As(err, &stream):
		return false, stream.Code, true
	}
	return false, 0, false
}

// CheckEmpty checks that after an error of Do resp is like a new response, for getters
// and setters.
func CheckEmpty(t *testing.T, resp *gale.Response) {
	t.Helper()
	if err := door.HeadIn(&resp.Header).(*head.Response).Check(); err != nil {
		t.Error(err)
	}
	fresh := &gale.Response{}
	for _, r := range []*gale.Response{resp, fresh} {
		door.HeadIn(&r.Header).(*head.Response).Implied |= head.NoDate
	}
	if got, want := resp.String(), fresh.String(); got != want || resp.StatusCode() != 200 || len(resp.Body()) != 0 || resp.BodyStream() != nil {
		t.Errorf("the response is %q, want %q", got, want)
	}
	var fields [2]string
	for i, r := range []*gale.Response{resp, fresh} {
		for k, v := range r.Header.All() {
			fields[i] += fmt.Sprintf("%s: %s\n", k, v)
		}
	}
	if fields[0] != fields[1] {
		t.Errorf("it has the fields %q", fields[0])
	}
	if h := &resp.Header; len(h.Peek("X-A"))+len(h.Peek("Set-Cookie"))+len(h.StatusMessage()) != 0 ||
		h.ContentLength() != fresh.Header.ContentLength() || h.ConnectionClose() || len(h.PeekTrailerKeys()) != 0 {
		t.Errorf("its header is %q", h)
	}
	var copied gale.Response
	resp.CopyTo(&copied)
	for _, r := range []*gale.Response{resp, &copied, fresh} {
		r.SetStatusCode(502)
		r.Header.Set("X-Pad", "new")
		r.Header.Set("Content-Language", "en")
		r.SetBodyString("bad gateway")
		if err := door.HeadIn(&r.Header).(*head.Response).Check(); err != nil {
			t.Error(err)
		}
	}
	if got, also, want := resp.String(), copied.String(), fresh.String(); got != want || also != want {
		t.Errorf("after setting it is %q, its copy %q, want %q", got, also, want)
	}
}
