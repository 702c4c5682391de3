package gale

import (
	"bufio"
	"io"
	"net"
)

func (*Response) AppendBody([]byte) { panic("stub") }

func (*Response) AppendBodyString(string) { panic("stub") }

func (*Response) Body() []byte { panic("stub") }

func (*Response) BodyGunzip() ([]byte, error) { panic("stub") }

func (*Response) BodyGunzipWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyInflate() ([]byte, error) { panic("stub") }

func (*Response) BodyInflateWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyStream() io.Reader { panic("stub") }

func (*Response) BodyUnbrotli() ([]byte, error) { panic("stub") }

func (*Response) BodyUnbrotliWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyUncompressed() ([]byte, error) { panic("stub") }

func (*Response) BodyUncompressedWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyUnzstd() ([]byte, error) { panic("stub") }

func (*Response) BodyUnzstdWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Response) BodyWriter() io.Writer { panic("stub") }

func (*Response) CloseBodyStream() error { panic("stub") }

func (*Response) ConnectionClose() bool { panic("stub") }

func (*Response) CopyTo(*Response) { panic("stub") }

func (*Response) IsBodyStream() bool { panic("stub") }

func (*Response) LocalAddr() net.Addr { panic("stub") }

func (*Response) ParseNetConn(net.Conn) { panic("stub") }

func (*Response) Read(*bufio.Reader) error { panic("stub") }

func (*Response) ReadBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) ReleaseBody(int) { panic("stub") }

func (*Response) RemoteAddr() net.Addr { panic("stub") }

func (*Response) Reset() { panic("stub") }

func (*Response) ResetBody() { panic("stub") }

func (*Response) SendFile(string) error { panic("stub") }

func (*Response) SetBody([]byte) { panic("stub") }

func (*Response) SetBodyRaw([]byte) { panic("stub") }

func (*Response) SetBodyStream(io.Reader, int) { panic("stub") }

func (*Response) SetBodyStreamWriter(StreamWriter) { panic("stub") }

func (*Response) SetBodyString(string) { panic("stub") }

func (*Response) SetConnectionClose() { panic("stub") }

func (*Response) SetStatusCode(int) { panic("stub") }

func (*Response) StatusCode() int { panic("stub") }

func (*Response) String() string { panic("stub") }

func (*Response) SwapBody([]byte) []byte { panic("stub") }

func (*Response) Write(*bufio.Writer) error { panic("stub") }

func (*Response) WriteDeflate(*bufio.Writer) error { panic("stub") }

func (*Response) WriteDeflateLevel(*bufio.Writer, int) error { panic("stub") }

func (*Response) WriteGzip(*bufio.Writer) error { panic("stub") }

func (*Response) WriteGzipLevel(*bufio.Writer, int) error { panic("stub") }

func (*Response) WriteTo(io.Writer) (int64, error) { panic("stub") }

type Response struct {
	Header               ResponseHeader
	ImmediateHeaderFlush bool
	KeepBodyBuffer       bool
	SkipBody             bool
	StreamBody           bool
}
