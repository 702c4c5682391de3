package galetest

import (
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// SetPattern gives ctx the pattern that package router would have found, without the method, such as
// "/users/{id}", for tests of a handler without its router. ctx.Pattern returns it, and ctx.Path keeps
// %2F and %5C encoded, as in handlers of a router. ctx.SetPathValue sets the values; those that it has set
// before stay, as the pattern captures none. A router that ctx is passed to finds its own.
func SetPattern(ctx *gale.RequestCtx, pattern string) {
	m, _, _ := door.BeginRoute(ctx)
	m.Take(0, 0, nil, "") // so that no router uses what it has found before
	m.Values, m.Found, m.Outer = m.Values[:0], &door.Match{Pattern: pattern}, nil
}
