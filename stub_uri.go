package gale

import (
	"io"
)

func AcquireURI() *URI { panic("stub") }

func ReleaseURI(*URI) { panic("stub") }

func (*URI) AppendBytes([]byte) []byte { panic("stub") }

func (*URI) CopyTo(*URI) { panic("stub") }

func (*URI) FullURI() []byte { panic("stub") }

func (*URI) Hash() []byte { panic("stub") }

func (*URI) Host() []byte { panic("stub") }

func (*URI) LastPathSegment() []byte { panic("stub") }

func (*URI) Parse([]byte, []byte) error { panic("stub") }

func (*URI) Password() []byte { panic("stub") }

func (*URI) Path() []byte { panic("stub") }

func (*URI) PathOriginal() []byte { panic("stub") }

func (*URI) QueryArgs() *Args { panic("stub") }

func (*URI) QueryString() []byte { panic("stub") }

func (*URI) RequestURI() []byte { panic("stub") }

func (*URI) Reset() { panic("stub") }

func (*URI) Scheme() []byte { panic("stub") }

func (*URI) SetHash(string) { panic("stub") }

func (*URI) SetHashBytes([]byte) { panic("stub") }

func (*URI) SetHost(string) { panic("stub") }

func (*URI) SetHostBytes([]byte) { panic("stub") }

func (*URI) SetPassword(string) { panic("stub") }

func (*URI) SetPasswordBytes([]byte) { panic("stub") }

func (*URI) SetPath(string) { panic("stub") }

func (*URI) SetPathBytes([]byte) { panic("stub") }

func (*URI) SetQueryString(string) { panic("stub") }

func (*URI) SetQueryStringBytes([]byte) { panic("stub") }

func (*URI) SetScheme(string) { panic("stub") }

func (*URI) SetSchemeBytes([]byte) { panic("stub") }

func (*URI) SetUsername(string) { panic("stub") }

func (*URI) SetUsernameBytes([]byte) { panic("stub") }

func (*URI) String() string { panic("stub") }

func (*URI) Update(string) { panic("stub") }

func (*URI) UpdateBytes([]byte) { panic("stub") }

func (*URI) Username() []byte { panic("stub") }

func (*URI) WriteTo(io.Writer) (int64, error) { panic("stub") }

type URI struct {
	DisablePathNormalizing bool
}
