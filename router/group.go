package router

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// Group is a set of routes whose patterns begin with the same prefix, and which have middlewares in
// common.
type Group struct {
	router      *Router
	parent      *Group // nil for that of the router
	prefix      string // of all groups around, too
	middlewares []Middleware
}

// Group returns a group inside of g. prefix is put before the paths of its routes. It may be empty, may
// have wildcards, and may begin with a host ("{tenant}.example.com/v1") if no group around has a prefix.
// A slash at its end counts for nothing. The middlewares run inside of those of g.
func (g *Group) Group(prefix string, middlewares ...Middleware) *Group {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" && prefix[0] != '/' && g.prefix != "" {
		panic(fmt.Sprintf("router: the prefix %q of a group begins with no slash, "+
			"and the group around has the prefix %q (registered at %s): write %q", prefix, g.prefix, callText(callSite()), "/"+prefix))
	}
	in := &Group{router: g.router, parent: g, prefix: g.prefix + prefix}
	in.Use(middlewares...)
	return in
}

// Use adds middlewares for all routes of the group and of groups inside of it, those that are registered
// already and those to come. The first one is the outermost.
func (g *Group) Use(middlewares ...Middleware) {
	r := g.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Use")
	if slices.ContainsFunc(middlewares, func(m Middleware) bool { return m == nil }) {
		panic(fmt.Sprintf("router: a middleware is nil (Use is called at %s)", callText(callSite())))
	}
	g.middlewares = append(g.middlewares, middlewares...)
}

// Handle registers a handler for a pattern, with the prefix of the group before its path. An empty path
// is that of the prefix. It panics if the pattern is malformed, or conflicts with another one.
func (g *Group) Handle(pattern string, handler gale.RequestHandler) *Route {
	return g.router.register(g, g.join(pattern), handler, false)
}

// join returns pattern with the prefix of the group.
func (g *Group) join(pattern string) string {
	if g.prefix == "" {
		return pattern
	}
	method, where := "", pattern
	if n := strings.IndexAny(pattern, " \t"); n >= 0 {
		where = strings.TrimLeft(pattern[n:], " \t")
		method = pattern[:len(pattern)-len(where)]
	}
	n := strings.IndexByte(where, '/')
	switch {
	case where == "" || n == 0:
		return method + g.prefix + where
	case n < 0 || g.prefix[0] != '/':
		panic(fmt.Sprintf("router: the path of %q doesn't begin with a slash, "+
			"in a group with the prefix %q (registered at %s)", pattern, g.prefix, callText(callSite())))
	}
	return method + where[:n] + g.prefix + where[n:]
}

// Mount registers handler for all methods and all paths below prefix: the pattern is prefix and a slash.
// While it runs, the prefix isn't in the path: for "/static" it finds "/a.css" in the Path of a request
// for /static/a.css, and in its URI. The path is restored when it returns, unless the program has set
// another one, or has the request then (RequestCtx.Detach, a timeout).
//
// handler may be that of another router. Then Pattern has both patterns, redirects lead to paths with the
// prefix, and the values of both can be read.
func (g *Group) Mount(prefix string, handler gale.RequestHandler) *Route {
	return g.router.register(g, g.join(strings.TrimSuffix(prefix, "/")+"/"), handler, true)
}

// mounted returns the handler of a mount, whose route is rt.
func (rt *Route) mounted() gale.RequestHandler {
	prefix, value := strings.TrimSuffix(rt.match.Pattern, "/"), slices.Index(rt.match.Names, "")
	return func(ctx *gale.RequestCtx) {
		m := door.RouteOf(ctx)
		if value >= len(m.Values) {
			rt.handler(ctx) // a middleware has run another router
			return
		}
		rest := m.Values[value]
		path := m.Text[rest.From-1 : rest.End : rest.End]
		m.Enter(prefix, rest)
		before := door.SetRoutePath(ctx, path)
		defer door.RestoreRoutePath(ctx, path, before)
		rt.handler(ctx)
	}
}

// chain returns handler inside of the middlewares of g and of the groups around.
func (g *Group) chain(handler gale.RequestHandler) gale.RequestHandler {
	for ; g != nil; g = g.parent {
		for i := len(g.middlewares) - 1; i >= 0; i-- {
			handler = g.middlewares[i](handler)
		}
	}
	return handler
}

// all returns the middlewares of g and of the groups around, the outermost first.
func (g *Group) all() []Middleware {
	if g == nil {
		return nil
	}
	return append(g.parent.all(), g.middlewares...)
}
