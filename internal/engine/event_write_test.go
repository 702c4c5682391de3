package engine

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
)

// leaves is a session that answers with LeaveBody, and then appends more output, although
// it must not.
type leaves struct {
	*lines
	c    Conn
	body string
	left bool
}

func (s *leaves) Open(c Conn, next *Next) { s.c = c }

func (s *leaves) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	w.Out = append(w.Out, "head "...)
	s.left, _ = s.c.LeaveBody(w, []byte(s.body))
	w.Out = append(w.Out, " tail"...)
	next.Op = Close
}

// full is a system whose sockets have no room for writev.
type full struct{ system }

func (full) writev(int32, []byte, []byte) (int, syscall.Errno) { return -1, syscall.EAGAIN }

// The rest that LeaveBody has left is written before output that the session appended
// later.
func TestLeaveBodyKeepsOrder(t *testing.T) {
	useSystem(t, func(sys system) system { return full{sys} })
	body := strings.Repeat("0123456789abcdef", 1<<11)
	s := &leaves{lines: newLines(), body: body}
	_, client, ended := startEvent(t, s)
	send(t, client, "x\n")
	got, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	if want := "head " + body + " tail"; string(got) != want {
		t.Errorf("got %d bytes that begin with %.10q, want %d", len(got), got, len(want))
	}
	client.Close()
	<-ended
	if !s.left {
		t.Error("LeaveBody has left nothing")
	}
}

// noRoom is a system whose sockets have no room. The first write that finds none calls
// ends before it returns.
type noRoom struct {
	system
	ends func()
}

func (s *noRoom) write(int32, []byte) (int, syscall.Errno) {
	if ends := s.ends; ends != nil {
		s.ends = nil
		ends()
	}
	return -1, syscall.EAGAIN
}

// flushes is a session that flushes and notes the error.
type flushes struct {
	*lines
	flushed chan error
}

func (s *flushes) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	w.Out = append(w.Out, "line\n"...)
	s.flushed <- s.c.Flush(w)
	next.Op = Close
}

// What ends writes also ends one that has looked for it already, and has not said yet that it
// waits for room.
func TestWriteEndsBeforeItWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		ends func(c *eventConn)
		want error
	}{
		{"cut", (*eventConn).InterruptWrites, errBroken},
		{"kill", (*eventConn).kill, net.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := &noRoom{}
			useSystem(t, func(real system) system {
				sys.system = real
				return sys
			})
			s := &flushes{lines: newLines(), flushed: make(chan error, 1)}
			sys.ends = func() { tt.ends(s.c.(*eventConn)) }
			_, client, ended := startEvent(t, s)
			send(t, client, "x\n")
			await.Until(t, "the end of the write", func() bool { return len(s.flushed) > 0 })
			if err := <-s.flushed; !errors.Is(err, tt.want) {
				t.Errorf("the write ended with %v, want %v", err, tt.want)
			}
			<-ended
		})
	}
}
