package gale

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets GALE_ENGINE=event run all tests of servers on the event engine,
// as far as they leave the choice to EngineAuto.
func TestMain(m *testing.M) {
	switch e := os.Getenv("GALE_ENGINE"); e {
	case "", "block":
	case "event":
		autoEngine = EngineEvent
	default:
		fmt.Fprintf(os.Stderr, "GALE_ENGINE=%s: use block or event\n", e)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
