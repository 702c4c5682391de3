//go:build !race

package h2

import (
	"context"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2ClientAllocs proves that a request over HTTP/2 doesn't allocate.
func TestHTTP2ClientAllocs(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("good") }})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body, url := make([]byte, 20_000), hs.URL("/")
	for _, tc := range []struct {
		name string
		c    *gale.HostClient
		ctx  context.Context
		post []byte
	}{
		{"plain", &gale.HostClient{}, nil, nil},
		{"POST", &gale.HostClient{}, nil, body[:100]},
		{"large POST", &gale.HostClient{}, nil, body},
		{"limits", &gale.HostClient{ReadTimeout: time.Minute, WriteTimeout: time.Minute}, nil, nil},
		{"trace", &gale.HostClient{Trace: &gale.ClientTrace{}}, nil, nil},
		{"cancellable", &gale.HostClient{}, ctx, nil},
	} {
		tc.c.Addr, tc.c.HTTP2 = hs.Addr, gale.HTTP2Only
		do := func() {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI(url)
			if tc.post != nil {
				req.Header.SetMethod("POST")
				req.SetBodyRaw(tc.post)
			}
			if err := tc.c.DoContext(peers.OrBackground(tc.ctx), req, resp); err != nil || len(resp.Body()) != 4 {
				t.Errorf("%s: %v", tc.name, err)
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
		}
		for range 20 {
			do()
		}
		if n := alloctest.PerRun(100, do); n > 0 {
			t.Errorf("%s: %v allocs", tc.name, n)
		}
		tc.c.CloseIdleConnections()
	}
}
