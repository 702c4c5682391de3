package router_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/router"
)

// generation returns a router all of whose answers begin with n.
func generation(n int) gale.RequestHandler {
	r := router.New()
	for i := range 50 {
		r.GET(fmt.Sprintf("/r%d/{x}", i), func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "%d %d %s %s", n, i, ctx.PathValue("x"), ctx.Pattern())
		})
	}
	return r.Handler()
}

// TestSwap proves that routers can be swapped while they serve: each request gets one of them.
func TestSwap(t *testing.T) {
	var now atomic.Pointer[gale.RequestHandler]
	swap := func(n int) { h := generation(n); now.Store(&h) }
	swap(0)
	srv := galetest.NewServer(func(ctx *gale.RequestCtx) { (*now.Load())(ctx) })
	defer srv.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				var req gale.Request
				var resp gale.Response
				req.SetRequestURI(fmt.Sprintf("http://%s/r%d/v%d", galetest.Host, i%50, w))
				if err := srv.Client().Do(&req, &resp); err != nil {
					t.Error("a request:", err)
					return
				}
				if want := fmt.Sprintf(" %d v%d /r%d/{x}", i%50, w, i%50); !strings.HasSuffix(string(resp.Body()), want) {
					t.Errorf("got %q, want %q", resp.Body(), want)
					return
				}
			}
		})
	}
	for n := range 50 {
		swap(n + 1)
	}
	close(stop)
	wg.Wait()
}

// TestSwapWithLimits proves that routers whose routes have limits can be swapped while they serve: each request is
// served by the router that has found its limits, and the count of each one ends at none.
func TestSwapWithLimits(t *testing.T) {
	type key struct{}
	var now atomic.Pointer[gale.Server]
	swap := func(n int) {
		r := router.New()
		r.Fallback("GET /{x:[a-z]+}", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, n) }).Limit(router.Limits{MaxConcurrent: 4})
		now.Store(attached(t, r))
	}
	swap(0)
	srv := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) { ctx.UserValue(key{}).(*gale.Server).Handler(ctx) })
	srv.Config.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
		s := now.Load()
		ctx.SetUserValue(key{}, s)
		return s.RequestStarted(ctx)
	}
	srv.Start()
	defer srv.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, body, err := srv.Client().Get(nil, "http://"+galetest.Host+"/a"); err != nil || status != 200 {
					t.Errorf("status %d, %q, %v", status, body, err)
					return
				}
			}
		})
	}
	for n := range 50 {
		swap(n + 1)
	}
	close(stop)
	wg.Wait()
}

// TestFirstRequests proves that many first requests at once make one table.
func TestFirstRequests(t *testing.T) {
	for range 20 {
		h := generation(1)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				ctx := request("GET", "example.com", fmt.Sprintf("/r%d/x", i))
				if h(ctx); ctx.Response.StatusCode() != 200 {
					t.Error("status", ctx.Response.StatusCode())
				}
			})
		}
		wg.Wait()
	}
}

// TestAskedMeanwhile proves that a router may be asked for its routes while it begins to serve.
func TestAskedMeanwhile(t *testing.T) {
	for range 50 {
		r := router.New()
		r.GET("/x/{x}", show("x")).Name("get")
		r.Any("/x/{x}", show("x")).Name("any")
		r.Fallback("/f/{x?}", show("x")).Name("form")
		r.Limit(router.Limits{MaxBody: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := answer(serve(r, "GET", "/x/1")); got != `200 /x/{x} /x/1 x="1"` {
				t.Error("a request got", got)
			}
		})
		wg.Go(func() {
			if n := len(r.Routes()); n != 3 {
				t.Errorf("%d routes", n)
			}
			if e := r.Explain("GET", "", "/x/1"); e.Pattern != "GET /x/{x}" || e.Limits.MaxBody != 1 {
				t.Error("Explain says", e)
			}
			for name, want := range map[string]string{"get": "/x/1", "any": "/x/1", "form": "/f/1"} {
				if got, err := r.URL(name, "1"); got != want || err != nil {
					t.Errorf("the URL is %q, %v, want %q", got, err, want)
				}
			}
		})
		wg.Wait()
	}
}

