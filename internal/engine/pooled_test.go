package engine

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

// TestPooledForgets checks, field by field, that an object from a pool is like a new one.
func TestPooledForgets(t *testing.T) {
	c := &pooltest.Check{
		Stubs:  []any{struct{ net.Conn }{}, struct{ Session }{}, struct{ syscall.RawConn }{}, struct{ pacer }{}, errors.New("canary")},
		Memory: []string{"engine.Work.Out"},
		Keep: map[string]string{
			"engine.Work.in":           "memory: r and w say what of it was read and not consumed",
			"engine.Work.Now":          "set by the one that reads, before the session sees it",
			"engine.Work.State":        "the session's, which has emptied it: a context that was reset",
			"engine.Work.number":       "it belongs to the workspace, not to its user",
			"engine.blockInput.onRead": "made once, and knows nothing but its connection",

			// Part of Work.sock, whose other fields writeRaw sets and clears.
			"engine.socketWriter.onWrite": "made once, and knows nothing but its workspace",
			"engine.socketWriter.bounds":  "set and taken back by writeRaw",
			"engine.socketWriter.raw":     "set and taken back by writeRaw",
			"engine.socketWriter.a":       "set and taken back by write",
			"engine.socketWriter.b":       "set and taken back by write",
			"engine.socketWriter.err":     "set by write, taken back by writeRaw",
			"engine.socketWriter.moved":   "set by write before it is looked at",
		},
	}
	pooltest.Run(t, c, pooltest.Object[Work]{
		New:    func() *Work { return &Work{in: make([]byte, inSize+slack)} },
		Forget: func(w *Work) { w.in = make([]byte, inSize+slack); putWork(w); pooltest.TakeBack(&workPool, w) },
	})
	// A connection that was interrupted, was shared, or is on top of a socket is not used
	// again, since other goroutines may be in Fill, Feed or a write. It drops its
	// workspace before.
	pooltest.Run(t, c, pooltest.Object[blockConn]{
		New: func() *blockConn { return blockConns.New().(*blockConn) },
		Ready: func(c *blockConn) {
			c.interrupted.Store(false)
			c.bounds.cut.Store(false)
			c.wasPaced, c.w, c.shares = false, nil, nil
			c.dropWork()
		},
		Forget: func(c *blockConn) { c.forget(); pooltest.TakeBack(&blockConns, c) },
	})
	c.Unused(t)
}

// A connection that was shared is not used again, since other goroutines may still use
// it.
func TestSharedIsNotPooled(t *testing.T) {
	c := &blockConn{shares: new(blockShare)}
	if c.forget(); c.shares == nil {
		t.Error("it was made ready for another connection")
	}
}

// A workspace that a worker keeps for its next connection is empty, like one from the
// pool.
func TestWorkerForgets(t *testing.T) {
	wk := &worker{}
	w := &Work{in: make([]byte, inSize+slack), Out: []byte("canary"), held: true, r: 1, w: 5}
	wk.give(w)
	if w = wk.take(); len(w.Out) > 0 || w.held || len(w.Unread()) > 0 {
		t.Errorf("a worker's workspace holds output %q, unread %q, held %v", w.Out, w.Unread(), w.held)
	}
}
