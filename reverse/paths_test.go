package reverse_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/peers"
)

// pathRows are spellings of paths. Those that honest clients send must arrive byte for byte.
var pathRows = []struct {
	target string // with a method before it, if that isn't GET
	honest bool
}{
	{"/admin/x", false}, {"/admin", false}, {"/ADMIN/x", true}, {"/administrator", true}, {"/x/admin/y", true},
	// dot segments
	{"/admin/%2e%2e/x", false}, {"/admin/%2E%2E/x", false}, {"/admin/.%2e/x", false}, {"/admin/x/%2e%2e/%2e%2e/y", false},
	{"/x/../admin/y", false}, {"/x/%2e%2e/admin/y", false}, {"/./admin/y", false}, {"/%2e/admin/y", false}, {"/x/..", false},
	{"/%2e%2e/admin/y", false}, {"/x/%2e%2E/admin", false}, {"/admin/y/..", false},
	// beside what some readers take for a slash
	{"/admin/..%2fx", false}, {"/admin/%2e%2e%2fx", false}, {"/x/..%2fadmin/y", false}, {"/x/%2e%2e%2fadmin%2fy", false}, {"/x%2f../admin/y", false},
	{"/admin%2f..%2fx", false}, {"/x%2f..%2fadmin%2fy", false}, {"/x%5c..%5cadmin/y", false}, {`/x\..\admin\y`, false}, {"/x/..;/admin/y", false}, {"/x/..;a=b/admin/y", false},
	{"/x/..%3b/admin/y", false},
	// slashes
	{"//admin/y", false}, {"/admin//y", false}, {"///admin", false}, {"/admin%2fy", false}, {`/admin\y`, false},
	{"//x/y", true}, {"/img/http://host/x", true}, {"/@scope%2fname", true}, {"/api/queues/%2F/q", true}, {"/a%5Cb", true}, {"/x//", true},
	// letters
	{"/%61dmin/y", false}, {"/%61%64min%2Fy", false},
	// encoded twice
	{"/%2561dmin/y", true}, {"/x/%252e%252e/admin/y", true}, {"/a%252fb", true}, {"/100%25", true},
	// ends and others
	{"/admin%00/y", false}, {"/x%00/../admin", false}, {"/admin?/../x", false}, {"/x?/../admin//%2e", true}, {"/a;b=c/d", true}, {"/x/...", true}, {"/.hidden/a.b", true}, {"/%C3%A4/%20", true},
	{"/admin#/y", false}, {"/admin#y", false},
	// other forms of targets
	{"http://a/admin/%2e%2e/x", false}, {"http://a/x/../admin/y", false}, {"http://a/admin/y", false}, {"http://a//admin/y", false}, {"http://a/x%2fy?z", true},
	{"http:///admin/y", false}, {"x://a/admin/y", false}, {"foo:/admin/y", false}, {"foo:admin/y", false}, {"admin/y", false}, {"*", false}, {"OPTIONS *", false},
	{"CONNECT admin", false}, {"CONNECT admin/y:80", false}, {"CONNECT //admin/y", false}, {"CONNECT /x/../admin/y", false}, {"CONNECT http://a/admin/y", false},
	{"POST /admin/%2e%2e/x", false},
}

var encodedSlash = regexp.MustCompile("(?i)%2f|%5c")

// isAdmin reports whether a reader that protects /admin finds path there.
func isAdmin(path string) bool { return path == "/admin" || strings.HasPrefix(path, "/admin/") }

