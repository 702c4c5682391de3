package router

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// Group is a set of routes whose patterns begin with the same prefix, and which have middlewares in
// common.
type Group struct{ scope }

// scope is what a Router and a Group have in common: where routes are registered. That of a router has
// neither a parent nor a prefix.
type scope struct {
	router      *Router
	parent      *scope
	prefix      string // of all groups around, too
	middlewares []used
	limits      Limits // of Limit
}

// used is a middleware, and where Use or Group was called with it.
type used struct {
	make   Middleware
	caller uintptr
}

// Group returns a group of routes, which is inside of the group if it is called for one. prefix is put before the paths of its routes. It may be empty, may
// have wildcards, and may begin with a host ("{tenant}.example.com/v1") if no group around has a prefix. One
// without a slash at its beginning does so: "v1" is the host v1.
// A slash at its end counts for nothing. The middlewares run inside of those around.
func (s *scope) Group(prefix string, middlewares ...Middleware) *Group {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" && prefix[0] != '/' && s.prefix != "" {
		panic(fmt.Sprintf("router: the prefix %q of a group begins with no slash, "+
			"and the group around has the prefix %q (registered at %s): write %q", prefix, s.prefix, callText(callSite()), "/"+prefix))
	}
	in := &Group{scope{router: s.router, parent: s, prefix: s.prefix + prefix}}
	in.Use(middlewares...)
	return in
}

// Use adds middlewares for all routes of the router or group and of groups inside of it, those that are
// registered already and those to come. The first one is the outermost. Those of a router also run for what
// it answers by itself: redirects, 404, 405 and OPTIONS. When the router begins to serve, each middleware is called once
// for each of its routes. The router panics then if one returns nil. A middleware must not call the handler of the
// router there, as it would wait for itself; the handler that it returns may.
func (s *scope) Use(middlewares ...Middleware) {
	r := s.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Use")
	if len(middlewares) == 0 {
		return
	}
	caller := callSite()
	if slices.ContainsFunc(middlewares, func(m Middleware) bool { return m == nil }) {
		panic(fmt.Sprintf("router: a middleware is nil (registered at %s)", callText(caller)))
	}
	for _, m := range middlewares {
		s.middlewares = append(s.middlewares, used{m, caller})
	}
}

// Handle registers a handler for a pattern, with the prefix of the group before its path. An empty path
// is that of the prefix. It panics if the pattern is malformed, or conflicts with another one.
func (s *scope) Handle(pattern string, handler gale.RequestHandler) *Route {
	return s.handle(pattern, handler, caller()[0])
}

// handle is Handle, which was called at caller.
func (s *scope) handle(pattern string, handler gale.RequestHandler, caller uintptr) *Route {
	return s.router.register(s, s.join(pattern), handler, false, caller)
}

// join returns pattern with the prefix of the group.
func (s *scope) join(pattern string) string {
	if s.prefix == "" {
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
		return method + s.prefix + where
	case n < 0 || s.prefix[0] != '/':
		panic(fmt.Sprintf("router: the path of %q doesn't begin with a slash, "+
			"in a group with the prefix %q (registered at %s)", pattern, s.prefix, callText(callSite())))
	}
	return method + where[:n] + s.prefix + where[n:]
}

// Mount registers handler for all methods and all paths below prefix: the pattern is prefix and a slash.
// While it runs, the prefix isn't in the path: for "/static" it finds "/a.css" in the Path of a request
// for /static/a.css, and in its URI. The path is restored when it returns, unless the program has set
// another one, or has the request then (RequestCtx.Detach, a timeout). The path in it is that for which the route
// was found: one that a middleware between the router and the mount has set is not used. An FS redirects to the
// path of a folder with the prefix.
//
// handler may be that of another router. Then Pattern has both patterns, redirects lead to paths with the
// prefix, and the values of both can be read: of two with the same name, that of the inner router. At most
// 16 mounts may be around each other, as in a router that is mounted in itself: those inside answer 404.
//
// Middlewares and handlers may call the handler of another router also without Mount. It then looks at
// the whole path, and when it returns, Pattern and PathValue are what they were before. Of several routers
// that the handler of a mount calls, the last one counts.
func (s *scope) Mount(prefix string, handler gale.RequestHandler) *Route {
	return s.router.register(s, s.join(strings.TrimSuffix(prefix, "/")+"/"), handler, true, caller()[0])
}

// mounted returns the handler of a mount, whose route is rt.
func (t *table) mounted(rt *Route) gale.RequestHandler {
	value := slices.Index(rt.match.Names, "")
	prefix := &door.Match{Pattern: strings.TrimSuffix(rt.match.Pattern, "/"), Host: rt.match.Host}
	return func(ctx *gale.RequestCtx) {
		m := door.RouteOf(ctx)
		around := m.Mount()
		found := m.Holds(&rt.match)
		if !found { // a middleware calls it once more, or for another request
			m.Running = false
			_, method, target := door.BeginRoute(ctx)
			found = t.found(ctx, m, t.match(ctx, m, msg.MethodID(method), target), target) == rt
		}
		if !found || m.Deep() {
			m.Miss()
			t.notFound(ctx)
			return
		}
		rest := m.Values[value]
		path := m.Text[rest.From-1 : rest.End : rest.End]
		m.Enter(prefix, rest)
		defer door.RestoreRoutePath(ctx, door.ChangeRoutePath(ctx, around, path))
		rt.handler(ctx)
	}
}

// chain returns handler inside of the middlewares of s and of what is around.
func (s *scope) chain(handler gale.RequestHandler) gale.RequestHandler {
	for ; s != nil; s = s.parent {
		for i := len(s.middlewares) - 1; i >= 0; i-- {
			m := s.middlewares[i]
			if handler = m.make(handler); handler == nil {
				panic(fmt.Sprintf("router: the middleware %s (registered at %s) has returned nil: "+
					"let it return a handler, or the one that it gets", funcName(m.make), callText(m.caller)))
			}
		}
	}
	return handler
}

// all returns the middlewares of s and of what is around, the outermost first.
func (s *scope) all() []used {
	if s == nil {
		return nil
	}
	return append(s.parent.all(), s.middlewares...)
}
