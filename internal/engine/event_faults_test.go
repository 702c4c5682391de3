package engine

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// faulty is a system whose calls are interrupted, transfer less than they could, or
// return EAGAIN, after which an edge follows.
type faulty struct {
	system
	mu    sync.Mutex
	rng   *rand.Rand
	keys  map[int32]ready // of descriptors
	edges []ready         // that were not reported yet
}

func (f *faulty) add(fd int32, slot, gen uint32) error {
	f.mu.Lock()
	f.keys[fd] = ready{slot: slot, gen: gen}
	f.mu.Unlock()
	return f.system.add(fd, slot, gen)
}

// later returns EAGAIN, and makes the next poll report ev.
func (f *faulty) later(fd int32, ev uint32) (int, syscall.Errno) {
	f.mu.Lock()
	edge := f.keys[fd]
	edge.ev = ev
	f.edges = append(f.edges, edge)
	f.mu.Unlock()
	f.wake()
	return -1, syscall.EAGAIN
}

func (f *faulty) roll(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *faulty) read(fd int32, p []byte) (int, syscall.Errno) {
	switch f.roll(6) {
	case 0:
		return -1, syscall.EINTR
	case 1:
		return f.later(fd, evIn)
	}
	return f.system.read(fd, p)
}

func (f *faulty) write(fd int32, p []byte) (int, syscall.Errno) {
	switch f.roll(4) {
	case 0:
		return -1, syscall.EINTR
	case 1:
		p = p[:1+f.roll(len(p))]
	case 2:
		p = p[:1]
	case 3:
		if f.roll(2) == 0 {
			return f.later(fd, evOut)
		}
	}
	return f.system.write(fd, p)
}

func (f *faulty) writev(fd int32, a, b []byte) (int, syscall.Errno) {
	if f.roll(2) == 0 {
		return -1, syscall.EINTR
	}
	return f.system.writev(fd, a[:1+f.roll(len(a))], nil)
}

func (f *faulty) sendFile(fd int32, file *File) (int, error) {
	switch f.roll(4) {
	case 0:
		return -1, syscall.EINTR
	case 1:
		return 0, errNoSendfile // then a piece of the file is read, and written in parts
	case 2:
		_, errno := f.later(fd, evOut)
		return -1, errno
	}
	part := *file
	part.N = 1 + int64(f.roll(int(min(file.N, 100_000))))
	return f.system.sendFile(fd, &part)
}

func (f *faulty) poll(batch []ready, block bool, guarded *atomic.Bool) int {
	if f.roll(4) == 0 {
		return -1
	}
	n := f.system.poll(batch[:1+f.roll(len(batch))], block, guarded)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.edges) > 0 {
		n = max(n, 0)
		k := copy(batch[n:], f.edges)
		f.edges = f.edges[k:]
		n += k
	}
	return n
}

// serveEvent serves the connections of a listener on e, each with a session of
// newSession.
func serveEvent(t *testing.T, e *Event, newSession func() Session) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if !e.Serves(ln) {
		ln.Close()
		t.Skip("no event engine here")
	}
	e.Panicked = func(r any) { t.Errorf("panic: %v", r) }
	if e.Ended == nil {
		e.Ended = func(Session, error) {}
	}
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
				return
			}
			e.Start(nc, nil, e.epoch.Load(), newSession())
		}, func(err error) { t.Error(err) })
	}()
	t.Cleanup(func() {
		e.Stop()
		ln.Close()
		<-served
		await.Gone(t, "loops", func() bool { return e.all() == nil })
	})
	return ln.Addr().String()
}

// talker returns a function that makes sessions like lines, without its channels.
func talker(t *testing.T, content string) func() Session {
	f := tempFile(t, content)
	return func() Session {
		s := newLines()
		s.file = f
		s.stalled = make(chan error, 4)
		return s
	}
}

// Interrupted calls, calls that come too early, short writes and empty polls change
// neither the bytes that arrive nor their order.
func TestEventFaults(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 1<<14)
	for seed := range uint64(3) {
		e := &Event{}
		useSystem(t, func(sys system) system {
			return &faulty{system: sys, rng: rand.New(rand.NewPCG(seed, 1)), keys: make(map[int32]ready)}
		})
		addr := serveEvent(t, e, talker(t, content))
		var wg sync.WaitGroup
		for i := range 8 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(tooLong))
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				var in, out strings.Builder
				for range 30 {
					line := strings.Repeat(string('a'+rune(rng.IntN(26))), rng.IntN(20_000)+10) + "\n"
					if rng.IntN(8) == 0 {
						in.WriteString("file\n")
						out.WriteString("file:" + content[1:])
						continue
					}
					in.WriteString(line)
					out.WriteString(line)
				}
				go func() {
					for s := in.String(); len(s) > 0; {
						n := min(len(s), 1+rng.IntN(9000))
						if _, err := io.WriteString(c, s[:n]); err != nil {
							return
						}
						s = s[n:]
					}
				}()
				got := make([]byte, out.Len())
				if n, err := io.ReadFull(c, got); err != nil || string(got) != out.String() {
					t.Errorf("seed %d: read %d bytes of %d, %v", seed, n, out.Len(), err)
				}
			})
		}
		wg.Wait()
	}
}

// refusing is a system whose accept fails with the result of why, unless that is 0.
type refusing struct {
	system
	why func() syscall.Errno
}

func (r refusing) accept(fd uintptr) (accepted, syscall.Errno) {
	if errno := r.why(); errno != 0 {
		return accepted{fd: -1}, errno
	}
	return r.system.accept(fd)
}

// refuse makes accept fail with the result of why, in loops that start before the test
// ends.
func refuse(t *testing.T, why func() syscall.Errno) {
	useSystem(t, func(sys system) system { return refusing{sys, why} })
}

// A process without descriptors left goes on when it has some again, and doesn't spin
// meanwhile.
func TestEventOutOfDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	var mu sync.Mutex
	full := true
	var tries []time.Time
	e := &Event{}
	refuse(t, func() syscall.Errno {
		mu.Lock()
		defer mu.Unlock()
		if full {
			return syscall.EMFILE
		}
		return 0
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.Panicked, e.Ended = func(r any) { t.Error(r) }, func(Session, error) {}
	served := make(chan error, 1)
	newSession := talker(t, "x")
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			e.Adopt(nc)
			e.Start(nc, nil, 0, newSession())
		}, func(error) { mu.Lock(); tries = append(tries, time.Now()); mu.Unlock() })
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(tooLong))
	// Serve accepts the connection itself if the loop hasn't for a second.
	await.Until(t, "six tries", func() bool { mu.Lock(); defer mu.Unlock(); return len(tries) >= 6 || e.Len() > 0 })
	mu.Lock()
	// The pauses are 5, 10, 20, 40 and 80 ms. The edge of the connection ends one of them.
	if least := 15 * minPause; len(tries) < 6 {
		t.Logf("this machine is too busy: %d tries in a second", len(tries))
	} else if took := tries[5].Sub(tries[0]); took < least {
		t.Errorf("six tries within %v, want pauses of %v or more", took, least)
	}
	full = false
	mu.Unlock()
	send(t, c, "at last\n")
	want(t, c, "at last\n")
	c.Close()
	ln.Close()
	<-served
	await.Gone(t, "loops", func() bool { return e.all() == nil })
}
