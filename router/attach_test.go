package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/router"
)

// attached returns the server of a router.
func attached(t *testing.T, r *router.Router) *gale.Server {
	t.Helper()
	s := &gale.Server{}
	if err := r.Attach(s); err != nil {
		t.Fatalf("Attach: %v", err)
	}
	return s
}

// TestAttachErrors proves that Attach replaces nothing, and says what is set already.
func TestAttachErrors(t *testing.T) {
	r := router.New()
	for want, s := range map[string]*gale.Server{
		"no server":      nil,
		"Handler":        {Handler: func(*gale.RequestCtx) {}},
		"HeaderReceived": {HeaderReceived: func(*gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{} }},
		"RequestStarted": {RequestStarted: func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{} }},
	} {
		if err := r.Attach(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is set: got the error %v", want, err)
		}
		if s != nil && s.Handler != nil && s.RequestStarted != nil {
			t.Errorf("%s is set: Attach has set something all the same", want)
		}
	}
}

// TestMatchedOnce proves that the handler takes the route that was found before the body was read, and looks for
// another one only if the request is another one by then.
func TestMatchedOnce(t *testing.T) {
	for _, row := range []struct {
		name, method, target string
		change               func(ctx *gale.RequestCtx)
		want                 string
	}{
		// The value that was found is changed where only a router sets it.
		{"nothing", "GET", "/items/77?q", func(*gale.RequestCtx) {}, `200 /items/{id} /items/77 id="7"`},
		{"the path was read", "GET", "/items/77?q", func(ctx *gale.RequestCtx) { _ = ctx.Path() }, `200 /items/{id} /items/77 id="7"`},
		{"the query was changed", "GET", "/items/77?q", func(ctx *gale.RequestCtx) { ctx.URI().SetQueryString("a=b") }, `200 /items/{id} /items/77 id="7"`},
		{"the same target", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetRequestURI("/items/77") }, `200 /items/{id} /items/77 id="7"`},
		{"another target", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetRequestURI("/items/88") }, `200 /items/{id} /items/88 id="88"`},
		{"SetRequestURI", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.SetRequestURI("/other/8") }, `200 /other/{id} /other/8 id="8"`},
		{"SetPath", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.URI().SetPath("/other/8") }, `200 /other/{id} /other/8 id="8"`},
		{"SetMethod", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetMethod("POST") }, `405`},
		{"SetHost", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetHost("b.example") }, `200 b.example/items/{id} /items/77 id="77"`},
		{"Set of Host", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.Request.Header.Set("Host", "b.example") }, `200 b.example/items/{id} /items/77 id="77"`},
		{"SetPathValue", "GET", "/items/77", func(ctx *gale.RequestCtx) { ctx.SetPathValue("id", "x") }, `200 /items/{id} /items/77 id="77"`},
		{"another router", "GET", "/items/77", func(ctx *gale.RequestCtx) { router.New().Handler()(ctx); ctx.Response.Reset() }, `200 /items/{id} /items/77 id="77"`},
		{"a method without a number", "LINK", "/link/77", func(*gale.RequestCtx) {}, `200 /link/{id} /link/77 id="77"`},
		{"nothing is found", "GET", "/none", func(*gale.RequestCtx) {}, `404`},
		{"nothing was found", "GET", "/none", func(ctx *gale.RequestCtx) { ctx.URI().SetPath("/other/8") }, `200 /other/{id} /other/8 id="8"`},
		{"a redirect", "GET", "/tree", func(*gale.RequestCtx) {}, `307`},
		{"escapes", "GET", "/items/7%2F7", func(*gale.RequestCtx) {}, `200 /items/{id} /items/7%2F7 id="7/"`},
	} {
		r := router.New()
		show := func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "%s %s id=%q", ctx.Pattern(), ctx.URI().Path(), ctx.PathValue("id"))
		}
		r.GET("/items/{id}", show)
		r.GET("/other/{id}", show)
		r.Handle("b.example/items/{id}", show)
		r.Handle("LINK /link/{id}", show)
		r.GET("/tree/", show)
		s := attached(t, r)
		ctx := request(row.method, "a.example", row.target)
		if c := s.RequestStarted(ctx); c != (gale.RequestConfig{}) {
			t.Errorf("%s: a route without limits has %+v", row.name, c)
		}
		if m := door.RouteOf(ctx); len(m.Values) > 0 {
			m.Values[0].End--
		}
		row.change(ctx)
		s.Handler(ctx)
		got := fmt.Sprint(ctx.Response.StatusCode())
		if got == "200" {
			got += " " + string(ctx.Response.Body())
		}
		if got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// TestLimits proves which limits a route has: its own, then those of the groups around; that Routes and Explain show
