//go:build !race

package gale

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

// TestClientAllocs proves that a request doesn't allocate, except for two allocations
// with a context that can be cancelled.
func TestClientAllocs(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) {
		answerWhole(p.Conn)
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pipe := func(string) (net.Conn, error) {
		a, b := net.Pipe()
		go answerWhole(b)
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
		if n := alloctest.PerRun(100, do); n > tc.want {
			t.Errorf("%s: %v allocs, want %v", tc.name, n, tc.want)
		}
		tc.c.CloseIdleConnections()
	}
}

// answerWhole answers requests without allocating, in however many pieces they arrive.
func answerWhole(c net.Conn) {
	buf, answer, n := make([]byte, 64<<10), []byte(okAnswer("good")), 0
	for {
		m, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		n += m
		head, body, ok := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		length := 0
		if _, field, ok := bytes.Cut(head, []byte("\r\nContent-Length: ")); ok {
			for ; len(field) > 0 && field[0] >= '0' && field[0] <= '9'; field = field[1:] {
				length = length*10 + int(field[0]-'0')
			}
		}
		if len(body) < length {
			continue
		}
		n = 0
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
