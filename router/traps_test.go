package router_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// TestMethodOverride proves that no field, query or form gives a request another method: one that is looked at
// before a check of the method would bypass it.
func TestMethodOverride(t *testing.T) {
	r := router.New()
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV("X-Checked", ctx.Method()); next(ctx) }
	})
	r.GET("/x", func(ctx *gale.RequestCtx) { ctx.WriteString("GET") })
	r.DELETE("/x", func(ctx *gale.RequestCtx) { ctx.WriteString("DELETE") })
	for method, want := range map[string]string{"GET": "200 GET GET", "POST": "405 POST Method Not Allowed", "DELETE": "200 DELETE DELETE"} {
		for _, other := range []string{"GET", "DELETE"} {
			ctx := request(method, "example.com", "/x?_method="+other)
			ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
			ctx.Request.SetBodyString("_method=" + other)
			for _, field := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
				ctx.Request.Header.Set(field, other)
			}
			r.Handler()(ctx)
			got := fmt.Sprintf("%d %s %s", ctx.Response.StatusCode(), ctx.Response.Header.Peek("X-Checked"), ctx.Response.Body())
			if got != want {
				t.Errorf("%s with %s as an override: got %s, want %s", method, other, got, want)
			}
		}
	}
}

// TestForwardedFields proves that only the request line and Host choose a route and a redirect: fields that any
// client may send don't.
func TestForwardedFields(t *testing.T) {
	r := router.New()
	r.Handle("admin.example/", show())
	r.GET("/x/", show())
	for target, want := range map[string]string{"/x/": "200 /x/ /x/", "/x": "307 /x/", "//x/": "307 /x/"} {
		ctx := request("GET", "public.example", target)
		for field, value := range map[string]string{
			"X-Forwarded-Host": "admin.example", "X-Host": "admin.example", "Forwarded": "host=admin.example;proto=https",
			"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "//evil.example", "X-Original-URL": "/admin",
			"X-Rewrite-URL": "/admin", "X-Forwarded-Uri": "/admin",
		} {
			ctx.Request.Header.Set(field, value)
		}
		r.Handler()(ctx)
		got := fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Header.Peek("Location")), string(ctx.Response.Body()))
		if got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

// TestAnswersAreNoHTML proves that what a router answers by itself has nothing of the request in its body and is
// no HTML, whatever the client accepts.
func TestAnswersAreNoHTML(t *testing.T) {
	r := router.New()
	r.GET("/tree/", show())
	r.GET("/a/{x}/", show())
	for _, row := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/<script>", 404}, {"GET", "/%3Cscript%3E", 404}, {"POST", "/tree/<script>", 405}, {"GET", "/a/<script>", 307},
		{"GET", "//<script>", 307}, {"OPTIONS", "/tree/<script>", 204}, {"SCRIPT", "/tree/", 405},
	} {
		for _, accept := range []string{"text/html", "text/html,*/*;q=0.8", "application/json", ""} {
			ctx := request(row.method, "example.com", row.target)
			ctx.Request.Header.Set("Accept", accept)
			r.Handler()(ctx)
			h := &ctx.Response.Header
			body, kind := string(ctx.Response.Body()), string(h.ContentType())
			if ctx.Response.StatusCode() != row.status || strings.Contains(strings.ToLower(body), "script") || strings.Contains(kind, "html") {
				t.Errorf("%s %s, Accept %q: status %d, want %d: %s %q", row.method, row.target, accept, ctx.Response.StatusCode(), row.status, kind, body)
			}
			if to := string(h.Peek("Location")); strings.ContainsAny(to, "<>\"") {
				t.Errorf("%s: Location is %s", row.target, to)
			}
		}
	}
}

// TestRedirectsStayHere proves that no redirect is a reference to another host: none begins with two slashes or
// has a backslash or a control byte.
func TestRedirectsStayHere(t *testing.T) {
	redirects := 0
	for _, way := range []router.Way{router.Redirect, router.RedirectPermanent} {
		plain, mounted, in := router.New(), router.New(), router.New()
		for _, r := range []*router.Router{plain, mounted, in} {
			r.TrailingSlash, r.UncleanPath = way, way
		}
		plain.Any("/{a}/{$}", show())
		plain.Any("/{a}/{b}/", show())
		plain.Any("/{a...}", show())
		in.Any("/{a}/", show())
		mounted.Mount("/in", in.Handler())
		for _, part := range []string{"/", "\\", "\t", "\r\n", "\x00", "%09", "%0d%0a", "%00", "%2F", "%5C", ".", "..", "%2e", "@", "evil.example", ":"} {
			for _, form := range []string{"/%s/evil.example", "//%s/evil.example", "/%s//evil.example/", "/in/%s/evil.example", "/in/%s", "/%s", "/x/%s", "/in//%s/evil.example", "//evil.example/%s/.."} {
				target, r := fmt.Sprintf(form, part), plain
				if strings.HasPrefix(form, "/in/") {
					r = mounted
				}
				ctx := request("GET", "example.com", target)
				if r.Handler()(ctx); ctx.Response.StatusCode()/100 != 3 {
					continue
				}
				redirects++
				to := string(ctx.Response.Header.Peek("Location"))
				bad := !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, "\\")
				for _, c := range []byte(to) {
					bad = bad || c <= ' ' || c >= 0x7f
				}
				if bad {
					t.Errorf("%q is redirected to %q", target, to)
				}
			}
		}
	}
	if redirects < 50 {
		t.Errorf("only %d requests are redirected", redirects)
	}
}

// TestGuardedPath proves that a guard of a static route sees each request that reaches what it guards, however
// the path is written.
func TestGuardedPath(t *testing.T) {
	for _, way := range []router.Way{router.Redirect, router.Serve, router.Refuse} {
		r := router.New()
		r.TrailingSlash, r.UncleanPath = way, way
		var reached []string
		note := func(what string) gale.RequestHandler {
			return func(ctx *gale.RequestCtx) { reached = append(reached, what+" "+string(ctx.Path())) }
		}
		r.GET("/admin/{path...}", note("guard"))
		r.GET("/{path...}", note("files"))
		for _, target := range []string{
			"/admin/secret", "/%61dmin/secret", "/adm%69n/secret", "/x/../admin/secret", "//admin/secret", "/./admin/secret", "/admin//secret",
			"/x/%2e%2e/admin/secret", "/admin%2Fsecret", "/%2Fadmin/secret", "/x%2F..%2Fadmin%2Fsecret", "/admin%5Csecret", "/x/..%5Cadmin/secret",
			"/admin/%2e/secret", "/admin;x/secret", "/admin%252Fsecret", "/admin%00/secret", "/ADMIN/secret",
		} {
			reached = nil
			r.Handler()(request("GET", "example.com", target))
			for _, s := range reached {
				what, path, _ := strings.Cut(s, " ")
				if what == "files" && (strings.HasPrefix(path, "/admin/") || strings.Contains(path, "/../") || strings.Contains(path, "//")) {
					t.Errorf("%s reached %s", target, s)
				}
			}
		}
	}
}
