package kv

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// dump prints a list as "k=v k2 k3=", which is enough to compare.
func dump(l *List) string {
	var s []string
	for i := range l.Len() {
		k, v := l.At(i)
		if l.HasValue(i) {
			s = append(s, fmt.Sprintf("%s=%s", k, v))
		} else {
			s = append(s, string(k))
		}
	}
	return strings.Join(s, " ")
}

func TestListOperations(t *testing.T) {
	var l List
	want := func(why, s string) {
		t.Helper()
		if got := dump(&l); got != s {
			t.Errorf("%s: got %q, want %q", why, got, s)
		}
	}
	l.Set("a", "1")
	l.Add("b", "2")
	l.Add("a", "3")
	l.AddNoValue("c")
	want("order and duplicates stay", "a=1 b=2 a=3 c")
	l.Set("a", "long value")
	want("only the first is set", "a=long value b=2 a=3 c")
	l.Set("a", "s")
	want("a shorter value fits in place", "a=s b=2 a=3 c")
	l.SetNoValue("b")
	l.Set("c", "x")
	want("values come and go", "a=s b a=3 c=x")
	if v := l.PeekAll(nil, "a"); len(v) != 2 || string(v[1]) != "3" {
		t.Errorf("PeekAll = %q", v)
	}
	if l.Index("A") != -1 || l.IndexFold("C") != 3 {
		t.Error("only IndexFold ignores case")
	}
	l.Del("a")
	want("all of a key are deleted", "b c=x")
	l.DelAt(0)
	want("one is deleted", "c=x")
	l.Reset()
	want("nothing is left", "")
	l.Add("", "")
	if v := l.Peek(""); v == nil || len(v) != 0 {
		t.Errorf("an empty value that is there must not be nil: %v", v == nil)
	}
	if l.Peek("none") != nil {
		t.Error("a missing value must be nil")
	}
}

func TestListEqual(t *testing.T) {
	queries := []string{"", "a", "a=", "a=b", "a=c", "b=a", "a=b&c", "c&a=b", "a=b&c&d"}
	for i, x := range queries {
		for j, y := range queries {
			var l, m List
			l.Add("old", "old")
			l.Del("old")
			l.AddQuery([]byte(x), 10)
			m.AddQuery([]byte(y), 10)
			if l.Equal(&m) != (i == j) {
				t.Errorf("%q and %q: equal is %v", x, y, i != j)
			}
		}
	}
}

func TestListSort(t *testing.T) {
	var l List
	l.AddQuery([]byte("b=2&a=9&b=1&a=1&c"), 100)
	l.Sort(bytes.Compare, false)
	if got := dump(&l); got != "a=9 a=1 b=2 b=1 c" {
		t.Errorf("by key: %q", got)
	}
	l.Sort(bytes.Compare, true)
	if got := dump(&l); got != "a=1 a=9 b=1 b=2 c" {
		t.Errorf("by key and value: %q", got)
	}
}

// Slices that were handed out stay as they are while other keys change,
// through growth and compaction.
func TestListSlicesStay(t *testing.T) {
	var l List
	l.Add("keep", "value")
	v := l.Peek("keep")
	for i := range 2000 {
		l.Set("x", strings.Repeat("y", i%97))
		l.Add("z", "zzz")
		l.Del("z")
	}
	if string(v) != "value" || string(l.Peek("keep")) != "value" {
		t.Errorf("the slice became %q, the value %q", v, l.Peek("keep"))
	}
	if cap(l.arena) > 16<<10 {
		t.Errorf("setting one key again and again grew the arena to %d bytes", cap(l.arena))
	}
	if _ = append(v, "clobber"...); string(l.Peek("keep")) != "value" {
		t.Error("appending to a value wrote into the arena")
	}
}

