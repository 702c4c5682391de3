package lifetime

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/bytesconv"
)

// TestFault proves that a fault on pages of a loan that has ended is found to be its use,
// however the bytes are used.
func TestFault(t *testing.T) {
	g := newPaged(t, Config{MaxBytes: 1 << 20, Each: true})
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	l := g.Begin(Origin{Kind: "handler", Handler: "main.h", Method: "GET", Path: "/users/1", ID: 7})
	small := append(l.Alloc(100), "alice0001"...)
	large := l.Alloc(200_000)[:200_000]
	l.End()
	text, m := bytesconv.B2S(small), map[string]int{"a": 1, "b": 2}
	for name, use := range map[string]func(){
		"read":     func() { sink = int(small[3]) },
		"write":    func() { small[3] = 'x' },
		"append":   func() { sinkBytes = append(small, 'x') },
		"copy":     func() { copy(make([]byte, 9), small) },
		"copy to":  func() { copy(small, "mallet999") },
		"string":   func() { sinkText = string(small) },
		"compare":  func() { sink = strings.Compare(text, "alice0002") },
		"index":    func() { sink = strings.Index(text, "0001") },
		"map":      func() { sink = m[text] },
		"last":     func() { sink = int(large[len(large)-1]) },
		"concat":   func() { sinkText = text + "x" },
		"to lower": func() { sinkText = strings.ToLower(text) },
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			before := g.Stats().Reports
			u := faultOf(use)
			if u == nil {
				t.Fatal("no use")
			}
			if u.Kind != Bytes || u.What != "bytes" || u.Origin.ID != 7 || !strings.Contains(u.Caller, "TestFault.func") {
				t.Error(u.Text())
			}
			if g.Stats().Reports != before+1 || !strings.Contains(string(u.Stack), "TestFault.func") {
				t.Errorf("%d reports, stack:\n%s", g.Stats().Reports-before, u.Stack)
			}
		})
	}
}

// TestRenew proves that memory that was lent before Renew ends, with its own text, that what
// its objects moved stays, and that the loan goes on.
func TestRenew(t *testing.T) {
	for name, g := range guards(t) {
		t.Run(name, func(t *testing.T) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			before := g.Stats().Held
			l := g.Begin(Origin{Kind: "ReleaseThing"})
			for range 100 { // the memory of each round is given up
				old := append(l.Alloc(5), "alice"...)
				large := l.Alloc(100_000)[:100_000]
				var kept []byte
				l.Renew("the thing was reset", func() { kept = Move(l, old) })
				if string(kept) != "alice" || !l.Covers(kept) || l.Over() {
					t.Fatalf("moved: %q, part of the loan: %v, ended: %v", kept, l.Covers(kept), l.Over())
				}
				if !g.HasPages() {
					if string(old) == "alice" || large[99_999] != poisoned {
						t.Fatalf("old memory is %q", old)
					}
					continue
				}
				u := faultOf(func() { sink = int(old[0]) + int(large[0]) })
				if u == nil || !strings.HasPrefix(u.Text(), "bytes used after the thing was reset, by ") {
					t.Fatalf("old memory leads to %v", u)
				}
			}
			l.End()
			if !g.HasPages() && g.Stats().Held != before {
				t.Errorf("%d bytes are held", g.Stats().Held-before)
			}
			l.Renew("never", func() { t.Error("moved after the end") })
			l = g.Begin(Origin{Kind: handlerKind})
			own := append(l.Alloc(5), "alice"...)
			l.Leave()
			l.Renew("never", func() { t.Error("moved what belongs to the program") })
			if string(own) != "alice" {
				t.Errorf("what belongs to the program is %q", own)
			}
		})
	}
}

// sinks keep the compiler from leaving reads out.
var (
	sink      int
	sinkText  string
	sinkBytes []byte
)

// faultOf returns what Fault makes of the panic of f.
func faultOf(f func()) (u *Use) {
	defer func() { u = Fault(recover()) }()
	f()
	return nil
}

// badError looks like the error of a fault.
type badError struct{ runtime.Error }

func (badError) Addr() uintptr { panic("again") }

// TestFaultOfOthers proves that other panics aren't taken for uses.
func TestFaultOfOthers(t *testing.T) {
	var null *int
	for name, f := range map[string]func(){
		"none":        func() {},
		"a value":     func() { panic("x") },
		"an error":    func() { panic(errors.New("x")) },
		"nil pointer": func() { sink = *null },
		"a bad error": func() { panic(badError{}) },
		"index":       func() { sink = []int{}[sink] },
	} {
		if u := faultOf(f); u != nil {
			t.Errorf("%s: %v", name, u.Text())
		}
	}
}
