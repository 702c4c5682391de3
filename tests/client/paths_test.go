package client

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
)

// Paths are sent as they are given with DisablePathNormalizing, and in their normal form
// without it, as in fasthttp: by each way of sending, in redirects too, with each protocol.
func TestPathAsGiven(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, found := strings.CutPrefix(r.RequestURI, "/start?"); found {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
			return
		}
		mu.Lock()
		sent = append(sent, r.RequestURI)
		mu.Unlock()
	})
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "https://")
	do := func(d interface {
		Do(*gale.Request, *gale.Response) error
	}, url string) error {
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI(url)
		return d.Do(&req, &resp)
	}
	for _, tt := range []struct{ given, normal string }{
		{"/api/projects/group%2Fproject/x", "/api/projects/group/project/x"},
		{"/a%2Bb", "/a+b"},
		{"/a%3Bb", "/a;b"},
		{"/a//b", "/a/b"},
		{"/s3/key%2F", "/s3/key/"},
		{"/x!'()*", "/x%21%27%28%29%2A"},
		{"/a%20b", "/a%20b"},
	} {
		for _, asGiven := range []bool{false, true} {
			want := tt.normal
			if asGiven {
				want = tt.given
			}
			for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2On} {
				c := &gale.Client{TLSConfig: &tls.Config{InsecureSkipVerify: true}, HTTP2: mode, DisablePathNormalizing: asGiven}
				hc := &gale.HostClient{Addr: addr, IsTLS: true, TLSConfig: c.TLSConfig, HTTP2: mode, DisablePathNormalizing: asGiven}
				pc := &gale.PipelineClient{Addr: addr, IsTLS: true, TLSConfig: c.TLSConfig, DisablePathNormalizing: asGiven}
				for name, send := range map[string]func() error{
					"Client.Do":         func() error { return do(c, server.URL+tt.given) },
					"HostClient.Do":     func() error { return do(hc, server.URL+tt.given) },
					"PipelineClient.Do": func() error { return do(pc, server.URL+tt.given) },
					"Get":               func() error { _, _, err := c.Get(nil, server.URL+tt.given); return err },
					"redirect":          func() error { _, _, err := c.Get(nil, server.URL+"/start?"+tt.given); return err },
					"redirect of a HostClient": func() error {
						_, _, err := hc.Get(nil, server.URL+"/start?"+tt.given)
						return err
					},
				} {
					mu.Lock()
					sent = nil
					mu.Unlock()
					if err := send(); err != nil {
						t.Errorf("%s %s: %v", name, tt.given, err)
					}
					mu.Lock()
					got := fmt.Sprint(sent)
					mu.Unlock()
					if got != "["+want+"]" {
						t.Errorf("%s, DisablePathNormalizing %t, mode %v: %s is sent as %s, want %s", name, asGiven, mode, tt.given, got, want)
					}
				}
				c.CloseIdleConnections()
				hc.CloseIdleConnections()
			}
		}
	}
}
