package gale_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// TestForwarded proves that a handler may give its request to a client without a change: the upstream
// gets the same request of HTTP/1.1, whatever has brought it.
func TestForwarded(t *testing.T) {
	upstream := harness.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s%q", ctx.Request.Header.Header(), ctx.PostBody())
		for name, value := range ctx.Trailers() {
			fmt.Fprintf(ctx, " %s=%s", name, value)
		}
	}}, nil)
	hc := &gale.HostClient{Addr: upstream.Addr}
	t.Cleanup(hc.CloseIdleConnections)
	forward := func(ctx *gale.RequestCtx) {
		was := string(ctx.Request.Header.Protocol())
		if string(ctx.Path()) == "/own" {
			_ = ctx.Request.Header.AddTrailerValue("X-Own", "2")
		}
		may := ctx.Request.MayContinue()
		if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), 502)
		}
		fmt.Fprintf(ctx, " %v %v", may, string(ctx.Request.Header.Protocol()) == was)
	}
	for _, stream := range []bool{false, true} {
		right := make(map[string]string)
		for _, b := range bringers {
			for _, r := range []request{
				{method: "GET", path: "/p?q"},
				{method: "POST", path: "/p", body: "body"},
				{method: "POST", path: "/", body: "body", unsized: true},
				{method: "POST", path: "/", body: "body", unsized: true, fields: []string{"Expect", "100-continue"}},
				{method: "POST", path: "/", body: "body", trailers: []string{"X-Sum", "1"}},
				{method: "POST", path: "/own", body: "body", unsized: true},
				{method: "POST", path: "/own", body: "body", trailers: []string{"X-Sum", "1"}},
			} {
				row := parityRow{name: fmt.Sprint(r), s: &gale.Server{StreamRequestBody: stream, Handler: forward}, request: r}
				if b.lacks(&row) != "" || b.name == "toy" { // the toy's requests are for https
					continue
				}
				got := b.start(t, row.s)(&r).text(ofProgram)
				if right[row.name] == "" {
					right[row.name] = got
				}
				if want := fmt.Sprintf("%s %s HTTP/1.1\r\n", r.method, r.path); !strings.Contains(got, want) || got != right[row.name] {
					t.Errorf("stream=%v, %v by %s:\n%s\nby HTTP/1.1:\n%s", stream, r, b.name, got, right[row.name])
				}
			}
		}
	}
}
