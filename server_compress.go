package gale

import (
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/msg"
)

// CompressHandler returns a handler that calls h and encodes the response with
// gzip, deflate or zstd if the request's Accept-Encoding allows it. It is
// [CompressHandlerLevel] at [CompressDefaultCompression].
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and encodes the response
// with gzip, deflate or zstd if the request's Accept-Encoding allows it.
//
// The weights in the request's Accept-Encoding choose the coding (RFC 9110 section
// 12.5.3). Among codings of equal weight, gzip comes before deflate and zstd. If the
// request has that header, Accept-Encoding is added to Vary, even if the response isn't
// encoded.
//
// It doesn't encode responses without a body, bodies of less than 200 bytes (unless the
// client refuses unencoded ones), and media types that are compressed already, such as
// most images. Nor does it encode responses with Content-Encoding, Content-Range or
// Cache-Control: no-transform. When a body is encoded, a strong ETag becomes weak and
// Accept-Ranges is removed, because they describe the bytes before encoding.
//
// A response to HEAD gets the same fields. If it has only the length of a body, that length
// is removed, because it isn't the one of the encoded body.
//
// Streams are encoded while they are sent. When a stream has no more bytes for the
// moment, what it has delivered is flushed. A response that h has begun to send with
// [RequestCtx.Flush] is not encoded.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
//
// fasthttp's handler ignores weights other than 0, and changes neither ETag nor
// Accept-Ranges.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	e := bodyEncoder{
		offer:  []compress.Coding{compress.Gzip, compress.Deflate, compress.Zstd},
		levels: [...]int{compress.Gzip: level, compress.Deflate: level, compress.Brotli: 0, compress.Zstd: compress.ZstdLevel(level)},
	}
	return e.wrap(h)
}

// CompressHandlerBrotliLevel is like [CompressHandlerLevel] with br as one more coding.
// Among codings of equal weight, br comes first. brotliLevel is the level for br,
// otherLevel the one for gzip and deflate.
//
// brotliLevel is from [CompressBrotliNoCompression] to [CompressBrotliBestCompression].
// Any other value means [CompressBrotliDefaultCompression]. Levels above 6 are too slow
// for responses that are sent only once.
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	e := bodyEncoder{
		offer:  []compress.Coding{compress.Brotli, compress.Gzip, compress.Deflate, compress.Zstd},
		levels: [...]int{compress.Gzip: otherLevel, compress.Deflate: otherLevel, compress.Brotli: brotliLevel, compress.Zstd: compress.ZstdLevel(otherLevel)},
	}
	return e.wrap(h)
}

// bodyEncoder encodes response bodies. It doesn't change once made.
type bodyEncoder struct {
	offer  []compress.Coding // best first
	levels [5]int            // by coding
}

func (e bodyEncoder) wrap(h RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		h(ctx)
		// A handler that was timed out may still be writing its response.
		if ctx.timedOut.Load() == nil && !ctx.flush.begun {
			e.encode(&ctx.Request.Header, &ctx.Response)
		}
	}
}

// encode encodes the body of resp if both sides want it.
func (e *bodyEncoder) encode(req *RequestHeader, resp *Response) {
	if !isEncodable(resp) {
		return
	}
	accept := req.PeekAll(HeaderAcceptEncoding)
	c, required := compress.Negotiate(accept, e.offer...)
	stream, size := resp.IsBodyStream(), int64(len(resp.bodyBytes()))
	bare := !stream && size == 0 && req.IsHead()
	if bare {
		size = resp.Header.s.ContentLength // of the body that GET gets; negative for a stream
	}
	if !stream && (size == 0 || size > 0 && size < minCompressBody && !required) {
		return
	}
	if len(accept) > 0 {
		addVary(&resp.Header, HeaderAcceptEncoding) // without the header, the response is the same for all
	}
	if c == compress.Identity {
		return
	}
	switch {
	case bare:
		resp.Header.setLength(min(size, msg.LenChunked)) // which is negative
	case stream:
		encodeStream(resp, c, e.levels[c])
	default:
		encodeBody(resp, c, e.levels[c])
	}
	describeEncoded(&resp.Header, c)
}
