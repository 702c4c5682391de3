package gale

import (
	"bufio"
	"io"
	"iter"
)

func (*RequestHeader) Add(string, string) { panic("stub") }

func (*RequestHeader) AddBytesK([]byte, string) { panic("stub") }

func (*RequestHeader) AddBytesKV([]byte, []byte) { panic("stub") }

func (*RequestHeader) AddBytesV(string, []byte) { panic("stub") }

func (*RequestHeader) AddTrailer(string) error { panic("stub") }

func (*RequestHeader) AddTrailerBytes([]byte) error { panic("stub") }

func (*RequestHeader) All() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*RequestHeader) AllInOrder() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*RequestHeader) AppendBytes([]byte) []byte { panic("stub") }

func (*RequestHeader) ConnectionClose() bool { panic("stub") }

func (*RequestHeader) ConnectionUpgrade() bool { panic("stub") }

func (*RequestHeader) ContentEncoding() []byte { panic("stub") }

func (*RequestHeader) ContentLength() int { panic("stub") }

func (*RequestHeader) ContentType() []byte { panic("stub") }

func (*RequestHeader) Cookie(string) []byte { panic("stub") }

func (*RequestHeader) CookieBytes([]byte) []byte { panic("stub") }

func (*RequestHeader) Cookies() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*RequestHeader) CopyTo(*RequestHeader) { panic("stub") }

func (*RequestHeader) Del(string) { panic("stub") }

func (*RequestHeader) DelAllCookies() { panic("stub") }

func (*RequestHeader) DelBytes([]byte) { panic("stub") }

func (*RequestHeader) DelCookie(string) { panic("stub") }

func (*RequestHeader) DelCookieBytes([]byte) { panic("stub") }

func (*RequestHeader) DisableNormalizing() bool { panic("stub") }

func (*RequestHeader) DisableSpecialHeader() bool { panic("stub") }

func (*RequestHeader) EnableNormalizing() bool { panic("stub") }

func (*RequestHeader) EnableSpecialHeader() bool { panic("stub") }

func (*RequestHeader) HasAcceptEncoding(string) bool { panic("stub") }

func (*RequestHeader) HasAcceptEncodingBytes([]byte) bool { panic("stub") }

func (*RequestHeader) Header() []byte { panic("stub") }

func (*RequestHeader) Host() []byte { panic("stub") }

func (*RequestHeader) IsConnect() bool { panic("stub") }

func (*RequestHeader) IsDelete() bool { panic("stub") }

func (*RequestHeader) IsGet() bool { panic("stub") }

func (*RequestHeader) IsHTTP11() bool { panic("stub") }

func (*RequestHeader) IsHead() bool { panic("stub") }

func (*RequestHeader) IsOptions() bool { panic("stub") }

func (*RequestHeader) IsPatch() bool { panic("stub") }

func (*RequestHeader) IsPost() bool { panic("stub") }

func (*RequestHeader) IsPut() bool { panic("stub") }

func (*RequestHeader) IsQuery() bool { panic("stub") }

func (*RequestHeader) IsTrace() bool { panic("stub") }

func (*RequestHeader) Len() int { panic("stub") }

func (*RequestHeader) Method() []byte { panic("stub") }

func (*RequestHeader) MultipartFormBoundary() []byte { panic("stub") }

func (*RequestHeader) Peek(string) []byte { panic("stub") }

func (*RequestHeader) PeekAll(string) [][]byte { panic("stub") }

func (*RequestHeader) PeekBytes([]byte) []byte { panic("stub") }

func (*RequestHeader) PeekCanonical([]byte) []byte { panic("stub") }

func (*RequestHeader) PeekKeys() [][]byte { panic("stub") }

func (*RequestHeader) PeekTrailerKeys() [][]byte { panic("stub") }

func (*RequestHeader) Protocol() []byte { panic("stub") }

func (*RequestHeader) RawHeaders() []byte { panic("stub") }

