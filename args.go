package gale

import (
	"io"
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// maxParsedArgs is the largest number of arguments that the Parse methods read.
// Lookups are linear, so this limits how many arguments a client can make a server
// search.
const maxParsedArgs = 10_000

// maxKeptScratch is the capacity in bytes up to which Reset keeps a scratch
// buffer.
const maxKeptScratch = 64 << 10

// Args is an ordered list of arguments (keys with values), as in a query string or
// in an application/x-www-form-urlencoded body. Keys may repeat, and an argument
// may have no value, which differs from an empty one: "a" against "a=". Keys are
// compared byte by byte.
//
// The zero value is an empty list. Args must not be copied (use [Args.CopyTo]) or
// used by several goroutines at once.
//
// Keys and values that methods return are borrowed; see "Borrowed bytes" in the comment
// of the package. Only parsing into the Args, Reset, a release, and setting their own
// key count as changes. Methods copy their arguments.
type Args struct {
	_ noCopy

	list kv.List
	buf  []byte // what QueryString returned
}

var argsPool = pool.Pool{New: func() any { return new(Args) }}

// AcquireArgs returns an empty Args from a pool. It belongs to the caller until
// [ReleaseArgs]. If it isn't released, the garbage collector frees it.
func AcquireArgs() *Args {
	if l := borrow("ReleaseArgs"); l != nil {
		a := new(Args)
		a.lend(l)
		return a
	}
	return argsPool.Get().(*Args)
}

// ReleaseArgs puts a into the pool. Neither a nor anything that its methods
// returned may be used afterwards.
func ReleaseArgs(a *Args) {
	if l := a.list.Loan; l != nil {
		giveUp(a, l, "ReleaseArgs")
		return
	}
	a.Reset()
	argsPool.Put(a)
}

// Reset removes all arguments. It keeps the buffers for reuse unless they are huge.
func (a *Args) Reset() {
	used(a.list.Loan)
	a.list.Reset()
	a.buf = a.buf[:0] // without a write barrier
	if cap(a.buf) > maxKeptScratch {
		a.buf = nil
	}
}

// used reports whether Reset has something to do.
func (a *Args) used() bool { return a.list.Used() || len(a.buf) > 0 }

// CopyTo makes dst a copy of a that shares no memory with it: changes of one, and the end of
// the request that a belongs to, don't affect the other.
func (a *Args) CopyTo(dst *Args) { a.list.CopyTo(&dst.list) }

// Len returns the number of arguments.
func (a *Args) Len() int {
	used(a.list.Loan)
	return a.list.Len()
}

// Parse replaces the arguments by those of s. See [Args.ParseBytes].
func (a *Args) Parse(s string) { a.ParseBytes(bytesconv.S2B(s)) }

// ParseBytes replaces the arguments by those of b, such as "k=v&k2=v2". "+" and %XX
// are decoded once. A "%" that isn't followed by two hex digits stays as it is.
// Only "&" is a separator. Pairs with neither key nor value are dropped.
//
// At most 10,000 arguments are read; the rest of b is ignored. fasthttp has no
// such limit. The time needed is linear in len(b).
func (a *Args) ParseBytes(b []byte) {
	used(a.list.Loan)
	// b may be what one of a's methods returned: kv copies before it decodes.
	a.list.Reset()
	a.list.AddQuery(b, maxParsedArgs)
}

// String returns the arguments as a query string.
func (a *Args) String() string { return string(a.QueryString()) }

// QueryString returns the arguments as a query string, in order. Spaces are written as
// "+"; all other bytes except letters, digits and "-._~" are written as %XX. The bytes
// are borrowed: they are valid until a changes or the handler returns. A method that
// returns or writes a query string overwrites them.
func (a *Args) QueryString() []byte {
	used(a.list.Loan)
	a.buf = lifetime.Kept(a.list.Loan, a.buf, a.list.AppendQuery(a.buf[:0]))
	return a.buf
}

// AppendBytes appends the arguments as a query string to dst and returns the extended
// slice. See [Args.QueryString]. The result belongs to the caller.
func (a *Args) AppendBytes(dst []byte) []byte { return a.list.AppendQuery(dst) }

// WriteTo writes the arguments as a query string to w. It implements
// [io.WriterTo].
func (a *Args) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.QueryString())
	return int64(n), err
}

