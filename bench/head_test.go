package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/valyala/fasthttp"
)

// BenchmarkHeadParse measures how a request head becomes something that can be
// asked.
//
// impl=gale is what Gale's server does: it parses in the read buffer and copies
// the head once. The others only read from a bufio.Reader; impl=reset is what
// filling that reader costs, so that it can be subtracted. impl=gale-reader is
// Gale's RequestHeader.Read.
func BenchmarkHeadParse(b *testing.B) {
	for _, n := range []int{2, 6, 12, 16, 32} {
		b.Run(fmt.Sprintf("fields=%d/names=known", n), func(b *testing.B) { benchHeadParse(b, request(known(n))) })
		b.Run(fmt.Sprintf("fields=%d/names=custom", n), func(b *testing.B) { benchHeadParse(b, request(custom(n))) })
	}
}

func benchHeadParse(b *testing.B, head string) {
	raw := []byte(head)
	b.Run("impl=gale", func(b *testing.B) {
		var h msg.RequestHead
		var lim h1.Limits
		h.Reset()
		start(b, raw)
		for b.Loop() {
			h.Reset()
			if n, err := h1.ParseRequest(raw, &h, &lim); n != len(raw) || err != nil {
				b.Fatal(n, err)
			}
		}
	})
	benchReader(b, "gale-reader", raw, func() func(*bufio.Reader) error {
		return new(gale.RequestHeader).Read
	})
	benchReader(b, "fasthttp", raw, func() func(*bufio.Reader) error {
		return new(fasthttp.RequestHeader).Read
	})
	benchReader(b, "nethttp", raw, func() func(*bufio.Reader) error {
		return func(br *bufio.Reader) error {
			_, err := http.ReadRequest(br)
			return err
		}
	})
	benchReader(b, "reset", raw, func() func(*bufio.Reader) error {
		return func(br *bufio.Reader) error {
			_, err := br.Peek(1)
			return err
		}
	})
}

func start(b *testing.B, raw []byte) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
}

