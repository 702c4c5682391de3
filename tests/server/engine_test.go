package server

import (
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// Names of engines work in flags, in configuration files and in output.
func TestEngineText(t *testing.T) {
	for _, e := range []gale.Engine{gale.EngineAuto, gale.EngineBlock, gale.EngineEvent} {
		name, err := e.MarshalText()
		got := gale.Engine(-1)
		if uerr := got.UnmarshalText(name); err != nil || uerr != nil || got != e || string(name) != e.String() {
			t.Errorf("%v became %q, %v and %v, %v", e, name, err, got, uerr)
		}
	}
	e := gale.EngineEvent
	if err := e.UnmarshalText([]byte("steam")); err == nil || !strings.Contains(err.Error(), "auto, block or event") || e != gale.EngineEvent {
		t.Errorf("steam: %v, %v", e, err)
	}
	if s := gale.Engine(7).String(); s != "" {
		t.Errorf("got %q", s)
	}
}
