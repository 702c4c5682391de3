package message

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// TestFoldedResponses proves that clients and the reverse proxy replace a fold in a head or a
// trailer section by one space (RFC 9112 section 5.2), and pass no fold on.
func TestFoldedResponses(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX-Note: one \r\n\t two\r\n  three\r\nConnection:\r\n X-Hop\r\nX-Empty:\r\n \r\n"
	for name, response := range map[string]string{
		"length":  head + "Content-Length: 2\r\n\r\nok",
		"chunked": head + "Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n2\r\nok\r\n0\r\nX-End: a\r\n  b\r\n\r\n",
	} {
		addr := answering(t, response)
		proxy := &reverse.Proxy{Upstreams: []string{addr}}
		t.Cleanup(func() { proxy.Close() })
		front := listen(t, &gale.Server{Handler: proxy.Handler, Logger: quietLogger{}})
		pipeline := &gale.PipelineClient{Addr: addr}
		for by, do := range map[string]func(resp *gale.Response) error{
			"Client": func(resp *gale.Response) error {
				return (&gale.Client{}).DoTimeout(requestTo(addr), resp, time.Minute)
			},
			"streamed": func(resp *gale.Response) error {
				return (&gale.Client{StreamResponseBody: true}).DoTimeout(requestTo(addr), resp, time.Minute)
			},
			"PipelineClient": func(resp *gale.Response) error { return pipeline.DoTimeout(requestTo(addr), resp, time.Minute) },
			"reverse": func(resp *gale.Response) error {
				return (&gale.Client{}).DoTimeout(requestTo(front), resp, time.Minute)
			},
		} {
			var resp gale.Response
			if err := do(&resp); err != nil {
				t.Errorf("%s, %s: %v", name, by, err)
				continue
			}
			var body []byte
			if s := resp.BodyStream(); s != nil {
				var err error
				if body, err = io.ReadAll(s); err != nil {
					t.Errorf("%s, %s: %v", name, by, err)
				}
			} else {
				body = resp.Body()
			}
			end := string(resp.Header.Peek("X-End"))
			if got := fmt.Sprintf("%s|%s|%s", resp.Header.Peek("X-Note"), resp.Header.Peek("X-Empty"), body); got != "one two three||ok" || name == "chunked" && end != "a b" {
				t.Errorf("%s, %s: %q, trailer %q", name, by, got, end)
			}
		}
	}
}

// TestRefuseFoldedFields proves that clients with RefuseFoldedFields fail on a fold in a head and
// in a trailer section.
func TestRefuseFoldedFields(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n"
	for name, response := range map[string]string{
		"head":    head + "X-Note: one\r\n two\r\n\r\n2\r\nok\r\n0\r\nX-End: a\r\n\r\n",
		"trailer": head + "\r\n2\r\nok\r\n0\r\nX-End: a\r\n b\r\n\r\n",
		"plain":   head + "\r\n2\r\nok\r\n0\r\nX-End: a\r\n\r\n",
	} {
		addr := answering(t, response)
		for by, client := range map[string]interface {
			DoTimeout(req *gale.Request, resp *gale.Response, timeout time.Duration) error
		}{
			"Client":         &gale.Client{RefuseFoldedFields: true},
			"streamed":       &gale.Client{RefuseFoldedFields: true, StreamResponseBody: true},
			"HostClient":     &gale.HostClient{Addr: addr, RefuseFoldedFields: true},
			"PipelineClient": &gale.PipelineClient{Addr: addr, RefuseFoldedFields: true, Logger: quietLogger{}},
		} {
			var resp gale.Response
			err := client.DoTimeout(requestTo(addr), &resp, time.Minute)
			if s := resp.BodyStream(); err == nil && s != nil {
				_, err = io.ReadAll(s)
			}
			if refused := err != nil && strings.Contains(err.Error(), "whitespace at the start of a field line"); refused != (name != "plain") {
				t.Errorf("%s, %s: %v", name, by, err)
			}
		}
	}
}
