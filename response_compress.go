package gale

import (
	"bufio"
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/pool"
)

// minCompressBody is the smallest length, in bytes, of a body in memory that is worth
// encoding.
const minCompressBody = 200

// WriteGzip writes the response to w as Write does, with its body encoded by
// gzip at [CompressDefaultCompression].
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response to w as Write does, with its body encoded by gzip,
// and with Content-Encoding and Vary. It doesn't encode bodies of less than 200 bytes,
// media types that are compressed already, and responses that have a Content-Encoding.
//
// level is [CompressNoCompression], [CompressDefaultCompression], [CompressHuffmanOnly],
// or from [CompressBestSpeed] to [CompressBestCompression]. Any other value means the
// default.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	resp.encodeAs(compress.Gzip, level)
	return resp.Write(w)
}

// WriteDeflate writes the response to w as Write does, with its body encoded
// by deflate at [CompressDefaultCompression].
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel is like WriteGzipLevel with deflate.
func (resp *Response) WriteDeflateLevel(w *bufio.Writer, level int) error {
	resp.encodeAs(compress.Deflate, level)
	return resp.Write(w)
}

// encodeAs encodes the body if it is worth it.
func (resp *Response) encodeAs(c compress.Coding, level int) {
	stream := resp.hasStream()
	if !isEncodable(resp) || !stream && len(resp.bodyBytes()) < minCompressBody {
		return
	}
	addVary(&resp.Header, HeaderAcceptEncoding)
	if stream {
		encodeStream(resp, c, level)
	} else {
		encodeBody(resp, c, level)
	}
	describeEncoded(&resp.Header, c)
}

// isEncodable reports whether resp may and should get a content coding.
func isEncodable(resp *Response) bool {
	h := &resp.Header
	switch code := h.StatusCode(); {
	case code < 200, code == StatusNoContent, code == StatusResetContent, code == StatusPartialContent, code == StatusNotModified:
		return false
	}
	return len(h.PeekAll(HeaderContentEncoding)) == 0 &&
		len(h.Peek(HeaderContentRange)) == 0 &&
		!bytesconv.HasElement(h.PeekAll(HeaderCacheControl), "no-transform") &&
		compress.Compressible(h.ContentType())
}

// encodeBody replaces a body in memory with its encoded form.
func encodeBody(resp *Response, c compress.Coding, level int) {
	body := resp.bodyBytes()
	b := pool.Get(len(body) / 4)
	b.B = compress.Append(b.B, body, c, level)
	resp.SetBody(b.B)
	pool.Put(b)
}

// describeEncoded corrects the fields that described the body before it was encoded.
func describeEncoded(h *ResponseHeader, c compress.Coding) {
	h.SetContentEncoding(c.String())
	h.Del(HeaderAcceptRanges)
	if tag := h.Peek(HeaderETag); len(tag) > 0 && tag[0] == '"' {
		h.Set(HeaderETag, "W/"+string(tag))
	}
}

// addVary adds the field name to Vary unless it is there already, or "*" is
// (RFC 9110 section 12.5.5).
func addVary(h *ResponseHeader, name string) {
	values := h.PeekAll(HeaderVary)
	if bytesconv.HasElement(values, name) || bytesconv.HasElement(values, "*") {
		return
	}
	if len(values) == 0 {
		h.Set(HeaderVary, name)
		return
	}
	joined := bytes.Join(values, commaSpace)
	h.SetBytesV(HeaderVary, append(append(joined, ", "...), name...))
}
