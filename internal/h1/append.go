package h1

import "github.com/galehttp/gale/internal/bytesconv"

// AppendChunk appends data as one chunk (RFC 9112 section 7.1). For empty data it appends
// nothing, because an empty chunk would end the body.
func AppendChunk(dst, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = AppendChunkSize(dst, len(data))
	dst = append(dst, data...)
	return append(dst, "\r\n"...)
}

// AppendChunkSize appends the line that begins a chunk of n bytes, for callers that write
// the data themselves, and CRLF after it. n must be positive.
func AppendChunkSize(dst []byte, n int) []byte {
	dst = bytesconv.AppendHex(dst, uint64(n))
	return append(dst, "\r\n"...)
}

// AppendLastChunk appends the last chunk's line. The caller must append the trailer
// section, which is at least a CRLF.
func AppendLastChunk(dst []byte) []byte { return append(dst, "0\r\n"...) }
