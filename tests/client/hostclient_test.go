package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestHostClientDo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello " + string(ctx.Path()) + string(ctx.PostBody())) }}
	go func() { _ = s.Serve(ln) }()
	defer s.Shutdown()
	c := &gale.HostClient{Addr: ln.Addr().String()}
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	for range 3 {
		req.SetRequestURI("http://" + c.Addr + "/x")
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		if string(resp.Body()) != "hello /x" {
			t.Fatalf("%q", resp.Body())
		}
	}
	if st := c.PoolStats(); st.Dials != 1 || st.Idle != 1 || st.Open != 1 {
		t.Fatalf("%+v", st)
	}
}

// A HostClient, which has an address anyway, doesn't send an invalid Host.
func TestHostClientBadHosts(t *testing.T) {
	n := peers.NewNetwork(t)
	c := &gale.HostClient{Addr: "a.test:80", Dial: n.Dial}
	p := &gale.PipelineClient{Addr: "a.test:80", Dial: n.Dial}
	lb := &gale.LBClient{Clients: []gale.BalancingClient{c}}
	const port = `gale: invalid host ":8080": a port alone names no host, as localhost:8080 does`
	const umlaut = `gale: invalid character "ü" in host name: write "bücher.test:80" in ASCII (punycode), as golang.org/x/net/idna does`
	for _, test := range []struct {
		name string
		make func(req *gale.Request)
		want string
	}{
		{"nothing", func(*gale.Request) {}, "gale: missing required host header in request"},
		{"a port in the URI", func(r *gale.Request) { r.SetRequestURI("http://:8080/") }, "gale: invalid uri: it names no host, as http://example.com/ does"},
		{"SetHost of a port", func(r *gale.Request) { r.SetHost(":8080") }, port},
		{"Host of a port", func(r *gale.Request) { r.Header.SetHost(":8080") }, port},
		{"UseHostHeader of a port", func(r *gale.Request) {
			r.UseHostHeader = true
			r.SetRequestURI("http://a.test/")
			r.Header.SetHost(":8080")
		}, port},
		{"UTF-8 in the URI", func(r *gale.Request) { r.SetRequestURI("http://bücher.test:80/") }, umlaut},
		{"SetHost of UTF-8", func(r *gale.Request) { r.SetHost("bücher.test:80") }, umlaut},
		{"Host of UTF-8", func(r *gale.Request) { r.Header.SetHost("bücher.test:80") }, umlaut},
		{"Host of no UTF-8", func(r *gale.Request) { r.Header.SetHost("b\xfc") }, `gale: invalid character "\xfc" in host name: write "b\xfc" in ASCII (punycode), as golang.org/x/net/idna does`},
		// A request with an invalid URI must not be sent to a host that was set in
		// another way.
		{"Host and a bad URI", func(r *gale.Request) { r.SetRequestURI("http://:8080/x"); r.Header.SetHost("a.test") }, "gale: invalid uri: it names no host, as http://example.com/ does"},
		{"a bad URI and SetHost", func(r *gale.Request) { r.SetRequestURI("http://a,b/x"); r.SetHost("a.test") }, `gale: invalid character "," in host name`},
	} {
		for client, do := range map[string]func(*gale.Request, *gale.Response) error{"HostClient": c.Do, "PipelineClient": p.Do, "LBClient": lb.Do} {
			var req gale.Request
			test.make(&req)
			for range 2 {
				if err := do(&req, nil); err == nil || err.Error() != test.want {
					t.Errorf("%s, %s: %v, want %s", client, test.name, err, test.want)
				}
			}
		}
		var req gale.Request
		test.make(&req)
		if strings.Contains(test.name, "SetHost") && strings.Contains(test.name, "bad") {
			if err := req.Write(bufio.NewWriter(io.Discard)); err == nil || err.Error() != test.want {
				t.Errorf("Write, %s: %v, want %s", test.name, err, test.want)
			}
		}
	}
	if len(n.Log) > 0 {
		t.Errorf("these were dialed: %q", n.Log)
	}
}

// TestClientNoAddr proves that a client without an address returns an error that says so.
func TestClientNoAddr(t *testing.T) {
	if _, err := harness.GetFrom(&gale.HostClient{}, "GET", "http://example.com/"); fmt.Sprint(err) != "gale: HostClient.Addr is empty: set it to host:port, or to a list of them separated by commas" {
		t.Error(err)
	}
}
