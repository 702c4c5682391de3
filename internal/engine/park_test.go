package engine

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/tests/harness/gate"
)

// alone is a session that notices if two goroutines call it at the same time.
type alone struct {
	*lines
	t    *testing.T
	runs atomic.Int32
}

func (s *alone) Feed(w *Work, next *Next) {
	if n := s.runs.Add(1); n != 1 {
		s.t.Errorf("%d goroutines run the connection", n)
	}
	s.lines.Feed(w, next)
	s.runs.Add(-1)
}

// Bytes arrive near the moment when a connection is parked, in pieces of any size. None
// is lost, and each time that the connection has left its goroutine it is resumed once.
func TestParkLosesNothing(t *testing.T) {
	parkedInAll := int32(0)
	for i := range uint64(30) {
		seed := i
		if i >= 10 {
			seed = gate.Rand.Uint64()
		}
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			server, client := net.Pipe()
			s := &alone{lines: newLines(), t: t}
			var parked, resumed atomic.Int32
			ended := make(chan error, 1)
			e := &Block{}
			run := func(f func() (Session, error)) {
				if _, err := f(); errors.Is(err, ErrParked) {
					parked.Add(1)
				} else {
					ended <- err
				}
			}
			e.Dispatch = func(p Parked) {
				resumed.Add(1)
				if p.Session() != s {
					t.Errorf("seed %d: another session is resumed", seed)
				}
				go run(p.Resume)
			}
			go run(func() (Session, error) { return e.Start(server, true, e.Epoch(), s) })

			var sent strings.Builder
			got := make(chan string)
			go func() {
				b, _ := io.ReadAll(client)
				got <- string(b)
			}()
			for range 100 {
				piece := strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(4))
				if rng.IntN(3) > 0 {
					piece += "\n"
				}
				if piece == "" {
					continue
				}
				sent.WriteString(piece)
				if _, err := io.WriteString(client, piece); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				delay := parkAfter << (sparedMore * rng.IntN(sparedMost/sparedMore+1)) // one of the possible delays
				switch rng.IntN(4) {
				case 0:
					time.Sleep(delay + time.Duration(rng.IntN(3)-1)) // at that moment, or just before or after it
				case 1:
					time.Sleep(time.Duration(rng.Int64N(int64(2 * delay))))
				case 2:
					time.Sleep(2 * soon * delay) // so that it is not spared any more
				}
			}
			sent.WriteString("\n")
			if _, err := io.WriteString(client, "\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rng.IntN(2)) * 2 * parkAfter) // it is parked, or not
			synctest.Wait()
			e.Stop()
			if err := <-ended; err != nil {
				t.Errorf("seed %d: it ended with %v", seed, err)
			}
			if answer := <-got; answer != sent.String() {
				t.Errorf("seed %d: %d bytes came back of %d", seed, len(answer), sent.Len())
			}
			if p, r := parked.Load(), resumed.Load(); p != r {
				t.Errorf("seed %d: it was parked %d times and resumed %d times", seed, p, r)
			}
			if e.Len() != 0 {
				t.Errorf("seed %d: %d connections left", seed, e.Len())
			}
			parkedInAll += parked.Load()
		})
	}
	if parkedInAll < 100 {
		t.Errorf("connections were parked %d times; want hundreds, or this test tells nothing", parkedInAll)
	}
}
