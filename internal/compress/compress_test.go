package compress

import (
	"bytes"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale/internal/race"
)

var codings = []Coding{Gzip, Deflate, Brotli, Zstd}

// bodies are inputs that take different ways through an encoder.
func bodies() map[string][]byte {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"empty": {},
		"byte":  {'x'},
		"text":  []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 5000)),
		"zeros": make([]byte, 3_000_000),
		"noise": noise,
	}
}

func TestRoundTrip(t *testing.T) {
	for name, body := range bodies() {
		for _, c := range codings {
			for level := -3; level <= 12; level++ {
				if level > 9 && len(body) > 500_000 || race.Enabled && level%3 != 0 {
					continue // slow, and nothing new
				}
				enc := Append([]byte("head"), body, c, level)
				if !bytes.HasPrefix(enc, []byte("head")) {
					t.Fatalf("%s %v %d: dst lost", name, c, level)
				}
				dec, err := AppendDecoded([]byte("head"), enc[4:], c, 0)
				if err != nil || !bytes.Equal(dec[4:], body) || string(dec[:4]) != "head" {
					t.Fatalf("%s %v %d: %d bytes back, %v, want %d", name, c, level, len(dec)-4, err, len(body))
				}
				var w bytes.Buffer
				if n, err := WriteTo(&w, body, c, level); n != len(body) || err != nil {
					t.Fatalf("%s %v %d: WriteTo took %d, %v", name, c, level, n, err)
				}
				var back bytes.Buffer
				if n, err := WriteDecoded(&back, w.Bytes(), c); n != len(body) || err != nil || !bytes.Equal(back.Bytes(), body) {
					t.Fatalf("%s %v %d: WriteDecoded gave %d, %v", name, c, level, n, err)
				}
			}
		}
	}
}

// What others encode we decode, and the other way round.
func TestAgainstStandardLibrary(t *testing.T) {
	for name, body := range bodies() {
		zr, err := stdgzip.NewReader(bytes.NewReader(Append(nil, body, Gzip, 6)))
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := io.ReadAll(zr); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: compress/gzip can't read ours: %v", name, err)
		}
		lr, err := stdzlib.NewReader(bytes.NewReader(Append(nil, body, Deflate, 6)))
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := io.ReadAll(lr); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: compress/zlib can't read ours: %v", name, err)
		}
		var b bytes.Buffer
		gw := stdgzip.NewWriter(&b)
		_, _ = gw.Write(body)
		_ = gw.Close()
		if got, err := AppendDecoded(nil, b.Bytes(), Gzip, 0); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: we can't read compress/gzip: %v", name, err)
		}
		b.Reset()
		lw := stdzlib.NewWriter(&b)
		_, _ = lw.Write(body)
		_ = lw.Close()
		if got, err := AppendDecoded(nil, b.Bytes(), Deflate, 0); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: we can't read compress/zlib: %v", name, err)
		}
	}
}

func TestLimit(t *testing.T) {
	const size = 100_000
	body := bytes.Repeat([]byte("0123456789"), size/10)
	for _, c := range append(codings, Identity) {
		enc := Append(nil, body, c, 6)
		for _, tc := range []struct {
			limit int
			err   error
		}{
			{0, nil},
			{-1, nil},
			{1, ErrTooLarge},
			{size - 1, ErrTooLarge},
			{size, nil},
			{size + 1, nil},
		} {
			got, err := AppendDecoded([]byte("head"), enc, c, tc.limit)
			if err != tc.err {
				t.Errorf("%v limit %d: %v, want %v", c, tc.limit, err, tc.err)
			}
			if want := size + 4; err == nil && len(got) != want {
				t.Errorf("%v limit %d: %d bytes, want %d", c, tc.limit, len(got), want)
			}
			if err != nil && string(got) != "head" {
				t.Errorf("%v limit %d: dst changed to %d bytes", c, tc.limit, len(got))
			}
		}
	}
}

// A bomb must not make memory grow beyond its limit.
func TestBombStopsAtLimit(t *testing.T) {
	const limit = 1 << 20
	bomb := make([]byte, race.Fewer(64<<20))
	for _, c := range codings {
		enc := Append(nil, bomb, c, 1)
		out, err := AppendDecoded(nil, enc, c, limit)
		if err != ErrTooLarge {
			t.Errorf("%v: a bomb of %d bytes gave %v", c, len(enc), err)
		}
		if cap(out) > limit+minRead {
			t.Errorf("%v: grew to %d bytes for a limit of %d", c, cap(out), limit)
		}
	}
}

// A zstd frame may declare any window; what HTTP doesn't allow is refused.
func TestZstdWindowLimit(t *testing.T) {
	// Magic, a descriptor without single segment and content size, a window
	// of 1 GiB, one raw block of one byte.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x09, 0x00, 0x00, 'x'}
	if out, err := AppendDecoded(nil, frame, Zstd, 0); err == nil {
		t.Fatalf("a window of 1 GiB was accepted, %d bytes came out", len(out))
	}
	frame[5] = 13 << 3 // 8 MiB
	if out, err := AppendDecoded(nil, frame, Zstd, 0); err != nil || string(out) != "x" {
		t.Fatalf("a window of 8 MiB: %q, %v", out, err)
	}
}

