package gale

import (
	"bufio"
	"io"
)

func (*Response) BodyGunzip() ([]byte, error) { panic("stub") }

func (*Response) BodyGunzipWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyInflate() ([]byte, error) { panic("stub") }

func (*Response) BodyInflateWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyUnbrotli() ([]byte, error) { panic("stub") }

func (*Response) BodyUnbrotliWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyUncompressed() ([]byte, error) { panic("stub") }

func (*Response) BodyUncompressedWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyUnzstd() ([]byte, error) { panic("stub") }

func (*Response) BodyUnzstdWithLimit(int) ([]byte, error) { panic("stub") }

func (*Response) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Response) Read(*bufio.Reader) error { panic("stub") }

func (*Response) ReadBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) SendFile(string) error { panic("stub") }

func (*Response) String() string { panic("stub") }

func (*Response) Write(*bufio.Writer) error { panic("stub") }

func (*Response) WriteDeflate(*bufio.Writer) error { panic("stub") }

func (*Response) WriteDeflateLevel(*bufio.Writer, int) error { panic("stub") }

func (*Response) WriteGzip(*bufio.Writer) error { panic("stub") }

func (*Response) WriteGzipLevel(*bufio.Writer, int) error { panic("stub") }

func (*Response) WriteTo(io.Writer) (int64, error) { panic("stub") }
