//go:build !race

package client

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientAllocs proves that a request doesn't allocate, except for two allocations
// with a context that can be cancelled.
func TestClientAllocs(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		answerWhole(p.Conn)
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pipe := func(string) (net.Conn, error) {
		a, b := net.Pipe()
		go answerWhole(b)
		return a, nil
	}
	body, url := make([]byte, 20_000), s.URL()
	for _, tc := range []struct {
		name string
		c    *gale.HostClient
		ctx  context.Context
		want float64
		post []byte
	}{
		{"plain", &gale.HostClient{Addr: s.Addr()}, nil, 0, nil},
		{"POST", &gale.HostClient{Addr: s.Addr()}, nil, 0, body[:100]},
		{"large POST", &gale.HostClient{Addr: s.Addr()}, nil, 0, body},
		{"background", &gale.HostClient{Addr: s.Addr()}, context.Background(), 0, nil},
		{"limits", &gale.HostClient{Addr: s.Addr(), ReadTimeout: time.Minute, WriteTimeout: time.Minute}, nil, 0, nil},
		{"trace", &gale.HostClient{Addr: s.Addr(), Trace: &gale.ClientTrace{}}, nil, 0, nil},
		{"cancellable", &gale.HostClient{Addr: s.Addr()}, ctx, 2, nil},
		{"pipe", &gale.HostClient{Addr: s.Addr(), Dial: pipe}, nil, 0, nil},
	} {
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
		do()
		if n := alloctest.PerRun(100, do); n > tc.want {
			t.Errorf("%s: %v allocs, want %v", tc.name, n, tc.want)
		}
		tc.c.CloseIdleConnections()
	}
}

// answerWhole answers requests without allocating, in however many pieces they arrive.
func answerWhole(c net.Conn) {
	buf, answer, n := make([]byte, 64<<10), []byte(peers.OkAnswer("good")), 0
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
