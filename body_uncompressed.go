package gale

import (
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/msg"
)

// maxUncompressedBody is the limit in bytes for methods that decode a body and have no
// limit parameter.
const maxUncompressedBody = 64 << 20

// decodeAs decodes body, whose coding is c. A body without bytes is that of a message without
// content: there is nothing to decode then (RFC 9110 section 6.4.1).
func decodeAs(body []byte, c compress.Coding, limit int) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	b, err := appendDecoded(nil, body, c, limit)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// decodeBody decodes the body of a message, whose coding is c.
func decodeBody(m interface{ wholeBody() ([]byte, error) }, c compress.Coding, limit int) ([]byte, error) {
	body, err := m.wholeBody()
	if err != nil {
		return nil, err
	}
	return decodeAs(body, c, limit)
}

// contentCoding returns the coding of a body by the Content-Encoding fields in f. ok is false
// if they have several codings, or one that isn't known.
func contentCoding(f *msg.Fields) (c compress.Coding, ok bool) {
	var room [4][]byte
	return compress.ParseList(f.AppendValues(room[:0], msg.ContentEncoding, nil))
}

// decodeBy decodes body by the Content-Encoding fields in f.
func decodeBy(body []byte, f *msg.Fields, limit int) ([]byte, error) {
	c, ok := contentCoding(f)
	switch {
	case len(body) == 0:
		return body, nil
	case !ok:
		return nil, ErrContentEncodingUnsupported
	case c != compress.Identity:
		return decodeAs(body, c, limit)
	case limit > 0 && len(body) > limit:
		return nil, ErrBodyTooLarge
	}
	return body, nil
}

// BodyUncompressed returns the body, decoded by the coding in Content-Encoding: gzip,
// deflate, br or zstd. If the header is missing or says identity, it returns the body
// itself. Any other coding, and more than one, gives [ErrContentEncodingUnsupported]. Of a
// body without bytes there is nothing to decode. More than 64 MiB of output give
// [ErrBodyTooLarge]; see BodyUncompressedWithLimit for another limit. In fasthttp this
// method has no limit. The bytes are borrowed: they are valid until req changes or the
// handler returns.
func (req *Request) BodyUncompressed() ([]byte, error) {
	return req.uncompressed(maxUncompressedBody)
}

// BodyUncompressedWithLimit is BodyUncompressed with a limit of maxBodySize bytes of
// output. 0 or negative means no limit. Decoding stops at the limit. The bytes are
// borrowed: they are valid until req changes or the handler returns.
func (req *Request) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return req.uncompressed(maxBodySize)
}

func (req *Request) uncompressed(limit int) ([]byte, error) {
	body, err := req.wholeBody()
	if err != nil {
		return nil, err
	}
	return decodeBy(body, &req.Header.s.Fields, limit)
}

// BodyGunzip returns the body decoded from gzip, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (req *Request) BodyGunzip() ([]byte, error) {
	return decodeBody(req, compress.Gzip, maxUncompressedBody)
}

// BodyGunzipWithLimit is BodyGunzip with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (req *Request) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(req, compress.Gzip, maxBodySize)
}

// BodyInflate returns the body decoded from deflate, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (req *Request) BodyInflate() ([]byte, error) {
	return decodeBody(req, compress.Deflate, maxUncompressedBody)
}

// BodyInflateWithLimit is BodyInflate with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (req *Request) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(req, compress.Deflate, maxBodySize)
}

// BodyUnbrotli returns the body decoded from br, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (req *Request) BodyUnbrotli() ([]byte, error) {
	return decodeBody(req, compress.Brotli, maxUncompressedBody)
}

// BodyUnbrotliWithLimit is BodyUnbrotli with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (req *Request) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(req, compress.Brotli, maxBodySize)
}

// BodyUnzstd returns the body decoded from zstd, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (req *Request) BodyUnzstd() ([]byte, error) {
	return decodeBody(req, compress.Zstd, maxUncompressedBody)
}

// BodyUnzstdWithLimit is BodyUnzstd with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (req *Request) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(req, compress.Zstd, maxBodySize)
}

// BodyUncompressed returns the body, decoded by the coding in Content-Encoding: gzip,
// deflate, br or zstd. If the header is missing or says identity, it returns the body
// itself. Any other coding, and more than one, gives [ErrContentEncodingUnsupported]. Of a
// body without bytes, as in a response to HEAD, there is nothing to decode. More than
// 64 MiB of output give [ErrBodyTooLarge]; see BodyUncompressedWithLimit for another
// limit. In fasthttp this method has no limit. The bytes are borrowed: they are valid
// until resp changes or the handler returns.
func (resp *Response) BodyUncompressed() ([]byte, error) {
	return resp.uncompressed(maxUncompressedBody)
}

// BodyUncompressedWithLimit is BodyUncompressed with a limit of maxBodySize bytes of
// output. 0 or negative means no limit. Decoding stops at the limit. The bytes are
// borrowed: they are valid until resp changes or the handler returns.
func (resp *Response) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return resp.uncompressed(maxBodySize)
}

func (resp *Response) uncompressed(limit int) ([]byte, error) {
	body, err := resp.wholeBody()
	if err != nil {
		return nil, err
	}
	return decodeBy(body, &resp.Header.s.Fields, limit)
}

// BodyGunzip returns the body decoded from gzip, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (resp *Response) BodyGunzip() ([]byte, error) {
	return decodeBody(resp, compress.Gzip, maxUncompressedBody)
}

// BodyGunzipWithLimit is BodyGunzip with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (resp *Response) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(resp, compress.Gzip, maxBodySize)
}

// BodyInflate returns the body decoded from deflate, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (resp *Response) BodyInflate() ([]byte, error) {
	return decodeBody(resp, compress.Deflate, maxUncompressedBody)
}

// BodyInflateWithLimit is BodyInflate with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (resp *Response) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(resp, compress.Deflate, maxBodySize)
}

// BodyUnbrotli returns the body decoded from br, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (resp *Response) BodyUnbrotli() ([]byte, error) {
	return decodeBody(resp, compress.Brotli, maxUncompressedBody)
}

// BodyUnbrotliWithLimit is BodyUnbrotli with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (resp *Response) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(resp, compress.Brotli, maxBodySize)
}

// BodyUnzstd returns the body decoded from zstd, whatever Content-Encoding says. More
// than 64 MiB of output give [ErrBodyTooLarge]. The result belongs to the caller.
func (resp *Response) BodyUnzstd() ([]byte, error) {
	return decodeBody(resp, compress.Zstd, maxUncompressedBody)
}

// BodyUnzstdWithLimit is BodyUnzstd with a limit of maxBodySize bytes of output. 0 or
// negative means no limit. Decoding stops at the limit. The result belongs to the caller.
func (resp *Response) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return decodeBody(resp, compress.Zstd, maxBodySize)
}
