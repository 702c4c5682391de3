package message

import (
	"bufio"
	"bytes"
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
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// targetReader is a server of net/http that notes what it reads in the target and in Host.
type targetReader struct {
	*httptest.Server
	mu          sync.Mutex
	read, bytes string
}

func (s *targetReader) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = fmt.Sprintf("%s %s %s", r.Host, r.URL.Path, r.URL.Query().Encode())
	s.bytes = r.RequestURI
}

func (s *targetReader) take() (read, bytes string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, bytes, s.read, s.bytes = s.read, s.bytes, "nothing", ""
	return read, bytes
}

// shown returns what a handler sees, in the form of targetReader.
func shown(ctx *gale.RequestCtx) string {
	query, _ := url.ParseQuery(ctx.QueryArgs().String())
	return fmt.Sprintf("%s %s %s", ctx.Host(), ctx.Path(), query.Encode())
}

// What RequestCtx.Path, QueryArgs and Host show after a change is what clients, package reverse and
// handlers of net/http get. Package reverse and these get an unchanged target byte for byte.
func TestChangedURIIsHandedOn(t *testing.T) {
	up := new(targetReader)
	up.Server = httptest.NewUnstartedServer(up)
	up.Config.Protocols = peers.Protocols(1, 2)
	up.Start()
	t.Cleanup(up.Close)
	addr := up.Listener.Addr().String()
	h1, h2, pipe := &gale.HostClient{Addr: addr}, &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}, &gale.PipelineClient{Addr: addr}
	proxy, err := reverse.New(up.URL)
	if err != nil {
		t.Fatalf("a proxy for %s: %v", up.URL, err)
	}
	t.Cleanup(func() { h1.CloseIdleConnections(); h2.CloseIdleConnections() })
	ways := []struct {
		name  string
		plain bool // an unchanged target stays byte for byte
		f     func(*gale.RequestCtx) error
	}{
		{"HTTP/1", false, func(ctx *gale.RequestCtx) error { return h1.Do(&ctx.Request, &ctx.Response) }},
		{"HTTP/2", false, func(ctx *gale.RequestCtx) error { return h2.Do(&ctx.Request, &ctx.Response) }},
		{"pipeline", false, func(ctx *gale.RequestCtx) error { return pipe.Do(&ctx.Request, &ctx.Response) }},
		{"reverse", true, func(ctx *gale.RequestCtx) error { proxy.Handler(ctx); return nil }},
		{"net/http", true, func(ctx *gale.RequestCtx) error { adaptor.NewFastHTTPHandler(up)(ctx); return nil }},
		{"net/http, then reverse", true, func(ctx *gale.RequestCtx) error {
			adaptor.NewFastHTTPHandlerFunc(func(http.ResponseWriter, *http.Request) {})(ctx)
			proxy.Handler(ctx)
			return nil
		}},
		{"ConvertRequest", true, func(ctx *gale.RequestCtx) error {
			var r http.Request
			err := adaptor.ConvertRequest(ctx, &r, true)
			if err == nil {
				up.ServeHTTP(nil, &r)
			}
			return err
		}},
	}
	ask := func(ctx *gale.RequestCtx) { shown(ctx) }
	other := new(gale.URI)
	if err := other.Parse(nil, []byte("http://other.example/other%20path?o=1")); err != nil {
		t.Fatal("parsing a URI:", err)
	}
	changes := []struct {
		name string
		same bool // the target is the one that came
		f    func(*gale.RequestCtx)
	}{
		{"nothing", true, func(*gale.RequestCtx) {}},
		{"questions", true, ask},
		{"Scheme", true, func(ctx *gale.RequestCtx) { ctx.URI().Scheme(); ctx.URI().FullURI() }},
		{"Peek", true, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Peek("x"); ctx.QueryArgs().GetUintOrZero("y") }},
		{"SetScheme", true, func(ctx *gale.RequestCtx) { ctx.URI().SetScheme("https") }},
		{"SetHash", true, func(ctx *gale.RequestCtx) { ctx.URI().SetHash("h") }},
		{"SetHost", true, func(ctx *gale.RequestCtx) { ctx.Request.SetHost("B.example") }},
		{"URI.SetHost", true, func(ctx *gale.RequestCtx) { ctx.URI().SetHost("b.example:81") }},
		{"Header.SetHost", true, func(ctx *gale.RequestCtx) { ctx.Request.Header.SetHost("b.example") }},
		{"Header.SetHost, late", true, func(ctx *gale.RequestCtx) { ask(ctx); ctx.Request.Header.SetHost("b.example") }},
		{"SetPath", false, func(ctx *gale.RequestCtx) { ctx.URI().SetPath("/b/../c d/%41") }},
		{"SetPath, late", false, func(ctx *gale.RequestCtx) { ask(ctx); ctx.URI().SetPath("/b") }},
		{"SetPath, the same", true, func(ctx *gale.RequestCtx) { ctx.URI().SetPathBytes(ctx.URI().PathOriginal()) }},
		{"SetPathBytes", false, func(ctx *gale.RequestCtx) { ctx.URI().SetPathBytes([]byte("/\u00e9")) }},
		{"SetQueryString", false, func(ctx *gale.RequestCtx) { ctx.URI().SetQueryString("q=1&r=2") }},
		{"SetQueryString, none", false, func(ctx *gale.RequestCtx) { ask(ctx); ctx.URI().SetQueryString("") }},
		{"SetQueryStringBytes", false, func(ctx *gale.RequestCtx) { ctx.URI().SetQueryStringBytes([]byte("q=%26")) }},
		{"Set", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Set("role", "us&er") }},
		{"Set, the same length", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Set("x", "2") }},
		{"Set, the same", true, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Set("x", "1") }},
		{"Add", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Add("x", "2") }},
		{"Del", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Del("x") }},
		{"Reset", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Reset() }},
		{"Sort", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Sort(func(x, y []byte) int { return bytes.Compare(y, x) }) }},
		{"Parse", false, func(ctx *gale.RequestCtx) { ctx.QueryArgs().Parse("p=1") }},
		{"Update, a path", false, func(ctx *gale.RequestCtx) { ctx.URI().Update("/updated?u=1") }},
		{"Update, relative", false, func(ctx *gale.RequestCtx) { ctx.URI().Update("updated") }},
		{"Update, a query", false, func(ctx *gale.RequestCtx) { ctx.URI().Update("?u=1") }},
		{"Update, a URI", false, func(ctx *gale.RequestCtx) { ctx.URI().Update("http://b.example/u") }},
		{"URI.Parse", false, func(ctx *gale.RequestCtx) { _ = ctx.URI().Parse([]byte("b.example"), []byte("/p?q")) }},
		{"URI.Reset", false, func(ctx *gale.RequestCtx) { ctx.URI().Reset(); ctx.URI().SetHost("b.example") }},
		{"CopyTo", false, func(ctx *gale.RequestCtx) { other.CopyTo(ctx.URI()) }},
		{"SetURI", false, func(ctx *gale.RequestCtx) { ctx.Request.SetURI(other) }},
		{"SetRequestURI", false, func(ctx *gale.RequestCtx) { ctx.Request.SetRequestURI("/b?c=1") }},
		{"SetRequestURI, late", false, func(ctx *gale.RequestCtx) { ask(ctx); ctx.Request.SetRequestURIBytes([]byte("/b?c=1")) }},
		{"SetRequestURI, a URI", false, func(ctx *gale.RequestCtx) { ctx.Request.SetRequestURI("http://b.example/b?c=1") }},
		{"Header.SetRequestURI", false, func(ctx *gale.RequestCtx) { ctx.Request.Header.SetRequestURI("/b?c=1") }},
		{"Header.SetRequestURI, late", false, func(ctx *gale.RequestCtx) { ask(ctx); ctx.Request.Header.SetRequestURIBytes([]byte("/b?c=1")) }},
		{"all", false, func(ctx *gale.RequestCtx) {
			ctx.Request.Header.SetRequestURI("/header?h=1")
			ctx.URI().SetPath("/b")
			ctx.QueryArgs().Set("q", "1")
			ctx.Request.SetHost("b.example")
			ctx.Request.Header.SetRequestURI("/late")
		}},
	}
	way, change, saw, before := ways[0], changes[0], "", ""
	handler := func(ctx *gale.RequestCtx) {
		before = string(ctx.RequestURI())
		change.f(ctx)
		if !change.same {
			saw = shown(ctx)
		}
		if err := way.f(ctx); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
		if change.same { // to ask before would hide that a change counts without a question
			saw = shown(ctx)
		}
	}
	inner := httptest.NewServer(adaptor.NewHTTPHandler(handler))
	t.Cleanup(inner.Close)
	s := harness.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}}, handler)
	fronts := map[string]string{"net/http": inner.Listener.Addr().String(), "gale": s.Addr}
	send := func(name, addr, target string) int {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer nc.Close()
		if _, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: A.example\r\nConnection: close\r\n\r\n", target); err != nil {
			t.Fatalf("%s: sending the request: %v", name, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatalf("%s: no answer: %v", name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	}
	for front, addr := range fronts {
		for _, target := range []string{"/%61%20b/c?y=%41&x=1", "http://A.example/a;b/c?x=1&&y"} {
			for _, change = range changes {
				for _, way = range ways {
					if change.name == "SetScheme" && !way.plain {
						continue // this client speaks http only, and says so
					}
					name := fmt.Sprintf("%s, %s, %s, %s", front, target, change.name, way.name)
					status := send(name, addr, target)
					got, as := up.take()
					host, rest, _ := strings.Cut(got, " ")
					if got = strings.ToLower(host) + " " + rest; status != 200 || got != saw {
						t.Errorf("%s: status %d, read is %q, the handler has seen %q", name, status, got, saw)
					}
					if change.same && way.plain && as != before && "http://A.example"+as != before {
						t.Errorf("%s: the target is %q, and was %q", name, as, before)
					}
				}
			}
		}
	}
}
