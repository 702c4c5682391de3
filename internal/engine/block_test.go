package engine

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/tests/harness/await"
)

// lines is a session that answers each line with the same line. Some words are commands.
type lines struct {
	c        Conn
	file     *os.File
	idle     time.Duration
	stalled  chan error
	closed   chan error
	hijacked chan net.Conn
	gone     chan bool
}

func newLines() *lines {
	return &lines{stalled: make(chan error, 1), closed: make(chan error, 1), hijacked: make(chan net.Conn, 1), gone: make(chan bool, 1)}
}

func (s *lines) Open(c Conn, next *Next) {
	s.c = c
	*next = s.wait(true)
}

func (s *lines) Feed(w *Work, next *Next) { *next = s.feed(w) }

func (s *lines) wait(idle bool) Next {
	n := Next{Idle: idle}
	if s.idle > 0 {
		n.Deadline = clock.Ticks().Add(s.idle)
	}
	return n
}

func (s *lines) feed(w *Work) Next {
	for {
		b := w.Unread()
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return s.wait(len(b) == 0)
		}
		line := string(b[:i])
		w.Consume(i + 1)
		switch line {
		case "close":
			w.Out = append(w.Out, "bye\n"...)
			return Next{Op: Close, Linger: true}
		case "abort":
			return Next{Op: Abort}
		case "hijack":
			w.Out = append(w.Out, "yours\n"...)
			return Next{Op: Hijack}
		case "file":
			w.Out = append(w.Out, "file:"...)
			st, _ := s.file.Stat()
			return Next{Op: Flush, File: &File{F: s.file, Off: 1, N: st.Size() - 1}}
		case "fill":
			if len(w.Unread()) > 0 {
				continue
			}
			s.c.Flush(w)
			if err := s.c.Fill(w, clock.Ticks().Add(tooLong)); err != nil {
				w.Out = append(w.Out, "fill: "+err.Error()+"\n"...)
			}
			continue
		case "watch":
			stop := s.c.Watch(func(reset bool) { s.gone <- reset })
			defer stop()
			w.Out = append(w.Out, "watching\n"...)
			s.c.Flush(w)
			select {
			case <-s.gone:
				w.Out = append(w.Out, "you left\n"...)
			case <-time.After(tooLong):
				w.Out = append(w.Out, "nobody left\n"...)
			}
			return Next{Op: Close}
		}
		w.Out = append(append(w.Out, line...), '\n')
	}
}

func (s *lines) Stall(w *Work, why error, next *Next) {
	s.stalled <- why
	next.Op = Close
}
func (s *lines) Hijacked(c net.Conn) { s.hijacked <- c }
func (s *lines) Closed(err error)    { s.closed <- err }
func (s *lines) Panicked(any)        {}

// tooLong only ends a hang.
const tooLong = time.Minute

// kinds are the kinds of connections that every test runs on: sockets, which wait without
// a buffer, and others.
var kinds = []struct {
	name string
	pair func(t *testing.T) (server, client net.Conn)
}{
	{"tcp", tcpPair},
	{"pipe", func(t *testing.T) (net.Conn, net.Conn) { return net.Pipe() }},
	{"memory", func(t *testing.T) (net.Conn, net.Conn) {
		pc := galeutil.NewPipeConns()
		return pc.Conn1(), pc.Conn2()
	}},
}

func tcpPair(t *testing.T) (server, client net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

func tempFile(t *testing.T, content string) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.WriteString(content)
	return f
}

// anyEngine is the part of an engine that tests use.
type anyEngine interface {
	Len() int
	Stop()
	EvictIdle(n int) int
	Idle() int
}

// start serves a connection of each kind, and one on each engine, and calls f as its
// client.
func start(t *testing.T, prepare func(s *lines), f func(t *testing.T, e anyEngine, s *lines, client net.Conn)) {
	t.Run("event", func(t *testing.T) {
		s := newLines()
		if prepare != nil {
			prepare(s)
		}
		e, client, ended := startEvent(t, s)
		f(t, e, s, client)
		client.Close()
		select {
		case <-ended:
		case <-time.After(tooLong):
			t.Fatal("the connection did not end")
		}
		if e.Len() != 0 {
			t.Errorf("%d connections left", e.Len())
		}
	})
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			server, client := k.pair(t)
			e, s := &Block{}, newLines()
			if prepare != nil {
				prepare(s)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); e.Serve(server, true, e.Epoch(), s) }()
			client.SetDeadline(time.Now().Add(tooLong))
			f(t, e, s, client)
			client.Close()
			select {
			case <-ended:
			case <-time.After(tooLong):
				t.Fatal("the connection's goroutine did not end with it")
			}
			if e.Len() != 0 {
				t.Errorf("%d connections left", e.Len())
			}
		})
	}
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, c net.Conn, s string) {
	t.Helper()
	b := make([]byte, len(s))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != s {
		t.Fatalf("read %q, %v; want %q", b[:n], err, s)
	}
}

