package stackless

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

func newGzip(w io.Writer) Writer { return gzip.NewWriter(w) }

// What a stackless writer writes is what the plain one writes, also after a
// reset, and for many writers at a time.
func TestWriterEqualsPlain(t *testing.T) {
	text := []byte(strings.Repeat("a line that is compressed\n", 200))
	var want bytes.Buffer
	plain := gzip.NewWriter(&want)
	write(t, plain, text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var got bytes.Buffer
			w := NewWriter(&got, newGzip)
			for range 3 {
				write(t, w, text)
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("got %d bytes that differ from the %d wanted", got.Len(), want.Len())
				}
				got = bytes.Buffer{}
				w.Reset(&got)
			}
		})
	}
	wg.Wait()
}

func write(t *testing.T, w Writer, text []byte) {
	for i := 0; i < len(text); i += 100 {
		if n, err := w.Write(text[i:min(i+100, len(text))]); err != nil || n != min(100, len(text)-i) {
			t.Errorf("Write: %d, %v", n, err)
		}
		if i%1000 == 0 {
			if err := w.Flush(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// A flush passes on all that was written before it.
func TestWriterFlush(t *testing.T) {
	var dst bytes.Buffer
	w := NewWriter(&dst, newGzip)
	if _, err := io.WriteString(w, "so far"); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(dst.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "so far" {
		t.Errorf("got %q, %v", b, err)
	}
}

// brokenWriter fails, or panics.
type brokenWriter struct {
	err   error
	panic any
}

func (b brokenWriter) Write([]byte) (int, error) {
	if b.panic != nil {
		panic(b.panic)
	}
	return 0, b.err
}
func (b brokenWriter) Flush() error    { return b.err }
func (b brokenWriter) Close() error    { return b.err }
func (b brokenWriter) Reset(io.Writer) {}

func TestWriterErrors(t *testing.T) {
	inner, below := errors.New("inner"), errors.New("below")
	w := NewWriter(io.Discard, func(io.Writer) Writer { return brokenWriter{err: inner} })
	if _, err := w.Write([]byte("a")); err != inner {
		t.Errorf("Write: %v", err)
	}
	if err := w.Flush(); err != inner {
		t.Errorf("Flush: %v", err)
	}
	if err := w.Close(); err != inner {
		t.Errorf("Close: %v", err)
	}

	w = NewWriter(brokenWriter{err: below}, newGzip)
	if err := w.Close(); err != below {
		t.Errorf("Close with a broken destination: %v", err)
	}
	var dst bytes.Buffer
	w.Reset(&dst)
	if err := w.Close(); err != nil || dst.Len() == 0 {
		t.Errorf("Close after Reset: %v, %d bytes", err, dst.Len())
	}

	w = NewWriter(io.Discard, func(io.Writer) Writer { return brokenWriter{panic: "why"} })
	defer func() {
		if r := recover(); r != "why" {
			t.Errorf("recovered %v", r)
		}
	}()
	_, _ = w.Write([]byte("a"))
	t.Error("no panic")
}

func ExampleNewWriter() {
	var out bytes.Buffer
	w := NewWriter(&out, func(w io.Writer) Writer {
		fw, _ := flate.NewWriter(w, flate.BestSpeed) // the level exists
		return fw
	})
	io.WriteString(w, "compressed on another goroutine")
	w.Close()
	text, _ := io.ReadAll(flate.NewReader(&out))
	fmt.Println(string(text))
	// Output: compressed on another goroutine
}

func ExampleNewFunc() {
	square := NewFunc(func(ctx any) {
		n := ctx.(*int)
		*n *= *n
	})
	n := 7
	if !square(&n) {
		fmt.Println("too many calls are waiting")
		return
	}
	fmt.Println(n)
	// Output: 49
}

func BenchmarkFunc(b *testing.B) {
	n := 0
	f := NewFunc(func(ctx any) { *ctx.(*int)++ })
	b.ReportAllocs()
	for b.Loop() {
		f(&n)
	}
}
