package pool

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestQueue proves that a queue returns what was put into it, and that its memory grows
// with what has arrived.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 16<<10)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, expected := range []int64{-1, 0, 1000, 1 << 30} {
		var q Queue
		var want []byte
		out := make([]byte, 100<<10)
		for range 500 {
			b := data[:rng.IntN(len(data))]
			q.Put(b, expected)
			want = append(want, b...)
			if most := Ahead*len(want) + 2*MaxChunk; q.Cap() > most {
				t.Fatalf("%d bytes of memory for %d", q.Cap(), len(want))
			}
			if rng.IntN(3) == 0 {
				n := 0
				if next := q.Next(); rng.IntN(2) == 0 {
					n = copy(out, next)
					q.Skip(n)
				} else {
					n = q.Take(out[:rng.IntN(len(out))])
				}
				if !bytes.Equal(out[:n], want[:n]) {
					t.Fatal("other bytes come out")
				}
				want = want[n:]
			}
			if q.Len() != len(want) {
				t.Fatalf("it has %d bytes, want %d", q.Len(), len(want))
			}
		}
		for len(want) > 0 {
			n := q.Take(out)
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

// TestQueueTakeBuf proves that a queue gives its buffer away if that has all bytes, and nothing else.
func TestQueueTakeBuf(t *testing.T) {
	for _, tt := range []struct {
		put, take int
		gives     bool
	}{{0, 0, false}, {100, 0, true}, {100, 1, false}, {MaxChunk + 1, 0, true}, {3 * MaxChunk, MaxChunk, false}} {
		var q Queue
		if tt.put > 0 {
			q.Put(make([]byte, tt.put), -1)
		}
		q.Take(make([]byte, tt.take))
		b := q.TakeBuf()
		left := tt.put - tt.take
		if (b != nil) != tt.gives || b != nil && len(b.B) != tt.put || q.Len() != map[bool]int{true: 0, false: left}[tt.gives] {
			t.Errorf("%+v: it gives %v, and %d bytes are left", tt, b != nil, q.Len())
		}
		q.Drop()
	}
	var q Queue
	for range 5 {
		q.Put(make([]byte, MaxChunk), -1)
	}
	if b := q.TakeBuf(); b != nil || q.Len() != 5*MaxChunk {
		t.Errorf("of several buffers it gives one of %d bytes", len(b.B))
	}
}

// TestQueueForgets proves that a queue holds nothing after drop.
func TestQueueForgets(t *testing.T) {
	for _, pieces := range []int{0, 1, 50} {
		var q Queue
		for range pieces {
			q.Put(make([]byte, 5000), -1)
		}
		q.Take(make([]byte, 3000))
		q.Drop()
		for _, b := range q.more[:cap(q.more)] {
			if b != nil {
				t.Error("a buffer is known that was given back")
			}
		}
		if q.more = nil; !reflect.DeepEqual(q, Queue{}) {
			t.Errorf("%+v", q)
		}
	}
}

// TestStepTo proves that a buffer that grows as StepTo says reaches the announced length in few steps, and is
// never much larger than what has arrived. The steps copy little of a long body.
func TestStepTo(t *testing.T) {
	for _, least := range []int{0, 4 << 10, 64 << 10} {
		for total := int64(1); total < 1<<30; total += total/3 + 1 {
			has, copied, steps := 1, int64(0), 0
			for int64(has) < total {
				c := StepTo(total, has, least)
				most := max(Ahead*has, least)
				if c <= has || int64(c) > total || c > most || int64(c) < min(2*int64(has), int64(least), total) {
					t.Fatalf("StepTo(%d, %d, %d) = %d", total, has, least, c)
				}
				copied += int64(has)
				has = c
				steps++
			}
			if steps > 13 {
				t.Errorf("%d bytes take %d steps", total, steps)
			}
			if total > 8*int64(least) && copied > total/2+1 {
				t.Errorf("%d of %d bytes are copied", copied, total)
			}
		}
	}
}

// TestStepToOfAnnouncement proves that a peer that announces much and sends little gets little memory.
func TestStepToOfAnnouncement(t *testing.T) {
	for has, want := range map[int]int{0: 1, 1: 8, 10: 80, 1 << 10: 8 << 10, 64 << 10: 512 << 10} {
		if c := StepTo(1<<30, has, 0); c > want {
			t.Errorf("after %d of 1 GB: %d bytes, want at most %d", has, c, want)
		}
	}
}
