//go:build !race

package wsframe

import (
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestAllocs(t *testing.T) {
	in := join(frame(0x81, "Hello κόσμε"), frame(0x89, "ping"), frame(0x02, "abc"), frame(0x80, "def"))
	bad := frame(0x81, "\xff")
	memory := make([]byte, len(in))
	out := make([]byte, 0, 32<<10)
	text := jsonText(1, 1000)
	var f Frame
	var r Reader
	noTakeover := Deflate{ServerNoTakeover: true, ClientNoTakeover: true, ServerBits: 15, ClientBits: 15}
	z, zSmall := NewDeflater(noTakeover, false, 1), NewDeflater(Deflate{ServerBits: 9}, false, 1)
	zTakeover := NewDeflater(Deflate{}, false, 1)
	i := NewInflater(noTakeover, true)
	compressedText := z.Append(nil, text)
	offer := [][]byte{[]byte("permessage-deflate; client_max_window_bits")}
	key := []byte("dGhlIHNhbXBsZSBub25jZQ==")
	for _, p := range []struct {
		name string
		run  func()
	}{
		{"Next", func() {
			r.Init(Config{Hold: 4096, MaxMessage: 1000})
			copy(memory, in)
			for b := memory; len(b) > 0; {
				n, err := r.Next(b, &f)
				if err != nil {
					t.Fatal(err)
				}
				b = b[n:]
			}
		}},
		{"an error", func() {
			r.Init(Config{})
			copy(memory, bad)
			if _, err := r.Next(memory[:len(bad)], &f); err != errText {
				t.Fatal(err)
			}
		}},
		{"AppendFrame", func() { out = AppendFrame(out[:0], Text, true, false, text) }},
		{"AppendMasked", func() { out = AppendMasked(out[:0], Text, true, false, testKey, text) }},
		{"AppendClose", func() { out = AppendClose(out[:0], 1000, "bye") }},
		{"AppendAccept", func() { out = AppendAccept(out[:0], key) }},
		{"Negotiate", func() { out = DeflateOptions{}.Negotiate(offer).AppendResponse(out[:0]) }},
		{"Deflater", func() { out = z.Append(out[:0], text) }},
		{"Deflater with takeover", func() { out = zTakeover.Append(out[:0], text) }},
		{"Deflater with a small window", func() { out = zSmall.Append(out[:0], text) }},
		{"Inflater", func() { out, _ = i.Append(out[:0], compressedText, 5000) }},
	} {
		p.run()
		if n := alloctest.PerRun(100, p.run); n != 0 {
			t.Errorf("%s: %v allocs, want 0", p.name, n)
		}
	}
}
