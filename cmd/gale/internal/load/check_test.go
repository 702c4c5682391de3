package load

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// TestPlanCheck proves that plans that contradict themselves, or that the system can't
// carry out, are refused with one line before anything is sent.
func TestPlanCheck(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was sent") })
	for _, c := range []struct {
		name, want string
		set        func(p *Plan)
	}{
		{"nothing to send", "no URL", func(p *Plan) { p.Targets = nil }},
		{"no request", "no request", func(p *Plan) { p.Targets[0].Source = nil }},
		{"weight", "is not positive", func(p *Plan) { p.Targets[0].Weight = 0 }},
		{"no end", "neither a number of requests nor a duration", func(p *Plan) { p.Count = 0 }},
		{"few connections", "too few for 2 threads", func(p *Plan) { p.Connections = 1 }},
		{"several servers", "to each server", func(p *Plan) {
			second := p.Targets[0]
			second.Address = "127.0.0.1:1"
			p.Targets = append(p.Targets, second)
			p.Connections = 3
		}},
		{"pipeline and HTTP/2", "choose streams", func(p *Plan) { p.HTTP2, p.Pipeline = true, 2 }},
		{"streams and HTTP/1.1", "choose a pipeline", func(p *Plan) { p.Streams = 2 }},
		{"pipeline without keep-alive", "kept alive", func(p *Plan) { p.NoKeepAlive, p.Pipeline = true, 2 }},
		{"think and rate", "contradict", func(p *Plan) { p.Think, p.Schedule = 1, []Ramp{{1, 1, time.Second}} }},
		{"rate 0", "0 all the time", func(p *Plan) { p.Schedule = []Ramp{{0, 0, time.Second}} }},
		{"rate without time", "without a duration", func(p *Plan) { p.Schedule = []Ramp{{1, 1, 0}} }},
		{"two durations", "the rates are for 1s", func(p *Plan) { p.Duration, p.Schedule = time.Minute, []Ramp{{1, 1, time.Second}} }},
		{"negative", "negative", func(p *Plan) { p.Timeout = -1 }},
		{"a name", "not an IP address", func(p *Plan) { p.Targets[0].Address = "localhost:80" }},
		{"address family", "of different kinds", func(p *Plan) {
			p.Sources = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
		}},
		{"open files", "ulimit -n", func(p *Plan) { p.Connections = 100_000_000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planFor(addr)
			p.Count = 10
			c.set(p)
			_, err := Run(context.Background(), p)
			var refused *Error
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPlanCheckPorts proves that more connections than ports are refused.
func TestPlanCheckPorts(t *testing.T) {
	ports := localPorts()
	if ports == 0 {
		t.Skip("the number of ports isn't known")
	}
	p := &Plan{Connections: ports + 1}
	e := []*endpoint{{network: "tcp"}}
	if err := checkPorts(p, e); err == nil {
		t.Error("one address was enough")
	}
	p.Sources = make([]netip.Addr, 2)
	if err := checkPorts(p, e); err != nil {
		t.Error(err)
	}
}

// TestRunWithoutTLS proves that the errors of a server without TLS say so.
func TestRunWithoutTLS(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		_, client := testTLS(t)
		addr := script(t, func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		})
		p := planFor(addr)
		p.Duration, p.Targets[0].TLS = 50*time.Millisecond, client
		if r := do(p); errorCount(r, kindTLS) == 0 || r.Requests.Sent != 0 {
			t.Errorf("%+v, errors %v", r.Requests, r.Errors)
		}
	})
}
