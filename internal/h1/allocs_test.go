//go:build !race

package h1

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/msg"
)

func TestAllocs(t *testing.T) {
	var h msg.RequestHead
	var r msg.ResponseHead
	var d Body
	chunked := []byte("5\r\nhello\r\n0\r\n\r\n")
	response := []byte("HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\nX-A: b\r\n\r\n")
	folded := []byte("GET / HTTP/1.1\nHost: a\r\n" + strings.Repeat("A: b\r\n c\n\td\r\n", 100) + "\r\n")
	out := make([]byte, 0, 1000)
	for name, f := range map[string]func(){
		"ParseRequest": func() {
			for _, c := range benchHeads {
				h.Reset()
				if _, err := ParseRequest([]byte(c.in)[:len(c.in):len(c.in)], &h, nil); err != nil {
					t.Fatal(err)
				}
			}
		},
		"ParseRequest, folded": func() {
			h.Reset()
			if _, err := ParseRequest(folded, &h, &Limits{Dialect: Lenient}); err != nil {
				t.Fatal(err)
			}
		},
		"ParseResponse": func() {
			r.Reset()
			if _, err := ParseResponse(response, &r, nil); err != nil {
				t.Fatal(err)
			}
		},
		"Body": func() {
			d.Init(msg.LenChunked, nil, nil)
			for b := chunked; !d.Done(); {
				_, n, _, err := d.Next(b)
				if err != nil {
					t.Fatal(err)
				}
				b = b[n:]
			}
		},
		"AppendStatusLine": func() { out = AppendStatusLine(out[:0], 404, nil) },
		"AppendChunk":      func() { out = AppendLastChunk(AppendChunk(out[:0], response)) },
	} {
		if n := alloctest.PerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
