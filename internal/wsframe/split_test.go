package wsframe

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// FuzzReader proves that a stream gives the same messages, control frames and error however
// it is split, held and landed.
func FuzzReader(f *testing.F) {
	f.Add(join(frame(0x01, "Hel"), frame(0x89, "p"), frame(0x80, "lo"), frame(0x81, "κόσμε")), []byte{1}, 10, false)
	f.Add(join(frame(0x81, "κόσμ\xed\xa0\x80")), []byte{1}, 100, false)
	f.Add(join(frame(0xc1, "xyz"), frame(0x02, "0123456789"), frame(0x80, "")), []byte{3, 9}, 0, true)
	f.Add(join(plain(0x81, "Hello"), plain(0x88, "\x03\xe8")), []byte{2}, 5, true)
	f.Fuzz(func(t *testing.T, in, parts []byte, hold int, client bool) {
		if len(in) > 5000 {
			return
		}
		sizes := []int{1}
		for _, p := range parts {
			sizes = append(sizes, int(p)+1)
		}
		c := Config{Client: client, Deflate: len(parts)%2 == 0, MaxMessage: 4000, Hold: hold}
		whole, want := events(c, in, nil, false)
		for _, land := range []bool{false, true} {
			for _, s := range [][]int{sizes, {1}, nil} {
				got, err := events(c, in, s, land)
				if fmt.Sprint(got) != fmt.Sprint(whole) || err != want {
					t.Fatalf("parts %v, land %v: %q, %v; want %q, %v", s, land, got, err, whole, want)
				}
			}
		}
	})
}

// TestReaderFailsEarly proves that text fails with the first bad byte, although its frame
// isn't whole, whether the frame is held or not; and that held bytes stay as they are.
func TestReaderFailsEarly(t *testing.T) {
	for _, bad := range []string{"\xff", "\xc0", "\xe0\x80", "\xed\xa0", "\xf4\x90", "κ\x80", "\xce\xce"} {
		for _, before := range []string{"", "abc", "κόσμε κόσμε κόσμε κόσμε κόσμε κόσμε"} {
			for _, hold := range []int{0, 1000} {
				for _, step := range []int{1, 5, 1000} {
					text := before + bad
					in := frame(0x81, text+"the rest that never comes")
					in = in[:6+len(text)]
					original := bytes.Clone(in)
					var r Reader
					r.Init(Config{Hold: hold})
					var f Frame
					pos, have := 0, 0
					var err error
					for err == nil && have < len(in) {
						have = min(have+step, len(in))
						for {
							var n int
							n, err = r.Next(in[pos:have], &f)
							if pos += n; err != nil || f.Kind == More {
								break
							}
						}
					}
					if err != errText || have != len(in) {
						t.Fatalf("%q, hold %d, steps of %d: %v after %d of %d bytes", text, hold, step, err, have, len(in))
					}
					if hold > 0 && !bytes.Equal(in, original) {
						t.Fatalf("%q, steps of %d: Next changed held bytes", text, step)
					}
				}
			}
		}
	}
}

// TestReaderPieces states what a caller learns from pieces of a frame that comes in parts.
func TestReaderPieces(t *testing.T) {
	var r Reader
	r.Init(Config{Hold: 4})
	var f Frame
	in := frame(0x81, "0123456789")
	next := func(b []byte, want int, what Frame) {
		t.Helper()
		n, err := r.Next(b, &f)
		if err != nil || n != want || fmt.Sprint(f) != fmt.Sprint(what) {
			t.Fatalf("%d, %v, %+v; want %d, %+v", n, err, f, want, what)
		}
	}
	next(in[:5], 0, Frame{})
	next(in[:6], 6, Frame{Kind: Piece, Op: Text, First: true, Left: 10, Payload: []byte{}})
	next(nil, 0, Frame{})
	next(in[6:9], 3, Frame{Kind: Piece, Op: Text, Left: 7, Payload: []byte("012")})
	if end, last, err := r.Landed(in[9:14]); end || last || err != nil || string(in[9:14]) != "34567" {
		t.Fatalf("%v, %v, %v, %q", end, last, err, in[9:14])
	}
	next(in[14:], 2, Frame{Kind: Piece, Op: Text, Last: true, FrameEnd: true, Payload: []byte("89")})
	next(nil, 0, Frame{})

	// A frame that is held is delivered at once.
	in = frame(0x81, "0123")
	for n := range len(in) {
		next(in[:n], 0, Frame{})
	}
	next(in, len(in), Frame{Kind: Piece, Op: Text, First: true, Last: true, FrameEnd: true, Payload: []byte("0123")})

	// Landed doesn't take more than the frame has.
	in = frame(0x02, "0123456789")
	next(in[:6], 6, Frame{Kind: Piece, Op: Binary, First: true, Left: 10, Payload: []byte{}})
	if _, _, err := r.Landed(make([]byte, 11)); err != errLanded {
		t.Fatal(err)
	}
	if _, _, err := r.Landed(nil); err != errLanded {
		t.Fatal(err)
	}
	if n := reflect.TypeOf(r).Size(); n > 48 {
		t.Errorf("a Reader has %d bytes", n)
	}
}

// TestReaderHuge proves that the lengths near 2^63 don't overflow.
func TestReaderHuge(t *testing.T) {
	huge := AppendHeader(nil, Header{Op: Binary, Masked: true, Key: testKey, Length: 1<<63 - 1})
	var r Reader
	r.Init(Config{})
	var f Frame
	if n, err := r.Next(huge, &f); n != MaxHeader || err != nil || f.Left != 1<<63-1 {
		t.Fatalf("%d, %v, %+v", n, err, f)
	}
	for _, length := range []int64{1, 1<<63 - 1} {
		r.Init(Config{})
		in := join(frame(0x02, "x"), AppendHeader(nil, Header{Op: Continuation, Fin: true, Masked: true, Length: length - 1}), frame(0x02, "y"))
		if _, err := r.Next(in, &f); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(in[7:], &f); err != nil {
			t.Fatal(err)
		}
	}
	r.Init(Config{})
	in := join(frame(0x02, "xy"), AppendHeader(nil, Header{Op: Continuation, Fin: true, Masked: true, Length: 1<<63 - 2}))
	if _, err := r.Next(in, &f); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(in[8:], &f); err != errTooBig {
		t.Fatal(err)
	}
}
