package gale

import (
	"bufio"

	"github.com/galehttp/gale/internal/compress"
)

// WriteGzip writes the response to w as Write does, with its body encoded by
// gzip at [CompressDefaultCompression].
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response to w as Write does, with its body encoded
// by gzip, and Content-Encoding and Vary set for that. Left alone are bodies of
// less than 200 bytes, types that are compressed already, and responses that
// have a Content-Encoding.
//
// level is one of [CompressNoCompression], [CompressBestSpeed] to
// [CompressBestCompression], [CompressDefaultCompression] and
// [CompressHuffmanOnly]; any other stands for the default.
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

// encodeAs encodes the body unless that makes no sense.
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
