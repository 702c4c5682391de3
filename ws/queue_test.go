package ws

import (
	"bytes"
	"reflect"
	"sync"
	"testing"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/pool/pooltest"
)

// A queue gives the bytes back in order, whatever is put and taken in between.
func TestQueueOrder(t *testing.T) {
	var mu sync.Mutex
	q := acquireQueue(&mu)
	var in, out []byte
	next := byte(0)
	for i := range 2000 {
		n := i * 7 % 900
		b := q.room(n)
		for range n {
			b.B = append(b.B, next)
			in = append(in, next)
			next++
		}
		out = q.take(out, i*13%1000)
		if got := q.size(); got != len(in)-len(out) {
			t.Fatalf("size %d, want %d", got, len(in)-len(out))
		}
	}
	for q.size() > 0 {
		out = q.take(out, 100)
	}
	if !bytes.Equal(in, out) {
		t.Error("bytes are lost or in another order")
	}
	if q.buf != nil {
		t.Error("an empty queue keeps its buffer")
	}
}

// A queue that is given back is like a new one.
func TestQueueForgets(t *testing.T) {
	var mu sync.Mutex
	q := acquireQueue(&mu)
	b := q.room(100)
	b.B = append(b.B, "secret"...)
	q.take(nil, 2)
	q.since = 7
	q.release()
	if pooltest.TakeBack(&queues, q); q.size() != 0 || !reflect.DeepEqual(q, new(queue)) {
		t.Errorf("a queue that was given back is %+v", q)
	}
}

// What held a large message is like a new one when it is given back.
func TestIncomingForgets(t *testing.T) {
	in := acquireIncoming()
	in.op, in.compressed, in.left = 1, true, 7
	in.buf = pool.Get(10)
	in.lent = &in.buf.B[:1][0]
	in.release()
	if pooltest.TakeBack(&incomings, in); !reflect.DeepEqual(in, new(incoming)) {
		t.Errorf("it is %+v", in)
	}
}
