package gale

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/compress"
)

// Compression levels of gzip and deflate.
const (
	CompressNoCompression      = 0
	CompressBestSpeed          = 1
	CompressBestCompression    = 9
	CompressDefaultCompression = 6
	CompressHuffmanOnly        = -2
)

// Compression levels of brotli. The default level takes about as long as gzip at its
// default, and compresses better.
const (
	CompressBrotliNoCompression      = 0
	CompressBrotliBestSpeed          = 0
	CompressBrotliBestCompression    = 11
	CompressBrotliDefaultCompression = 4
)

// Compression levels of zstd. These values differ from the levels of the zstd command.
const (
	CompressZstdSpeedNotSet = iota
	CompressZstdBestSpeed
	CompressZstdDefault
	CompressZstdSpeedBetter
	CompressZstdBestCompression
)

// appendDecoded appends src, decoded, to dst. If limit is above 0 and there are more than
// limit bytes of output, it returns dst unchanged and ErrBodyTooLarge.
func appendDecoded(dst, src []byte, c compress.Coding, limit int) ([]byte, error) {
	dst, err := compress.AppendDecoded(dst, src, c, limit)
	if errors.Is(err, compress.ErrTooLarge) {
		err = ErrBodyTooLarge
	}
	return dst, err
}

// AppendGzipBytes appends src, encoded as gzip (RFC 1952) at
// [CompressDefaultCompression], to dst and returns the extended dst. src and dst must not
// overlap. The result belongs to the caller.
func AppendGzipBytes(dst, src []byte) []byte {
	return compress.Append(dst, src, compress.Gzip, CompressDefaultCompression)
}

// AppendGzipBytesLevel is like [AppendGzipBytes] at the given level. The result belongs
// to the caller.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return compress.Append(dst, src, compress.Gzip, level)
}

// WriteGzip writes p, encoded as gzip at [CompressDefaultCompression], to w.
// It returns how many bytes of p it encoded, and the first error of w.
func WriteGzip(w io.Writer, p []byte) (int, error) {
	return compress.WriteTo(w, p, compress.Gzip, CompressDefaultCompression)
}

// WriteGzipLevel is like [WriteGzip] at the given level.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return compress.WriteTo(w, p, compress.Gzip, level)
}

// AppendGunzipBytes appends src, decoded from gzip, to dst and returns the extended dst,
// which after an error has what was decoded before it. src and dst must not overlap. The
// result belongs to the caller.
//
// The output has no limit. For untrusted input use [Request.BodyUncompressedWithLimit] or
// [Response.BodyUncompressedWithLimit].
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, compress.Gzip, 0)
}

// WriteGunzip writes p, decoded from gzip, to w. It returns how many bytes it wrote, and
// the first error of the input or of w. The output has no limit unless w has one.
func WriteGunzip(w io.Writer, p []byte) (int, error) {
	return compress.WriteDecoded(w, p, compress.Gzip)
}

// AppendDeflateBytes appends src, encoded as deflate (the zlib format of RFC 1950, which
// HTTP calls deflate) at [CompressDefaultCompression], to dst and returns the extended
// dst. src and dst must not overlap. The result belongs to the caller.
func AppendDeflateBytes(dst, src []byte) []byte {
	return compress.Append(dst, src, compress.Deflate, CompressDefaultCompression)
}

// AppendDeflateBytesLevel is like [AppendDeflateBytes] at the given level. The result
// belongs to the caller.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return compress.Append(dst, src, compress.Deflate, level)
}

// WriteDeflate writes p, encoded as deflate at [CompressDefaultCompression],
// to w. It returns how many bytes of p it encoded, and the first error of w.
func WriteDeflate(w io.Writer, p []byte) (int, error) {
	return compress.WriteTo(w, p, compress.Deflate, CompressDefaultCompression)
}

// WriteDeflateLevel is like [WriteDeflate] at the given level.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return compress.WriteTo(w, p, compress.Deflate, level)
}

// AppendInflateBytes appends src, decoded from deflate, to dst and returns the extended
// dst, which after an error has what was decoded before it. src and dst must not overlap.
// The result belongs to the caller.
//
// The output has no limit. For untrusted input use [Request.BodyUncompressedWithLimit] or
// [Response.BodyUncompressedWithLimit].
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, compress.Deflate, 0)
}

