package reverse_test

import (
	"bytes"
	"log"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/reverse"
)

// TestErrorsAreLogged proves that a request which fails because of an upstream leaves a
// line in the server's log, unless an ErrorHandler is set or the client is at fault.
func TestErrorsAreLogged(t *testing.T) {
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tt := range []struct {
		name   string
		p      *reverse.Proxy
		status int
		want   string // in the only line, "" for none
	}{
		{"refused", &reverse.Proxy{Upstreams: []string{closed.Addr().String()}}, 502, "GET http://test/api/x - reverse: 502 from " + closed.Addr().String()},
		{"bad upstream", &reverse.Proxy{Upstreams: []string{"ftp://a"}}, 503, "reverse: 503"},
		{"client's fault", &reverse.Proxy{Upstreams: []string{closed.Addr().String()}, StripPrefix: "/other"}, 404, ""},
		{"own handler", &reverse.Proxy{Upstreams: []string{closed.Addr().String()}, ErrorHandler: reverse.WriteError}, 502, ""},
	} {
		var out bytes.Buffer
		s := galetest.NewUnstartedServer(tt.p.Handler)
		s.Config.Logger = log.New(&out, "", 0)
		s.Start()
		resp, err := s.HTTPClient().Get("http://test/api/x")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.Close()
		tt.p.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, resp.StatusCode, tt.status)
		}
		if got := out.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) || tt.want != "" && strings.Count(got, "\n") != 1 {
			t.Errorf("%s: logged %q, want %q", tt.name, got, tt.want)
		}
	}
}
