package adaptor_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A handler may pass its request on with a client, also in a stream or a StreamWriter of its own: the
// body and its trailers are whole, from all servers.
func TestPassedRequest(t *testing.T) {
	came := make(chan string, 1)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		came <- fmt.Sprint(string(b), err, r.Trailer)
	}))
	up.Config.Protocols = peers.Protocols(1, 2)
	up.Start()
	defer up.Close()
	ways := map[string]func(ctx *gale.RequestCtx){
		"as it is": func(*gale.RequestCtx) {},
		"in a stream": func(ctx *gale.RequestCtx) {
			ctx.Request.SetBodyStream(io.TeeReader(ctx.RequestBodyStream(), io.Discard), -1)
		},
		"by a writer": func(ctx *gale.RequestCtx) {
			body := ctx.RequestBodyStream()
			ctx.Request.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = io.Copy(w, body) })
		},
		"without trailers": func(ctx *gale.RequestCtx) { ctx.Request.Header.Del("X-Sum") },
		"with another value": func(ctx *gale.RequestCtx) {
			_ = ctx.Request.Header.AddTrailer("X-Sum")
			ctx.Request.Header.Set("X-Sum", "2")
		},
	}
	for _, out := range outsides {
		for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
			for how, pass := range ways {
				t.Run(fmt.Sprintf("%s/%v/%s", out.name, mode, how), func(t *testing.T) {
					c := &gale.HostClient{Addr: up.Listener.Addr().String(), HTTP2: mode}
					defer c.CloseIdleConnections()
					url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
						pass(ctx)
						if err := c.Do(&ctx.Request, &ctx.Response); err != nil {
							ctx.Error(err.Error(), gale.StatusBadGateway)
						}
					})
					tr := &http.Transport{Protocols: peers.Protocols(out.version)}
					defer tr.CloseIdleConnections()
					for range 2 {
						body, w := io.Pipe()
						go func() {
							_, _ = io.WriteString(w, "the body")
							w.Close()
						}()
						req, err := http.NewRequestWithContext(t.Context(), "POST", url, body)
						if err != nil {
							t.Fatal(err)
						}
						req.Trailer = http.Header{"X-Sum": {"1"}}
						resp, err := tr.RoundTrip(req)
						if err != nil {
							t.Fatal(err)
						}
						b, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						if resp.StatusCode != gale.StatusOK {
							t.Fatalf("%d %s", resp.StatusCode, b)
						}
						want := "the body<nil> map[X-Sum:[1]]"
						switch how {
						case "without trailers":
							want = "the body<nil> map[X-Sum:[]]" // it is announced still
						case "with another value":
							want = "the body<nil> map[X-Sum:[2]]"
						}
						if got := <-came; got != want {
							t.Errorf("the upstream got %s, want %s", got, want)
						}
					}
				})
			}
		}
	}
}
