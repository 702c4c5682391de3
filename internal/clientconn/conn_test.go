package clientconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

var errTimeout = errors.New("time is up")

// newConn returns a Conn over nc.
func newConn(nc net.Conn) *Conn {
	c := new(Conn)
	c.Init(nc, &Hooks{Timeout: errTimeout, Close: func(c io.Closer) error { return c.Close() }})
	return c
}

// sockets returns both ends of a connection.
func sockets(t *testing.T) (c *Conn, peer net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if peer, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); peer.Close() })
	return newConn(nc), peer
}

// pipe returns a connection without a socket, and its other end.
func pipe(t *testing.T) (c *Conn, peer net.Conn) {
	nc, peer := net.Pipe()
	t.Cleanup(func() { nc.Close(); peer.Close() })
	return newConn(nc), peer
}

// What was read stays until it is consumed, whatever is read after it, also where it has
// to move and where the buffer grows.
func TestUnread(t *testing.T) {
	for name, connect := range map[string]func(*testing.T) (*Conn, net.Conn){"socket": sockets, "pipe": pipe} {
		c, peer := connect(t)
		sent := bytes.Repeat([]byte("0123456789"), 5000)
		go peer.Write(sent)
		var got []byte
		for step := 1; len(got) < len(sent); step = step*7%1000 + 1 {
			for len(c.Unread()) < min(step, len(sent)-len(got)) {
				before := len(c.Unread())
				if err := c.Fill(); err != nil || len(c.Unread()) <= before {
					t.Fatalf("%s: Fill: %v, %d bytes are unread, %d before", name, err, len(c.Unread()), before)
				}
			}
			n := min(step, len(c.Unread()))
			got = append(got, c.Unread()[:n]...)
			c.Consume(n)
		}
		if !bytes.Equal(got, sent) {
			t.Errorf("%s: other bytes were read than sent", name)
		}
		if c.DropBuffer(); len(c.Unread()) != 0 {
			t.Errorf("%s: %d bytes are unread in no buffer", name, len(c.Unread()))
		}
	}
}

// A buffer that grew isn't kept, one of the usual size is, and empty.
func TestTakeBuffer(t *testing.T) {
	c, _ := pipe(t)
	if b := c.TakeBuffer(); b != nil {
		t.Error("there is a buffer in a new connection")
	}
	b := c.Buffer(ReadRoom)
	b.B = append(b.B, "request"...)
	if got := c.TakeBuffer(); got != b || len(got.B) != 0 || c.Unread() != nil {
		t.Errorf("took %p, want the empty buffer %p", got, b)
	}
	c.LendBuffer(b)
	if c.Buffer(1) != b {
		t.Error("the lent buffer isn't used")
	}
	b.Grow(ReadRoom + 1)
	if got := c.TakeBuffer(); got != nil {
		t.Errorf("a buffer of %d bytes is kept", cap(got.B))
	}
}

// A deadline that is set early is set again when it passes, and only one that is due ends
// a read. One that was moved ahead holds at once.
func TestBoundReads(t *testing.T) {
	c, peer := sockets(t)
	c.BoundReads(clock.Ticks() + clock.Tick(time.Hour))
	c.read.set = 1 // has passed
	if err := c.nc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	go peer.Write([]byte("x"))
	if err := c.Fill(); err != nil || string(c.Unread()) != "x" {
		t.Fatalf("%q, %v: want the byte in spite of an early deadline", c.Unread(), err)
	}
	c.BoundReads(1)
	if err := c.Fill(); err != errTimeout {
		t.Errorf("%v, want that time is up", err)
	}
	if !c.HasDeadlines() {
		t.Error("no deadline is set")
	}
	if err := c.ClearDeadlines(); err != nil || c.HasDeadlines() {
		t.Errorf("%v, a deadline is left", err)
	}
	go peer.Write([]byte("y"))
	if err := c.Fill(); err != nil {
		t.Errorf("%v after deadlines were cleared", err)
	}
}

