package client

import (
	"math"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A length that doesn't fit into an int of 32 bits is not cut to a shorter one: otherwise
// the rest of the body would become the next response.
func TestClientLengthBeyondInt(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		for p.Request() != nil {
			p.Say("HTTP/1.1 200 OK\r\nContent-Length: 4294967300\r\n\r\nevilHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			return
		}
	})
	c := &gale.HostClient{Addr: s.Addr(), MaxResponseBodySize: -1}
	resp, err := harness.GetFrom(c, "GET", s.URL())
	if err == nil {
		t.Errorf("got %q", resp.Body())
	}
	if math.MaxInt == math.MaxInt32 {
		peers.WantError(t, err, gale.ErrBodyTooLarge)
	}
}
