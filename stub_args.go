package gale

import (
	"io"
	"iter"
)

func AcquireArgs() *Args { panic("stub") }

func AppendQuotedArg([]byte, []byte) []byte { panic("stub") }

func ReleaseArgs(*Args) { panic("stub") }

func (*Args) Add(string, string) { panic("stub") }

func (*Args) AddBytesK([]byte, string) { panic("stub") }

func (*Args) AddBytesKNoValue([]byte) { panic("stub") }

func (*Args) AddBytesKV([]byte, []byte) { panic("stub") }

func (*Args) AddBytesV(string, []byte) { panic("stub") }

func (*Args) AddNoValue(string) { panic("stub") }

func (*Args) All() iter.Seq2[[]byte, []byte] { panic("stub") }

func (*Args) AppendBytes([]byte) []byte { panic("stub") }

func (*Args) CopyTo(*Args) { panic("stub") }

func (*Args) Del(string) { panic("stub") }

func (*Args) DelBytes([]byte) { panic("stub") }

func (*Args) GetBool(string) bool { panic("stub") }

func (*Args) GetUfloat(string) (float64, error) { panic("stub") }

func (*Args) GetUfloatOrZero(string) float64 { panic("stub") }

func (*Args) GetUint(string) (int, error) { panic("stub") }

func (*Args) GetUintOrZero(string) int { panic("stub") }

func (*Args) Has(string) bool { panic("stub") }

func (*Args) HasBytes([]byte) bool { panic("stub") }

func (*Args) Len() int { panic("stub") }

func (*Args) Parse(string) { panic("stub") }

func (*Args) ParseBytes([]byte) { panic("stub") }

func (*Args) Peek(string) []byte { panic("stub") }

func (*Args) PeekBytes([]byte) []byte { panic("stub") }

func (*Args) PeekMulti(string) [][]byte { panic("stub") }

func (*Args) PeekMultiBytes([]byte) [][]byte { panic("stub") }

func (*Args) QueryString() []byte { panic("stub") }

func (*Args) Reset() { panic("stub") }

func (*Args) Set(string, string) { panic("stub") }

func (*Args) SetBytesK([]byte, string) { panic("stub") }

func (*Args) SetBytesKNoValue([]byte) { panic("stub") }

func (*Args) SetBytesKV([]byte, []byte) { panic("stub") }

func (*Args) SetBytesV(string, []byte) { panic("stub") }

func (*Args) SetNoValue(string) { panic("stub") }

func (*Args) SetUint(string, int) { panic("stub") }

func (*Args) SetUintBytes([]byte, int) { panic("stub") }

func (*Args) Sort(func([]byte, []byte) int) { panic("stub") }

func (*Args) SortKeys(func([]byte, []byte) int) { panic("stub") }

func (*Args) String() string { panic("stub") }

func (*Args) VisitAll(func([]byte, []byte)) { panic("stub") }

func (*Args) WriteTo(io.Writer) (int64, error) { panic("stub") }

type Args struct {
}
