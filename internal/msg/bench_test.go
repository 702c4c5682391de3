package msg

import "testing"

func BenchmarkFieldsBuild(b *testing.B) {
	names := [][]byte{[]byte("X-Request-Id"), []byte("Cache-Control"), []byte("X-Custom-One"), []byte("X-Custom-Two")}
	value := []byte("some ordinary value")
	var f Fields
	dst := make([]byte, 0, 1000)
	b.Run("set=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Reset()
			for _, name := range names {
				f.Set(Lookup(name), name, value)
			}
			dst = f.AppendWire(dst[:0], 0)
		}
	})
	b.Run("put=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Reset()
			for _, name := range names {
				f.Put(Lookup(name), name, value, Normalized)
			}
			dst = f.AppendWire(dst[:0], 0)
		}
	})
	b.Run("peek=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, name := range names {
				if f.FindName(name) < 0 {
					b.Fatal("not found")
				}
			}
		}
	})
}
