package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// An observation is the results of both sides for one question.
type observation struct {
	what       string // the question: a method with its arguments
	in         string // what was parsed or sent, if that is one input
	gale, peer string
}

// A difference is an intended one. when says to which observations it applies: as few as
// possible.
type difference struct {
	row  string // the first cell of the row in docs/moving/differences.md, for fasthttp
	when func(o observation) bool

	seen atomic.Int64
}

// differences are the intended differences of one domain.
type differences []*difference

// explain reports whether o is an intended difference.
func (ds differences) explain(o observation) bool {
	for _, d := range ds {
		if d.when(o) {
			d.seen.Add(1)
			return true
		}
	}
	return false
}

// checkDocumented fails for differences that have no row in the document, and for those
// that no input has shown, since they no longer exist.
func (ds differences) checkDocumented(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../docs/moving/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range ds {
		if d.row != "" && !strings.Contains(string(text), "\n| "+d.row+" |") {
			t.Errorf("docs/moving/differences.md has no row %q", d.row)
		}
		if d.seen.Load() == 0 {
			t.Errorf("no input shows difference %d, %q", i, d.row)
		}
	}
}

// A trace is the answers of one implementation to a series of questions.
type trace struct{ what, said []string }

// add records an answer. Byte slices are printed quoted, and nil differs from empty.
func (tr *trace) add(what string, answers ...any) {
	var b strings.Builder
	for i, a := range answers {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch a := a.(type) {
		case []byte:
			if a == nil {
				b.WriteString("nil")
			} else {
				fmt.Fprintf(&b, "%q", a)
			}
		case string:
			fmt.Fprintf(&b, "%q", a)
		case error:
			fmt.Fprintf(&b, "error(%v)", errorText(a))
		default:
			fmt.Fprintf(&b, "%v", a)
		}
	}
	tr.what = append(tr.what, what)
	tr.said = append(tr.said, b.String())
}

// compare stops at the first answer that differs, since later ones may differ for that
// reason. It fails the test unless that difference is intended.
func compare(t *testing.T, ds differences, in string, gale, peer *trace) {
	t.Helper()
	for i := range min(len(gale.said), len(peer.said)) {
		o := observation{gale.what[i], in, gale.said[i], peer.said[i]}
		if gale.what[i] != peer.what[i] {
			t.Fatalf("gale was asked %s, fasthttp %s", gale.what[i], peer.what[i])
		}
		if o.gale == o.peer {
			continue
		}
		if !ds.explain(o) {
			t.Errorf("input %q\n%s\n gale     %s\n fasthttp %s\nafter\n%s", in, o.what, o.gale, o.peer, strings.Join(gale.what[max(0, i-20):i], "\n"))
		}
		return
	}
	if len(gale.said) != len(peer.said) {
		t.Errorf("input %q: %d answers against %d", in, len(gale.said), len(peer.said))
	}
}

// A script makes choices by its bytes, so that a fuzzer can control them. After its last
// byte all choices are 0.
type script struct{ b []byte }

func (s *script) more() bool { return len(s.b) > 0 }

// n returns a number below max, which is 256 at most.
func (s *script) n(max int) int {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return int(c) % max
}

// pick returns one of the words.
func (s *script) pick(words []string) string { return words[s.n(len(words))] }

// join returns up to max words, joined together.
func (s *script) join(words []string, max int) string {
	var b strings.Builder
	for range s.n(max + 1) {
		b.WriteString(s.pick(words))
	}
	return b.String()
}

// scripts returns n scripts of size bytes, the same in each run.
func scripts(n, size int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]byte, n)
	for i := range all {
		b := make([]byte, size)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		all[i] = b
	}
	return all
}

// errorText returns the text of an error of either library, without the library's name at
// its beginning.
func errorText(err error) string {
	s := strings.TrimPrefix(err.Error(), "fasthttp: ")
	return strings.TrimPrefix(s, "gale: ")
}
