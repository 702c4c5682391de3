package gale

import (
	"bufio"
	"io"
)

func (*Request) BodyWriteTo(io.Writer) error { panic("stub") }

func (*Request) ContinueReadBody(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) ContinueReadBodyStream(*bufio.Reader, int, ...bool) error { panic("stub") }

func (*Request) MayContinue() bool { panic("stub") }

func (*Request) Read(*bufio.Reader) error { panic("stub") }

func (*Request) ReadBody(*bufio.Reader, int, int) error { panic("stub") }

func (*Request) ReadLimitBody(*bufio.Reader, int) error { panic("stub") }

func (*Request) String() string { panic("stub") }

func (*Request) Write(*bufio.Writer) error { panic("stub") }

func (*Request) WriteTo(io.Writer) (int64, error) { panic("stub") }