// readings are what servers make of a target in origin-form: they decode and clean it in
// different orders, take backslashes for slashes, or end it at NUL or "#".
func readings(target string) []string {
	raw, _, _ := strings.Cut(target, "?")
	decode := func(s string) string {
		d, err := url.PathUnescape(s)
		if err != nil {
			return s
		}
		return d
	}
	until := func(s, end string) string { s, _, _ = strings.Cut(s, end); return s }
	slashes := func(s string) string { return strings.ReplaceAll(s, `\`, "/") }
	dots := strings.NewReplacer("%2e", ".", "%2E", ".")
	return []string{
		raw, decode(raw), path.Clean(decode(raw)), decode(path.Clean(raw)), path.Clean(decode(path.Clean(raw))),
		path.Clean(dots.Replace(slashes(raw))), decode(path.Clean(dots.Replace(slashes(raw)))),
		path.Clean(until(decode(raw), "\x00")), path.Clean(until(raw, "#")), path.Clean(decode(until(raw, "#"))),
	}
}

// arrival is what has reached the end of a chain.
type arrival struct {
	mu      sync.Mutex
	entered bool   // the protected handler has run
	target  string // of the request that a handler got
}

func (a *arrival) set(target string, entered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target, a.entered = target, a.entered || entered
}

func (a *arrival) take() (target string, entered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	target, entered = a.target, a.entered
	a.target, a.entered = "", false
	return target, entered
}

// Ends of chains.

func (a *arrival) mux() http.Handler {
	mux := http.NewServeMux()
	protected := func(_ http.ResponseWriter, r *http.Request) { a.set(r.RequestURI, true) }
	mux.HandleFunc("/admin", protected)
	mux.HandleFunc("/admin/", protected)
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { a.set(r.RequestURI, false) })
	return mux
}

func (a *arrival) byURLPath(_ http.ResponseWriter, r *http.Request) {
	a.set(r.RequestURI, isAdmin(r.URL.Path) || isAdmin(path.Clean(r.URL.Path)))
}

func (a *arrival) byAnyReading(_ http.ResponseWriter, r *http.Request) {
	a.set(r.RequestURI, slices.ContainsFunc(readings(r.RequestURI), isAdmin))
}

func (a *arrival) byPath(ctx *gale.RequestCtx) {
	a.set(string(ctx.RequestURI()), isAdmin(string(ctx.Path())))
}

func (a *arrival) byRouter() gale.RequestHandler {
	serve := func(entered bool) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { a.set(string(ctx.RequestURI()), entered) }
	}
	return routed(serve(true), serve(false))
}

// routed is a router with a handler of /admin and what is below it, and one of everything else.
func routed(admin, rest gale.RequestHandler) gale.RequestHandler {
	r := router.New()
	r.Handle("/admin", admin)
	r.Handle("/admin/{rest...}", admin)
	r.Handle("/{rest...}", rest)
	return r.Handler()
}

// Guards. Each refuses what is below /admin by its own reading.

func guardByPath(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if isAdmin(string(ctx.Path())) {
			ctx.Error("guarded", gale.StatusForbidden)
			return
		}
		next(ctx)
	}
}

func guardByRouter(next gale.RequestHandler) gale.RequestHandler {
	return routed(func(ctx *gale.RequestCtx) { ctx.Error("guarded", gale.StatusForbidden) }, next)
}

func guardByMux(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "guarded", http.StatusForbidden) }
	mux.HandleFunc("/admin", refuse)
	mux.HandleFunc("/admin/", refuse)
	mux.Handle("/", next)
	return mux
}

func guardByURLPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAdmin(r.URL.Path) {
			http.Error(w, "guarded", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// What a guard refuses by its reading of the path never reaches the protected handler that
// comes after it by another one, and what honest clients send reaches the other handler byte
// for byte: through adaptor in both directions and through reverse, with both versions of HTTP
// on both sides.
func TestOnePath(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP%d", version), func(t *testing.T) { testOnePath(t, version) })
	}
}

func testOnePath(t *testing.T, version int) {
	upstream := func(a *arrival, h http.Handler, mode gale.HTTP2Mode) gale.RequestHandler {
		s := httptest.NewUnstartedServer(h)
		s.Config.Protocols = peers.Protocols(1, 2)
		s.Start()
		t.Cleanup(s.Close)
		return proxyTo(t, s.Listener.Addr().String(), mode)
	}
	gales := func(a *arrival) string { return peersGale(t, a.byPath) }
	type chain struct {
		name string
		// serve makes the server. A mux answers paths that aren't clean by a redirect.
		serve func(a *arrival) (addr string)
		muxed bool
	}
	chains := []chain{
		{"ctx.Path, ServeMux", func(a *arrival) string { return peersGale(t, guardByPath(adaptor.NewFastHTTPHandler(a.mux()))) }, true},
		{"ctx.Path, URL.Path", func(a *arrival) string {
			return peersGale(t, guardByPath(adaptor.NewFastHTTPHandlerFunc(a.byURLPath)))
		}, false},
		{"ctx.Path, reverse, ServeMux", func(a *arrival) string { return peersGale(t, guardByPath(upstream(a, a.mux(), gale.HTTP2Off))) }, true},
		{"ctx.Path, reverse, any reader", func(a *arrival) string {
			return peersGale(t, guardByPath(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Off)))
		}, false},
		{"ctx.Path, reverse, any reader of HTTP/2", func(a *arrival) string {
			return peersGale(t, guardByPath(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Only)))
		}, false},
		{"ctx.Path, reverse, Gale", func(a *arrival) string { return peersGale(t, guardByPath(proxyTo(t, gales(a), gale.HTTP2Off))) }, false},
		{"ctx.Path, reverse, Gale by HTTP/2", func(a *arrival) string { return peersGale(t, guardByPath(proxyTo(t, gales(a), gale.HTTP2Only))) }, false},
		{"ServeMux, NewHTTPHandler", func(a *arrival) string { return serveNetHTTP(t, guardByMux(adaptor.NewHTTPHandler(a.byPath))) }, true},
		{"URL.Path, NewHTTPHandler", func(a *arrival) string { return serveNetHTTP(t, guardByURLPath(adaptor.NewHTTPHandler(a.byPath))) }, false},
		{"URL.Path, NewHTTPHandler, NewFastHTTPHandler", func(a *arrival) string {
			return serveNetHTTP(t, guardByURLPath(adaptor.NewHTTPHandler(adaptor.NewFastHTTPHandlerFunc(a.byURLPath))))
		}, false},
		{"NewHTTPHandler, ctx.Path, reverse, ServeMux", func(a *arrival) string {
			return serveNetHTTP(t, adaptor.NewHTTPHandler(guardByPath(upstream(a, a.mux(), gale.HTTP2Off))))
		}, true},
		{"NewHTTPHandler, ctx.Path, NewFastHTTPHandler", func(a *arrival) string {
			return serveNetHTTP(t, adaptor.NewHTTPHandler(guardByPath(adaptor.NewFastHTTPHandlerFunc(a.byURLPath))))
		}, false},
		{"NewHTTPHandler, raw, ctx.Path, reverse, any reader", func(a *arrival) string {
			return serveNetHTTP(t, adaptor.Config{RawTargets: true}.NewHTTPHandler(guardByPath(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Off))))
		}, false},
		{"ServeMux, NewHTTPHandler, reverse, any reader", func(a *arrival) string {
			return serveNetHTTP(t, guardByMux(adaptor.NewHTTPHandler(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Off))))
		}, true},
		// A router answers paths that aren't clean by a redirect, too.
		{"ctx.Path, router", func(a *arrival) string { return peersGale(t, guardByPath(a.byRouter())) }, true},
		{"router, ctx.Path", func(a *arrival) string { return peersGale(t, guardByRouter(a.byPath)) }, true},
		{"router, router", func(a *arrival) string { return peersGale(t, guardByRouter(a.byRouter())) }, true},
		{"router, ServeMux", func(a *arrival) string { return peersGale(t, guardByRouter(adaptor.NewFastHTTPHandler(a.mux()))) }, true},
		{"router, URL.Path", func(a *arrival) string {
			return peersGale(t, guardByRouter(adaptor.NewFastHTTPHandlerFunc(a.byURLPath)))
		}, true},
		{"router, reverse, any reader", func(a *arrival) string {
			return peersGale(t, guardByRouter(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Off)))
		}, true},
		{"router, reverse, router by HTTP/2", func(a *arrival) string {
			return peersGale(t, guardByRouter(proxyTo(t, peersGale(t, a.byRouter()), gale.HTTP2Only)))
		}, true},
		{"ServeMux, NewHTTPHandler, router", func(a *arrival) string { return serveNetHTTP(t, guardByMux(adaptor.NewHTTPHandler(a.byRouter()))) }, true},
		{"NewHTTPHandler, router, reverse, any reader", func(a *arrival) string {
			return serveNetHTTP(t, adaptor.NewHTTPHandler(guardByRouter(upstream(a, http.HandlerFunc(a.byAnyReading), gale.HTTP2Off))))
		}, true},
	}
	for _, c := range chains {
		a := new(arrival)
		addr := c.serve(a)
		_, afterNetHTTP, _ := strings.Cut(c.name, "NewHTTPHandler") // "" if it isn't there, or if nothing follows
		overNetHTTP := strings.Contains(c.name, "NewHTTPHandler") && !strings.Contains(c.name, "raw")
		guard, next, _ := strings.Cut(c.name, ", ")
		routed := guard == "router" && next != "ctx.Path" && next != "router"
		client := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
		for _, row := range pathRows {
			method, target := "GET", row.target
			if m, rest, ok := strings.Cut(target, " "); ok {
				method, target = m, rest
			}
			if version == 2 && target[0] != '/' || method == "CONNECT" && version == 2 {
				continue // such targets are of HTTP/1.1
			}
			status := 0
			if version == 1 {
				status = ask1(t, addr, method, target)
			} else {
				status = ask2(t, client, method, target)
			}
			got, entered := a.take()
			if entered {
				t.Errorf("%s: %q passes the guard and enters /admin (status %d, target %q)", c.name, row.target, status, got)
			}
			empty := strings.Contains(target, "//") && !strings.Contains(strings.TrimPrefix(target, "http://"), "://")
			switch {
			case !row.honest:
				continue
			case overNetHTTP && empty && status == 400:
				continue // net/http leaves "//", and ctx.Path doesn't
			case overNetHTTP && afterNetHTTP != "" && encodedSlash.MatchString(target) && status == 400:
				continue // net/http and ctx.Path find no slash there, and the next reader may
			case routed && encodedSlash.MatchString(target) && status == 400:
				continue // nor does a router
			case c.muxed && strings.Contains(target, "//") && (status == 301 || status == 307 || status == 308):
				continue // a ServeMux answers so by itself
			}
			want := strings.TrimPrefix(target, "http://a")
			if strings.HasPrefix(target, "http://") && got == target {
				want = target // a handler in the same process
			}
			if status != 200 || got != want {
				t.Errorf("%s: %q: status %d, the handler got %q", c.name, row.target, status, got)
			}
		}
	}
}

// What ctx.Path is under NewHTTPHandler, and what the settings change.
func TestPathSettings(t *testing.T) {
	var path string
	h := func(ctx *gale.RequestCtx) { path = string(ctx.Path()) }
	std := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path = r.URL.Path })
	strict, raw := adaptor.Config{StrictPaths: true}, adaptor.Config{RawTargets: true, StrictPaths: true}
	for name, row := range map[string]struct {
		addr string
		want map[string]string // "" is a 400
	}{
		"NewHTTPHandler": {serveNetHTTP(t, adaptor.NewHTTPHandler(h)), map[string]string{
			"/a%2fb%5C%41": "/a%2fb%5CA", "/img/http://h/x": "/img/http://h/x", "/a%252f": "/a%2f", "//a": "", "/a%2f../b": "", "/..": ""}},
		"NewHTTPHandler, strict": {serveNetHTTP(t, strict.NewHTTPHandler(h)), map[string]string{"/a%41": "/aA", "/a%2fb": "", "/a%5Cb": "", "//a": ""}},
		"NewHTTPHandler, raw":    {serveNetHTTP(t, raw.NewHTTPHandler(h)), map[string]string{"/a%2fb": "/a/b", "//a": "/a", "/x%2f../b": "/b", "/a#b": ""}},
		"NewFastHTTPHandler": {peersGale(t, adaptor.NewFastHTTPHandler(std)), map[string]string{
			"/a%2fb%5C%41": `/a/b\A`, "//a": "//a", "/a%2f../b": "", "/a/./b": "", `/a\b`: "", "/a%00": ""}},
		"NewFastHTTPHandler, strict": {peersGale(t, strict.NewFastHTTPHandler(std)), map[string]string{"/a%41": "/aA", "/a%2fb": "", "/a%5Cb": "", "//a": "", "/h://a": "/h://a"}},
		"NewFastHTTPHandler, raw":    {peersGale(t, raw.NewFastHTTPHandler(std)), map[string]string{"/a%2f../b": "/a/../b", "//a": "//a", `/a\b`: `/a\b`, "/a%00": "/a\x00"}},
	} {
		for target, want := range row.want {
			path = ""
			status := ask1(t, row.addr, "GET", target)
			if path != want || want == "" && status != 400 {
				t.Errorf("%s: %q: status %d, path %q, want %q", name, target, status, path, want)
			}
		}
	}
}

// peersGale serves h on Gale, with both versions of HTTP.
func peersGale(t *testing.T, h gale.RequestHandler) (addr string) {
	return serveOn(t, new(reverse.Proxy), &gale.Server{Handler: h, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0)})
}

// serveNetHTTP serves h on net/http, with both versions of HTTP.
func serveNetHTTP(t *testing.T, h http.Handler) (addr string) {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = peers.Protocols(1, 2)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func proxyTo(t *testing.T, addr string, mode gale.HTTP2Mode) gale.RequestHandler {
	p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: mode}
	t.Cleanup(func() { p.Close() })
	return p.Handler
}

// ask1 sends a request whose target is exactly target, and returns the status of the answer, 0
// if there is none.
func ask1(t *testing.T, addr, method, target string) (status int) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal("dialing:", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", method, target)
	answer, _ := io.ReadAll(c)
	_, _ = fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
	return status
}

// ask2 is ask1 with HTTP/2.
func ask2(t *testing.T, c *gale.HostClient, method, target string) (status int) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.Header.SetMethod(method)
	req.Header.SetHost("a")
	req.Header.SetRequestURI(target)
	if err := c.DoTimeout(req, resp, 10*time.Second); err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return resp.StatusCode()
}
