package gale

import (
	"fmt"
	"strings"
	"testing"
)

// TestH2Forwarded: a handler gives its request to a client as it is: the upstream gets
// HTTP/1.1.
func TestH2Forwarded(t *testing.T) {
	upstream := startServer(t, &Server{Handler: func(ctx *RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %q", ctx.Request.Header.Protocol(), ctx.Method(), ctx.RequestURI(), ctx.PostBody())
	}}, nil)
	hc := &HostClient{Addr: upstream.addr}
	t.Cleanup(hc.CloseIdleConnections)
	for _, stream := range []bool{false, true} {
		hs := h2Way{EngineEvent, false}.start(t, &Server{StreamRequestBody: stream, Handler: func(ctx *RequestCtx) {
			if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), 502)
			}
		}})
		for _, pc := range []parityCase{
			{method: "GET", path: "/p?q"}, {method: "POST", path: "/p", body: "body"}, {method: "POST", path: "/p", body: "body", unsized: true},
			{method: "POST", path: "/p", body: "body", trailers: []string{"X-Sum", "1"}},
		} {
			resp, err := hs.client(2).Do(pc.request(hs))
			got := showParity(resp, err)
			if want := fmt.Sprintf("HTTP/1.1 %s %s %q", pc.method, pc.path, pc.body); !strings.Contains(got, want) {
				t.Errorf("stream=%v: got %s, want %s", stream, got, want)
			}
		}
	}
}
