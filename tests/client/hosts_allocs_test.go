//go:build !race

package client

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
)

// A request through a Client, with user and password in its URL, allocates nothing on the
// client's side. The server here sends the same bytes again and again.
func TestClientHostAllocs(t *testing.T) {
	c := &gale.Client{Dial: cannedServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").Dial}
	defer c.CloseIdleConnections()
	var dst []byte
	for name, f := range map[string]func() error{
		"Do": func() error {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			defer gale.ReleaseRequest(req)
			defer gale.ReleaseResponse(resp)
			req.SetRequestURI("http://test:test@host.test/foo?bar=baz")
			req.Header.Add("Foo", "bar")
			return c.Do(req, resp)
		},
		"Get": func() (err error) {
			_, dst, err = c.Get(dst, "http://host.test/foo?bar=baz")
			return err
		},
	} {
		if n := alloctest.PerRun(100, func() {
			if err := f(); err != nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
