package engine

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// noBytes is a system that counts reads that find nothing. It calls ends, once, in one.
type noBytes struct {
	system
	reads atomic.Int32
	ends  atomic.Pointer[func()]
}

func (s *noBytes) read(fd int32, p []byte) (int, syscall.Errno) {
	n, errno := s.system.read(fd, p)
	if errno == syscall.EAGAIN {
		s.reads.Add(1)
		if ends := s.ends.Swap(nil); ends != nil {
			(*ends)()
		}
	}
	return n, errno
}

// reads is a session that waits for more in Feed, by read, and notes the error.
type reads struct {
	*lines
	begins func()
	read   func(c Conn, w *Work) error
	done   chan error
}

func (s *reads) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	s.begins()
	s.done <- s.read(s.c, w)
	next.Op = Close
}

// waysToRead are how a session waits for bytes.
var waysToRead = []struct {
	name string
	read func(c Conn, w *Work) error
}{
	{"Fill", func(c Conn, w *Work) error { return c.Fill(w, 0) }},
	{"Read", func(c Conn, w *Work) error {
		_, err := c.NetConn().Read(make([]byte, 1))
		return err
	}},
}

// What ends reads also ends one that has looked for it already, and has not said yet that it
// waits for bytes.
func TestReadEndsBeforeItWaits(t *testing.T) {
	for _, read := range waysToRead {
		for _, end := range []struct {
			name string
			ends func(c *eventConn)
			want error
		}{
			{"deadline", func(c *eventConn) { c.NetConn().SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
			{"interrupt", (*eventConn).Interrupt, os.ErrDeadlineExceeded},
			{"kill", (*eventConn).kill, net.ErrClosed},
		} {
			if read.name == "Read" && end.name == "interrupt" {
				continue // which ends Fill only
			}
			t.Run(read.name+"/"+end.name, func(t *testing.T) {
				sys := &noBytes{}
				useSystem(t, func(real system) system {
					sys.system = real
					return sys
				})
				s := &reads{lines: newLines(), read: read.read, done: make(chan error, 1)}
				s.begins = func() {
					ends := func() { end.ends(s.c.(*eventConn)) }
					sys.ends.Store(&ends)
				}
				_, client, ended := startEvent(t, s)
				send(t, client, "x\n")
				await.Until(t, "the end of the read", func() bool { return len(s.done) > 0 })
				if err := <-s.done; !errors.Is(err, end.want) {
					t.Errorf("the read ended with %v, want %v", err, end.want)
				}
				<-ended
			})
		}
	}
}

// A deadline that a handler sets before it reads costs no read: the read that finds nothing is the
// only one before it waits.
func TestDeadlineCostsNoRead(t *testing.T) {
	for _, read := range waysToRead {
		t.Run(read.name, func(t *testing.T) {
			sys := &noBytes{}
			useSystem(t, func(real system) system {
				sys.system = real
				return sys
			})
			s := &reads{lines: newLines(), read: read.read, done: make(chan error, 1)}
			began := make(chan *eventConn, 1)
			s.begins = func() {
				sys.reads.Store(0)
				if err := s.c.NetConn().SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Errorf("setting the deadline: %v", err)
				}
				began <- s.c.(*eventConn)
			}
			_, client, ended := startEvent(t, s)
			send(t, client, "x\n")
			c := <-began
			await.Until(t, "the read to wait", func() bool { return c.word.Load()&isWaiting != 0 })
			if n := sys.reads.Load(); n != 1 {
				t.Errorf("%d reads found nothing before it waited, want 1", n)
			}
			send(t, client, "y\n")
			if err := <-s.done; err != nil {
				t.Errorf("the read ended with %v", err)
			}
			client.Close()
			<-ended
		})
	}
}
