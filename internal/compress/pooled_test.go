package compress

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

// TestPooledForgets: an encoder or a decoder that was given back, in whatever state,
// then works as a new one does, and holds nothing of what it was given.
func TestPooledForgets(t *testing.T) {
	data := []byte(strings.Repeat("text of one user ", 2000))
	canary := []byte(strings.Repeat("canary of another ", 5000))
	for _, c := range []Coding{Gzip, Deflate, Brotli, Zstd} {
		level, i := index(c, -1)
		use := func(w io.Writer, end func(*Writer)) *Writer {
			z := NewWriter(w, c, level)
			_, _ = z.Write(canary)
			end(z)
			return z
		}
		encode := func() (whole, streamed []byte) {
			var b bytes.Buffer
			if _, err := WriteTo(&b, data, c, level); err != nil {
				t.Fatal(err)
			}
			return Append(nil, data, c, level), b.Bytes()
		}
		wantWhole, wantStreamed := encode()
		ends := map[string]func(*Writer){
			"Abort":           (*Writer).Abort,
			"Flush and Abort": func(z *Writer) { _ = z.Flush(); z.Abort() },
			"Close":           func(z *Writer) { _ = z.Close() },
		}
		for name, end := range ends {
			for _, w := range []io.Writer{io.Discard, brokenWriter{}} {
				z := use(w, end)
				taken := pooltest.TakeBack(&writers[c][i], z)
				if z.out.b != nil {
					t.Errorf("%s, %s: an encoder that was given back holds output", c, name)
				}
				if taken {
					z.in.Put(z)
				}
				if whole, streamed := encode(); !bytes.Equal(whole, wantWhole) || !bytes.Equal(streamed, wantStreamed) {
					t.Errorf("%s: after %s an encoder writes something else", c, name)
				}
			}
		}
		foreign := Append(nil, canary, c, level)
		for cut := 1; cut < len(foreign); cut += max(1, len(foreign)/7) {
			_, _ = AppendDecoded(nil, foreign[:cut], c, 0)
			_, _ = AppendDecoded(nil, foreign, c, 10)
			if z, err := NewReader(bytes.NewReader(foreign[:cut]), c); err == nil {
				_, _ = z.Read(make([]byte, 10))
				z.Close()
				taken := pooltest.TakeBack(&readers[c], z)
				if z.src.Len() > 0 || z.src.Size() > 0 {
					t.Errorf("%s: a decoder that was given back holds input", c)
				}
				if taken {
					z.in.Put(z)
				}
			}
			if got, err := AppendDecoded(nil, wantWhole, c, 0); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%s: after input that ends at %d a decoder returns %d bytes, %v", c, cut, len(got), err)
			}
		}
	}
}