// All returns an iterator over keys and values, in order. The Args must not be changed
// during the iteration. The bytes are borrowed: they are valid until a changes or the
// handler returns.
func (a *Args) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		used(a.list.Loan)
		for i := 0; i < a.list.Len(); i++ {
			if !yield(a.list.At(i)) {
				return
			}
		}
	}
}

// VisitAll calls f for each argument, in order. f must not change a. The bytes are
// borrowed: they are valid until f returns.
//
// Deprecated: Use [Args.All].
func (a *Args) VisitAll(f func(key, value []byte)) {
	for k, v := range a.All() {
		f(k, v)
	}
}

// Sort sorts the arguments by key, and those with equal keys by value. f compares like
// bytes.Compare: it returns a negative number if x < y, 0 if they are equal, and a
// positive number if x > y. Equal arguments keep their order. The bytes are borrowed:
// they are valid until f returns.
func (a *Args) Sort(f func(x, y []byte) int) { a.list.Sort(f, true) }

// SortKeys is [Args.Sort] by key alone. The bytes are borrowed: they are valid until f
// returns.
func (a *Args) SortKeys(f func(x, y []byte) int) { a.list.Sort(f, false) }

// Has reports whether there is an argument with the key.
func (a *Args) Has(key string) bool {
	used(a.list.Loan)
	return a.list.Index(key) >= 0
}

// HasBytes is [Args.Has] for bytes.
func (a *Args) HasBytes(key []byte) bool { return a.Has(bytesconv.B2S(key)) }

// Peek returns the value of the first argument with the key. It returns nil if there
// is no such argument, and an empty slice if the argument has an empty value or no
// value. The bytes are borrowed: they are valid until a changes or the handler
// returns.
func (a *Args) Peek(key string) []byte { return a.list.Peek(key) }

// PeekBytes is [Args.Peek] for bytes. The bytes are borrowed: they are valid until a
// changes or the handler returns.
func (a *Args) PeekBytes(key []byte) []byte {
	v := a.list.Peek(bytesconv.B2S(key))
	if v == nil {
		used(a.list.Loan)
	}
	return v
}

// PeekMulti returns the values of all arguments with the key, in order, or nil if
// there are none. Empty values are nil slices. The outer slice belongs to the caller.
// The bytes are borrowed: they are valid until a changes or the handler returns.
func (a *Args) PeekMulti(key string) [][]byte { return a.list.PeekAll(nil, key) }

// PeekMultiBytes is [Args.PeekMulti] for bytes. The bytes are borrowed: they are valid
// until a changes or the handler returns.
func (a *Args) PeekMultiBytes(key []byte) [][]byte { return a.list.PeekAll(nil, bytesconv.B2S(key)) }

// Add appends the argument "key=value", whether or not the key exists already.
func (a *Args) Add(key, value string) { a.list.Add(key, value) }

// AddBytesK is [Args.Add] with bytes as the key.
func (a *Args) AddBytesK(key []byte, value string) { a.list.Add(bytesconv.B2S(key), value) }

// AddBytesV is [Args.Add] with bytes as the value.
func (a *Args) AddBytesV(key string, value []byte) { a.list.Add(key, bytesconv.B2S(value)) }

// AddBytesKV is [Args.Add] for bytes.
func (a *Args) AddBytesKV(key, value []byte) {
	a.list.Add(bytesconv.B2S(key), bytesconv.B2S(value))
}

// AddNoValue appends the argument "key", without "=".
func (a *Args) AddNoValue(key string) { a.list.AddNoValue(key) }

// AddBytesKNoValue is [Args.AddNoValue] for bytes.
func (a *Args) AddBytesKNoValue(key []byte) { a.list.AddNoValue(bytesconv.B2S(key)) }

// Set sets the value of the first argument with the key, or appends "key=value" if
// there is none. Other arguments with the key stay.
func (a *Args) Set(key, value string) { a.list.Set(key, value) }

// SetBytesK is [Args.Set] with bytes as the key.
func (a *Args) SetBytesK(key []byte, value string) { a.list.Set(bytesconv.B2S(key), value) }

