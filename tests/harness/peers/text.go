package peers

import (
	"bufio"
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

func Prefixes(list ...string) (p []netip.Prefix) {
	for _, s := range list {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// ReadHeader reads all of text.
func ReadHeader(t *testing.T, read func(*bufio.Reader) error, text string) {
	t.Helper()
	if err := read(bufio.NewReader(strings.NewReader(text))); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// Written returns the values of the fields called name in a head.
func Written(head, name string) (values []string) {
	for line := range strings.SplitSeq(head, "\r\n") {
		if k, v, ok := strings.Cut(line, ": "); ok && strings.EqualFold(k, name) {
			values = append(values, v)
		}
	}
	return values
}

// CompareUsed makes the same changes to a used header and to a new one, and compares the
// results of describe. change is called again and again, and makes its changes through
// do.
func CompareUsed[H any, P interface {
	*H
	Reset()
}](t *testing.T, seed uint64, describe func(P) string, change func(rng *rand.Rand, do func(what string, f func(P)))) {
	defer clock.Start()()
	rng := rand.New(rand.NewPCG(seed, seed+1))
	used := P(new(H))
	for range race.Fewer(20_000) {
		fresh := P(new(H))
		used.Reset()
		var log []string
		change(rng, func(what string, f func(P)) {
			log = append(log, what)
			f(fresh)
			f(used)
		})
		second := clock.Date()
		describe(used) // so that it has what getters leave in it
		if got, want := describe(used), describe(fresh); got != want && second == clock.Date() {
			t.Fatalf("after %q a used header is\n%s\nand a new one\n%s", log, got, want)
		}
	}
}

const TestForm = "--foo\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\nv1\r\n" +
	"--foo\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\nX-Y: z\r\n\r\nfile!\r\n" +
	"--foo--\r\n"

// InTempDir puts temporary files into a directory of the test, and reports files that are
// left there at its end.
func InTempDir(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	})
}

// Mischiefs are the ways in which a function doesn't return.
var Mischiefs = map[string]func(){
	"panic":  func() { panic("mischief") },
	"Goexit": runtime.Goexit,
}

var ConnMethods = []string{"Read", "Write", "Close", "RemoteAddr", "LocalAddr", "SetDeadline", "SetReadDeadline", "SetWriteDeadline"}

// InGoroutine runs f on a goroutine and waits for it. f may end the goroutine or panic.
func InGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

func CheckNormalPath(t *testing.T, path []byte) {
	t.Helper()
	if len(path) == 0 || path[0] != '/' {
		t.Fatalf("%q doesn't begin with a slash", path)
	}
	segments := bytes.Split(path[1:], []byte("/"))
	for i, s := range segments {
		if string(s) == "." || string(s) == ".." || len(s) == 0 && i < len(segments)-1 {
			t.Fatalf("%q is not normal", path)
		}
	}
}

// HasError says whether err, or an error that it wraps, has this text.
func HasError(err error, text string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == text {
			return true
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			return slices.ContainsFunc(many.Unwrap(), func(err error) bool { return HasError(err, text) })
		}
	}
	return false
}

// HasAlice says whether b has the word alice.
func HasAlice(b []byte) bool { return bytes.Contains(bytes.ToLower(b), []byte("alice")) }

// LateFault calls f, and returns the use of unreadable bytes that it ended with.
func LateFault(f func()) (u *lifetime.Use) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { u = lifetime.Fault(recover()) }()
	f()
	return nil
}
