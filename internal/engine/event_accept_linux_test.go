package engine

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// acceptTest is a call of Serve on Event, whose connections echo lines.
type acceptTest struct {
	t       *testing.T
	e       *Event
	ln      net.Listener
	handled atomic.Int32
	starved atomic.Int32
	served  chan error
}

// acceptOn lets e serve ln. Its connections echo lines.
func acceptOn(t *testing.T, e *Event, ln net.Listener) *acceptTest {
	t.Helper()
	a := &acceptTest{t: t, e: e, ln: ln, served: make(chan error, 1)}
	newSession := talker(t, "x")
	go func() {
		a.served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			a.handled.Add(1)
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
				return
			}
			e.Start(nc, nil, e.epoch.Load(), newSession())
		}, func(error) { a.starved.Add(1) })
	}()
	t.Cleanup(func() { ln.Close() })
	return a
}

func newAcceptEvent(t *testing.T) *Event {
	e := &Event{Panicked: func(r any) { t.Errorf("panic: %v", r) }, Ended: func(Session, error) {}}
	t.Cleanup(func() {
		e.EndNow()
		await.Gone(t, "loops", func() bool { return e.all() == nil })
	})
	return e
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// begins waits until the loop accepts.
func (a *acceptTest) begins() {
	a.t.Helper()
	await.Until(a.t, "the loop to accept", func() bool {
		began := false
		a.e.acceptors.Range(func(k, _ any) bool {
			began = began || k.(*acceptor).ln == a.ln
			return true
		})
		return began
	})
}

// ends checks that Serve returns because the listener was closed.
func (a *acceptTest) ends() {
	a.t.Helper()
	for {
		a.e.LookAtListeners()
		select {
		case err := <-a.served:
			if !errors.Is(err, net.ErrClosed) {
				a.t.Errorf("Serve returned %v, want that the listener is closed", err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Which errors of accept are reported, and that none of them ends Serve.
func TestEventAcceptErrors(t *testing.T) {
	for _, k := range []struct {
		name    string
		errs    []syscall.Errno
		starved int32
	}{
		{"none", nil, 0},
		{"aborted", []syscall.Errno{syscall.ECONNABORTED, syscall.ECONNABORTED, syscall.ECONNABORTED}, 0},
		{"full table", []syscall.Errno{syscall.EMFILE, syscall.ENFILE}, 2},
		{"no memory", []syscall.Errno{syscall.ENOBUFS, syscall.ENOMEM}, 2},
		{"other", []syscall.Errno{syscall.EINVAL, syscall.EPERM}, 0},
		{"all", []syscall.Errno{syscall.EMFILE, syscall.ECONNABORTED, syscall.EINVAL, syscall.ENOMEM}, 2},
	} {
		t.Run(k.name, func(t *testing.T) {
			var n atomic.Int32
			e := newAcceptEvent(t)
			refuse(t, func() syscall.Errno {
				if i := int(n.Add(1)) - 1; i < len(k.errs) {
					return k.errs[i]
				}
				return 0
			})
			a := acceptOn(t, e, listen(t))
			talkTo(t, a.ln.Addr().String())
			if got := a.starved.Load(); got != k.starved {
				t.Errorf("told of %d errors, want %d", got, k.starved)
			}
			a.ln.Close()
			a.ends()
		})
	}
}

// If the loop can't accept, the goroutine of Serve does. The loop serves these
// connections, too.
func TestEventAcceptWithoutLoop(t *testing.T) {
	e := newAcceptEvent(t)
	refuse(t, func() syscall.Errno { return syscall.EMFILE })
	a := acceptOn(t, e, listen(t))
	a.begins()
	talked := make(chan net.Conn)
	go func() {
		c, err := net.Dial("tcp", a.ln.Addr().String())
		if err == nil {
			_, err = io.WriteString(c, "a line\n")
		}
		if err != nil {
			t.Error(err)
		}
		talked <- c
	}()
	c := <-talked
	defer c.Close()
	await.Until(t, "Serve to accept the connection itself", func() bool { a.e.LookAtListeners(); return a.handled.Load() == 1 })
	c.SetDeadline(time.Now().Add(tooLong))
	want(t, c, "a line\n")
	if a.starved.Load() == 0 {
		t.Error("nobody was told that the loop can't accept")
	}
	a.ln.Close()
	a.ends()
}

// noDuplicates is a system that accepts nothing in its loops and can't duplicate sockets.
type noDuplicates struct{ system }

func (noDuplicates) accept(uintptr) (accepted, syscall.Errno) {
	return accepted{fd: -1}, syscall.ECONNABORTED // which is not reported
}
func (noDuplicates) duplicate(uintptr) (accepted, error) { return accepted{fd: -1}, syscall.EMFILE }

// A connection that Serve accepts and can't give to the loop is closed, and the error is
// reported.
func TestEventAcceptWithoutDescriptors(t *testing.T) {
	e := newAcceptEvent(t)
	useSystem(t, func(sys system) system { return noDuplicates{sys} })
	a := acceptOn(t, e, listen(t))
	a.begins()
	c, err := net.Dial("tcp", a.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await.Until(t, "a report that Serve can't accept", func() bool { a.e.LookAtListeners(); return a.starved.Load() == 1 })
	c.SetDeadline(time.Now().Add(tooLong))
	wantEOF(t, c)
	if n := a.handled.Load(); n != 0 {
		t.Errorf("%d connections were handed on", n)
	}
	a.ln.Close()
	a.ends()
}

// When its listener is closed, Serve returns, in whatever way it waits. The connections
// go on, and the loops end with the last of them.
func TestEventListenerClosed(t *testing.T) {
	for _, k := range []struct {
		name string
		full bool // the loop pauses
		look int  // checks before the close: after some, the goroutine of Serve waits in Accept
	}{
		{"waiting", false, 0}, {"waiting in Accept", false, 3 * quietAfter}, {"pausing", true, 0}, {"pausing and in Accept", true, 3 * quietAfter},
	} {
		t.Run(k.name, func(t *testing.T) {
			var full atomic.Bool
			e := newAcceptEvent(t)
			refuse(t, func() syscall.Errno {
				if full.Load() {
					return syscall.EMFILE
				}
				return 0
			})
			a := acceptOn(t, e, listen(t))
			c := talkTo(t, a.ln.Addr().String())
			if full.Store(k.full); k.full {
				other, err := net.Dial("tcp", a.ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				await.Until(t, "a report that the loop can't accept", func() bool { return a.starved.Load() > 0 })
			}
			for range k.look {
				a.e.LookAtListeners()
				time.Sleep(time.Millisecond) // the channel keeps one look only
			}
			a.ln.Close()
			a.ends()
			send(t, c, "still there\n")
			want(t, c, "still there\n")
			if e.all() == nil {
				t.Error("the loops have ended, and a connection is there")
			}
			c.Close()
		})
	}
}

// Another process has a duplicate of the listener. When Serve has returned, it doesn't
// accept connections to it any more.
func TestEventListenerOfOthers(t *testing.T) {
	e := newAcceptEvent(t)
	a, b := acceptOn(t, e, listen(t)), acceptOn(t, e, listen(t))
	addr := a.ln.Addr().String()
	b.begins()
	talkTo(t, addr)
	f, err := a.ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	theirs, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	a.ln.Close()
	a.ends()
	for _, l := range e.all() {
		l.mu.Lock()
		for _, of := range l.listeners {
			if of.ln == a.ln {
				t.Error("the loop has not let go of the listener")
			}
		}
		l.mu.Unlock()
	}
	before := a.handled.Load()
	for range 20 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		talkTo(t, b.ln.Addr().String()) // the loop runs
		theirs.(*net.TCPListener).SetDeadline(time.Now().Add(tooLong))
		nc, err := theirs.Accept()
		if err != nil {
			t.Fatalf("a connection did not come to the listener that is left: %v", err)
		}
		nc.Close()
		c.Close()
	}
	if n := a.handled.Load(); n != before {
		t.Errorf("%d connections came to a Serve that had returned", n-before)
	}
	b.ln.Close()
	b.ends()
}

// Many clients connect at once, to several listeners, of which one is served twice. Each
// connection is given to handle once, and served.
func TestEventAcceptMany(t *testing.T) {
	const each = 20 * acceptBatch
	e := newAcceptEvent(t)
	e.Loops = 2
	shared := listen(t)
	var serves []*acceptTest
	for i, ln := range []net.Listener{shared, shared, listen(t)} {
		serves = append(serves, acceptOn(t, e, ln))
		await.Until(t, "a loop with the listener", func() bool { return int(e.served.Load()) > i }) // one loop after the other: a poller can't register a listener twice
	}
	var clients sync.WaitGroup
	var hold, done sync.WaitGroup
	hold.Add(1)
	for i := range each {
		for _, addr := range []string{shared.Addr().String(), serves[2].ln.Addr().String()} {
			clients.Add(1)
			done.Go(func() {
				talk := sync.OnceFunc(clients.Done)
				defer talk()
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(tooLong))
				line := string(rune('a'+i%26)) + "\n"
				b := make([]byte, 2)
				if _, err = io.WriteString(c, line); err == nil {
					_, err = io.ReadFull(c, b)
				}
				if err != nil || string(b) != line {
					t.Errorf("read %q, %v; want %q", b, err, line)
				}
				talk()
				hold.Wait()
			})
		}
	}
	clients.Wait()
	if n := e.Len(); n != 2*each {
		t.Errorf("%d connections, want %d", n, 2*each)
	}
	if n := serves[0].handled.Load() + serves[1].handled.Load(); n != each {
		t.Errorf("of the shared listener %d connections were handed on, want %d", n, each)
	}
	if n := serves[2].handled.Load(); n != each {
		t.Errorf("of the other one %d connections were handed on, want %d", n, each)
	}
	hold.Done()
	done.Wait()
	for _, s := range serves {
		s.ln.Close()
		s.ends()
		if s.starved.Load() != 0 {
			t.Errorf("told of %d errors", s.starved.Load())
		}
	}
}
