package ws

import (
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/race"
)

// An echo allocates nothing, neither for small messages, nor for those that arrive in
// pieces, nor for a batch, nor for pings.
func TestSocketEchoAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	eachEngine(t, func(t *testing.T, w way) {
		s := serveSockets(t, w, newEvents(), nil)
		c := s.dial(t)
		small := message("hello")
		echo := len(small) - 4
		for _, test := range []struct {
			name string
			in   []byte
			out  int
		}{
			{"small", small, echo},
			{"batch", []byte(strings.Repeat(string(small), 16)), 16 * echo},
			{"16 KiB", message(strings.Repeat("x", 16<<10)), 16<<10 + 4},
			{"200 KB", message(strings.Repeat("x", 200_000)), 200_000 + 10},
			{"fragments", append(frame(1, false, "hello"), frame(0, true, "world")...), 12},
			{"ping", frame(9, true, "ping"), 6},
		} {
			room := make([]byte, test.out)
			runs := 200
			if test.name == "ping" {
				runs = 50 // MaxControl
			}
			allocs := alloctest.PerRun(runs, func() {
				if _, err := c.nc.Write(test.in); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c.nc, room); err != nil {
					t.Fatal(err)
				}
			})
			if allocs > 0 {
				t.Errorf("%s: %v allocations", test.name, allocs)
			}
		}
	})
}

// A message that another goroutine sends allocates nothing. On the block engine, Wake
// allocates once when it interrupts a read.
func TestSocketWriteAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	eachEngine(t, func(t *testing.T, w way) {
		e, opened := newEvents(), make(chan *Socket, 1)
		e.open = func(s *Socket) { opened <- s }
		c := serveSockets(t, w, e, nil).dial(t)
		s := <-opened
		data, room := []byte("hello"), make([]byte, 7)
		p, _ := Prepare(Text, data)
		for name, write := range map[string]func() error{
			"Write":         func() error { return s.Write(Text, data) },
			"WritePrepared": func() error { return s.WritePrepared(p) },
		} {
			allocs := alloctest.PerRun(200, func() {
				if err := write(); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c.nc, room); err != nil {
					t.Fatal(err)
				}
			})
			most := 0.0
			if w.engine == gale.EngineBlock {
				most = 1
			}
			if allocs > most {
				t.Errorf("%s: %v allocations", name, allocs)
			}
		}
	})
}