// benchReader measures a read function on a reader that holds raw.
func benchReader(b *testing.B, impl string, raw []byte, make func() func(*bufio.Reader) error) {
	b.Run("impl="+impl, func(b *testing.B) {
		read := make()
		r := bytes.NewReader(raw)
		br := bufio.NewReaderSize(r, 4096)
		start(b, raw)
		for b.Loop() {
			r.Reset(raw)
			br.Reset(r)
			if err := read(br); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHeadPeek measures how n fields of a browser's request are looked up
// in a head that was parsed.
func BenchmarkHeadPeek(b *testing.B) {
	raw := []byte(request(browser))
	for _, n := range []int{1, 4, 16} {
		names := make([]string, n)
		for i := range names {
			names[i] = browser[(i*5+3)%len(browser)].name
		}
		b.Run(fmt.Sprintf("names=known/n=%d", n), func(b *testing.B) { benchPeek(b, raw, names) })
	}
	fields := custom(16)
	for _, n := range []int{1, 4} {
		names := make([]string, n)
		for i := range names {
			names[i] = fields[(i*5+3)%len(fields)].name
		}
		b.Run(fmt.Sprintf("names=custom/n=%d", n), func(b *testing.B) { benchPeek(b, []byte(request(fields)), names) })
	}
}

func benchPeek(b *testing.B, raw []byte, names []string) {
	reader := bufio.NewReader(nil)
	b.Run("impl=gale", func(b *testing.B) {
		reader.Reset(bytes.NewReader(raw))
		var h gale.RequestHeader
		must(b, h.Read(reader))
		b.ReportAllocs()
		for b.Loop() {
			for _, name := range names {
				if len(h.Peek(name)) == 0 {
					b.Fatal(name)
				}
			}
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		reader.Reset(bytes.NewReader(raw))
		var h fasthttp.RequestHeader
		must(b, h.Read(reader))
		b.ReportAllocs()
		for b.Loop() {
			for _, name := range names {
				if len(h.Peek(name)) == 0 {
					b.Fatal(name)
				}
			}
		}
	})
	b.Run("impl=nethttp", func(b *testing.B) {
		reader.Reset(bytes.NewReader(raw))
		r, err := http.ReadRequest(reader)
		must(b, err)
		b.ReportAllocs()
		for b.Loop() {
			for _, name := range names {
				if name == "Host" { // net/http takes it out of the header
					continue
				}
				if r.Header.Get(name) == "" {
					b.Fatal(name)
				}
			}
		}
	})
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHeadAppend measures how a response head is built and serialised, by
// the same calls: plain, and with 4 fields more.
func BenchmarkHeadAppend(b *testing.B) {
	defer clock.Start()() // as a running server does; fasthttp keeps a goroutine for it

	unknown := []field{
		{"X-Field-1", "0123456789abcdef0123456789abcdef"},
		{"X-Field-2", "0123456789abcdef0123456789abcdef"},
		{"X-Field-3", "0123456789abcdef0123456789abcdef"},
		{"X-Field-4", "0123456789abcdef0123456789abcdef"},
	}
	known := []field{
		{"Cache-Control", "private, max-age=60"},
		{"Etag", `"33a64df551425fcc55e4d42a148795d9f25f89d4"`},
		{"Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"},
		{"Vary", "Accept-Encoding"},
	}
	b.Run("extra=0", func(b *testing.B) { benchHeadAppend(b, nil) })
	b.Run("extra=4/names=custom", func(b *testing.B) { benchHeadAppend(b, unknown) })
	b.Run("extra=4/names=known", func(b *testing.B) { benchHeadAppend(b, known) })
}

func benchHeadAppend(b *testing.B, extra []field) {
	b.Run("impl=gale", func(b *testing.B) {
		var h gale.ResponseHeader
		dst := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.SetServer("bench")
			h.SetContentType(contentType)
			h.SetContentLength(len(body))
			for i := range extra {
				h.Set(extra[i].name, extra[i].value)
			}
			dst = h.AppendBytes(dst[:0])
		}
		checkHead(b, dst, extra)
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var h fasthttp.ResponseHeader
		dst := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.SetServer("bench")
			h.SetContentType(contentType)
			h.SetContentLength(len(body))
			for i := range extra {
				h.Set(extra[i].name, extra[i].value)
			}
			dst = h.AppendBytes(dst[:0])
		}
		checkHead(b, dst, extra)
	})
	b.Run("impl=nethttp", func(b *testing.B) {
		h := make(http.Header)
		var buf bytes.Buffer
		date := time.Now().UTC().Format(http.TimeFormat)
		b.ReportAllocs()
		for b.Loop() {
			clear(h)
			buf.Reset()
			h.Set("Server", "bench")
			h.Set("Date", date)
			h.Set("Content-Type", contentType)
			h.Set("Content-Length", "13")
			for i := range extra {
				h.Set(extra[i].name, extra[i].value)
			}
			buf.WriteString("HTTP/1.1 200 OK\r\n")
			must(b, h.Write(&buf))
			buf.WriteString("\r\n")
		}
		checkHead(b, buf.Bytes(), extra)
	})
}

// BenchmarkRequestHeadAppend measures how a client's request head is built and
// serialised, by the same calls.
func BenchmarkRequestHeadAppend(b *testing.B) {
	b.Run("impl=gale", func(b *testing.B) {
		var h gale.RequestHeader
		dst := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.SetMethod("GET")
			h.SetRequestURI("/search?q=gale&page=2")
			h.SetHost("www.example.com")
			h.SetUserAgent("bench")
			dst = h.AppendBytes(dst[:0])
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var h fasthttp.RequestHeader
		dst := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.SetMethod("GET")
			h.SetRequestURI("/search?q=gale&page=2")
			h.SetHost("www.example.com")
			h.SetUserAgent("bench")
			dst = h.AppendBytes(dst[:0])
		}
	})
}

func checkHead(b *testing.B, head []byte, extra []field) {
	b.Helper()
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		b.Fatalf("%q is no response head", head)
	}
	for _, f := range extra {
		if !bytes.Contains(head, []byte("\r\n"+f.name+": "+f.value+"\r\n")) {
			b.Fatalf("%s is missing in %q", f.name, head)
		}
	}
}