// them; and that malformed ones panic.
func TestLimits(t *testing.T) {
	r := router.New()
	none := func(*gale.RequestCtx) {}
	r.Limit(router.Limits{WriteTimeout: 1})
	g := r.Group("/g")
	g.GET("/a", none)
	g.Limit(router.Limits{MaxBody: 2, ReadTimeout: 2, StreamBody: true})
	g.Limit(router.Limits{ReadTimeout: 3})
	in := g.Group("/in")
	in.GET("/b", none).Limit(router.Limits{MaxBody: 4}).Limit(router.Limits{WriteTimeout: 4})
	r.GET("/c", none)
	r.Mount("/m", none).Limit(router.Limits{MaxBody: 5})
	r.Fallback("GET /f/{x?}/{y?:[0-9]+}", none).Limit(router.Limits{MaxBody: 6})
	shown := r.Routes()
	s := attached(t, r)
	for target, want := range map[string]gale.RequestConfig{
		"/g/a":    {MaxRequestBodySize: 2, ReadTimeout: 3, WriteTimeout: 1, StreamRequestBody: true},
		"/g/in/b": {MaxRequestBodySize: 4, ReadTimeout: 3, WriteTimeout: 4, StreamRequestBody: true},
		"/c":      {WriteTimeout: 1},
		"/m/x/y":  {MaxRequestBodySize: 5, WriteTimeout: 1},
		"/none":   {},
		"/f":      {MaxRequestBodySize: 6, WriteTimeout: 1},
		"/f/%20":  {MaxRequestBodySize: 6, WriteTimeout: 1},
		"/f/a/7":  {MaxRequestBodySize: 6, WriteTimeout: 1},
	} {
		if c := s.RequestStarted(request("GET", "a.example", target)); c != want {
			t.Errorf("%s: got %+v, want %+v", target, c, want)
		}
		e := r.Explain("GET", "a.example", target)
		l := e.Limits
		if (l != router.Limits{MaxBody: want.MaxRequestBodySize, ReadTimeout: want.ReadTimeout, WriteTimeout: want.WriteTimeout, StreamBody: want.StreamRequestBody}) {
			t.Errorf("%s: Explain has %+v, want %+v", target, l, want)
		}
		if text := e.String(); strings.Contains(text, "limits") != (target != "/none") || !strings.Contains(text, l.String()) {
			t.Errorf("%s: Explain says %q", target, text)
		}
		for _, i := range shown {
			if e.Route != nil && i.Pattern == e.Pattern[strings.IndexByte(e.Pattern, '/'):] && i.Limits != l {
				t.Errorf("%s: Routes has %+v, and Explain %+v", target, i.Limits, l)
			}
		}
	}
	for _, line := range []string{"MIDDLEWARES  LIMITS\n", " MaxBody 4, ReadTimeout 3ns, WriteTimeout 4ns, StreamBody\n", " MaxBody 6, WriteTimeout 1ns\n"} {
		if !strings.Contains(shown.String(), line) {
			t.Errorf("%q isn't in the table\n%s", line, shown)
		}
	}
	if e, text := router.New(), "METHOD  PATTERN  HANDLER  MIDDLEWARES\n"; e.Routes().String() != text {
		t.Errorf("the table without limits is %q", e.Routes().String())
	}
	all := router.Limits{MaxBody: 1, ReadTimeout: time.Second, WriteTimeout: time.Minute, MaxConcurrent: 2, StreamBody: true}
	if got := all.String(); got != "MaxBody 1, ReadTimeout 1s, WriteTimeout 1m0s, MaxConcurrent 2, StreamBody" || (router.Limits{}).String() != "" {
		t.Error("all limits are printed as", got)
	}
	for want, f := range map[string]func(){
		"MaxBody -1 ":        func() { router.New().GET("/", none).Limit(router.Limits{MaxBody: -1}) },
		"ReadTimeout -1s ":   func() { router.New().Limit(router.Limits{ReadTimeout: -time.Second}) },
		"WriteTimeout -1ns ": func() { router.New().Group("/x").Limit(router.Limits{WriteTimeout: -1}) },
		"MaxConcurrent -2 ":  func() { router.New().Fallback("/{x?}", none).Limit(router.Limits{MaxConcurrent: -2}) },
		"has begun to serve": func() { r.Limit(router.Limits{MaxBody: 1}) },
	} {
		text := panicText(f)
		if !strings.HasPrefix(text, "router: ") || !strings.Contains(text, want) || !strings.Contains(text, "attach_test.go:") && strings.Contains(text, "negative") {
			t.Errorf("%s: the panic is %q", want, text)
		}
	}
}

