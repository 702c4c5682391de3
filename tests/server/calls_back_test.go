package server

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// callingLog is a Logger of a program.
type callingLog struct{ s *gale.Server }

func (l callingLog) Printf(string, ...any) {
	l.s.Stats()
	l.s.Draining()
}

// The same for the Logger, when Serve logs what a guard can't do.
func TestLoggerCallsTheServer(t *testing.T) {
	peers.KeepPools(t)
	s := &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Pages: true, Report: gale.LifetimeLog}}
	s.Logger = callingLog{s}
	ts := harness.Start(t, s, harness.Echo)
	await.Until(t, "the server", func() bool { return s.GetOpenConnectionsCount() == 0 && len(s.Stats().Listeners) == 1 })
	ts.Dial().WantOpen()
}
