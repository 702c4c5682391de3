package wsframe

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkMask(b *testing.B) {
	for _, n := range []int{64, 16384} {
		p := make([]byte, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Mask(p, testKey, 1)
			}
		})
	}
}

// BenchmarkNext reads a frame. Each run masks it again, because Next unmasks it in place:
// the cost of that is BenchmarkMask's.
func BenchmarkNext(b *testing.B) {
	texts := []struct{ name, unit string }{
		{"ascii", "Hello, world. "},
		{"latin", "Größe und Maß, Öl fließt über Äcker. "},
		{"russian", "Съешь же ещё этих мягких французских булок. "},
		{"chinese", "天地玄黃宇宙洪荒日月盈昃辰宿列張"},
	}
	for _, n := range []int{64, 16384} {
		for _, tt := range texts {
			payload := strings.ToValidUTF8(strings.Repeat(tt.unit, n/len(tt.unit)+1)[:n], "?")
			for _, op := range []Opcode{Text, Binary} {
				if op == Binary && tt.name != "ascii" {
					continue
				}
				in := frame(0x80|byte(op), payload)
				head := len(in) - len(payload)
				b.Run(fmt.Sprintf("%d/%s/op%d", n, tt.name, op), func(b *testing.B) {
					var r Reader
					r.Init(Config{Hold: 4096})
					var f Frame
					b.SetBytes(int64(len(payload)))
					for b.Loop() {
						if _, err := r.Next(in, &f); err != nil || !f.Last {
							b.Fatal(err)
						}
						Mask(in[head:], testKey, 0)
					}
				})
			}
		}
	}
}

func BenchmarkAppendMasked(b *testing.B) {
	for _, n := range []int{64, 16384} {
		p := make([]byte, n)
		var dst []byte
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				dst = AppendMasked(dst[:0], Binary, true, false, testKey, p)
			}
		})
	}
}

func BenchmarkDeflate(b *testing.B) {
	for _, n := range []int{100, 1024, 16384} {
		for _, takeover := range []bool{false, true} {
			d := Deflate{ServerNoTakeover: !takeover, ServerBits: 15}
			msg := jsonText(1, n)
			name := fmt.Sprintf("%d/takeover=%v", n, takeover)
			b.Run("append/"+name, func(b *testing.B) {
				z := NewDeflater(d, false, 1)
				var dst []byte
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					dst = z.Append(dst[:0], msg)
				}
				b.ReportMetric(float64(len(dst)), "bytes")
			})
			b.Run("inflate/"+name, func(b *testing.B) {
				z := NewDeflater(d, false, 1)
				in := z.Append(nil, msg)
				i := NewInflater(d, true)
				var dst []byte
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if dst, err = i.Append(dst[:0], in, 1<<20); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
