// Package count counts the steps of code that tests/steps/instrument has rewritten:
// entries of functions, rounds of loops, and the bytes or elements that built-in
// and foreign functions look at, copy or clear. Nothing else imports it.
//
// The functions replace an expression of the source, or an operand of it. They return the
// same value and add what the expression costs. If a cost depends on more than lengths,
// it is an upper bound. Searches are the exception: they cost as much as they look at, so
// that a loop that searches for the next comma is linear.
package count

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

var (
	steps   atomic.Int64
	tracing atomic.Bool
	traced  sync.Map // of functions' names to *atomic.Int64
)

// Steps returns the number of steps of all goroutines since the program began.
func Steps() int64 { return steps.Load() }

// Add adds n steps.
func Add(n int) {
	steps.Add(int64(n))
	if tracing.Load() {
		trace(n)
	}
}

// Trace runs f and returns a text with the names of the three functions that took most of
// the steps. It is slow.
func Trace(f func()) string {
	traced.Clear()
	tracing.Store(true)
	f()
	tracing.Store(false)
	type function struct {
		name  string
		steps int64
	}
	var all []function
	traced.Range(func(k, v any) bool {
		all = append(all, function{k.(string), v.(*atomic.Int64).Load()})
		return true
	})
	slices.SortFunc(all, func(a, b function) int { return cmp.Compare(b.steps, a.steps) })
	var names []string
	for _, f := range all[:min(3, len(all))] {
		names = append(names, fmt.Sprintf("%s %d", f.name, f.steps))
	}
	return strings.Join(names, ", ")
}

// trace records n steps for the function that called this package.
func trace(n int) {
	var pcs [8]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
		if !strings.HasPrefix(name, "count.") {
			v, _ := traced.LoadOrStore(name, new(atomic.Int64))
			v.(*atomic.Int64).Add(int64(n))
			return
		}
		if !more {
			return
		}
	}
}

// Text is the type of the arguments of searches.
type Text interface{ ~[]byte | ~string }

// Len adds the length of s.
func Len[S ~[]E, E any](s S) S {
	Add(len(s))
	return s
}

// Str adds the length of s.
func Str[S ~string](s S) S {
	Add(len(s))
	return s
}

// Cat is for s += t.
func Cat[S ~string](s, t S) S {
	Add(len(s) + len(t))
	return t
}

// Int adds n, such as the number of bytes that were copied or will be cleared.
func Int[N ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](n N) N {
	Add(int(n))
	return n
}

// Equal is a == b. Strings of different lengths cost nothing.
func Equal[S ~string](a, b S) bool {
	if len(a) == len(b) {
		Add(len(a))
	}
	return a == b
}

// Base replaces the first argument of append, to which n elements will be appended. If
// they don't fit, append copies it, so its length is added.
func Base[S ~[]E, E any](s S, n int) S {
	if cap(s)-len(s) < n {
		Add(len(s))
	}
	Add(n)
	return s
}

// Append is append(a, b...).
func Append[S ~[]E, E any](a S, b []E) S { return append(Base(a, len(b)), b...) }

// AppendString is append(a, b...).
func AppendString[S ~[]byte, T ~string](a S, b T) S { return append(Base(a, len(b)), b...) }

// Shorter adds the length of the shorter one, which is what comparing costs.
func Shorter[A, B Text](a A, b B) (A, B) {
	Add(min(len(a), len(b)))
	return a, b
}

// search adds the cost of a search that ended at i. It began at the front, or at the back
// if back is set.
func search(i, n int, back bool) int {
	switch {
	case i < 0:
		Add(n)
	case back:
		Add(n - i)
	default:
		Add(i + 1)
	}
	return i
}

// trimmed adds the difference of two lengths.
func trimmed[A, B Text](before A, after B) B {
	Add(len(before) - len(after) + 1)
	return after
}

// The functions of packages bytes and strings whose cost is not the length of their
// arguments. They have the names of those functions.

