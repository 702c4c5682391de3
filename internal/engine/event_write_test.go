package engine

import (
	"io"
	"strings"
	"syscall"
	"testing"
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
