package compress

import (
	"bytes"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/galehttp/gale/internal/pool"
)

// ErrTooLarge is returned when the output of a decoder would exceed the
// caller's limit.
var ErrTooLarge = errors.New("compress: decoded data exceeds the given limit")

// maxZstdWindow is the largest window a zstd decoder accepts, which is also
// the largest that a sender may use for HTTP (RFC 9659 section 3).
const maxZstdWindow = 8 << 20

// minRead is the least room offered to a decoder.
const minRead = 512

// decoder is what the decoders of all codings have in common once each is
// wrapped to reset alike.
type decoder interface {
	io.Reader
	Reset(io.Reader) error
}

// Reader decodes what it reads. It is taken from a pool by [NewReader] and
// goes back with Close, which must be called exactly once and last. It isn't
// safe for concurrent use.
type Reader struct {
	dec decoder
	src bytes.Reader // where AppendDecoded reads from
	in  *pool.Pool
}

var readers [Codings]pool.Pool

// NewReader returns a Reader that decodes what it reads from r. It may read
// more of r than the coding needs. c must not be Identity. An error tells that
// r doesn't begin like c; some codings find that out only at the first Read.
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
		z.dec = new(gzip.Reader)
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

// release drops what z reads from. The decoders say that nothing is there to
// be decoded, which is the point.
func (z *Reader) release() {
	z.src.Reset(nil)
	_ = z.dec.Reset(&z.src)
	z.in.Put(z)
}

// AppendDecoded appends src, decoded, to dst and returns the extended dst.
// With a limit above 0 it stops with [ErrTooLarge] as soon as more than limit
// bytes come out, and returns dst as it was; memory grows with what came out.
// After another error the result holds what was decoded before it.
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

// makeRoom returns dst with room to read into. It doubles, but not beyond what
// is needed to see that the limit is exceeded.
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

// WriteDecoded writes p, decoded, to w and returns how many bytes it wrote,
// and the first error of the decoder or of w.
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

// zlibDecoder gives a zlib reader the Reset that the others have.
type zlibDecoder struct {
	io.Reader
	reset zlib.Resetter
}

// emptyZlib is the zlib form of nothing: a zlib reader can't be made without
// something to read.
var emptyZlib = []byte{0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01}

func newZlibDecoder() *zlibDecoder {
	r := must(zlib.NewReader(bytes.NewReader(emptyZlib)))
	return &zlibDecoder{Reader: r, reset: r.(zlib.Resetter)}
}

func (d *zlibDecoder) Reset(r io.Reader) error { return d.reset.Reset(r, nil) }
