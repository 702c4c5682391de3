package engine_test

import (
	"errors"
	"io"
	"net"
	"testing"

	. "github.com/galehttp/gale/internal/engine"
)

// ownErrors is a connection that tells of its end by an error of its own.
type ownErrors struct{ net.Conn }

var errOwn = errors.New("of the test: no more")

func (c ownErrors) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, ownError(err)
}

func (c ownErrors) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, ownError(err)
}

func ownError(err error) error {
	if err == nil || IsTimeout(err) {
		return err
	}
	return errOwn
}

func ownPair(t *testing.T) (server, client net.Conn) {
	server, client = pipePair(t)
	return ownErrors{server}, client
}

// After CloseAll a session gets net.ErrClosed, whatever the connection says when it is closed
// while the session waits for it: io.ErrClosedPipe in memory, or an error of its own.
func TestCloseAllIsTheReason(t *testing.T) {
	kinds := append(doorKinds[:len(doorKinds):len(doorKinds)], struct {
		name   string
		half   bool
		socket bool
		serve  func(t *testing.T, sess Session) *served
	}{"block/own errors", false, false, func(t *testing.T, sess Session) *served { return serveBlock(t, sess, ownPair, false) }})
	for _, k := range kinds {
		for name, wait := range map[string]func(s *step, w *Work, next *Next) error{
			"for bytes":         func(_ *step, _ *Work, next *Next) error { return nil },
			"in Fill":           func(s *step, w *Work, _ *Next) error { return s.c.Fill(w, 0) },
			"in WriteBody":      func(s *step, w *Work, _ *Next) error { return s.c.WriteBody(w, make([]byte, 64<<20)) },
			"while Out is sent": func(_ *step, w *Work, next *Next) error { w.Out, next.Op = make([]byte, 64<<20), Flush; return nil },
		} {
			writes := name == "in WriteBody" || name == "while Out is sent"
			if writes && k.name == "block/memory" {
				continue // a write waits for nothing
			}
			t.Run(k.name+"/"+name, func(t *testing.T) {
				s := newStep(t, "the session")
				fed, told := make(chan bool, 1), make(chan error, 3)
				s.feed = func(w *Work, next *Next) {
					w.Consume(len(w.Unread()))
					fed <- true
					if err := wait(s, w, next); err != nil {
						told <- err
						next.Op = Abort
					}
				}
				s.stall = func(_ *Work, why error, next *Next) { told <- why; next.Op = Abort }
				c := k.serve(t, s)
				c.send("x")
				<-fed
				if writes {
					if _, err := io.ReadFull(c.client, make([]byte, 1)); err != nil { // it is being sent
						t.Fatal("reading:", err)
					}
				}
				c.kill()
				c.wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if err := <-s.closed; err != ErrAborted {
					told <- err
				}
				if len(told) == 0 {
					t.Error("nothing told the session")
				}
				for len(told) > 0 {
					if err := <-told; !errors.Is(err, net.ErrClosed) {
						t.Errorf("the session got %v, want %v", err, net.ErrClosed)
					}
				}
			})
		}
	}
}