func BytesEqual(a, b []byte) bool {
	if len(a) == len(b) {
		Add(len(a))
	}
	return bytes.Equal(a, b)
}
func BytesIndexByte(b []byte, c byte) int {
	return search(bytes.IndexByte(b, c), len(b), false)
}
func BytesLastIndexByte(b []byte, c byte) int {
	return search(bytes.LastIndexByte(b, c), len(b), true)
}
func BytesIndex(b, sep []byte) int { return search(bytes.Index(b, sep), len(b), false) }
func BytesLastIndex(b, sep []byte) int {
	return search(bytes.LastIndex(b, sep), len(b), true)
}
func BytesIndexAny(b []byte, chars string) int {
	return search(bytes.IndexAny(b, chars), len(b), false)
}
func BytesContains(b, sep []byte) bool { return BytesIndex(b, sep) >= 0 }
func BytesContainsAny(b []byte, chars string) bool {
	return BytesIndexAny(b, chars) >= 0
}
func BytesCut(b, sep []byte) (before, after []byte, found bool) {
	BytesIndex(b, sep)
	return bytes.Cut(b, sep)
}
func BytesTrim(b []byte, cutset string) []byte      { return trimmed(b, bytes.Trim(b, cutset)) }
func BytesTrimLeft(b []byte, cutset string) []byte  { return trimmed(b, bytes.TrimLeft(b, cutset)) }
func BytesTrimRight(b []byte, cutset string) []byte { return trimmed(b, bytes.TrimRight(b, cutset)) }
func BytesTrimSpace(b []byte) []byte                { return trimmed(b, bytes.TrimSpace(b)) }
func BytesHasPrefix(b, prefix []byte) bool          { return bytes.HasPrefix(Shorter(b, prefix)) }
func BytesHasSuffix(b, suffix []byte) bool          { return bytes.HasSuffix(Shorter(b, suffix)) }
func BytesEqualFold(a, b []byte) bool               { return bytes.EqualFold(Shorter(a, b)) }

func StringsIndexByte(s string, c byte) int {
	return search(strings.IndexByte(s, c), len(s), false)
}
func StringsLastIndexByte(s string, c byte) int {
	return search(strings.LastIndexByte(s, c), len(s), true)
}
func StringsIndex(s, sep string) int { return search(strings.Index(s, sep), len(s), false) }
func StringsIndexAny(s, chars string) int {
	return search(strings.IndexAny(s, chars), len(s), false)
}
func StringsContains(s, sep string) bool      { return StringsIndex(s, sep) >= 0 }
func StringsContainsAny(s, chars string) bool { return StringsIndexAny(s, chars) >= 0 }
func StringsCut(s, sep string) (before, after string, found bool) {
	StringsIndex(s, sep)
	return strings.Cut(s, sep)
}
func StringsCutPrefix(s, prefix string) (after string, found bool) {
	return strings.CutPrefix(Shorter(s, prefix))
}
func StringsTrim(s, cutset string) string      { return trimmed(s, strings.Trim(s, cutset)) }
func StringsTrimLeft(s, cutset string) string  { return trimmed(s, strings.TrimLeft(s, cutset)) }
func StringsTrimRight(s, cutset string) string { return trimmed(s, strings.TrimRight(s, cutset)) }
func StringsTrimSpace(s string) string         { return trimmed(s, strings.TrimSpace(s)) }
func StringsTrimPrefix(s, prefix string) string {
	return strings.TrimPrefix(Shorter(s, prefix))
}
func StringsTrimSuffix(s, suffix string) string {
	return strings.TrimSuffix(Shorter(s, suffix))
}
func StringsHasPrefix(s, prefix string) bool { return strings.HasPrefix(Shorter(s, prefix)) }
func StringsHasSuffix(s, suffix string) bool { return strings.HasSuffix(Shorter(s, suffix)) }
func StringsEqualFold(s, t string) bool      { return strings.EqualFold(Shorter(s, t)) }

func SlicesGrow[S ~[]E, E any](s S, n int) S {
	if cap(s)-len(s) < n {
		Add(len(s))
	}
	return slices.Grow(s, n)
}

func SlicesDelete[S ~[]E, E any](s S, i, j int) S {
	Add(len(s) - i)
	return slices.Delete(s, i, j)
}
