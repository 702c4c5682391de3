//go:build !race

package gale

import (
	"context"
	"net"
	"testing"
	"time"
)

// TestClientAllocs pins what a request costs: nothing, and with a context that
// can be cancelled two allocations.
func TestClientAllocs(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) {
		buf, answer := make([]byte, 64<<10), []byte(okAnswer("good"))
		for {
			if _, err := p.Conn.Read(buf); err != nil {
				return
			}
			if _, err := p.Conn.Write(answer); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pipe := func(string) (net.Conn, error) {
		a, b := net.Pipe()
		go func() {
			buf, answer := make([]byte, 64<<10), []byte(okAnswer("good"))
			for {
				if _, err := b.Read(buf); err != nil {
					return
				}
				if _, err := b.Write(answer); err != nil {
					return
				}
			}
		}()
		return a, nil
	}
	body, url := make([]byte, 20_000), s.url()
	for _, tc := range []struct {
		name string
		c    *HostClient
		ctx  context.Context
		want float64
		post []byte
	}{
		{"plain", &HostClient{Addr: s.addr()}, nil, 0, nil},
		{"POST", &HostClient{Addr: s.addr()}, nil, 0, body[:100]},
		{"large POST", &HostClient{Addr: s.addr()}, nil, 0, body},
		{"background", &HostClient{Addr: s.addr()}, context.Background(), 0, nil},
		{"limits", &HostClient{Addr: s.addr(), ReadTimeout: time.Minute, WriteTimeout: time.Minute}, nil, 0, nil},
		{"trace", &HostClient{Addr: s.addr(), Trace: &ClientTrace{}}, nil, 0, nil},
		{"cancellable", &HostClient{Addr: s.addr()}, ctx, 2, nil},
		{"pipe", &HostClient{Addr: s.addr(), Dial: pipe}, nil, 0, nil},
	} {
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
		do()
		if n := testing.AllocsPerRun(100, do); n > tc.want {
			t.Errorf("%s: %v allocs, want %v", tc.name, n, tc.want)
		}
		tc.c.CloseIdleConnections()
	}
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