func wantEOF(t *testing.T, c net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Fatalf("read %q, %v; want the end", b, err)
	}
}

func TestFeedPipelinedAndSplit(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		go io.WriteString(c, "a\nb\nc")
		want(t, c, "a\nb\n")
		for _, b := range "def\n" {
			send(t, c, string(b))
		}
		want(t, c, "cdef\n")
		long := strings.Repeat("x", 100_000) + "\n" // longer than the first buffer
		go io.WriteString(c, long)
		want(t, c, long)
	})
}

func TestCloseLosesNoAnswer(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		go io.WriteString(c, "a\nclose\nnever read\n"+strings.Repeat("z", 100_000))
		want(t, c, "a\nbye\n")
		c.Close()
		if err := <-s.closed; err != nil {
			t.Errorf("Closed(%v), want nil: the session closed it", err)
		}
	})
}

func TestAbort(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		send(t, c, "abort\n")
		if err := <-s.closed; !errors.Is(err, ErrAborted) {
			t.Errorf("Closed(%v), want ErrAborted", err)
		}
	})
}

func TestStallAtEndAndDeadline(t *testing.T) {
	t.Run("end", func(t *testing.T) {
		start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
			send(t, c, "unfinished")
			c.Close()
			if err := <-s.stalled; !errors.Is(err, io.EOF) {
				t.Errorf("stalled with %v, want EOF", err)
			}
		})
	})
	t.Run("deadline", func(t *testing.T) {
		start(t, func(s *lines) { s.idle = 50 * time.Millisecond }, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
			send(t, c, "x\n")
			want(t, c, "x\n")
			if err := <-s.stalled; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("stalled with %v, want a deadline", err)
			}
			wantEOF(t, c)
		})
	})
}

// A deadline is set only once in a while. An old one must not end a longer wait.
func TestDeadlineMovesOn(t *testing.T) {
	start(t, func(s *lines) { s.idle = 600 * time.Millisecond }, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		for range 9 {
			sent := time.Now()
			send(t, c, "x\n")
			want(t, c, "x\n")
			time.Sleep(100 * time.Millisecond) // the client's pause: nine of them are longer than the deadline
			if time.Since(sent) > s.idle/2 {
				t.Log("this machine is too busy for short pauses: nothing is proved")
				return
			}
		}
		select {
		case err := <-s.stalled:
			t.Errorf("stalled with %v although bytes came in time", err)
		default:
		}
	})
}

func TestHijackKeepsUnreadBytes(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		go io.WriteString(c, "hijack\nrest")
		want(t, c, "yours\n")
		hc := <-s.hijacked
		defer hc.Close()
		want(t, hc, "rest")
		go io.WriteString(c, "more")
		want(t, hc, "more")
	})
}

func TestSendFile(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 1<<16)
	start(t, func(s *lines) { s.file = tempFile(t, content) }, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		go io.WriteString(c, "a\nfile\nb\n")
		want(t, c, "a\nfile:"+content[1:]+"b\n")
		if off, _ := s.file.Seek(0, io.SeekCurrent); off != int64(len(content)) {
			t.Errorf("the file's own offset moved to %d", off)
		}
	})
}

func TestFillBlocksForMore(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		send(t, c, "fill\n")
		send(t, c, "late\n")
		want(t, c, "late\n")
	})
}

func TestWatchSeesThePeerLeave(t *testing.T) {
	for _, k := range []string{"", "unread bytes"} {
		t.Run("tcp"+k, func(t *testing.T) {
			if k != "" && runtime.GOOS != "linux" {
				return
			}
			server, client := tcpPair(t)
			e, s := &Block{}, newLines()
			go e.Serve(server, false, e.Epoch(), s)
			send(t, client, "watch\n")
			want(t, client, "watching\n")
			if k != "" {
				send(t, client, "hiding the end")
			}
			client.(*net.TCPConn).CloseWrite()
			client.SetDeadline(time.Now().Add(tooLong))
			want(t, client, "you left\n")
		})
	}
}

func TestStopClosesIdleAndSparesBusy(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		send(t, c, "x\n")
		want(t, c, "x\n")
		send(t, c, "half")
		await.Until(t, "half a line to be read", func() bool { return busyConns(e) == 1 })
		e.Stop()
		send(t, c, " a line\n")
		want(t, c, "half a line\n")
		wantEOF(t, c)
	})
}

func busyConns(e anyEngine) int { return e.Len() - e.Idle() }

func TestEvictIdle(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		send(t, c, "x\n")
		want(t, c, "x\n")
		await.Until(t, "a connection that can be evicted", func() bool { return e.EvictIdle(1) == 1 })
		wantEOF(t, c)
	})
}

// A connection that never sends anything must make room too, after a while.
func TestEvictSilent(t *testing.T) {
	start(t, nil, func(t *testing.T, e anyEngine, s *lines, c net.Conn) {
		await.Until(t, "a connection that can be evicted", func() bool { return e.EvictIdle(1) == 1 })
		wantEOF(t, c)
	})
}

