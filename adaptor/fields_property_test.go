package adaptor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// exchanged is what a handler of net/http answers, and what it saw.
type exchanged struct {
	status   int
	body     bool
	response http.Header
	declares bool // Content-Length

	mu   sync.Mutex
	seen http.Header
	one  http.Header // what ConvertRequest made of the same request
}

func (x *exchanged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.seen = r.Header.Clone()
	x.mu.Unlock()
	for k, v := range x.response {
		w.Header()[k] = v
	}
	if x.declares {
		w.Header().Set("Content-Length", "6")
	}
	w.WriteHeader(x.status)
	if x.body {
		io.WriteString(w, "<html>")
	}
}

// converts is a handler of Gale that keeps what ConvertRequest makes, and calls x.
func (x *exchanged) converts(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		var r http.Request
		if err := ConvertRequest(ctx, &r, true); err == nil {
			x.mu.Lock()
			x.one = r.Header.Clone()
			x.mu.Unlock()
		}
		h(ctx)
	}
}

// randomFields returns fields of which conversions know some, with few values or none. Those that
// Gale knows as one value have no more: it sends one of several.
func randomFields(names []string) http.Header {
	h := make(http.Header)
	for range gate.Rand.IntN(6) {
		name := names[gate.Rand.IntN(len(names))]
		var values []string
		for range gate.Rand.IntN(3) {
			values = append(values, []string{"", "a", "text/html", "b; c=\"d\"", "x, y", "10"}[gate.Rand.IntN(6)])
		}
		if slices.Contains(singles, name) {
			values = values[:min(len(values), 1)]
		}
		if name == "Cookie" || name == "Content-Encoding" {
			values = slices.DeleteFunc(values, func(v string) bool { return v == "" }) // which says nothing
		}
		h[name] = values
	}
	return h
}

var (
	singles       = []string{"Content-Type", "User-Agent", "Server", "Date"}
	sentNames     = []string{"Content-Type", "User-Agent", "Accept", "Accept-Encoding", "Cookie", "Referer", "X-A", "X-B", "Via", "Date", "Cache-Control", "Origin", "Authorization", "Server"}
	answeredNames = []string{"Content-Type", "Content-Encoding", "Server", "Set-Cookie", "Date", "Etag", "X-A", "X-B", "Vary", "Via", "Last-Modified", "Cache-Control", "User-Agent", "Cookie"}
)

// shownFields writes h, without the fields in which an implementation may differ: Server and Date if
// they are the server's own, and framing.
func shownFields(h http.Header) string {
	var lines []string
	for name, values := range h {
		switch name { // in one line or in several
		case "Cookie": // RFC 9113 section 8.2.3
			values = []string{strings.Join(values, "; ")}
		case "Content-Encoding": // RFC 9110 section 5.3
			values = []string{strings.Join(values, ", ")}
		}
		for _, v := range values {
			switch {
			case name == "User-Agent" && (v == "gale" || strings.HasPrefix(v, "Go-http-client/")):
				v = "the client's own"
			case name == "Date" && strings.HasSuffix(v, " GMT"), name == "Server" && v == "gale",
				v == "" && (name == "Cookie" || slices.Contains(singles, name)), // no value of theirs
				name == "Connection", name == "Content-Length", name == "Transfer-Encoding",
				name == "Accept-Encoding" && v == "gzip": // net/http's own
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %q", name, v))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestConversionsAddNothing: random fields of requests and responses come through each conversion
// as through net/http alone, over HTTP/1.1 and HTTP/2.
func TestConversionsAddNothing(t *testing.T) {
	x := new(exchanged)
	h := gale.RequestHandler(NewFastHTTPHandler(x))
	std := startNetHTTP(t, x)
	type path struct {
		name string
		rt   func(version int) http.RoundTripper
		addr string
		one  bool // ConvertRequest is called
	}
	own := map[int]http.RoundTripper{}
	gales := map[int]http.RoundTripper{}
	for _, v := range []int{1, 2} {
		tr := &http.Transport{DisableCompression: true, Protocols: peers.Protocols(v)}
		c := &gale.Client{}
		if v == 2 {
			c.HTTP2 = gale.HTTP2Only
		}
		t.Cleanup(tr.CloseIdleConnections)
		t.Cleanup(c.CloseIdleConnections)
		own[v], gales[v] = tr, NewRoundTripper(c)
	}
	netHTTP := func(v int) http.RoundTripper { return own[v] }
	paths := []path{
		{"NewFastHTTPHandler, block engine", netHTTP, galeServerWith(t, h, func(s *gale.Server) { s.Engine = gale.EngineBlock }), false},
		{"NewFastHTTPHandler", netHTTP, galeServerWith(t, h, func(*gale.Server) {}), false},
		{"NewFastHTTPHandler in NewHTTPHandler", netHTTP, startNetHTTP(t, NewHTTPHandler(h)), false},
		{"NewRoundTripper", func(v int) http.RoundTripper { return gales[v] }, std, false},
		{"ConvertRequest", netHTTP, galeServerWith(t, x.converts(h), func(*gale.Server) {}), true},
	}
	for range gate.Form(20_000, 300) {
		x.status = []int{200, 200, 204, 304, 404}[gate.Rand.IntN(5)]
		x.body = x.status != 204 && x.status != 304 && gate.Rand.IntN(2) > 0
		x.declares = x.body && gate.Rand.IntN(2) > 0
		x.response = randomFields(answeredNames)
		if x.status == 304 {
			delete(x.response, "Content-Type") // net/http takes it away
		}
		sent := randomFields(sentNames)
		method := []string{"GET", "HEAD", "POST"}[gate.Rand.IntN(3)]
		for _, version := range []int{1, 2} {
			ask := func(rt http.RoundTripper, addr string) (seen, answered string) {
				t.Helper()
				var body io.Reader
				if method == "POST" {
					body = bytes.NewReader([]byte("body"))
				}
				req, err := http.NewRequest(method, "http://"+addr+"/", body)
				if err != nil {
					t.Fatal("making a request:", err)
				}
				req.Header = sent.Clone()
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatalf("%v: %v", sent, err)
				}
				defer resp.Body.Close()
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Errorf("reading: %v", err)
				}
				x.mu.Lock()
				defer x.mu.Unlock()
				return shownFields(x.seen), shownFields(resp.Header)
			}
			wantSeen, wantAnswered := ask(own[version], std)
			for _, p := range paths {
				seen, answered := ask(p.rt(version), p.addr)
				if p.one {
					seen = shownFields(x.one)
				}
				if seen != wantSeen || answered != wantAnswered {
					t.Errorf("%s, HTTP/%d, %s %d body %v\nsent %q\nanswered %q\nthe handler saw\n%s\nnot\n%s\nthe client saw\n%s\nnot\n%s", p.name, version, method, x.status, x.body,
						sent, x.response, seen, wantSeen, answered, wantAnswered)
					return
				}
			}
		}
	}
}

func startNetHTTP(t *testing.T, h http.Handler) (addr string) {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = peers.Protocols(1, 2)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
