package router

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// Way is what a router does with a path that it matches only in another form.
type Way uint8

const (
	// Redirect answers 307 (Temporary Redirect), as http.ServeMux of Go 1.26 does.
	Redirect Way = iota
	// RedirectPermanent answers 308 (Permanent Redirect).
	RedirectPermanent
	// Serve runs the route of the other form.
	Serve
	// Refuse answers 404, unless a route matches the path as it is.
	Refuse
)

// Router finds the handler of a request by its method, host and path. New makes one. The fields are set
// before it serves.
//
// Routes are registered before the router serves, by one goroutine or several. When it begins to serve,
// they are fixed, and all later registrations panic. To serve new routes, make a new router and swap its
// handler in, for example by an atomic pointer. If routes have limits, see Attach.
type Router struct {
	// TrailingSlash is what happens to /tree if no route matches it, or only one by a {name...} or a slash
	// at the end, and one matches /tree/: such as "/tree/" or "/tree/{$}".
	TrailingSlash Way
	// UncleanPath is what happens to a path with an empty segment that isn't the last, or with a segment
	// that is "." or "..", as it was sent.
	UncleanPath Way
	// NoHEAD makes GET routes not match HEAD. It may be set after routes are registered, so which patterns
	// conflict doesn't depend on it: "GET /a/{x}" and "HEAD /{x}/b" do.
	NoHEAD bool
	// NoOPTIONS makes OPTIONS an ordinary method. By default the router answers 204 with Allow if no route
	// matches OPTIONS, and some route matches the path with another method.
	NoOPTIONS bool
	// NotFound answers if no route matches. By default that is a 404 by RequestCtx.Fail.
	NotFound gale.RequestHandler
	// MethodNotAllowed answers if routes match with other methods only. Their names are in Allow already.
	// By default it is a 405 by RequestCtx.Fail.
	MethodNotAllowed gale.RequestHandler

	scope
	mu      sync.Mutex // of what follows
	routes  []*Route
	byName  map[string]*Route
	names   map[*Route]string // of Route.Name
	limited bool              // Limit was called
	index   *index            // nil when the routes are fixed
	making  sync.Mutex        // held while the table is made; before mu
	fixed   *index            // what index was, until the table is made; under making
	forms   *formIndex        // of Fallback, nil for none; as fixed when the routes are fixed
	serving atomic.Pointer[table]
	own     [1]*Route // memory for the first one
}

// New returns a router without routes.
func New() *Router {
	r := &Router{index: &index{}}
	r.router, r.routes = r, r.own[:0]
	return r
}

// Handler returns the handler that serves the routes. The first request that it gets fixes them.
//
//go:noinline so that it is compiled here, with what is inlined in it
func (r *Router) Handler() gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		t := r.table()
		m, method, target := door.BeginRoute(ctx)
		if m.HasKept() && t.serveKept(ctx, m, method, target) {
			return
		}
		var rt *Route
		if way := t.way(m, msg.MethodID(method)); way != nil {
			rt = way.walk(m, target)
		} else {
			rt = t.match(ctx, m, msg.MethodID(method), target)
		}
		if rt == nil || m.Outer != nil || m.Noted {
			t.serveRarely(ctx, m, rt, target)
			return
		}
		m.Found, m.Running = &rt.match, true
		rt.chain(ctx)
		m.End()
	}
}

// table returns the table that serves.
func (r *Router) table() *table {
	if t := r.serving.Load(); t != nil {
		return t
	}
	return r.begin()
}

// serveRarely serves a request for which match has found rt, or nil. If a handler or middleware of another
// route has passed it on, that route is restored.
func (t *table) serveRarely(ctx *gale.RequestCtx, m *door.Route, rt *Route, target []byte) {
	missed := bytes.Clone(m.Missed)
	rt = t.found(ctx, m, rt, target)
	outer := m.Outer
	if m.Outer = nil; outer != nil {
		defer door.ResumeRoute(ctx, m, outer)
	}
	if rt == nil {
		if len(missed) > 0 { // of a router that may be answering now
			defer m.MissAgain(missed)
		}
		t.fallback(ctx)
		return
	}
	m.Running = true
	if rt.chain(ctx); outer == nil {
		m.End()
	}
}

