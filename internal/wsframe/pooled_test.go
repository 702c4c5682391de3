package wsframe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/pool"
)

// TestPooledForgets proves that a pooled compressor or decoder uses nothing of what another
// connection sent before, and holds no slices of it; also after errors.
func TestPooledForgets(t *testing.T) {
	secret := []byte(strings.Repeat("the secret of another connection ", 300))
	levels := []int{1, 6}
	settings := []Deflate{
		{ServerNoTakeover: true, ClientNoTakeover: true, ServerBits: 15, ClientBits: 15},
		{ServerBits: 15, ClientBits: 15},
		{ServerBits: 9, ClientBits: 9},
	}
	for _, d := range settings {
		for _, level := range levels {
			// Two connections that send the same give the same.
			for _, msg := range [][]byte{secret[:100], secret[:500], secret[:5000]} {
				var want []byte
				for range 3 {
					other := NewDeflater(d, false, level)
					other.Append(nil, secret)
					other.Free()
					z := NewDeflater(d, false, level)
					got := z.Append(nil, msg)
					z.Free()
					if want == nil {
						want = got
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("%+v, level %d: the output depends on another connection's", d, level)
					}
					inflated, err := inflateStrict(nil, got, 1<<15)
					if err != nil || !bytes.Equal(inflated, msg) {
						t.Fatalf("%+v, level %d: %v", d, level, err)
					}
				}
			}
		}

		// What a connection inflates can't refer to another's.
		z := NewDeflater(d, true, 1)
		in := z.Append(nil, secret)
		z.Free()
		for _, broken := range [][]byte{in, in[:len(in)/2], append(bytes.Clone(in[:len(in)-1]), 0x06, 0xff)} {
			for limit := range int64(3) {
				other := NewInflater(d, false)
				_, _ = other.Append(nil, broken, limit)
				other.Free()
				i := NewInflater(d, false)
				// A copy of 258 bytes at a distance of 1 as the first symbol.
				if out, err := i.Append(nil, []byte("\x1b\x05\x00"), 0); err != errInflate || len(out) > 0 {
					t.Fatalf("%+v: %q, %v", d, out, err)
				}
				if out, err := i.Append(nil, []byte("\xf2\x48\xcd\xc9\xc9\x07\x00"), 0); err != nil || string(out) != "Hello" {
					t.Fatalf("%+v: %q, %v", d, out, err)
				}
				i.Free()
			}
		}
	}
	for range 10 {
		if z, ok := deflates.Get().(*deflate); ok && z.out != nil {
			t.Error("a pooled destination holds a slice")
		}
		if z, ok := inflaters.Get().(*inflater); ok && (z.src != nil || z.copied != nil || z.parts.b != nil || z.memory.Size() != 0) {
			t.Error("a pooled decoder holds a slice")
		}
	}
}

// TestWindow proves that a window is the end of what was added, and not larger.
func TestWindow(t *testing.T) {
	for _, size := range []int{0, 1, 256, 1000, 32768} {
		w := window{size: size}
		var all []byte
		for i, n := range []int{0, 1, 10, 255, 256, 300, 1, 999, 1000, 1001, 7, 40000, 3, 32768, 20000} {
			p := noise(uint64(i), n, 26)
			all = append(all, p...)
			w.add(p)
			if want := all[len(all)-min(len(all), size):]; !bytes.Equal(w.bytes(), want) {
				t.Fatalf("size %d: %d bytes after %d", size, len(w.bytes()), len(all))
			}
			if w.buf != nil && cap(w.buf.B) > max(2*size, pool.MinSize) {
				t.Fatalf("size %d: %d bytes of memory", size, cap(w.buf.B))
			}
		}
		w.free()
		if w.bytes() != nil {
			t.Error("free leaves bytes")
		}
	}
}

// TestInflateMemory proves that a message that is a bomb costs not more memory than the
// limit, and one without a limit not more than twice what it becomes.
func TestInflateMemory(t *testing.T) {
	z := NewDeflater(Deflate{ServerNoTakeover: true}, false, 9)
	bomb := z.Append(nil, make([]byte, 10<<20))
	i := NewInflater(Deflate{ClientNoTakeover: true}, false)
	for _, limit := range []int64{1, 100, 1000, 100000, 1 << 20} {
		out, err := i.Append(make([]byte, 3), bomb, limit)
		if err != errTooBig || len(out) != 3 || int64(cap(out)) > 2*limit+1024 {
			t.Errorf("limit %d: %v, %d of %d bytes", limit, err, len(out), cap(out))
		}
		b := pool.Get(0)
		b.B = append(b.B, "abc"...)
		if err := i.AppendTo(b, bomb, limit); err != errTooBig || string(b.B) != "abc" || int64(cap(b.B)) > 4*limit+1024 {
			t.Errorf("AppendTo, limit %d: %v, %d of %d bytes", limit, err, len(b.B), cap(b.B))
		}
		pool.Put(b)
	}
	if out, err := i.Append(nil, bomb, 0); err != nil || len(out) != 10<<20 || cap(out) > 20<<20 {
		t.Errorf("without a limit: %v, %d of %d bytes", err, len(out), cap(out))
	}
	b := pool.Get(0)
	if err := i.AppendTo(b, bomb, 1<<62); err != nil || len(b.B) != 10<<20 {
		t.Errorf("AppendTo: %v, %d bytes", err, len(b.B))
	}
	pool.Put(b)
}