// TestValuesStay proves that the pattern and the values last as long as the context: in BeforeSend, in one
// that comes after a timeout, and after Detach. The next request on the connection sees nothing of them.
func TestValuesStay(t *testing.T) {
	r := router.New()
	late, release := make(chan string, 10), make(chan struct{})
	tell := func(ctx *gale.RequestCtx) string { return ctx.Pattern() + " " + ctx.PathValue("x") }
	wait := func(ctx *gale.RequestCtx) { <-release; late <- tell(ctx) }
	r.GET("/now/{x}", func(*gale.RequestCtx) {})
	r.GET("/detach/{x}", func(ctx *gale.RequestCtx) { go wait(ctx.Detach()) })
	r.GET("/timeout/{x}", gale.TimeoutHandler(wait, time.Millisecond, "late"))
	r.GET("/error/{x}", func(ctx *gale.RequestCtx) { ctx.TimeoutError("late"); go wait(ctx) })
	inner := router.New()
	inner.GET("/{x}", func(*gale.RequestCtx) {})
	r.Mount("/in", gale.TimeoutHandler(inner.Handler(), time.Minute, "late"))
	srv := galetest.NewUnstartedServer(r.Handler())
	srv.Config.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Route", tell(ctx)) }
	srv.Start()
	defer srv.Close()
	ask := func(path, want string) {
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI("http://" + galetest.Host + path)
		if err := srv.Client().Do(&req, &resp); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got := string(resp.Header.Peek("X-Route")); got != want {
			t.Errorf("%s: in BeforeSend the route is %q, want %q", path, got, want)
		}
	}
	for range 3 {
		ask("/now/1", "/now/{x} 1")
		ask("/none", "")
		ask("/in/2", "/in/{x} 2")
		ask("/now/a%20b", "/now/{x} a b")
	}
	for _, path := range []string{"detach", "timeout", "error"} {
		ask("/"+path+"/v", "/"+path+"/{x} v")
		ask("/now/2", "/now/{x} 2")
	}
	close(release)
	seen := map[string]bool{<-late: true, <-late: true, <-late: true}
	for _, path := range []string{"detach", "timeout", "error"} {
		if !seen["/"+path+"/{x} v"] {
			t.Errorf("late goroutines saw %v", seen)
		}
	}
}

// TestDetachedRouter proves that a goroutine that has a request after Detach may call routers while the server ends
// the request.
func TestDetachedRouter(t *testing.T) {
	late := make(chan string)
	other := router.New()
	other.GET("/{x}", func(*gale.RequestCtx) {})
	r := router.New()
	r.GET("/{y}", func(ctx *gale.RequestCtx) {
		ctx.Detach()
		go func() {
			for range 1000 {
				other.Handler()(ctx)
			}
			late <- ctx.Pattern() + " " + ctx.PathValue("x") + ctx.PathValue("y")
		}()
	})
	srv := galetest.NewServer(r.Handler())
	defer srv.Close()
	for range 20 {
		if status, _, err := srv.Client().Get(nil, "http://"+galetest.Host+"/1"); status != 200 || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
		if got := <-late; got != "/{y} 1" && got != "/{x} 1" {
			t.Errorf("the goroutine saw %q", got)
		}
	}
}

// TestHandedOn proves that a path whose %2F the router has not taken for a slash isn't handed on to a
// reader that may: a handler of net/http.
func TestHandedOn(t *testing.T) {
	next := adaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }))
	r := router.New()
	r.Any("/admin/", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(gale.StatusForbidden) })
	r.Mount("/m", next)
	r.Any("/{x}", next)
	for _, row := range []struct {
		h      gale.RequestHandler
		target string
		status int
	}{
		{next, "/admin%2Fx", 200}, {r.Handler(), "/admin%2Fx", 400}, {r.Handler(), "/admin%5cx", 400}, {r.Handler(), "/adm%69n/x", 403},
		{r.Handler(), "/admin", 200}, {r.Handler(), "/x%20", 200}, {r.Handler(), "/m/a%2Fb", 400}, {r.Handler(), "/m/a%20b/", 200},
	} {
		ctx := request("GET", "example.com", row.target)
		if row.h(ctx); ctx.Response.StatusCode() != row.status {
			t.Errorf("%s: status %d, want %d: %s", row.target, ctx.Response.StatusCode(), row.status, ctx.Response.Body())
		}
	}
}
