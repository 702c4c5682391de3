//go:build !race

package engine_test

import (
	"net"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
	. "github.com/galehttp/gale/internal/engine"
)

// counter is a session that only reports that it is fed.
type counter struct {
	c   chan *Waker
	fed chan struct{}
}

func (s *counter) Open(c Conn, _ *Next) { s.c <- c.Waker() }
func (s *counter) Feed(w *Work, _ *Next) {
	w.Consume(len(w.Unread()))
	select {
	case s.fed <- struct{}{}:
	default:
	}
}
func (s *counter) Stall(_ *Work, _ error, next *Next) { next.Op = Close }
func (s *counter) Closed(error)                       {}
func (s *counter) Hijacked(net.Conn)                  {}
func (s *counter) Panicked(any)                       {}

// A wake-up and its Feed don't allocate, except for the error by which package net
// reports that a read was interrupted.
func TestWakeAllocs(t *testing.T) {
	for _, k := range doorKinds {
		t.Run(k.name, func(t *testing.T) {
			s := &counter{make(chan *Waker, 1), make(chan struct{}, 1)}
			c := k.serve(t, s)
			c.send("x")
			<-s.fed
			waker := <-s.c
			each := alloctest.PerRun(200, func() { waker.Wake(); <-s.fed })
			if most := map[string]float64{"event/tcp": 0, "event/tls": 0, "block/tcp": 1}; k.socket && k.name != "block/tls" && each > most[k.name] {
				t.Errorf("%v allocations, want at most %v", each, most[k.name])
			}
			c.client.Close()
			c.wait()
			if n := alloctest.PerRun(200, waker.Wake); n != 0 {
				t.Errorf("%v allocations after the end", n)
			}
		})
	}
}
