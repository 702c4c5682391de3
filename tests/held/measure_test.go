//go:build !race

// The race detector changes what objects take, and pools drop objects at random under it.

package held

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

const (
	// conns is the number of connections over which what is held is divided.
	conns = 16
	// patience limits the wait for what must happen.
	patience = time.Minute
)

// bound is how much may be held for a connection whose peer has sent so many bytes.
type bound struct {
	factor float64 // bytes for each byte that was sent
	more   int     // bytes besides, among them what a connection holds that has sent nothing
	// least is how many bytes must be held for each byte that was sent: the test waits for
	// that, so that it doesn't measure before the bytes have arrived.
	least float64
}

func (b bound) String() string { return fmt.Sprintf("%g a byte and %d", b.factor, b.more) }

// inUse returns how much memory is in use, without stacks and what pools have. It waits until
// that no longer changes, and is at least so much.
func inUse(least int) (now int) {
	var m runtime.MemStats
	for end, steady := time.Now().Add(patience/3), 0; (steady < 2 || now < least) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // between two looks
		was := now
		for range 2 { // pools are emptied by the second collection
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		now = int(m.HeapAlloc)
		steady++
		if max(now, was)-min(now, was) > 1<<10 {
			steady = 0
		}
	}
	return now
}

// repeatedly calls measure until it returns no error, three times at most: the runtime's own
// memory, and what an earlier test has left, may change meanwhile.
func repeatedly(t *testing.T, measure func() error) {
	t.Helper()
	var err error
	for range 3 {
		before := runtime.NumGoroutine()
		err = measure()
		// What other goroutines hold would be measured by the next test. Two may be the library's own.
		await.Gone(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before+2 })
		if err == nil {
			return
		}
	}
	t.Error(err)
}

// check returns an error if more is held for each connection since before than may be.
func (b bound) check(before, sent int) error {
	most, least := int(b.factor*float64(sent))+b.more, int(b.least*float64(sent))
	atLeast := 0
	if least > 0 {
		atLeast = before + least*conns
	}
	held := (inUse(atLeast) - before) / conns
	if least > 0 && held < least {
		return fmt.Errorf("%d bytes are held for %d, want at least %d: the test proves nothing", held, sent, least)
	}
	if held > most {
		return fmt.Errorf("%d bytes are held for %d, want at most %v: %d", held, sent, b, most)
	}
	return nil
}

// receive waits for n values of c.
func receive[T any](t *testing.T, what string, c <-chan T, n int) {
	t.Helper()
	end := time.After(patience)
	for range n {
		select {
		case <-c:
		case <-end:
			t.Fatalf("waiting for %s", what)
		}
	}
}

// listen returns a listener on loopback.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}