// WriteInflate writes p, decoded from deflate, to w. It returns how many bytes it wrote,
// and the first error of the input or of w. The output has no limit unless w has one.
func WriteInflate(w io.Writer, p []byte) (int, error) {
	return compress.WriteDecoded(w, p, compress.Deflate)
}

// AppendBrotliBytes appends src, encoded as brotli (RFC 7932) at
// [CompressBrotliDefaultCompression], to dst and returns the extended dst. src and dst
// must not overlap. The result belongs to the caller.
func AppendBrotliBytes(dst, src []byte) []byte {
	return compress.Append(dst, src, compress.Brotli, CompressBrotliDefaultCompression)
}

// AppendBrotliBytesLevel is like [AppendBrotliBytes] at the given level. The result
// belongs to the caller.
//
// level is from [CompressBrotliNoCompression], which is the same as
// [CompressBrotliBestSpeed], to [CompressBrotliBestCompression]. Any other value means
// [CompressBrotliDefaultCompression].
func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return compress.Append(dst, src, compress.Brotli, level)
}

// WriteBrotli writes p, encoded as brotli at
// [CompressBrotliDefaultCompression], to w. It returns how many bytes of p it
// encoded, and the first error of w.
func WriteBrotli(w io.Writer, p []byte) (int, error) {
	return compress.WriteTo(w, p, compress.Brotli, CompressBrotliDefaultCompression)
}

// WriteBrotliLevel is like [WriteBrotli] at the given level.
//
// level is from [CompressBrotliNoCompression], which is the same as
// [CompressBrotliBestSpeed], to [CompressBrotliBestCompression]. Any other value means
// [CompressBrotliDefaultCompression].
func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return compress.WriteTo(w, p, compress.Brotli, level)
}

// AppendUnbrotliBytes appends src, decoded from brotli, to dst and returns the extended
// dst, which after an error has what was decoded before it. src and dst must not overlap.
// The result belongs to the caller.
//
// The output has no limit. For untrusted input use [Request.BodyUncompressedWithLimit] or
// [Response.BodyUncompressedWithLimit].
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, compress.Brotli, 0)
}

// WriteUnbrotli writes p, decoded from brotli, to w. It returns how many bytes it wrote,
// and the first error of the input or of w. The output has no limit unless w has one.
func WriteUnbrotli(w io.Writer, p []byte) (int, error) {
	return compress.WriteDecoded(w, p, compress.Brotli)
}

// AppendZstdBytes appends src, encoded as zstd (RFC 8878) at [CompressZstdDefault], to
// dst and returns the extended dst. src and dst must not overlap. The result belongs to
// the caller.
func AppendZstdBytes(dst, src []byte) []byte {
	return compress.Append(dst, src, compress.Zstd, CompressZstdDefault)
}

// AppendZstdBytesLevel is like [AppendZstdBytes] at the given level. The result belongs
// to the caller.
//
// level is from [CompressZstdBestSpeed] to [CompressZstdBestCompression]. Any other
// value, including [CompressZstdSpeedNotSet], means [CompressZstdDefault].
func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return compress.Append(dst, src, compress.Zstd, level)
}

// WriteZstdLevel writes p, encoded as zstd at the given level, to w. It
// returns how many bytes of p it encoded, and the first error of w.
//
// level is from [CompressZstdBestSpeed] to [CompressZstdBestCompression]. Any other
// value, including [CompressZstdSpeedNotSet], means [CompressZstdDefault].
func WriteZstdLevel(w io.Writer, p []byte, level int) (int, error) {
	return compress.WriteTo(w, p, compress.Zstd, level)
}

// AppendUnzstdBytes appends src, decoded from zstd, to dst and returns the extended dst,
// which after an error has what was decoded before it. src and dst must not overlap. A
// window above 8 MiB is refused (RFC 9659). The result belongs to the caller.
//
// The output has no limit. For untrusted input use [Request.BodyUncompressedWithLimit] or
// [Response.BodyUncompressedWithLimit].
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, compress.Zstd, 0)
}

// WriteUnzstd writes p, decoded from zstd, to w. It returns how many bytes it wrote, and
// the first error of the input or of w. The output has no limit unless w has one.
func WriteUnzstd(w io.Writer, p []byte) (int, error) {
	return compress.WriteDecoded(w, p, compress.Zstd)
}