// SetBytesV is [Args.Set] with bytes as the value.
func (a *Args) SetBytesV(key string, value []byte) { a.list.Set(key, bytesconv.B2S(value)) }

// SetBytesKV is [Args.Set] for bytes.
func (a *Args) SetBytesKV(key, value []byte) {
	a.list.Set(bytesconv.B2S(key), bytesconv.B2S(value))
}

// SetNoValue removes the value of the first argument with the key, or appends "key" if
// there is none.
func (a *Args) SetNoValue(key string) { a.list.SetNoValue(key) }

// SetBytesKNoValue is [Args.SetNoValue] for bytes.
func (a *Args) SetBytesKNoValue(key []byte) { a.list.SetNoValue(bytesconv.B2S(key)) }

// Del removes all arguments with the key.
func (a *Args) Del(key string) { a.list.Del(key) }

// DelBytes is [Args.Del] for bytes.
func (a *Args) DelBytes(key []byte) { a.list.Del(bytesconv.B2S(key)) }

// AppendQuotedArg appends src, encoded as the key or value of an argument, to dst and
// returns the extended slice. Spaces become "+". All other bytes except letters,
// digits and "-._~" become %XX. dst and src must not overlap. The result belongs to
// the caller.
func AppendQuotedArg(dst, src []byte) []byte { return bytesconv.AppendEscapedArg(dst, src) }

// AppendUnquotedArg appends src, decoded as the key or value of an argument, to dst
// and returns the extended slice. "+" and %XX are decoded. A "%" that isn't followed
// by two hex digits stays as it is. dst may be src[:0]; src is then overwritten. The
// result belongs to the caller.
func AppendUnquotedArg(dst, src []byte) []byte {
	n := len(dst)
	dst = append(dst, src...)
	return dst[:n+bytesconv.UnescapeArg(dst[n:])]
}

// lend makes a part of l: its memory moves to l, and grows there from now on.
func (a *Args) lend(l *lifetime.Loan) {
	a.list.Lend(l)
	a.buf = lifetime.Move(l, a.buf)
}

// lapse empties a at the end of its loan.
func (a *Args) lapse() {
	if l := a.list.Loan; l != nil {
		l.KeepLast(a.buf)
	}
	a.buf = nil
	if l := a.list.Loan; l != nil && l.Guard().HasPages() {
		a.list.LapseOnPages()
		return
	}
	a.list.Lapse()
}

// GetUint returns the value of the first argument with the key as a number of 0 or
// more. On an error the result is -1. The error is [ErrNoArgValue] if there is no
// value, and the error of [ParseUint] if the value isn't a number.
func (a *Args) GetUint(key string) (int, error) {
	used(a.list.Loan)
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUint(value)
}

// GetUintOrZero is [Args.GetUint] that returns 0 on an error.
func (a *Args) GetUintOrZero(key string) int {
	n, err := a.GetUint(key)
	if err != nil {
		return 0
	}
	return n
}

// GetUfloat returns the value of the first argument with the key as a number of 0
// or more. On an error the result is -1. The error is [ErrNoArgValue] if there is
// no value, and the error of [ParseUfloat] if the value isn't a number.
func (a *Args) GetUfloat(key string) (float64, error) {
	used(a.list.Loan)
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUfloat(value)
}

// GetUfloatOrZero is [Args.GetUfloat] that returns 0 on an error.
func (a *Args) GetUfloatOrZero(key string) float64 {
	f, err := a.GetUfloat(key)
	if err != nil {
		return 0
	}
	return f
}

// GetBool reports whether the value of the first argument with the key is one
// of 1, t, T, true, TRUE, True, y, Y, yes, YES and Yes.
func (a *Args) GetBool(key string) bool {
	used(a.list.Loan)
	switch string(a.Peek(key)) {
	case "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "Yes":
		return true
	}
	return false
}

// SetUint is [Args.Set] with value in decimal. It panics if value is negative.
func (a *Args) SetUint(key string, value int) {
	var digits [20]byte
	a.list.Set(key, bytesconv.B2S(AppendUint(digits[:0], value)))
}

// SetUintBytes is [Args.SetUint] with bytes as the key.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(bytesconv.B2S(key), value) }
