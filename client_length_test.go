package gale

import (
	"math"
	"testing"
)

// A length that doesn't fit into an int of 32 bits is not cut to a shorter one: otherwise
// the rest of the body would become the next response.
func TestClientLengthBeyondInt(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) {
		for p.request() != nil {
			p.write("HTTP/1.1 200 OK\r\nContent-Length: 4294967300\r\n\r\nevilHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			return
		}
	})
	c := &HostClient{Addr: s.addr(), MaxResponseBodySize: -1}
	resp, err := getFrom(c, "GET", s.url())
	if err == nil {
		t.Errorf("got %q", resp.Body())
	}
	if math.MaxInt == math.MaxInt32 {
		wantError(t, err, ErrBodyTooLarge)
	}
}
