//go:build unix

package engine

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// The number of an epoch is the same while it drains, and the next epoch doesn't drain.
func TestEpoch(t *testing.T) {
	var e epoch
	for n := range uint32(3) {
		if e.number() != n || e.Load() != n {
			t.Errorf("epoch %d begins as %#x", n, e.Load())
		}
		if n > 0 {
			e.drain()
			e.drain()
			if e.number() != n || e.Load() == n {
				t.Errorf("epoch %d drains as %#x", n, e.Load())
			}
		}
		e.end()
	}
	e.Store(draining - 1)
	e.drain()
	if e.end(); e.Load() != 0 {
		t.Errorf("after the last epoch comes %#x", e.Load())
	}
}

// A drain changes no connection, but Stopping becomes true for all of them, including
// those that begin during the drain.
func TestBlockDrain(t *testing.T) {
	m := &listModel{t: t}
	old := m.add()
	old.state.Store(idle)
	m.e.Drain()
	young := m.add()
	for name, c := range map[string]*blockConn{"old": old, "young": young} {
		if !c.Stopping() || c.over() {
			t.Errorf("the %s one: stopping %v, over %v", name, c.Stopping(), c.over())
		}
	}
	if old.state.Load() != idle || len(m.woken) > 0 {
		t.Error("an idle one was woken")
	}
	m.e.Stop()
	third := m.add()
	if !old.over() || !young.over() || old.state.Load() != closing || third.Stopping() {
		t.Error("the drain didn't end with its epoch")
	}
}

// listenQueue returns a listener in whose queue n connections wait.
func listenQueue(t *testing.T, network string, n int) net.Listener {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		c, err := net.Dial(network, ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	return ln
}

// After the last call all connections that wait are accepted, the listener is closed and
// no error is returned, whether the call came before Accept began or while it waits.
func TestLastCall(t *testing.T) {
	const n = 40
	for _, network := range []string{"tcp", "unix"} {
		for _, engine := range []string{"block", "event"} {
			for _, first := range []bool{true, false} {
				ln := listenQueue(t, network, n)
				e := &Event{Panicked: func(r any) { t.Error(r) }, Ended: func(Session, error) {}}
				if engine == "event" && !e.Serves(ln) {
					ln.Close()
					continue
				}
				last := NewLastCall(ln, func() { ln.Close() })
				if first && !last.Make(time.Hour) {
					t.Fatal("it can't be told")
				}
				got := make(chan net.Conn, n)
				starved := func(err error) { t.Error(err) }
				served := make(chan error, 1)
				go func() {
					if engine == "block" {
						served <- Accept(ln, last, func(nc net.Conn) { got <- nc }, starved)
						return
					}
					served <- e.Serve(ln, time.Minute, last, func(nc net.Conn) {
						if nc, err := e.Detach(nc); err != nil {
							t.Error(err)
						} else {
							got <- nc
						}
					}, starved)
				}()
				for i := range n {
					select {
					case nc := <-got:
						nc.Close()
					case <-time.After(tooLong):
						t.Fatalf("%s, %s, first: %v: %d accepted", network, engine, first, i)
					}
				}
				if !first {
					last.Make(time.Hour)
					e.LookAtListeners()
				}
				if err := <-served; err != nil {
					t.Errorf("%s, %s, first: %v: %v", network, engine, first, err)
				}
				if err := ln.Close(); err == nil {
					t.Errorf("%s, %s, first: %v: the listener isn't closed", network, engine, first)
				}
			}
		}
	}
}

// Make returns false for listeners that have no queue of the system.
func TestLastCallOfOthers(t *testing.T) {
	if last := NewLastCall(&script{}, nil); last.Make(time.Hour) || last.Made() {
		t.Error("it says that it was told")
	}
}
