package h2

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// lengthPeer answers METHOD /LENGTH/END/STATUS with a body of 5 bytes, of which LENGTH says how many are
// declared, or that the stream is reset before the head, and END how the stream ends: with the data, alone,
// by a trailer section, by a reset, or never. An end that doesn't come with the data comes when the test
// calls end, or at once if the path goes on with "/now".
type lengthPeer struct {
	*peers.H2Peer
	mu     sync.Mutex
	end    func()
	resets chan http2.ErrCode // the streams that the client has reset
}

var declaredLengths = map[string][]string{"right": {"content-length", "5"}, "short": {"content-length", "6"}, "long": {"content-length", "4"}}

func newLengthPeer(t *testing.T) *lengthPeer {
	p := &lengthPeer{end: func() {}, resets: make(chan http2.ErrCode, 100)}
	p.H2Peer = peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for f := c.Next(); f != nil; f = c.Next() {
			switch f := f.(type) {
			case *http2.RSTStreamFrame:
				p.resets <- f.ErrCode
			case *http2.MetaHeadersFrame:
				p.answer(c, f)
			}
		}
	})
	return p
}

func (p *lengthPeer) answer(c *peers.H2PeerConn, f *http2.MetaHeadersFrame) {
	path := strings.Split(f.PseudoValue("path"), "/")
	length, end, status := path[1], path[2], path[3]
	bare := f.PseudoValue("method") == "HEAD" || status != "200"
	p.mu.Lock()
	defer p.mu.Unlock()
	reset := func(code http2.ErrCode) func() {
		return func() {
			c.W.Lock()
			defer c.W.Unlock()
			_ = c.Fr.WriteRSTStream(f.StreamID, code)
		}
	}
	p.end = map[string]func(){
		"data": func() {}, "never": func() {},
		"alone":    func() { c.Data(f.StreamID, "", true) },
		"trailers": func() { c.Trailers(f.StreamID, "x-sum", "1") },
		"reset":    reset(http2.ErrCodeInternal),
		"no-error": reset(http2.ErrCodeNo),
	}[end]
	if length == "no-head" {
		p.end()
		return
	}
	c.Head(f.StreamID, status, bare && end != "never", declaredLengths[length]...)
	if !bare {
		c.Data(f.StreamID, "hello", end == "data")
	}
	if len(path) > 4 {
		p.end()
	}
}

// ends ends the stream.
func (p *lengthPeer) ends() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// lengthAsker asks the peer, or a proxy before it. It calls end when it has read 5 bytes.
type lengthAsker struct {
	name   string
	closes bool // it closes the body after 5 bytes
	proxy  bool
	ask    func(method, path string, end func()) *lengthAnswer
}

// lengthAnswer is a response, or the error in place of it.
type lengthAnswer struct {
	status, length int
	body           string
	trailer        string
	err            error
}

// read reads the body, and calls end after its fifth byte.
func (a *lengthAnswer) read(body io.Reader, end func()) {
	b := make([]byte, 5)
	n, err := io.ReadFull(body, b)
	if a.body = string(b[:n]); err != nil {
		if err != io.EOF {
			a.err = err
		}
		return
	}
	end()
	rest, err := io.ReadAll(body)
	a.body, a.err = a.body+string(rest), err
}

func lengthByClient(c *gale.HostClient, streams, closes bool) func(method, path string, end func()) *lengthAnswer {
	return func(method, path string, end func()) *lengthAnswer {
		req, resp := &gale.Request{}, &gale.Response{}
		req.Header.SetMethod(method)
		if !streams {
			path += "/now" // a buffered response can't say when its bytes have come
		}
		req.SetRequestURI("http://" + c.Addr + path)
		resp.StreamBody = streams
		if err := c.Do(req, resp); err != nil {
			return &lengthAnswer{err: err}
		}
		a := &lengthAnswer{status: resp.StatusCode(), length: resp.Header.ContentLength()}
		switch s := resp.BodyStream(); {
		case s == nil:
			a.body, a.trailer = string(resp.Body()), string(resp.Header.Peek("X-Sum"))
		case closes:
			b := make([]byte, 5)
			n, _ := io.ReadFull(s, b)
			a.body = string(b[:n])
			a.err = resp.CloseBodyStream()
			end()
		default:
			a.read(s, end)
			_ = resp.CloseBodyStream()
			a.trailer = string(resp.Header.Peek("X-Sum"))
		}
		return a
	}
}

func lengthOverNetHTTP(rt http.RoundTripper, url string) func(method, path string, end func()) *lengthAnswer {
	return func(method, path string, end func()) *lengthAnswer {
		req, err := http.NewRequest(method, url+path, nil)
		if err != nil {
			return &lengthAnswer{err: err}
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return &lengthAnswer{err: err}
		}
		defer resp.Body.Close()
		a := &lengthAnswer{status: resp.StatusCode, length: int(resp.ContentLength)}
		a.read(resp.Body, end)
		a.trailer = resp.Trailer.Get("X-Sum")
		return a
	}
}

