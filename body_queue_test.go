package gale

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestBodyQueue proves that a queue returns what was put into it, and that its memory grows
// with what has arrived.
func TestBodyQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 16<<10)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, expected := range []int64{-1, 0, 1000, 1 << 30} {
		var q bodyQueue
		var want []byte
		out := make([]byte, 100<<10)
		for range 500 {
			b := data[:rng.IntN(len(data))]
			q.put(b, expected)
			want = append(want, b...)
			size := 0
			if q.first != nil {
				size = cap(q.first.B)
			}
			for _, m := range q.more {
				size += cap(m.B)
			}
			if most := 8*len(want) + 2*maxH2Chunk; size > most {
				t.Fatalf("%d bytes of memory for %d", size, len(want))
			}
			if rng.IntN(3) == 0 {
				n := q.take(out[:rng.IntN(len(out))])
				if !bytes.Equal(out[:n], want[:n]) {
					t.Fatal("other bytes come out")
				}
				want = want[n:]
			}
			if q.n != len(want) {
				t.Fatalf("it has %d bytes, want %d", q.n, len(want))
			}
		}
		for len(want) > 0 {
			n := q.take(out)
			if n == 0 || !bytes.Equal(out[:n], want[:n]) {
				t.Fatalf("%d bytes come out, and not what was put in", n)
			}
			want = want[n:]
		}
		if q.first != nil || len(q.more) > 0 {
			t.Error("an empty queue has buffers")
		}
	}
}

// TestBodyQueueForgets proves that a queue holds nothing after drop.
func TestBodyQueueForgets(t *testing.T) {
	for _, pieces := range []int{0, 1, 50} {
		var q bodyQueue
		for range pieces {
			q.put(make([]byte, 5000), -1)
		}
		q.take(make([]byte, 3000))
		q.drop()
		for _, b := range q.more[:cap(q.more)] {
			if b != nil {
				t.Error("a buffer is known that was given back")
			}
		}
		if q.more = nil; !reflect.DeepEqual(q, bodyQueue{}) {
			t.Errorf("%+v", q)
		}
	}
}
