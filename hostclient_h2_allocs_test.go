//go:build !race

package gale

import (
	"context"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

// TestHTTP2ClientAllocs proves that a request over HTTP/2 doesn't allocate.
func TestHTTP2ClientAllocs(t *testing.T) {
	hs := h2Way{EngineEvent, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("good") }})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body, url := make([]byte, 20_000), hs.url("/")
	for _, tc := range []struct {
		name string
		c    *HostClient
		ctx  context.Context
		post []byte
	}{
		{"plain", &HostClient{}, nil, nil},
		{"POST", &HostClient{}, nil, body[:100]},
		{"large POST", &HostClient{}, nil, body},
		{"limits", &HostClient{ReadTimeout: time.Minute, WriteTimeout: time.Minute}, nil, nil},
		{"trace", &HostClient{Trace: &ClientTrace{}}, nil, nil},
		{"cancellable", &HostClient{}, ctx, nil},
	} {
		tc.c.Addr, tc.c.HTTP2 = hs.addr, HTTP2Only
		do := func() {
			req, resp := AcquireRequest(), AcquireResponse()
			req.SetRequestURI(url)
			if tc.post != nil {
				req.Header.SetMethod("POST")
				req.SetBodyRaw(tc.post)
			}
			if err := tc.c.DoContext(orBackground(tc.ctx), req, resp); err != nil || len(resp.Body()) != 4 {
				t.Errorf("%s: %v", tc.name, err)
			}
			ReleaseRequest(req)
			ReleaseResponse(resp)
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