// begin makes the table that serves, once. Constructors of middlewares run without mu: they may ask the
// router for its routes, and get a panic if they register some.
func (r *Router) begin() *table {
	r.making.Lock()
	defer r.making.Unlock()
	if t := r.serving.Load(); t != nil {
		return t
	}
	r.mu.Lock()
	if r.index != nil {
		r.fixed, r.index = r.index, nil
	}
	r.mu.Unlock()
	t := newTable(r, r.fixed)
	r.serving.Store(t)
	r.fixed, r.forms = nil, nil
	return t
}

// mustBeOpen panics if the routes are fixed. The caller holds mu.
func (r *Router) mustBeOpen(method string) {
	if r.index == nil {
		panic("router: " + method + " is called after the router has begun to serve: its routes are fixed then, " +
			"also for functions that Use was given, which run at that time. Make a new router, and swap its handler in")
	}
}

// register adds a route, whose registration was called at caller.
func (r *Router) register(s *scope, text string, handler gale.RequestHandler, mount bool, caller uintptr) *Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Handle")
	p, err := r.index.memory.parse(text)
	rt := initRoute(r.index.memory.route(), s, text, handler, p, err, caller)
	p.mount = mount
	if old := r.forms.equal(p); old != nil {
		panic(sameText(p, old))
	}
	if old := r.index.add(p); old != nil {
		panic(conflictText(p, old))
	}
	r.forms.addOther(p)
	rt.match.Names = r.index.namesOf(p)
	r.routes = append(r.routes, rt)
	return rt
}

// initRoute makes rt the route of a pattern that was parsed, and returns it.
func initRoute(rt *Route, s *scope, text string, handler gale.RequestHandler, p *pattern, err error, caller uintptr) *Route {
	rt.handler, rt.scope, rt.caller = handler, s, caller
	if err != nil {
		panic(fmt.Sprintf("router: parsing %q: %v (registered at %s)", text, err, callText(rt.caller)))
	}
	if handler == nil {
		panic(fmt.Sprintf("router: the handler of %q is nil (registered at %s)", text, callText(rt.caller)))
	}
	rt.method, rt.match.Pattern, rt.match.Host = p.method, text[p.from:], p.hostLen
	p.route = rt
	return rt
}

// conflictText says why two patterns can't be in one router.
func conflictText(p, old *pattern) string {
	path := common(p, old)
	method := p.method
	if method == "" || method == "GET" && old.method == "HEAD" {
		method = old.method
	}
	if method != "" {
		path = method + " " + path
	}
	head := fmt.Sprintf("router: pattern %s conflicts with pattern %s:\n", p.route.describe(), old.route.describe())
	for _, x := range [...]*pattern{p, old} {
		if x.never() {
			return head + fmt.Sprintf("%q never matches, as a segment is empty and not the last, or is or has between slashes "+
				"or backslashes \".\" or \"..\".\nTo mend it, remove this pattern.", x.route.text())
		}
	}
	if compare(p, old) == equal {
		return head + fmt.Sprintf("both match the same requests, like %q.\n"+
			"To mend it, remove one of them, or give them different methods or hosts.", path)
	}
	head += fmt.Sprintf("both match %q, but neither is more specific: "+
		"each matches requests that the other doesn't.\nTo mend it, ", path)
	paths := comparePaths(p.path, old.path)
	if compareMethods(p.method, old.method) == equal || paths == overlapping || compareHosts(p.host, old.host) == overlapping {
		return head + "write text in one of them where it has a wildcard and the other one has text, " +
			"or change text of one of them, so that no request matches both."
	}
	wide, narrow := p.route, old.route // by their methods
	if compareMethods(p.method, old.method) == narrower {
		wide, narrow = narrow, wide
	}
	return head + fmt.Sprintf("register both for the same methods: %q instead of %q, or %q instead of %q.",
		withMethod(narrow.method, wide.match.Pattern), wide.text(),
		withMethod(wide.method, narrow.match.Pattern), narrow.text())
}

func withMethod(method, pattern string) string {
	if method == "" {
		return pattern
	}
	return method + " " + pattern
}
