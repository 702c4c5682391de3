package reverse_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A request of whose streamed body a handler before the proxy has read a part isn't sent to
// the upstream: without these bytes the rest would look like the whole body.
func TestBodyPeekedBefore(t *testing.T) { onUpstreams(t, testBodyPeekedBefore) }

func testBodyPeekedBefore(t *testing.T) {
	upstream := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %v", len(b), err)
	})
	p := &reverse.Proxy{Upstreams: []string{upstream}, HTTP2: upstreamMode(), Timeout: 5 * time.Second}
	h := func(ctx *gale.RequestCtx) {
		n := ctx.QueryArgs().GetUintOrZero("read")
		if _, err := io.ReadFull(ctx.RequestBodyStream(), make([]byte, n)); err != nil {
			t.Error(err)
		}
		p.Handler(ctx)
	}
	for _, outside := range []string{"gale", "net/http"} {
		for _, version := range []int{1, 2} {
			for _, length := range []int{10, 20000, -10, -20000} { // negative if it isn't known
				for _, read := range []int{0, 3} {
					name := fmt.Sprintf("%s, HTTP/%d, %d bytes, %d read", outside, version, length, read)
					body := io.Reader(strings.NewReader(strings.Repeat("b", max(length, -length))))
					if length < 0 {
						body = io.MultiReader(body)
					}
					resp, err := clientOf(version).Post(fmt.Sprintf("%s/?read=%d", serveOutside(t, outside, h), read), "text/plain", body)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					got, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					switch {
					case err != nil:
						t.Errorf("%s: %v", name, err)
					case read == 0 && (resp.StatusCode != 200 || string(got) != fmt.Sprintf("%d <nil>", max(length, -length))):
						t.Errorf("%s: got %s %q", name, resp.Status, got)
					case read > 0 && resp.StatusCode != 500:
						t.Errorf("%s: got %s, the upstream read %q", name, resp.Status, got)
					}
				}
			}
		}
	}
}

// serveOutside serves h on Gale, or by package adaptor on net/http, with HTTP/1.1 and HTTP/2
// without TLS. It returns the URL.
func serveOutside(t *testing.T, outside string, h gale.RequestHandler) string {
	if outside == "net/http" {
		s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(h))
		s.Config.Protocols = peers.Protocols(1, 2)
		s.Start()
		t.Cleanup(s.Close)
		return s.URL
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Engine: engine, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0), Handler: h}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return "http://" + ln.Addr().String()
}

// clientOf returns a client of net/http that speaks one version of HTTP.
func clientOf(version int) *http.Client {
	return &http.Client{Transport: &http.Transport{Protocols: peers.Protocols(version), DisableKeepAlives: true}}
}
