package compress

import (
	"bytes"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/galehttp/gale/internal/pool"
)

// ErrTooLarge is returned when the output of a decoder would exceed the
// caller's limit.
var ErrTooLarge = errors.New("compress: decoded data exceeds the given limit")

// maxZstdWindow is the largest window in bytes that a zstd decoder accepts. It is
// also the largest that a sender may use in HTTP (RFC 9659 section 3).
const maxZstdWindow = 8 << 20

// minRead is the smallest buffer in bytes that a decoder gets.
const minRead = 512

// decoder has the methods that the decoders of all codings have, once each is
// wrapped to have the same Reset.
type decoder interface {
	io.Reader
	Reset(io.Reader) error
}

// Reader decodes what it reads. [NewReader] takes it from a pool, and Close gives
// it back. Close must be called exactly once, and last. It isn't safe for
// concurrent use.
type Reader struct {
	dec decoder
	src bytes.Reader // where AppendDecoded reads from
	in  *pool.Pool
}

var readers [Codings]pool.Pool

// NewReader returns a Reader that decodes what it reads from r. It may read more of
// r than the coding needs. c must not be Identity. An error means that r doesn't
// begin in the form of c; some codings detect that only at the first Read.
func NewReader(r io.Reader, c Coding) (*Reader, error) {
	z := acquireReader(c)
	if err := z.dec.Reset(r); err != nil {
		z.release()
		return nil, err
	}
	return z, nil
}

func acquireReader(c Coding) *Reader {
	objects := &readers[c]
	if v := objects.Get(); v != nil {
		return v.(*Reader)
	}
	z := &Reader{in: objects}
	switch c {
	case Gzip:
		z.dec = new(gzipDecoder)
	case Deflate:
		z.dec = newZlibDecoder()
	case Brotli:
		z.dec = brotli.NewReader(nil)
	case Zstd:
		z.dec = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow)))
	default:
		panic("compress: no decoder for " + c.String())
	}
	return z
}

// Read reads decoded bytes.
func (z *Reader) Read(p []byte) (int, error) { return z.dec.Read(p) }

// Close ends the use of z. It doesn't close what z reads from.
func (z *Reader) Close() error {
	z.release()
	return nil
}

// release drops what z reads from. The decoders return an error because there is
// nothing to decode; that is expected.
func (z *Reader) release() {
	z.src.Reset(nil)
	_ = z.dec.Reset(&z.src)
	z.in.Put(z)
}

// AppendDecoded decodes src, appends the result to dst and returns the extended
// dst. If limit is above 0 and the output is longer, it stops with [ErrTooLarge]
// and returns dst unchanged. Memory grows with the output. After another error the
// result holds what was decoded before it.
func AppendDecoded(dst, src []byte, c Coding, limit int) ([]byte, error) {
	if c == Identity {
		if limit > 0 && len(src) > limit {
			return dst, ErrTooLarge
		}
		return append(dst, src...), nil
	}
	z := acquireReader(c)
	defer z.release()
	z.src.Reset(src)
	if err := z.dec.Reset(&z.src); err != nil {
		return dst, err
	}
	start := len(dst)
	for {
		dst = makeRoom(dst, start, limit)
		n, err := z.dec.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if limit > 0 && len(dst)-start > limit {
			return dst[:start], ErrTooLarge
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// makeRoom returns dst with room to read into. It doubles, but not beyond the size
// at which the limit is exceeded.
func makeRoom(dst []byte, start, limit int) []byte {
	if len(dst) < cap(dst) {
		return dst
	}
	room := max(len(dst)-start, minRead)
	if limit > 0 {
		room = min(room, limit+1-(len(dst)-start))
	}
	grown := make([]byte, len(dst), len(dst)+room)
	copy(grown, dst)
	return grown
}

// WriteDecoded decodes p and writes the result to w. It returns how many bytes it
// wrote, and the first error of the decoder or of w.
func WriteDecoded(w io.Writer, p []byte, c Coding) (int, error) {
	z := acquireReader(c)
	defer z.release()
	z.src.Reset(p)
	if err := z.dec.Reset(&z.src); err != nil {
		return 0, err
	}
	n, err := io.Copy(w, z)
	return int(n), err
}

// zlibDecoder gives a zlib reader the same Reset as the others.
type zlibDecoder struct {
	io.Reader
	reset zlib.Resetter
}

// emptyZlib is empty data in zlib form: a zlib reader can't be made without valid
// input.
var emptyZlib = []byte{0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01}

func newZlibDecoder() *zlibDecoder {
	r := must(zlib.NewReader(bytes.NewReader(emptyZlib)))
	return &zlibDecoder{Reader: r, reset: r.(zlib.Resetter)}
}

func (d *zlibDecoder) Reset(r io.Reader) error { return d.reset.Reset(r, nil) }
