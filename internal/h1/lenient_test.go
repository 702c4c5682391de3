package h1

import (
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// Each leniency accepts what is refused without it, however the bytes arrive,
// and what is next to it stays refused.
func TestLenient(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: h\r\n"
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", true},
		{"no version", "GET /\r\n\r\n", false},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", true},
		{"length beside chunked", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		{"two lengths beside chunked", post + "Content-Length: 1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		{"space within a name", "GET / HTTP/1.1\r\nHost: h\r\nuser agent: x\r\n\r\n", true},
		{"spaces within a name", "GET / HTTP/1.1\r\nHost: h\r\na  b c: x\r\n\r\n", true},
		{"space before the colon", "GET / HTTP/1.1\r\nHost: h\r\nuser-agent : x\r\n\r\n", false},
		{"spaces within and before the colon", "GET / HTTP/1.1\r\nHost: h\r\na b : x\r\n\r\n", false},
		{"space before the name", "GET / HTTP/1.1\r\nHost: h\r\n user: x\r\n\r\n", false},
		{"tab within a name", "GET / HTTP/1.1\r\nHost: h\r\nuser\tagent: x\r\n\r\n", false},
		{"space within a name of framing", post + "Content Length: 1\r\nTransfer Encoding: chunked\r\n\r\n", true},
		{"status line", "HTTP/1.1   200 OK\r\n\r\n", true},
		{"status line of 0.9", "HTTP/0.9 200 OK\r\n\r\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, lenient := range []bool{false, true} {
				var length int64
				parse := func(h *msg.RequestHead, r *msg.ResponseHead, b []byte) (n int, err error) {
					lim := &Limits{Lenient: lenient}
					if tt.in[0] == 'H' {
						n, err = ParseResponse(b, r, lim)
						return n, err
					}
					n, err = ParseRequest(b, h, lim)
					length = h.ContentLength
					return n, err
				}
				n, err := parse(new(msg.RequestHead), new(msg.ResponseHead), []byte(tt.in))
				if ok := lenient && tt.ok; (err == nil) != ok || ok && n != len(tt.in) {
					t.Errorf("lenient %v: %d, %v", lenient, n, err)
				}
				if err == nil && tt.name == "space within a name of framing" && length != msg.LenUnknown {
					t.Error("such a name frames the message:", length)
				}
				h, r := new(msg.RequestHead), new(msg.ResponseHead)
				err = ErrPartial
				for i := 1; i <= len(tt.in) && err == ErrPartial; i++ {
					_, err = parse(h, r, []byte(tt.in[:i]))
				}
				if (err == nil) != (lenient && tt.ok) {
					t.Errorf("lenient %v, byte by byte: %v", lenient, err)
				}
			}
		})
	}
}
