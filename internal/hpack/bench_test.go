package hpack

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/galehttp/gale/internal/msg"
	peer "golang.org/x/net/http2/hpack"
)

// browserHead is a request head as browsers send it.
var browserHead = [][2]string{
	{":method", "GET"},
	{":authority", "www.example.com"},
	{":scheme", "https"},
	{":path", "/articles/2026/11/a-longer-path?page=2&sort=date"},
	{"cache-control", "max-age=0"},
	{"sec-ch-ua", `"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"`},
	{"sec-ch-ua-mobile", "?0"},
	{"sec-ch-ua-platform", `"Linux"`},
	{"upgrade-insecure-requests", "1"},
	{"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"},
	{"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"},
	{"sec-fetch-site", "same-origin"},
	{"referer", "https://www.example.com/articles/"},
	{"accept-encoding", "gzip, deflate, br, zstd"},
	{"accept-language", "en-GB,en;q=0.9,de;q=0.8"},
}

// peerBlocks returns a head as the peer encodes it, first and when it is repeated.
func peerBlocks(tb testing.TB, head [][2]string) (first, again []byte) {
	tb.Helper()
	var b bytes.Buffer
	e := peer.NewEncoder(&b)
	for i := range 2 {
		for _, f := range head {
			if err := e.WriteField(peer.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				tb.Fatal(err)
			}
		}
		if i == 0 {
			first = bytes.Clone(b.Bytes())
			b.Reset()
		}
	}
	return first, b.Bytes()
}

// newDecodeLoop returns a function that decodes a head that was sent before or, if fresh,
// the first one of a connection.
func newDecodeLoop(tb testing.TB, head [][2]string, fresh bool) func() {
	first, again := peerBlocks(tb, head)
	d := new(Decoder)
	arena := make([]byte, 0, 4096)
	run := func(block []byte) {
		b := arena
		if err := d.Begin(block); err != nil {
			tb.Fatal(err)
		}
		n := 0
		for ; d.More(); n++ {
			var f Field
			var err error
			if b, err = d.Next(b, &f); err != nil {
				tb.Fatal(err)
			}
		}
		if n != len(head) {
			tb.Fatal(n)
		}
	}
	run(first)
	if fresh {
		return func() { d.Reset(); run(first) }
	}
	return func() { run(again) }
}

func newSkipLoop(tb testing.TB) func() {
	first, _ := peerBlocks(tb, browserHead)
	var d Decoder
	scratch := make([]byte, 0, 1024)
	return func() {
		if err := d.Begin(first); err != nil {
			tb.Fatal(err)
		}
		if _, err := d.Skip(scratch); err != nil {
			tb.Fatal(err)
		}
	}
}

type encodedField struct {
	id          msg.ID
	name, value []byte
}

var responseHead = []encodedField{
	{msg.Server, nil, []byte("gale")},
	{msg.Date, nil, []byte("Mon, 21 Oct 2013 20:13:21 GMT")},
	{msg.ContentType, nil, []byte("text/html; charset=utf-8")},
	{msg.ContentLength, nil, []byte("12345")},
	{msg.Unknown, []byte("x-served-by"), []byte("backend-17")},
}

// newEncodeLoop returns a function that encodes a response head of six fields.
func newEncodeLoop(fresh bool) func() {
	e := new(Encoder)
	dst := make([]byte, 0, 1024)
	return func() {
		if fresh {
			e.Reset()
		}
		b := e.Begin(dst)
		b = e.AppendStatus(b, 200)
		for i := range responseHead {
			f := &responseHead[i]
			b = e.AppendField(b, f.id, f.name, f.value, Auto)
		}
	}
}

// newChurnLoop returns a function that encodes and decodes entries that push others out.
func newChurnLoop(tb testing.TB) func() {
	e, d := new(Encoder), new(Decoder)
	dst, arena := make([]byte, 0, 1024), make([]byte, 0, 1024)
	var name, value []byte
	i := 0
	loop := func() {
		b := e.Begin(dst)
		for range 8 {
			i++
			name = strconv.AppendInt(append(name[:0], "x-name-"...), int64(i), 10)
			value = strconv.AppendInt(append(value[:0], "value "...), int64(i), 10)
			b = e.AppendField(b, msg.Unknown, name, value, Auto)
		}
		if err := d.Begin(b); err != nil {
			tb.Fatal(err)
		}
		a := arena
		for d.More() {
			var f Field
			var err error
			if a, err = d.Next(a, &f); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for range 100 {
		loop()
	}
	return loop
}

func benchmarkLoop(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("again", func(b *testing.B) { benchmarkLoop(b, newDecodeLoop(b, browserHead, false)) })
	b.Run("fresh", func(b *testing.B) { benchmarkLoop(b, newDecodeLoop(b, browserHead, true)) })
	b.Run("skip", func(b *testing.B) { benchmarkLoop(b, newSkipLoop(b)) })
	first, again := peerBlocks(b, browserHead)
	b.Run("peer/again", func(b *testing.B) {
		d := peer.NewDecoder(DefaultTableSize, func(peer.HeaderField) {})
		if _, err := d.Write(first); err != nil {
			b.Fatal(err)
		}
		benchmarkLoop(b, func() {
			if _, err := d.Write(again); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("peer/fresh", func(b *testing.B) {
		benchmarkLoop(b, func() {
			d := peer.NewDecoder(DefaultTableSize, func(peer.HeaderField) {})
			if _, err := d.Write(first); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkEncode(b *testing.B) {
	b.Run("again", func(b *testing.B) { benchmarkLoop(b, newEncodeLoop(false)) })
	b.Run("fresh", func(b *testing.B) { benchmarkLoop(b, newEncodeLoop(true)) })
	b.Run("peer/again", func(b *testing.B) {
		var out bytes.Buffer
		e := peer.NewEncoder(&out)
		fields := []peer.HeaderField{{Name: ":status", Value: "200"}}
		for _, f := range responseHead {
			name := string(f.name)
			if f.id != msg.Unknown {
				name = string(lowerNames[f.id])
			}
			fields = append(fields, peer.HeaderField{Name: name, Value: string(f.value)})
		}
		benchmarkLoop(b, func() {
			out.Reset()
			for _, f := range fields {
				if err := e.WriteField(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func BenchmarkHuffman(b *testing.B) {
	text := []byte(browserHead[9][1])
	code := appendHuffman(nil, text)
	dst := make([]byte, 0, 1024)
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		benchmarkLoop(b, func() { _, _ = appendHuffmanDecoded(dst, code) })
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		benchmarkLoop(b, func() { appendString(dst, text) })
	})
}
