package compress

import (
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/galehttp/gale/internal/pool"
)

// encoder has the methods that the encoders of all codings have.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// Writer encodes what is written to it. [NewWriter] takes it from a pool, and Close
// or Abort gives it back. One of them must be called exactly once, and last. It
// isn't safe for concurrent use.
type Writer struct {
	enc encoder
	zst *zstd.Encoder // enc, if the coding is Zstd
	out appender      // where Append collects the output
	in  *pool.Pool
}

// writers holds the idle Writers by coding and level.
var writers [Codings][numLevels]pool.Pool

// NewWriter returns a Writer that encodes to w. A level that c doesn't have is
// replaced by c's default. c must not be Identity.
func NewWriter(w io.Writer, c Coding, level int) *Writer {
	z := acquireWriter(c, level)
	z.enc.Reset(w)
	return z
}

// acquireWriter returns a Writer without a destination.
func acquireWriter(c Coding, level int) *Writer {
	level, i := index(c, level)
	objects := &writers[c][i]
	if v := objects.Get(); v != nil {
		return v.(*Writer)
	}
	z := &Writer{in: objects}
	switch c {
	case Gzip:
		z.enc = must(gzip.NewWriterLevel(io.Discard, level))
	case Deflate:
		z.enc = must(zlib.NewWriterLevel(io.Discard, level))
	case Brotli:
		z.enc = brotli.NewWriterOptions(io.Discard, brotli.WriterOptions{Quality: level, LGWin: brotliWindow(level)})
	case Zstd:
		z.zst = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithWindowSize(zstdWindow(level)),
			zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true)))
		z.enc = z.zst
	default:
		panic("compress: no encoder for " + c.String())
	}
	return z
}

// brotliWindow returns the binary logarithm of the window. An encoder of level 4
// needs 2 MB with a window of 256 KiB, and 10 MB with the library's default of 4
// MiB. The larger one is worth its memory only for large files and high levels.
func brotliWindow(level int) int {
	if level >= 9 {
		return 22
	}
	return 18
}

// zstdWindow returns the window in bytes. RFC 9659 allows up to 8 MiB.
func zstdWindow(level int) int {
	if level >= maxZstdLevel {
		return 4 << 20
	}
	return 1 << 20
}

// Write encodes p. The output may stay in the encoder until Flush or Close.
func (z *Writer) Write(p []byte) (int, error) { return z.enc.Write(p) }

// Flush writes all output that is needed to decode what was written so far.
func (z *Writer) Flush() error { return z.enc.Flush() }

// Close writes the end of the coding and gives z back. It doesn't close the
// destination.
func (z *Writer) Close() error {
	err := z.enc.Close()
	z.release()
	return err
}

// Abort gives z back and leaves the output unfinished.
func (z *Writer) Abort() { z.release() }

func (z *Writer) release() {
	z.out.b = nil
	z.enc.Reset(io.Discard)
	z.in.Put(z)
}

// Append encodes src, appends the result to dst and returns the extended dst. A
// level that c doesn't have is replaced by c's default. src and dst must not
// overlap. With Identity it appends src itself.
func Append(dst, src []byte, c Coding, level int) []byte {
	if c == Identity {
		return append(dst, src...)
	}
	z := acquireWriter(c, level)
	if z.zst != nil {
		dst = z.zst.EncodeAll(src, dst)
		z.in.Put(z)
		return dst
	}
	z.out.b = dst
	z.enc.Reset(&z.out)
	// Neither can fail, because an appender accepts everything.
	_, _ = z.enc.Write(src)
	_ = z.enc.Close()
	dst = z.out.b
	z.release()
	return dst
}

// WriteTo encodes p and writes the result to w. It returns how many bytes of p were
// encoded, and the first error of w.
func WriteTo(w io.Writer, p []byte, c Coding, level int) (int, error) {
	z := NewWriter(w, c, level)
	n, err := z.Write(p)
	if err != nil {
		z.Abort()
		return n, err
	}
	return n, z.Close()
}

// appender is a Writer's destination in memory.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// must returns v. The error is always nil, because the arguments are constants of
// this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic("compress: " + err.Error())
	}
	return v
}
