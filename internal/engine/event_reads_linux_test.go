package engine

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// eared is a system that counts reads. With deaf set, it loses all edges. wrote, if it is
// set, is called once after a write, before the engine goes on.
type eared struct {
	system
	reads atomic.Int32
	fd    atomic.Int32 // of the last read
	deaf  atomic.Bool
	wrote atomic.Pointer[func()]
}

func (s *eared) read(fd int32, p []byte) (int, syscall.Errno) {
	s.reads.Add(1)
	s.fd.Store(fd)
	return s.system.read(fd, p)
}

func (s *eared) write(fd int32, p []byte) (int, syscall.Errno) {
	n, errno := s.system.write(fd, p)
	if f := s.wrote.Swap(nil); f != nil {
		(*f)()
	}
	return n, errno
}

// arrive waits until there are bytes to read at the socket that was read last.
func (s *eared) arrive(t *testing.T) {
	t.Helper()
	await.Until(t, "bytes at the socket", func() bool {
		n, _, err := syscall.Recvfrom(int(s.fd.Load()), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return n > 0 && err == nil
	})
}

func (s *eared) poll(batch []ready, block bool, guarded *atomic.Bool) int {
	n := s.system.poll(batch, block, guarded)
	if n > 0 && s.deaf.Load() {
		return -1
	}
	return n
}

// onSockets calls f with a connection to an Event, once without and once with another
// connection on top of it. Its session answers lines.
func onSockets(t *testing.T, f func(t *testing.T, e *Event, sys *eared, client net.Conn)) {
	for _, name := range []string{"plain", "layered"} {
		t.Run(name, func(t *testing.T) {
			sys := &eared{}
			useSystem(t, func(s system) system { sys.system = s; return sys })
			e := &Event{Panicked: func(r any) { t.Error(r) }, Ended: func(Session, error) {}}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() {
				served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
					if err := e.Adopt(nc); err != nil {
						t.Error(err)
						return
					}
					var top net.Conn
					if name == "layered" {
						top = &layered{Conn: nc}
					}
					e.Start(nc, top, 0, newLines())
				}, func(err error) { t.Error(err) })
			}()
			client, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = client.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
			f(t, e, sys, client)
			client.Close()
			ln.Close()
			<-served
			e.EndNow()
			await.Gone(t, "loops", func() bool { return e.all() == nil })
		})
	}
}

// A request that arrives at once costs one read of the socket: after a short one, the
// engine waits for the next edge.
func TestEventReadsOnce(t *testing.T) {
	onSockets(t, func(t *testing.T, _ *Event, sys *eared, client net.Conn) {
		const requests = 50
		send(t, client, "first\n")
		want(t, client, "first\n")
		before := sys.reads.Load()
		for range requests {
			send(t, client, "next\n")
			want(t, client, "next\n")
		}
		// The last read of the first request may have come after its answer.
		if n := sys.reads.Load() - before; n > requests+1 {
			t.Errorf("%d requests took %d reads", requests, n)
		}
	})
}

// When the engine stops, it serves a request that has arrived although no edge has told
// of it.
func TestEventLooksOnceMore(t *testing.T) {
	onSockets(t, func(t *testing.T, e *Event, sys *eared, client net.Conn) {
		send(t, client, "first\n")
		want(t, client, "first\n")
		sys.deaf.Store(true)
		send(t, client, "last\n")
		sys.arrive(t)
		e.Stop()
		want(t, client, "last\n")
		wantEOF(t, client)
	})
}

// The same holds if the engine stops after it has written an answer, and before it has
// looked for the next request.
func TestEventLooksOnceMoreAfterAnswer(t *testing.T) {
	onSockets(t, func(t *testing.T, e *Event, sys *eared, client net.Conn) {
		stop := func() {
			sys.deaf.Store(true)
			send(t, client, "last\n")
			sys.arrive(t)
			e.Stop()
		}
		sys.wrote.Store(&stop)
		send(t, client, "first\n")
		want(t, client, "first\nlast\n")
		wantEOF(t, client)
	})
}
