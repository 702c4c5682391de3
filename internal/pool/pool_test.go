package pool

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestGetRoom(t *testing.T) {
	for _, n := range []int{-1, 0, 1, MinSize - 1, MinSize, MinSize + 1, 4096, 5000, MaxSize - 1, MaxSize, MaxSize + 1, 3 * MaxSize} {
		b := Get(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Errorf("Get(%d): len %d cap %d, want 0 and at least n", n, len(b.B), cap(b.B))
		}
		if n <= MaxSize && cap(b.B) >= 2*max(n, MinSize) {
			t.Errorf("Get(%d): cap %d, want the smallest class that fits", n, cap(b.B))
		}
		Put(b)
	}
}

func TestClasses(t *testing.T) {
	for c := MinSize; c <= MaxSize; c += 97 {
		i := classOf(c)
		if MinSize<<i > c || (i < numClasses-1 && MinSize<<(i+1) <= c) {
			t.Fatalf("classOf(%d) = %d: a buffer must satisfy its class and no larger one", c, i)
		}
		if j := classFor(c); MinSize<<j < c || (j > 0 && MinSize<<(j-1) >= c) {
			t.Fatalf("classFor(%d) = %d: not the smallest class that fits", c, j)
		}
	}
	if classOf(MaxSize) != numClasses-1 || classFor(MaxSize) != numClasses-1 {
		t.Fatal("MaxSize must be in the last class")
	}
}

func TestPutOddBuffers(t *testing.T) {
	Put(nil)
	Put(&Buf{})
	Put(&Buf{B: make([]byte, 3)})
	Put(&Buf{B: make([]byte, 10, 700)}) // a capacity between two classes
	for _, n := range []int{MinSize, 700, 1024, MaxSize} {
		for range 4 {
			if b := Get(n); cap(b.B) < n || cap(b.B) > MaxSize || len(b.B) != 0 {
				t.Fatalf("Get(%d) after odd Puts: len %d cap %d", n, len(b.B), cap(b.B))
			}
		}
	}
}

func TestBufMatchesBytesBuffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var want bytes.Buffer
	b := Get(0)
	defer Put(b)
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	for i := range 2000 {
		p := chunk[:rng.IntN(1<<rng.IntN(14))]
		switch i % 4 {
		case 0:
			_, _ = b.Write(p)
			want.Write(p)
		case 1:
			_, _ = b.WriteString(string(p))
			want.Write(p)
		case 2:
			_ = b.WriteByte(byte(i))
			want.WriteByte(byte(i))
		default:
			n, err := b.ReadFrom(iotest.HalfReader(bytes.NewReader(p)))
			if err != nil || n != int64(len(p)) {
				t.Fatalf("ReadFrom: %d, %v, want %d", n, err, len(p))
			}
			want.Write(p)
		}
	}
	if b.Len() != want.Len() || !bytes.Equal(b.B, want.Bytes()) {
		t.Fatal("contents differ from bytes.Buffer after the same calls")
	}
	b.Reset()
	if b.Len() != 0 {
		t.Fatal("Reset left bytes behind")
	}
}

func TestGrow(t *testing.T) {
	var b Buf
	b.Grow(0)
	if b.B != nil {
		t.Fatal("Grow(0) allocated")
	}
	b.B = append(b.B, "head"...)
	steps := 0
	for len(b.B) < 4*MaxSize {
		before := cap(b.B)
		b.Grow(100)
		if cap(b.B)-len(b.B) < 100 {
			t.Fatalf("no room after Grow: len %d cap %d", len(b.B), cap(b.B))
		}
		if cap(b.B) != before {
			steps++
		}
		b.B = b.B[:cap(b.B)]
	}
	if steps > 20 {
		t.Fatalf("%d moves to reach %d bytes: growth isn't geometric", steps, len(b.B))
	}
	if string(b.B[:4]) != "head" {
		t.Fatal("contents lost")
	}
	defer func() {
		if recover() == nil {
			t.Fatal("Grow(-1) didn't panic")
		}
	}()
	b.Grow(-1)
}

// A reader that declares much and sends little must not cost much memory.
func TestReadFromGrowsWithArrival(t *testing.T) {
	b := &Buf{}
	if _, err := b.ReadFrom(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 600)))); err != nil {
		t.Fatal(err)
	}
	if len(b.B) != 600 || cap(b.B) > 2048 {
		t.Fatalf("len %d cap %d after 600 bytes", len(b.B), cap(b.B))
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestReadFromErrors(t *testing.T) {
	boom := errors.New("boom")
	cases := []struct {
		name string
		r    io.Reader
		want error
		data string
	}{
		{"data with error", readFunc(func(p []byte) (int, error) { return copy(p, "abc"), boom }), boom, "abc"},
		{"data with EOF", iotest.DataErrReader(strings.NewReader("abc")), nil, "abc"},
		{"never anything", readFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress, ""},
		{"negative count", readFunc(func([]byte) (int, error) { return -1, nil }), ErrBadRead, ""},
		{"count above the room", readFunc(func(p []byte) (int, error) { return len(p) + 1, nil }), ErrBadRead, ""},
	}
	for _, c := range cases {
		b := Get(0)
		n, err := b.ReadFrom(c.r)
		if err != c.want || string(b.B) != c.data || n != int64(len(c.data)) {
			t.Errorf("%s: %d %q %v, want %q %v", c.name, n, b.B, err, c.data, c.want)
		}
		Put(b)
	}
}

func BenchmarkGetPut(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Put(Get(4096))
	}
}
