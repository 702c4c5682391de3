package adaptor_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A request that is over, for whatever reason, leaves no connection of the upstream behind, on all
// servers.
func TestProxyGivesConnBack(t *testing.T) {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	go http.Serve(up, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/now" {
			return
		}
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	for _, out := range outsides {
		for _, path := range []string{"/gone", "/before", "/after"} {
			t.Run(out.name+path, func(t *testing.T) {
				p := &reverse.Proxy{Upstreams: []string{up.Addr().String()}, MaxConns: 1, MaxConnWait: time.Minute}
				defer p.Close()
				url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
					switch string(ctx.Path()) {
					case "/before":
						p.Handler(ctx)
						ctx.TimeoutError("too late")
					case "/after":
						go p.Handler(ctx)
						ctx.TimeoutError("too late")
					default:
						p.Handler(ctx)
					}
				})
				tr := &http.Transport{Protocols: peers.Protocols(out.version), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, network, addr)
					if err == nil { // a client that only ends its side may wait for the response
						err = c.(*net.TCPConn).SetLinger(0)
					}
					return c, err
				}}
				defer tr.CloseIdleConnections()
				ask := func(ctx context.Context, path string) (*http.Response, error) {
					req, err := http.NewRequestWithContext(ctx, "GET", url+path, nil)
					if err != nil {
						t.Fatal(err)
					}
					return tr.RoundTrip(req)
				}
				ctx, leave := context.WithCancel(t.Context())
				resp, err := ask(ctx, path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadFull(resp.Body, make([]byte, 5))
				leave()
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave = context.WithTimeout(t.Context(), time.Minute/2)
				defer leave()
				if resp, err = ask(ctx, "/now"); err != nil || resp.StatusCode != gale.StatusOK {
					t.Fatal(fmt.Sprint("no connection: ", resp, err))
				}
				resp.Body.Close()
			})
		}
	}
}