// TestLengthIsTheEnd: over HTTP/2 a response is complete at the last byte of its Content-Length, also if
// the end of the stream comes in a frame of its own: the stream isn't cancelled, trailer fields pass, and
// a length that isn't right is an error. The response to HEAD without a length has none.
func TestLengthIsTheEnd(t *testing.T) {
	p := newLengthPeer(t)
	proxy := &reverse.Proxy{Upstreams: []string{p.Addr}, HTTP2: gale.HTTP2Only}
	t.Cleanup(func() { proxy.Close() })
	hs := harness.H2Way{Engine: gale.EngineAuto}.Start(t, &gale.Server{Handler: proxy.Handler, StreamRequestBody: true})
	for _, a := range []lengthAsker{
		{"client, closes", true, false, lengthByClient(harness.PeerClient(p.H2Peer), true, true)},
		{"client", false, false, lengthByClient(harness.PeerClient(p.H2Peer), true, false)},
		{"client, buffered", false, false, lengthByClient(harness.PeerClient(p.H2Peer), false, false)},
		{"NewRoundTripper", false, false, lengthOverNetHTTP(adaptor.NewRoundTripper(harness.PeerClient(p.H2Peer)), "http://"+p.Addr)},
		{"proxy, HTTP/1.1", false, true, lengthOverNetHTTP(hs.Client(1).Transport, "http://"+hs.Addr)},
		{"proxy, HTTP/2", false, true, lengthOverNetHTTP(hs.Client(2).Transport, "http://"+hs.Addr)},
	} {
		for _, length := range []string{"right", "none", "short", "long", "no-head"} {
			for _, end := range []string{"data", "alone", "trailers", "reset", "no-error"} {
				if a.closes && length != "right" && length != "no-head" {
					continue // what was not complete is cancelled, rightly
				}
				if length == "no-head" && end != "reset" && end != "no-error" {
					continue
				}
				path := "/" + length + "/" + end + "/200"
				got := a.ask("GET", path, p.ends)
				a.ask("GET", "/right/data/200", func() {}) // what the client has sent before has come
				whole := length == "right" && (end != "reset" || a.closes || a.proxy) || length == "none" && slices.Contains([]string{"data", "alone", "trailers"}, end)
				n := map[string]int{"right": 5, "none": -1}[length]
				switch {
				case !whole && got.err == nil && got.status == 200:
					t.Errorf("%s, %s: %+v, want an error", a.name, path, got)
				case !whole:
				case got.err != nil || got.status != 200 || got.length != n || got.body != "hello":
					t.Errorf("%s, %s: %+v", a.name, path, got)
				case end == "trailers" && !a.closes && a.name != "proxy, HTTP/1.1" && got.trailer != "1":
					t.Errorf("%s, %s: the trailer section is lost", a.name, path)
				case len(p.resets) > 0:
					t.Errorf("%s, %s: the stream was reset with %v", a.name, path, <-p.resets)
				}
				for len(p.resets) > 0 {
					<-p.resets
				}
			}
		}
		for _, row := range []struct {
			method, path string
			status       int
			lengths      []int // that are right
		}{
			{"HEAD", "/right/data/200", 200, []int{5}},
			{"HEAD", "/none/data/200", 200, []int{-1, -2}},
			{"GET", "/none/data/204", 204, []int{0, -1, -2}},
			{"GET", "/right/data/304", 304, []int{5, 0, -1}},
			{"GET", "/none/data/304", 304, []int{0, -1, -2}},
		} {
			if a.name == "proxy, HTTP/2" && row.path == "/right/data/304" {
				continue // net/http's client waits for the bytes
			}
			if got := a.ask(row.method, row.path, p.ends); got.err != nil || got.status != row.status || got.body != "" || !slices.Contains(row.lengths, got.length) {
				t.Errorf("%s, %s %s: %+v", a.name, row.method, row.path, got)
			}
		}
	}
}

// TestLengthWithoutEnd: if the server doesn't end a stream of which all bytes have come, it is ended
// without an error, at ReadTimeout if that comes sooner, and reset with NO_ERROR. A response that can't
// have a body has all its bytes at the head.
func TestLengthWithoutEnd(t *testing.T) {
	for _, row := range []struct {
		name, method, path string
		streams, closes    bool
		readTimeout        time.Duration
		body               string
	}{
		{"streamed", "GET", "/right/never/200", true, false, 0, "hello"},
		{"streamed, closed", "GET", "/right/never/200", true, true, 0, "hello"},
		{"streamed, a short ReadTimeout", "GET", "/right/never/200", true, false, 300 * time.Millisecond, "hello"},
		{"buffered", "GET", "/right/never/200", false, false, 0, "hello"},
		{"buffered, a short ReadTimeout", "GET", "/right/never/200", false, false, 300 * time.Millisecond, "hello"},
		{"streamed HEAD", "HEAD", "/right/never/200", true, false, 0, ""},
		{"buffered HEAD", "HEAD", "/none/never/200", false, false, 0, ""},
		{"204", "GET", "/none/never/204", false, false, 0, ""},
		{"304", "GET", "/right/never/304", true, false, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newLengthPeer(t)
			c := harness.PeerClient(p.H2Peer)
			c.ReadTimeout = row.readTimeout
			got := lengthByClient(c, row.streams, row.closes)(row.method, row.path, func() {})
			if got.err != nil || got.body != row.body {
				t.Errorf("%+v", got)
			}
			if code := <-p.resets; code != http2.ErrCodeNo {
				t.Errorf("the stream was reset with %v", code)
			}
		})
	}
}
