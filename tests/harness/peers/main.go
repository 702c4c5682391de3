package peers

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/gate"
)

// Main runs the tests of a package and ends the process. It reads GALE_ENGINE: with event, the
// tests of servers run on the event engine, and with block on the block engine. Without
// GALE_ENGINE, tests that don't name an engine use EngineAuto, and most others run on each.
//
// With the race detector, a late use that the default guards find is a failure.
func Main(m *testing.M) {
	use := func(engine int) {
		door.AutoEngine(engine)
		engines = []int{engine}
	}
	switch e := os.Getenv("GALE_ENGINE"); e {
	case "":
		if runtime.GOOS != "linux" {
			engines = []int{engineBlock}
		}
	case "block":
		use(engineBlock)
	case "event":
		use(engineEvent)
	default:
		fmt.Fprintf(os.Stderr, "GALE_ENGINE=%s: use block or event\n", e)
		os.Exit(2)
	}
	var late atomic.Int64
	if race.Enabled {
		door.WatchLateUses(func(use string) {
			if late.Add(1) <= 20 {
				fmt.Fprintf(os.Stderr, "%s\n%s\n", gate.Mark+"a late use", use)
			}
		})
	}
	code := m.Run()
	if late.Load() > 0 {
		fmt.Fprintln(os.Stderr, gate.Mark+"late uses, see above")
		code = 1
	}
	os.Exit(code)
}
