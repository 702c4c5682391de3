package h1

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

var benchHeads = []struct{ name, in string }{
	{"fields=2", "GET /index.html HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/8.5.0\r\n\r\n"},
	{"fields=6", "GET /api/v1/items?id=42 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" +
		"Accept: application/json\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n\r\n"},
	{"browser", "GET /docs/index.html HTTP/1.1\r\nHost: www.example.org\r\nConnection: keep-alive\r\nCache-Control: max-age=0\r\n" +
		"sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Linux\"\r\nUpgrade-Insecure-Requests: 1\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n" +
		"Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\nCookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n"},
	{"custom=8", "GET /api HTTP/1.1\r\nHost: example.com\r\nX-Trace-Id: 4bf92f3577b34da6a3ce929d0e0e4736\r\nX-Span-Id: 00f067aa0ba902b7\r\n" +
		"X-Tenant: some-corporation\r\nX-Api-Version: 2024-01-01\r\nX-Client-Version: 1.22.333\r\nX-Feature-Flags: a,b,c,d\r\nX-Region: eu-central-1\r\n\r\n"},
}

func BenchmarkRequestParse(b *testing.B) {
	for _, c := range benchHeads {
		b.Run(c.name, func(b *testing.B) {
			in := append(make([]byte, 0, 4096), c.in...)
			var h msg.RequestHead
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				h.Reset()
				if _, err := ParseRequest(in, &h, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBodyDecode(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"chunk=1", 1}, {"chunk=100", 100}, {"chunk=16384", 16384}} {
		b.Run(c.name, func(b *testing.B) {
			var in []byte
			for range 16 {
				in = AppendChunk(in, bytes.Repeat([]byte("x"), c.size))
			}
			in = append(AppendLastChunk(in), "\r\n"...)
			var d Body
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				d.Init(msg.LenChunked, nil, nil)
				for rest := in; !d.Done(); {
					_, n, _, err := d.Next(rest)
					if err != nil {
						b.Fatal(err)
					}
					rest = rest[n:]
				}
			}
		})
	}
}
