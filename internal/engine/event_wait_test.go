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

// noBytes is a system that calls ends, once, in a read that finds nothing.
type noBytes struct {
	system
	ends atomic.Pointer[func()]
}

func (s *noBytes) read(fd int32, p []byte) (int, syscall.Errno) {
	n, errno := s.system.read(fd, p)
	if errno == syscall.EAGAIN {
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

// What ends reads also ends one that has looked for it already, and has not said yet that it
// waits for bytes.
func TestReadEndsBeforeItWaits(t *testing.T) {
	for _, read := range []struct {
		name string
		read func(c Conn, w *Work) error
	}{
		{"Fill", func(c Conn, w *Work) error { return c.Fill(w, 0) }},
		{"Read", func(c Conn, w *Work) error {
			_, err := c.NetConn().Read(make([]byte, 1))
			return err
		}},
	} {
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
