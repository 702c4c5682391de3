package h2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// TestH2Forwarded proves that a handler may give its request to a client without a
// change: the upstream gets HTTP/1.1.
func TestH2Forwarded(t *testing.T) {
	upstream := harness.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %q", ctx.Request.Header.Protocol(), ctx.Method(), ctx.RequestURI(), ctx.PostBody())
	}}, nil)
	hc := &gale.HostClient{Addr: upstream.Addr}
	t.Cleanup(hc.CloseIdleConnections)
	for _, stream := range []bool{false, true} {
		hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{StreamRequestBody: stream, Handler: func(ctx *gale.RequestCtx) {
			if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), 502)
			}
			if p := ctx.Request.Header.Protocol(); string(p) != "HTTP/2.0" {
				t.Errorf("stream=%v: after it was passed on the request is one of %s", stream, p)
			}
		}})
		for _, pc := range []parityCase{
			{method: "GET", path: "/p?q"}, {method: "POST", path: "/p", body: "body"}, {method: "POST", path: "/p", body: "body", unsized: true},
			{method: "POST", path: "/p", body: "body", trailers: []string{"X-Sum", "1"}},
		} {
			resp, err := hs.Client(2).Do(pc.request(hs))
			got := showParity(resp, err)
			if want := fmt.Sprintf("HTTP/1.1 %s %s %q", pc.method, pc.path, pc.body); !strings.Contains(got, want) {
				t.Errorf("stream=%v: got %s, want %s", stream, got, want)
			}
		}
	}
}

// TestH2ForwardedAlike proves that if a handler gives its request to a client, the
// upstream gets the same request whether it arrived over HTTP/1.1 or HTTP/2.
func TestH2ForwardedAlike(t *testing.T) {
	upstream := harness.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s%q", ctx.Request.Header.Header(), ctx.PostBody())
		for name, value := range ctx.Trailers() {
			fmt.Fprintf(ctx, " %s=%s", name, value)
		}
	}}, nil)
	hc := &gale.HostClient{Addr: upstream.Addr}
	t.Cleanup(hc.CloseIdleConnections)
	for _, stream := range []bool{false, true} {
		hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{StreamRequestBody: stream, Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/own" {
				_ = ctx.Request.Header.AddTrailerValue("X-Own", "2")
			}
			may := ctx.Request.MayContinue()
			if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), 502)
			}
			fmt.Fprintf(ctx, " %v", may)
		}})
		for _, pc := range []parityCase{
			{method: "POST", path: "/", body: "body", unsized: true},
			{method: "POST", path: "/", body: "body", unsized: true, fields: []string{"Expect", "100-continue"}},
			{method: "POST", path: "/", body: "body", trailers: []string{"X-Sum", "1"}},
			{method: "POST", path: "/own", body: "body", unsized: true},
			{method: "POST", path: "/own", body: "body", trailers: []string{"X-Sum", "1"}},
		} {
			var got [3]string
			for major := 1; major <= 2; major++ {
				resp, err := hs.Client(major).Do(pc.request(hs))
				got[major] = showParity(resp, err)
			}
			if got[1] != got[2] {
				t.Errorf("stream=%v %s %q %q: by HTTP/2\n%s\nby HTTP/1.1\n%s", stream, pc.path, pc.fields, pc.trailers, got[2], got[1])
			}
		}
	}
}
