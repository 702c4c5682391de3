package head

import (
	"errors"
	"testing"
)

// TestPromised proves that a writer gets the bytes that were promised and no more, whatever the
// pieces are, and what each piece returns.
func TestPromised(t *testing.T) {
	excess, broken := errors.New("excess"), errors.New("broken")
	type piece struct {
		b      string
		writes int // what the writer says it has written, if it fails or counts wrongly
		fails  bool

		n   int
		err error
	}
	plain := func(b string) piece { return piece{b: b, n: len(b)} }
	for _, tt := range []struct {
		name     string
		left     int64
		pieces   []piece
		want     string
		due      int64
		exceeded bool
	}{
		{"nothing", 5, nil, "", 5, false},
		{"exact", 5, []piece{plain("hello")}, "hello", 0, false},
		{"exact in pieces", 5, []piece{plain("he"), plain(""), plain("llo"), plain("")}, "hello", 0, false},
		{"short", 5, []piece{plain("he")}, "he", 3, false},
		{"long by one", 5, []piece{{b: "hello,", n: 5, err: excess}}, "hello", 0, true},
		{"long in pieces", 5, []piece{plain("hel"), {b: "lo, world", n: 2, err: excess}}, "hello", 0, true},
		{"more after the end", 5, []piece{plain("hello"), {b: "x", err: excess}, {b: "y", err: excess}}, "hello", 0, true},
		{"length 0", 0, []piece{plain(""), {b: "x", err: excess}}, "", 0, true},
		{"unknown", -1, []piece{plain("hello"), plain(", world")}, "hello, world", -1, false},
		{"chunked", -2, []piece{plain("hello")}, "hello", -2, false},
		{"fails", 5, []piece{{b: "hell", writes: 1, fails: true, n: 1, err: broken}}, "h", 4, false},
		{"fails at the end", 5, []piece{{b: "hello", writes: 5, fails: true, n: 5, err: broken}}, "hello", 0, false},
		{"fails within what is too long", 5, []piece{{b: "hello, world", writes: 2, fails: true, n: 2, err: broken}}, "he", 3, false},
		{"fails after it was too long", 2, []piece{{b: "hello", n: 2, err: excess}, {b: "x", fails: true, err: broken}}, "he", 0, true},
		{"goes on after an error", 5, []piece{{b: "hell", writes: 1, fails: true, n: 1, err: broken}, {b: "ello, world", n: 4, err: excess}}, "hello", 0, true},
		{"unknown fails", -1, []piece{{b: "hello", writes: 2, fails: true, n: 2, err: broken}}, "he", -1, false},
		{"counts too much", 5, []piece{{b: "he", writes: 9, n: 9}, {b: "x", err: excess}}, "he", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Promised{Left: tt.left}
			var got []byte
			for i, pc := range tt.pieces {
				n, err := p.Pass([]byte(pc.b), func(b []byte) (int, error) {
					if !pc.fails && pc.writes == 0 {
						got = append(got, b...)
						return len(b), nil
					}
					got = append(got, b[:min(pc.writes, len(b))]...)
					if pc.fails {
						return pc.writes, broken
					}
					return pc.writes, nil
				}, excess)
				if n != pc.n || err != pc.err {
					t.Errorf("piece %d, %q: %d, %v; want %d, %v", i, pc.b, n, err, pc.n, pc.err)
				}
			}
			if string(got) != tt.want || p.BytesLeft() != tt.due || p.Exceeded() != tt.exceeded {
				t.Errorf("%q was written, %d bytes are due, exceeded %t; want %q, %d, %t", got, p.BytesLeft(), p.Exceeded(), tt.want, tt.due, tt.exceeded)
			}
		})
	}
}

// TestPromisedExceeds proves that Exceeds tells what goes beyond the body, and changes nothing.
func TestPromisedExceeds(t *testing.T) {
	for _, tt := range []struct {
		left int64
		in   string
		want bool
	}{{-1, "hello", false}, {9, "hello", false}, {5, "hello", false}, {4, "hello", true}, {0, "hello", true}, {0, "", false}} {
		p := Promised{Left: tt.left}
		if got := p.Exceeds([]byte(tt.in)); got != tt.want || p.Left != tt.left || p.Exceeded() {
			t.Errorf("%d, %q: %t, and %d are due; want %t", tt.left, tt.in, got, p.Left, tt.want)
		}
	}
}
