package gale

import (
	"bufio"
	"io"
)

func (*Response) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Response) Read(*bufio.Reader) error { panic("stub") }

func (*Response) ReadBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Response) SendFile(string) error { panic("stub") }

func (*Response) String() string { panic("stub") }

func (*Response) Write(*bufio.Writer) error { panic("stub") }

func (*Response) WriteTo(io.Writer) (int64, error) { panic("stub") }
