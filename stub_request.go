package gale

import (
	"bufio"
	"io"
	"mime/multipart"
)

func NewBoundedStreamReader(StreamWriter) io.ReadCloser { panic("stub") }

func NewStreamReader(StreamWriter) io.ReadCloser { panic("stub") }

func SaveMultipartFile(*multipart.FileHeader, string) error { panic("stub") }

func WriteMultipartForm(io.Writer, *multipart.Form, string) error { panic("stub") }

func (*Request) BodyGunzip() ([]byte, error) { panic("stub") }

func (*Request) BodyGunzipWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyInflate() ([]byte, error) { panic("stub") }

func (*Request) BodyInflateWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyUnbrotli() ([]byte, error) { panic("stub") }

func (*Request) BodyUnbrotliWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyUncompressed() ([]byte, error) { panic("stub") }

func (*Request) BodyUncompressedWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyUnzstd() ([]byte, error) { panic("stub") }

func (*Request) BodyUnzstdWithLimit(int) ([]byte, error) { panic("stub") }

func (*Request) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Request) ContinueReadBody(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) ContinueReadBodyStream(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) MayContinue() bool { panic("stub") }

func (*Request) MultipartForm() (*multipart.Form, error) { panic("stub") }

func (*Request) MultipartFormWithLimit(int) (*multipart.Form, error) { panic("stub") }

func (*Request) PostArgs() *Args { panic("stub") }

func (*Request) Read(*bufio.Reader) error { panic("stub") }

func (*Request) ReadBody(*bufio.Reader, int, int) error { panic("stub") }

func (*Request) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Request) RemoveMultipartFormFiles() { panic("stub") }

func (*Request) String() string { panic("stub") }

func (*Request) Write(*bufio.Writer) error { panic("stub") }

func (*Request) WriteTo(io.Writer) (int64, error) { panic("stub") }

type BodyWriterTo interface {
	SupportsBodyWriteTo() bool
	WriteTo(io.Writer) (int64, error)
}

type StreamWriter func(*bufio.Writer)
