package gale

import (
	"bufio"
	"io"
	"iter"
	"time"
)

func (*ResponseHeader) Add(string, string) { panic("stub") }

func (*ResponseHeader) AddBytesK([]byte, string) { panic("stub") }

func (*ResponseHeader) AddBytesKV([]byte, []byte) { panic("stub") }

func (*ResponseHeader) AddBytesV(string, []byte) { panic("stub") }

func (*ResponseHeader) AddTrailer(string) error { panic("stub") }

func (*ResponseHeader) AddTrailerBytes([]byte) error { panic("stub") }

func (*ResponseHeader) All() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*ResponseHeader) AppendBytes([]byte) []byte { panic("stub") }

func (*ResponseHeader) ConnectionClose() bool { panic("stub") }

func (*ResponseHeader) ConnectionUpgrade() bool { panic("stub") }

func (*ResponseHeader) ContentEncoding() []byte { panic("stub") }

func (*ResponseHeader) ContentLength() int { panic("stub") }

func (*ResponseHeader) ContentType() []byte { panic("stub") }

func (*ResponseHeader) Cookie(*Cookie) bool { panic("stub") }

func (*ResponseHeader) Cookies() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*ResponseHeader) CopyTo(*ResponseHeader) { panic("stub") }

func (*ResponseHeader) Del(string) { panic("stub") }

func (*ResponseHeader) DelAllCookies() { panic("stub") }

func (*ResponseHeader) DelBytes([]byte) { panic("stub") }

func (*ResponseHeader) DelCookie(string) { panic("stub") }

func (*ResponseHeader) DelCookieBytes([]byte) { panic("stub") }

func (*ResponseHeader) DisableNormalizing() bool { panic("stub") }

func (*ResponseHeader) EnableNormalizing() bool { panic("stub") }

func (*ResponseHeader) Header() []byte { panic("stub") }

func (*ResponseHeader) IsHTTP11() bool { panic("stub") }

func (*ResponseHeader) Len() int { panic("stub") }

func (*ResponseHeader) Peek(string) []byte { panic("stub") }

func (*ResponseHeader) PeekAll(string) [][]byte { panic("stub") }

func (*ResponseHeader) PeekBytes([]byte) []byte { panic("stub") }

func (*ResponseHeader) PeekCanonical([]byte) []byte { panic("stub") }

func (*ResponseHeader) PeekCookie(string) []byte { panic("stub") }

func (*ResponseHeader) PeekKeys() [][]byte { panic("stub") }

func (*ResponseHeader) PeekTrailerKeys() [][]byte { panic("stub") }

func (*ResponseHeader) Protocol() []byte { panic("stub") }

func (*ResponseHeader) Read(*bufio.Reader) error { panic("stub") }

func (*ResponseHeader) ReadTrailer(*bufio.Reader) error { panic("stub") }

func (*ResponseHeader) Reset() { panic("stub") }

func (*ResponseHeader) ResetConnectionClose() { panic("stub") }

func (*ResponseHeader) Server() []byte { panic("stub") }

func (*ResponseHeader) Set(string, string) { panic("stub") }

func (*ResponseHeader) SetBytesK([]byte, string) { panic("stub") }

func (*ResponseHeader) SetBytesKV([]byte, []byte) { panic("stub") }

func (*ResponseHeader) SetBytesV(string, []byte) { panic("stub") }

func (*ResponseHeader) SetCanonical([]byte, []byte) { panic("stub") }

func (*ResponseHeader) SetConnectionClose() { panic("stub") }

func (*ResponseHeader) SetContentEncoding(string) { panic("stub") }

func (*ResponseHeader) SetContentEncodingBytes([]byte) { panic("stub") }

func (*ResponseHeader) SetContentLength(int) { panic("stub") }

func (*ResponseHeader) SetContentRange(int, int, int) { panic("stub") }

func (*ResponseHeader) SetContentType(string) { panic("stub") }

func (*ResponseHeader) SetContentTypeBytes([]byte) { panic("stub") }

func (*ResponseHeader) SetCookie(*Cookie) { panic("stub") }

func (*ResponseHeader) SetLastModified(time.Time) { panic("stub") }

func (*ResponseHeader) SetNoDefaultContentType(bool) { panic("stub") }

func (*ResponseHeader) SetProtocol([]byte) { panic("stub") }

func (*ResponseHeader) SetServer(string) { panic("stub") }

func (*ResponseHeader) SetServerBytes([]byte) { panic("stub") }

func (*ResponseHeader) SetStatusCode(int) { panic("stub") }

func (*ResponseHeader) SetStatusMessage([]byte) { panic("stub") }

func (*ResponseHeader) SetTrailer(string) error { panic("stub") }

func (*ResponseHeader) SetTrailerBytes([]byte) error { panic("stub") }

func (*ResponseHeader) StatusCode() int { panic("stub") }

func (*ResponseHeader) StatusMessage() []byte { panic("stub") }

func (*ResponseHeader) String() string { panic("stub") }

func (*ResponseHeader) TrailerHeader() []byte { panic("stub") }

func (*ResponseHeader) Trailers() iter.Seq[[]byte] { panic("stub") }

func (*ResponseHeader) VisitAll(func([]byte, []byte)) { panic("stub") }

func (*ResponseHeader) VisitAllCookie(func([]byte, []byte)) { panic("stub") }

func (*ResponseHeader) VisitAllTrailer(func([]byte)) { panic("stub") }

func (*ResponseHeader) Write(*bufio.Writer) error { panic("stub") }

func (*ResponseHeader) WriteTo(io.Writer) (int64, error) { panic("stub") }

type ResponseHeader struct {
}