// A head and a body go out in order, by sockets and others, and a deadline that has
// passed ends the write.
func TestWriteBoth(t *testing.T) {
	for name, connect := range map[string]func(*testing.T) (*Conn, net.Conn){"socket": sockets, "pipe": pipe} {
		c, peer := connect(t)
		read := func(want string) <-chan string {
			got := make(chan string, 1)
			go func() {
				b := bytes.Repeat([]byte{'?'}, len(want))
				n, _ := io.ReadFull(peer, b)
				got <- string(b[:n])
			}()
			return got
		}
		got := read("headbody")
		if n, err := c.WriteBoth([]byte("head"), []byte("body")); n != 8 || err != nil {
			t.Fatalf("%s: wrote %d bytes, %v", name, n, err)
		}
		if s := <-got; s != "headbody" {
			t.Errorf("%s: %q came", name, s)
		}
		c.BoundWrites(1)
		if _, err := c.WriteBoth([]byte("head"), []byte("body")); err != errTimeout {
			t.Errorf("%s: %v, want that time is up", name, err)
		}
	}
}

// Stir reaches a reader that waits, and one that will, and leaves no deadline behind. HaltWrites
// ends a write that waits, and ResumeWrites allows the next one.
func TestStir(t *testing.T) {
	for name, connect := range map[string]func(*testing.T) (*Conn, net.Conn){"socket": sockets, "pipe": pipe} {
		c, peer := connect(t)
		heard, failure := 0, error(nil)
		stirred := make(chan struct{}, 1)
		c.OnStir(func() error {
			<-stirred
			heard++
			if failure == nil {
				go peer.Write([]byte("x")) // which ends Fill
			}
			return failure
		})
		for range 2 {
			go func() {
				if err := c.Stir(); err != nil {
					t.Error(err)
				}
				stirred <- struct{}{}
			}()
			for want := heard + 1; heard < want; {
				if err := c.Fill(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				c.Consume(len(c.Unread()))
			}
		}
		if heard != 2 {
			t.Errorf("%s: heard %d times, want 2", name, heard)
		}
		failure = io.ErrNoProgress
		c.Break()
		stirred <- struct{}{}
		if err := c.Fill(); err != failure {
			t.Errorf("%s: %v after Break, want the error of the function", name, err)
		}

		c, peer = connect(t)
		failed := make(chan error)
		go func() {
			_, err := c.Write(make([]byte, 64<<20))
			failed <- err
		}()
		c.HaltWrites()
		if err := <-failed; err != errHalted {
			t.Errorf("%s: %v after HaltWrites", name, err)
		}
		go func() { _, _ = io.Copy(io.Discard, peer) }()
		if err := c.ResumeWrites(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Errorf("%s: %v after ResumeWrites", name, err)
		}
	}
}

// Cancel wakes a reader, and Close after it closes nothing twice.
func TestCancel(t *testing.T) {
	closed := 0
	nc, peer := net.Pipe()
	defer peer.Close()
	c := new(Conn)
	c.Init(nc, &Hooks{Timeout: errTimeout, Close: func(c io.Closer) error { closed++; return c.Close() }})
	failed := make(chan error)
	go func() { failed <- c.Fill() }()
	c.Canceller()()
	if err := <-failed; err == nil {
		t.Error("a read went on after Cancel")
	}
	c.Close()
	if c.Cancel(); closed != 1 || !c.Closed() {
		t.Errorf("closed %d times", closed)
	}
}

// brokenConn is a connection whose reads give what its list says, and then its end.
type brokenConn struct {
	net.Conn
	errs []error
}

func (c *brokenConn) Read([]byte) (int, error) {
	if len(c.errs) == 0 {
		return 0, io.EOF
	}
	err := c.errs[0]
	c.errs = c.errs[1:]
	return 0, err
}

// A connection that broke down as the network is gone has not ended: a body that
// goes on until the connection ends isn't complete then.
func TestReadETIMEDOUT(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	broken := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	c := newConn(&brokenConn{a, []error{broken}})
	c.lazy = true
	c.read.want, c.read.set = clock.Ticks()+clock.Tick(1<<40), clock.Ticks()+clock.Tick(1<<39)
	if _, err := c.ReadSome(make([]byte, 1)); err != errTimeout {
		t.Errorf("the connection ended with %v, want that time is up", err)
	}
}