func (*RequestHeader) Read(*bufio.Reader) error { panic("stub") }

func (*RequestHeader) ReadTrailer(*bufio.Reader) error { panic("stub") }

func (*RequestHeader) Referer() []byte { panic("stub") }

func (*RequestHeader) RequestURI() []byte { panic("stub") }

func (*RequestHeader) Reset() { panic("stub") }

func (*RequestHeader) ResetConnectionClose() { panic("stub") }

func (*RequestHeader) Set(string, string) { panic("stub") }

func (*RequestHeader) SetByteRange(int, int) { panic("stub") }

func (*RequestHeader) SetBytesK([]byte, string) { panic("stub") }

func (*RequestHeader) SetBytesKV([]byte, []byte) { panic("stub") }

func (*RequestHeader) SetBytesV(string, []byte) { panic("stub") }

func (*RequestHeader) SetCanonical([]byte, []byte) { panic("stub") }

func (*RequestHeader) SetConnectionClose() { panic("stub") }

func (*RequestHeader) SetContentEncoding(string) { panic("stub") }

func (*RequestHeader) SetContentEncodingBytes([]byte) { panic("stub") }

func (*RequestHeader) SetContentLength(int) { panic("stub") }

func (*RequestHeader) SetContentType(string) { panic("stub") }

func (*RequestHeader) SetContentTypeBytes([]byte) { panic("stub") }

func (*RequestHeader) SetCookie(string, string) { panic("stub") }

func (*RequestHeader) SetCookieBytesK([]byte, string) { panic("stub") }

func (*RequestHeader) SetCookieBytesKV([]byte, []byte) { panic("stub") }

func (*RequestHeader) SetHost(string) { panic("stub") }

func (*RequestHeader) SetHostBytes([]byte) { panic("stub") }

func (*RequestHeader) SetMethod(string) { panic("stub") }

func (*RequestHeader) SetMethodBytes([]byte) { panic("stub") }

func (*RequestHeader) SetMultipartFormBoundary(string) { panic("stub") }

func (*RequestHeader) SetMultipartFormBoundaryBytes([]byte) { panic("stub") }

func (*RequestHeader) SetNoDefaultContentType(bool) { panic("stub") }

func (*RequestHeader) SetProtocol(string) { panic("stub") }

func (*RequestHeader) SetProtocolBytes([]byte) { panic("stub") }

func (*RequestHeader) SetReferer(string) { panic("stub") }

func (*RequestHeader) SetRefererBytes([]byte) { panic("stub") }

func (*RequestHeader) SetRequestURI(string) { panic("stub") }

func (*RequestHeader) SetRequestURIBytes([]byte) { panic("stub") }

func (*RequestHeader) SetTrailer(string) error { panic("stub") }

func (*RequestHeader) SetTrailerBytes([]byte) error { panic("stub") }

func (*RequestHeader) SetUserAgent(string) { panic("stub") }

func (*RequestHeader) SetUserAgentBytes([]byte) { panic("stub") }

func (*RequestHeader) String() string { panic("stub") }

func (*RequestHeader) TrailerHeader() []byte { panic("stub") }

func (*RequestHeader) Trailers() iter.Seq[[]byte] { panic("stub") }

func (*RequestHeader) UserAgent() []byte { panic("stub") }

func (*RequestHeader) VisitAll(func([]byte, []byte)) { panic("stub") }

func (*RequestHeader) VisitAllCookie(func([]byte, []byte)) { panic("stub") }

func (*RequestHeader) VisitAllInOrder(func([]byte, []byte)) { panic("stub") }

func (*RequestHeader) VisitAllTrailer(func([]byte)) { panic("stub") }

func (*RequestHeader) Write(*bufio.Writer) error { panic("stub") }

func (*RequestHeader) WriteTo(io.Writer) (int64, error) { panic("stub") }

type RequestHeader struct {
}
