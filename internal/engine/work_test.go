package engine

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// For random sequences of read, put, consume and widen, a workspace behaves as a queue of
// bytes. There is always room to read into, and slack after the unread bytes.
func TestWorkIsAQueue(t *testing.T) {
	for i := range uint64(10) {
		seed := i
		if i >= 5 {
			seed = gate.Rand.Uint64()
		}
		rng := rand.New(rand.NewPCG(seed, 2))
		w := &Work{in: make([]byte, inSize+slack)}
		var queue []byte
		next := byte(0)
		fill := func(b []byte) {
			for i := range b {
				b[i] = next
				next++
			}
			queue = append(queue, b...)
		}
		for range 200 {
			kind := rng.IntN(6)
			if len(queue) > 8*inSize {
				kind = 3
			}
			switch kind {
			case 0, 1: // a read
				room := w.room()
				if len(room) < minRoom {
					t.Fatalf("seed %d: room for %d bytes, want %d", seed, len(room), minRoom)
				}
				n := rng.IntN(len(room) + 1)
				if rng.IntN(2) == 0 {
					n = len(room)
				}
				fill(room[:n])
				w.w += n
			case 2:
				b := make([]byte, rng.IntN(3*inSize))
				fill(b)
				w.put(b)
			case 3:
				n := rng.IntN(len(queue) + 1)
				if rng.IntN(2) == 0 {
					n = len(queue)
				}
				w.Consume(n)
				queue = queue[n:]
			case 4:
				before := len(w.in) - slack
				w.widen()
				if after := len(w.in) - slack; after != before && (before >= maxWiden || after != 2*before) {
					t.Errorf("seed %d: it was widened from %d to %d bytes", seed, before, after)
				}
			case 5:
				w.ExpectMuch()
				if size := len(w.in) - slack; size < keepSize {
					t.Errorf("seed %d: %d bytes were made of it", seed, size)
				}
			}
			unread := w.Unread()
			if !bytes.Equal(unread, queue) {
				t.Fatalf("seed %d: %d bytes are unread, want %d, or they are others", seed, len(unread), len(queue))
			}
			if len(w.in)-w.w < slack {
				t.Fatalf("seed %d: only %d bytes after what is unread", seed, len(w.in)-w.w)
			}
		}
	}
}

// room moves the unread bytes to the front before it takes a larger buffer.
func TestWorkRoomMovesFirst(t *testing.T) {
	for _, k := range []struct {
		name       string
		have, used int // bytes put, and bytes of them consumed
		grows      bool
	}{
		{"empty", 0, 0, false},
		{"all consumed", inSize, inSize, false},
		{"enough room", inSize - minRoom, 0, false},
		{"too little room", inSize - minRoom + 1, 0, true},
		{"room after a move", inSize, minRoom, false},
		{"too little after a move", inSize, minRoom - 1, true},
	} {
		w := &Work{in: make([]byte, inSize+slack)}
		w.w = copy(w.in, bytes.Repeat([]byte("x"), k.have))
		w.Consume(k.used)
		size := len(w.in)
		room := w.room()
		if grows := len(w.in) > size; grows != k.grows || len(room) < minRoom {
			t.Errorf("%s: it grew: %v, want %v; there is room for %d", k.name, grows, k.grows, len(room))
		}
		if n := len(w.Unread()); n != k.have-k.used {
			t.Errorf("%s: %d bytes are unread, want %d", k.name, n, k.have-k.used)
		}
	}
}

// A connection that is put aside with unread bytes finds them in its next workspace. If
// there are many, or output is left, it keeps the workspace.
func TestBlockParkKeepsBytes(t *testing.T) {
	for _, k := range []struct {
		unread, out int
		keeps       bool
	}{
		{0, 0, false}, {1, 0, false}, {maxStash, 0, false}, {maxStash + 1, 0, true}, {0, 1, true}, {10, 1, true},
	} {
		c := new(blockConn)
		b := make([]byte, k.unread)
		for i := range b {
			b[i] = byte(i * 7)
		}
		w := c.work()
		w.put(b)
		w.Out = append(w.Out, make([]byte, k.out)...)
		c.putAside()
		if keeps := c.w == w; keeps != k.keeps {
			t.Errorf("%+v: it keeps its workspace: %v", k, keeps)
		}
		if !k.keeps && len(c.stash) != k.unread {
			t.Errorf("%+v: it has put %d bytes aside", k, len(c.stash))
		}
		for range 2 { // putting it aside twice changes nothing
			if got := c.work().Unread(); !bytes.Equal(got, b) {
				t.Errorf("%+v: after its rest %d bytes are unread, want %d", k, len(got), len(b))
			}
			if c.stash != nil {
				t.Errorf("%+v: it has the bytes twice", k)
			}
			c.putAside()
		}
		c.dropWork()
	}
}

// Each number has one user at a time, and there are no more numbers than users.
func TestNumbers(t *testing.T) {
	var n numbers
	for want := range uint32(3) {
		if got := n.take(); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	}
	n.putBack(1)
	for _, want := range []uint32{1, 3} {
		if got := n.take(); got != want {
			t.Errorf("got %d, want %d after 1 was given back", got, want)
		}
	}
}

// The collector gives the numbers of workspaces back.
func TestWorkNumbersComeBack(t *testing.T) {
	had := func() int {
		workNumbers.mu.Lock()
		defer workNumbers.mu.Unlock()
		return len(workNumbers.free)
	}
	for range 64 {
		getWork()
	}
	before := had()
	await.Until(t, "the collector", func() bool {
		runtime.GC()
		return had() > before
	})
}