func TestListTakesItsOwnBytes(t *testing.T) {
	var l List
	l.Add("a", "abcdefgh")
	l.Set("b", string(l.Peek("a")))
	l.AddQuery(l.Peek("a"), 10)
	l.CopyTo(&l)
	if got := dump(&l); got != "a=abcdefgh b=abcdefgh abcdefgh" {
		t.Errorf("got %q", got)
	}
	var m List
	m.Add("old", "old")
	l.CopyTo(&m)
	l.Set("a", "ABCDEFGH")
	if got := dump(&m); got != "a=abcdefgh b=abcdefgh abcdefgh" {
		t.Errorf("the copy changed with the original: %q", got)
	}
}

func TestListResetDropsHugeBuffers(t *testing.T) {
	var l List
	l.AddQuery([]byte(strings.Repeat("a&", 100_000)), 100_000)
	if l.Len() != 100_000 {
		t.Fatalf("got %d pairs", l.Len())
	}
	l.Reset()
	if cap(l.arena) > maxKeptBytes || cap(l.pairs) > maxKeptPairs {
		t.Errorf("kept %d bytes and %d pairs", cap(l.arena), cap(l.pairs))
	}
}

// A List behaves like a slice of pairs under any sequence of operations.
func TestListAgainstModel(t *testing.T) {
	type kvp struct{ k, v string }
	rnd := rand.New(rand.NewSource(1))
	var l List
	var m []kvp
	find := func(k string) int { return slices.IndexFunc(m, func(p kvp) bool { return p.k == k }) }
	for step := range 20_000 {
		k := string(rune('a' + rnd.Intn(6)))
		v := strings.Repeat(string(rune('A'+rnd.Intn(26))), rnd.Intn(40))
		switch rnd.Intn(6) {
		case 0:
			if len(m) < 20 {
				l.Add(k, v)
				m = append(m, kvp{k, v})
			}
		case 1, 2:
			l.Set(k, v)
			if i := find(k); i >= 0 {
				m[i].v = v
			} else {
				m = append(m, kvp{k, v})
			}
		case 5:
			l.SetOnly(k, v)
			if i := find(k); i >= 0 {
				m[i].v = v
				m = append(m[:i+1], slices.DeleteFunc(m[i+1:], func(p kvp) bool { return p.k == k })...)
			} else {
				m = append(m, kvp{k, v})
			}
		case 3:
			l.Del(k)
			m = slices.DeleteFunc(m, func(p kvp) bool { return p.k == k })
		case 4:
			if i := find(k); i >= 0 && string(l.Peek(k)) != m[i].v || (i < 0) != (l.Peek(k) == nil) {
				t.Fatalf("step %d: Peek(%q) = %q", step, k, l.Peek(k))
			}
		}
		if l.Len() != len(m) {
			t.Fatalf("step %d: %d pairs, want %d", step, l.Len(), len(m))
		}
		for i, p := range m {
			if gk, gv := l.At(i); string(gk) != p.k || string(gv) != p.v {
				t.Fatalf("step %d: pair %d is %q=%q, want %q=%q", step, i, gk, gv, p.k, p.v)
			}
		}
	}
}

// Keys of every length are told apart, whichever byte differs.
func TestListKeysOfEveryLength(t *testing.T) {
	for n := range 20 {
		key := strings.Repeat("k", n)
		var l List
		for i := range n {
			l.Add(key[:i]+"x"+key[i+1:], "other")
			l.Add(key[:i]+"\x00"+key[i+1:], "other")
		}
		l.Add(key+"\x00", "other")
		l.Add(key, "mine")
		l.AddQuery([]byte(key+"=second"), 100)
		if got := string(l.Peek(key)); got != "mine" {
			t.Errorf("length %d: Peek = %q", n, got)
		}
		if i := l.Index(key); i != l.Len()-2 {
			t.Errorf("length %d: Index = %d", n, i)
		}
		if v := l.PeekAll(nil, key); len(v) != 2 || string(v[1]) != "second" {
			t.Errorf("length %d: PeekAll = %q", n, v)
		}
	}
}