func panicText(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// TestForgottenAttach proves that a route with limits answers 500 on a server that doesn't know them, and
// without a server works.
func TestForgottenAttach(t *testing.T) {
	r := router.New()
	r.GET("/limited", func(*gale.RequestCtx) {}).Limit(router.Limits{MaxConcurrent: 1})
	r.GET("/free", func(*gale.RequestCtx) {})
	outer := router.New()
	outer.Mount("/in", r.Handler())
	outer.GET("/direct", r.Handler())
	serve := func(set func(s *gale.Server)) *galetest.Server {
		srv := galetest.NewUnstartedServer(nil)
		srv.Config.Logger = noLog{}
		set(srv.Config)
		srv.Start()
		t.Cleanup(func() { srv.Close() })
		return srv
	}
	alone := serve(func(s *gale.Server) { s.Handler = r.Handler() })
	around := serve(func(s *gale.Server) {
		if err := outer.Attach(s); err != nil {
			t.Errorf("Attach: %v", err)
		}
	})
	right := serve(func(s *gale.Server) {
		if err := r.Attach(s); err != nil {
			t.Errorf("Attach: %v", err)
		}
	})
	for _, row := range []struct {
		srv    *galetest.Server
		path   string
		status int
	}{
		{alone, "/limited", 500}, {alone, "/free", 200}, {around, "/in/limited", 500}, {around, "/in/free", 200},
		{right, "/limited", 200}, {right, "/limited", 200}, {right, "/free", 200},
	} {
		status, _, err := row.srv.Client().Get(nil, "http://"+galetest.Host+row.path)
		if err != nil || status != row.status {
			t.Errorf("%s: status %d, %v; want %d", row.path, status, err, row.status)
		}
	}
	ctx := request("GET", "a.example", "/limited")
	if r.Handler()(ctx); ctx.Response.StatusCode() != 200 {
		t.Errorf("without a server: status %d", ctx.Response.StatusCode())
	}
}

// noLog drops what a server logs.
type noLog struct{}

func (noLog) Printf(string, ...any) {}

// TestPatternOfRefused proves that ErrorHandler and BeforeSend know the pattern of a request that the server
// refuses, and that the next request has its own.
func TestPatternOfRefused(t *testing.T) {
	r := router.New()
	r.POST("/items/{id}", func(ctx *gale.RequestCtx) {}).Limit(router.Limits{MaxBody: 1})
	srv := galetest.NewUnstartedServer(nil)
	if err := r.Attach(srv.Config); err != nil {
		t.Fatalf("Attach: %v", err)
	}
	srv.Config.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
		ctx.SetStatusCode(gale.ErrorStatus(err))
		ctx.Response.Header.Set("X-Handler", ctx.Pattern()+" "+ctx.PathValue("id"))
	}
	srv.Config.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", ctx.Pattern()) }
	srv.Start()
	defer srv.Close()
	for body, want := range map[string]string{"ab": "413 /items/{id} 7 /items/{id}", "a": "200  /items/{id}"} {
		for range 3 {
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://" + galetest.Host + "/items/7")
			req.Header.SetMethod("POST")
			req.SetBodyString(body)
			if err := srv.Client().Do(&req, &resp); err != nil {
				t.Fatalf("POST: %v", err)
			}
			h := &resp.Header
			if got := fmt.Sprintf("%d %s %s", resp.StatusCode(), h.Peek("X-Handler"), h.Peek("X-Hook")); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}