func TestGoexitClosesTheConnection(t *testing.T) {
	server, client := tcpPair(t)
	s := &goexit{newLines()}
	go new(Block).Serve(server, false, 0, s)
	send(t, client, "x\n")
	client.SetDeadline(time.Now().Add(tooLong))
	client.Read(make([]byte, 1))
	if err := <-s.closed; !errors.Is(err, ErrGoexit) {
		t.Errorf("Closed(%v), want ErrGoexit", err)
	}
}

type goexit struct{ *lines }

func (goexit) Feed(*Work, *Next) { runtime.Goexit() }

// A connection that is idle for long leaves its goroutine, and is resumed.
func TestParkAndResume(t *testing.T) {
	server, client := tcpPair(t)
	s := newLines()
	e := &Block{}
	resumed := make(chan Parked, 1)
	e.Dispatch = func(p Parked) { resumed <- p }
	parked := make(chan error, 1)
	tell := func(_ Session, err error) { parked <- err }
	go func() { tell(e.Start(server, false, e.Epoch(), s)) }()
	client.SetDeadline(time.Now().Add(tooLong))
	for range 2 {
		send(t, client, "a\n")
		want(t, client, "a\n")
		if err := <-parked; !errors.Is(err, ErrParked) {
			t.Fatalf("got %v, want ErrParked", err)
		}
		send(t, client, "b\n")
		p := <-resumed
		if p.Session() != s {
			t.Fatal("another session")
		}
		go func() { tell(p.Resume()) }()
		want(t, client, "b\n")
	}
	if err := <-parked; !errors.Is(err, ErrParked) {
		t.Fatalf("got %v, want ErrParked", err)
	}
	e.Stop() // wakes a parked connection too
	go func() { tell((<-resumed).Resume()) }()
	wantEOF(t, client)
	if err := <-parked; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if err := <-s.closed; err != nil || e.Len() != 0 {
		t.Errorf("closed with %v, %d connections left", err, e.Len())
	}
}

// A connection whose requests come at intervals longer than parkAfter, like those of
// thousands of busy connections, is parked a few times and then not any more, until it is
// idle for long.
func TestParkSparesBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		parked := 0
		e := &Block{}
		e.Dispatch = func(p Parked) {
			parked++
			go p.Resume()
		}
		s := newLines()
		go e.Start(server, true, e.Epoch(), s)
		turns := func(n int, gap time.Duration) (times int) {
			before := parked
			for range n {
				time.Sleep(gap)
				send(t, client, "a\n")
				want(t, client, "a\n")
			}
			return parked - before
		}
		if n := turns(1000, parkAfter*3/2); n > 2 {
			t.Errorf("a busy connection was parked %d times in 1,000 turns, want 2 at most", n)
		}
		if n := turns(10, time.Hour); n != 10 {
			t.Errorf("an idle connection was parked %d times in 10 turns, want 10", n)
		}
		if n := turns(1000, parkAfter*9/10); n > 0 {
			t.Errorf("a connection that was never idle was parked %d times", n)
		}
		client.Close()
		<-s.closed
	})
}

// alwaysLate is a connection whose reads time out at once, whatever its deadline is.
type alwaysLate struct{ net.Conn }

func (alwaysLate) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestTimeoutsOutOfNothing(t *testing.T) {
	server, client := net.Pipe()
	defer client.Close()
	s := newLines()
	go new(Block).Serve(alwaysLate{server}, false, 0, s)
	select {
	case <-s.closed:
	case <-time.After(tooLong):
		t.Error("the engine reads for ever")
	}
}

// A session whose Open panics, or ends the goroutine, is closed once.
func TestOpenFails(t *testing.T) {
	for _, fail := range []func(){func() { panic("open") }, runtime.Goexit} {
		server, client := tcpPair(t)
		s := &failsToOpen{newLines(), fail}
		go func() {
			defer func() { _ = recover() }()
			new(Block).Serve(server, false, 0, s)
		}()
		wantClosed(t, s)
		client.SetDeadline(time.Now().Add(tooLong))
		wantEOF(t, client)
	}
}

func TestEventOpenFails(t *testing.T) {
	s := &failsToOpen{newLines(), runtime.Goexit} // on the goroutine that accepts
	_, client, ended := startEvent(t, s)
	wantClosed(t, s)
	wantEOF(t, client)
	<-ended
}

type failsToOpen struct {
	*lines
	fail func()
}

func (s *failsToOpen) Open(Conn, *Next) { s.fail() }

func wantClosed(t *testing.T, s *failsToOpen) {
	t.Helper()
	select {
	case err := <-s.closed:
		if !errors.Is(err, ErrGoexit) {
			t.Errorf("Closed(%v), want ErrGoexit", err)
		}
	case <-time.After(tooLong):
		t.Error("the session was not closed")
	}
	select {
	case <-s.closed:
		t.Error("it was closed twice")
	default:
	}
}
