package gale

import (
	"bufio"
	"io"
	"mime/multipart"
	"time"
)

func AcquireRequest() *Request { panic("stub") }

func AcquireResponse() *Response { panic("stub") }

func NewBoundedStreamReader(StreamWriter) io.ReadCloser { panic("stub") }

func NewStreamReader(StreamWriter) io.ReadCloser { panic("stub") }

func ReleaseRequest(*Request) { panic("stub") }

func ReleaseResponse(*Response) { panic("stub") }

func SaveMultipartFile(*multipart.FileHeader, string) error { panic("stub") }

func SetBodySizePoolLimit(int, int) { panic("stub") }

func WriteMultipartForm(io.Writer, *multipart.Form, string) error { panic("stub") }

func (*Request) AppendBody([]byte) { panic("stub") }

func (*Request) AppendBodyString(string) { panic("stub") }

func (*Request) Body() []byte { panic("stub") }

func (*Request) BodyGunzip() ([]byte, error) { panic("stub") }

func (*Request) BodyGunzipWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyInflate() ([]byte, error) { panic("stub") }

func (*Request) BodyInflateWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyStream() io.Reader { panic("stub") }

func (*Request) BodyUnbrotli() ([]byte, error) { panic("stub") }

func (*Request) BodyUnbrotliWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyUncompressed() ([]byte, error) { panic("stub") }

func (*Request) BodyUncompressedWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyUnzstd() ([]byte, error) { panic("stub") }

func (*Request) BodyUnzstdWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Request) BodyWriter() io.Writer { panic("stub") }

func (*Request) CloseBodyStream() error { panic("stub") }

func (*Request) ConnectionClose() bool { panic("stub") }

func (*Request) ContinueReadBody(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) ContinueReadBodyStream(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) CopyTo(*Request) { panic("stub") }

func (*Request) GetTimeOut() time.Duration { panic("stub") }

func (*Request) Host() []byte { panic("stub") }

func (*Request) IsBodyStream() bool { panic("stub") }

func (*Request) MayContinue() bool { panic("stub") }

func (*Request) MultipartForm() (*multipart.Form, error) { panic("stub") }

func (*Request) MultipartFormWithLimit(int) (*multipart.Form, error) { panic("stub") }

func (*Request) PostArgs() *Args { panic("stub") }

func (*Request) Read(*bufio.Reader) error { panic("stub") }

func (*Request) ReadBody(*bufio.Reader, int, int) error { panic("stub") }

func (*Request) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Request) ReleaseBody(int) { panic("stub") }

func (*Request) RemoveMultipartFormFiles() { panic("stub") }

func (*Request) RemoveUserValue(any) { panic("stub") }

func (*Request) RemoveUserValueBytes([]byte) { panic("stub") }

func (*Request) RequestURI() []byte { panic("stub") }

func (*Request) Reset() { panic("stub") }

func (*Request) ResetBody() { panic("stub") }

func (*Request) ResetUserValues() { panic("stub") }

func (*Request) SetBody([]byte) { panic("stub") }

func (*Request) SetBodyRaw([]byte) { panic("stub") }

func (*Request) SetBodyStream(io.Reader, int) { panic("stub") }

func (*Request) SetBodyStreamWriter(StreamWriter) { panic("stub") }

func (*Request) SetBodyString(string) { panic("stub") }

func (*Request) SetConnectionClose() { panic("stub") }

func (*Request) SetHost(string) { panic("stub") }

func (*Request) SetHostBytes([]byte) { panic("stub") }

func (*Request) SetRequestURI(string) { panic("stub") }

func (*Request) SetRequestURIBytes([]byte) { panic("stub") }

func (*Request) SetTimeout(time.Duration) { panic("stub") }

func (*Request) SetURI(*URI) { panic("stub") }

func (*Request) SetUserValue(any, any) { panic("stub") }

func (*Request) SetUserValueBytes([]byte, any) { panic("stub") }

func (*Request) String() string { panic("stub") }

func (*Request) SwapBody([]byte) []byte { panic("stub") }

func (*Request) URI() *URI { panic("stub") }

func (*Request) UserValue(any) any { panic("stub") }

func (*Request) UserValueBytes([]byte) any { panic("stub") }

func (*Request) VisitUserValues(func([]byte, any)) { panic("stub") }

func (*Request) VisitUserValuesAll(func(any, any)) { panic("stub") }

func (*Request) Write(*bufio.Writer) error { panic("stub") }

func (*Request) WriteTo(io.Writer) (int64, error) { panic("stub") }

type BodyWriterTo interface {
	SupportsBodyWriteTo() bool
	WriteTo(io.Writer) (int64, error)
}

type Request struct {
	DisableRedirectPathNormalizing bool
	Header                         RequestHeader
	KeepBodyBuffer                 bool
	UseHostHeader                  bool
}

type StreamWriter func(*bufio.Writer)
