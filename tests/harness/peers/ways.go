package peers

import (
	"fmt"
	"slices"
	"testing"
)

// Engine is gale.Engine.
type Engine interface {
	~int
	fmt.Stringer
}

// The engines, as values of gale.Engine.
const engineBlock, engineEvent = 1, 2

// engines are the engines of tests that run on each. Main leaves the one of GALE_ENGINE. A few
// tests are about both engines, and use both all the same.
var engines = []int{engineBlock, engineEvent}

// Engines returns the engines of tests that run on each.
func Engines[E Engine]() (all []E) {
	for _, e := range engines {
		all = append(all, E(e))
	}
	return all
}

// OnEngines runs f on each engine that works on this system.
func OnEngines[E Engine](t *testing.T, f func(t *testing.T, e E)) {
	for _, e := range Engines[E]() {
		t.Run(e.String(), func(t *testing.T) { f(t, e) })
	}
}

// WithoutEngine skips a test in the run with GALE_ENGINE=event: no engine, or always the same
// one, takes part in it. The run with GALE_ENGINE=block has it.
func WithoutEngine(t *testing.T) {
	t.Helper()
	if !slices.Contains(engines, engineBlock) {
		t.Skip("GALE_ENGINE=block has this test")
	}
}

// Ways returns the ways to reach an HTTP/2 server: with each engine, in the clear and over TLS.
func Ways[W ~struct {
	Engine E
	TLS    bool
}, E Engine]() (all []W) {
	for _, e := range Engines[E]() {
		all = append(all, W{e, false}, W{e, true})
	}
	return all
}

// ClearWays returns those of Ways without TLS.
func ClearWays[W ~struct {
	Engine E
	TLS    bool
}, E Engine]() (all []W) {
	for _, e := range Engines[E]() {
		all = append(all, W{e, false})
	}
	return all
}

// EachWay runs f for each of Ways.
func EachWay[W ~struct {
	Engine E
	TLS    bool
}, E Engine](t *testing.T, f func(t *testing.T, way W)) {
	for _, e := range Engines[E]() {
		for _, secure := range []bool{false, true} {
			t.Run(WayName(e, secure), func(t *testing.T) { f(t, W{e, secure}) })
		}
	}
}

// EachProtocol runs f with clients of HTTP/2 for each of Ways, and of HTTP/1.1 for those
// without TLS.
func EachProtocol[W ~struct {
	Engine E
	TLS    bool
}, E Engine](t *testing.T, f func(t *testing.T, way W, major int)) {
	for _, e := range Engines[E]() {
		t.Run(WayName(e, false)+",http1", func(t *testing.T) { f(t, W{e, false}, 1) })
		t.Run(WayName(e, false)+",http2", func(t *testing.T) { f(t, W{e, false}, 2) })
		t.Run(WayName(e, true)+",http2", func(t *testing.T) { f(t, W{e, true}, 2) })
	}
}

// WayName is the name of a way.
func WayName(engine fmt.Stringer, secure bool) string {
	if secure {
		return engine.String() + ",tls"
	}
	return engine.String()
}