func TestBrokenInput(t *testing.T) {
	body := []byte(strings.Repeat("hello world ", 1000))
	for _, c := range codings {
		whole := Append(nil, body, c, 6)
		for _, tc := range []struct {
			name string
			in   []byte
		}{
			{"garbage", []byte("this is garbage, surely")},
			{"half", whole[:len(whole)/2]},
			{"all but the end", whole[:len(whole)-1]},
		} {
			if _, err := AppendDecoded(nil, tc.in, c, 0); err == nil {
				t.Errorf("%v %s: no error", c, tc.name)
			}
			// The decoder that saw this goes back to the pool: it must be good.
			if got, err := AppendDecoded(nil, whole, c, 0); err != nil || !bytes.Equal(got, body) {
				t.Fatalf("%v: a decoder is spoilt by %s: %v", c, tc.name, err)
			}
		}
		if c == Gzip || c == Zstd {
			got, err := AppendDecoded(nil, append(whole[:len(whole):len(whole)], whole...), c, 0)
			if err != nil || len(got) != 2*len(body) {
				t.Errorf("%v: two members one after the other: %d bytes, %v", c, len(got), err)
			}
		}
	}
}

type failingWriter struct{ left int }

var errFull = errors.New("full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	noise := bodies()["noise"]
	for _, c := range codings {
		for _, left := range []int{0, 10, 1000, 100_000} {
			if _, err := WriteTo(&failingWriter{left}, noise, c, 6); !errors.Is(err, errFull) {
				t.Errorf("%v: error %v after %d bytes, want the writer's", c, err, left)
			}
			if got, err := AppendDecoded(nil, Append(nil, noise, c, 6), c, 0); err != nil || !bytes.Equal(got, noise) {
				t.Fatalf("%v: an encoder is spoilt by a failed write: %v", c, err)
			}
		}
	}
}

// After a Flush the other side can decode all that was written before it.
func TestFlush(t *testing.T) {
	for _, c := range codings {
		pr, pw := io.Pipe()
		go func() {
			w := NewWriter(pw, c, 5)
			for i := range 5 {
				_, _ = fmt.Fprintf(w, "part%d", i)
				_ = w.Flush()
			}
			_ = w.Close()
			_ = pw.Close()
		}()
		r, err := NewReader(pr, c)
		if err != nil {
			t.Fatal(c, err)
		}
		buf := make([]byte, 5)
		for i := range 5 {
			// Nothing follows until this part is read: the pipe has no buffer.
			if _, err := io.ReadFull(r, buf); err != nil || string(buf) != fmt.Sprint("part", i) {
				t.Fatalf("%v: part %d: %q, %v", c, i, buf, err)
			}
		}
		if rest, err := io.ReadAll(r); len(rest) != 0 || err != nil {
			t.Errorf("%v: after the end: %q, %v", c, rest, err)
		}
		_ = r.Close()
	}
}

func TestReaderSplit(t *testing.T) {
	body := bodies()["text"]
	for _, c := range codings {
		r, err := NewReader(iotest.OneByteReader(bytes.NewReader(Append(nil, body, c, 6))), c)
		if err != nil {
			t.Fatal(c, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%v: byte by byte: %d bytes, %v", c, len(got), err)
		}
		_ = r.Close()
	}
}

func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 30 {
				body := bytes.Repeat([]byte{byte('a' + i), byte(j)}, 5000)
				c := codings[(i+j)%len(codings)]
				if got, err := AppendDecoded(nil, Append(nil, body, c, 1+j%4), c, len(body)); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%v: somebody else's bytes, %v", c, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzDecode(f *testing.F) {
	for _, c := range codings {
		f.Add(uint8(c), Append(nil, []byte("hello hello hello hello"), c, 6))
		f.Add(uint8(c), Append(nil, make([]byte, 100_000), c, 6))
	}
	f.Fuzz(func(t *testing.T, n uint8, in []byte) {
		const limit = 50_000
		c := codings[int(n)%len(codings)]
		out, err := AppendDecoded([]byte("head"), in, c, limit)
		if len(out) > limit+4 || !bytes.HasPrefix(out, []byte("head")) {
			t.Fatalf("%v: %d bytes came out of a limit of %d", c, len(out), limit)
		}
		if err == nil {
			again, err := AppendDecoded(nil, Append(nil, out[4:], c, 1), c, limit)
			if err != nil || !bytes.Equal(again, out[4:]) {
				t.Fatalf("%v: what was decoded doesn't survive a round trip: %v", c, err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	body := []byte(strings.Repeat("<p>Some text with numbers 0123456789 in it</p>\n", 200))
	for _, c := range codings {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			var dst []byte
			for b.Loop() {
				dst = Append(dst[:0], body, c, 4)
			}
		})
	}
}
