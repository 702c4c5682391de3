package client

import (
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A client ignores Content-Length and Transfer-Encoding of a 2xx to CONNECT, whatever they say
// (RFC 9110 section 9.3.6). In other responses they are errors.
func TestConnectIgnoresFraming(t *testing.T) {
	for _, fields := range []string{
		"A: b", "Content-Length: 10", "Transfer-Encoding: chunked", "Content-Length: x", "Transfer-Encoding: foo",
		"Transfer-Encoding: chunked\r\nContent-Length: 10", "Content-Length: 1\r\nContent-Length: 2",
	} {
		for _, status := range []string{"200 OK", "407 No"} {
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
				if p.Request() != nil {
					p.Say("HTTP/1.1 " + status + "\r\n" + fields + "\r\n\r\n")
					_, _ = io.Copy(io.Discard, p.Br)
				}
			})
			for name, c := range map[string]interface {
				Do(*gale.Request, *gale.Response) error
			}{
				"HostClient":     &gale.HostClient{Addr: s.Addr(), MaxIdemponentCallAttempts: 1},
				"PipelineClient": &gale.PipelineClient{Addr: s.Addr(), Logger: peers.DiscardLog{}},
			} {
				bad := strings.Contains(fields, "x") || strings.Contains(fields, "foo") || strings.Contains(fields, "\r\n")
				if status != "200 OK" && !bad {
					continue // it waits for the body
				}
				var req gale.Request
				var resp gale.Response
				req.Header.SetMethod("CONNECT")
				req.Header.SetRequestURI("a.example:443")
				req.Header.SetHost("a.example:443")
				err := c.Do(&req, &resp)
				if status == "200 OK" && (err != nil || resp.StatusCode() != 200 || len(resp.Body()) > 0) {
					t.Errorf("%s, %q: status %d, %v", name, fields, resp.StatusCode(), err)
				}
				if status != "200 OK" && err == nil {
					t.Errorf("%s, %q: a refusal with it is no error", name, fields)
				}
			}
		}
	}
}
