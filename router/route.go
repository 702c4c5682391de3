package router

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pathrule"
)

// Middleware makes a handler that does something before or after next, or instead of it.
type Middleware = func(next gale.RequestHandler) gale.RequestHandler

// Route is a pattern with its handler, as Handle and the like return it.
type Route struct {
	match   door.Match
	method  string // "" for any
	chain   gale.RequestHandler
	handler gale.RequestHandler
	scope   *scope
	caller  uintptr
	rare    atomic.Pointer[rare] // what few routes have, or nil; URL and Explain look at it while the table is made
}

// rare is what few routes have.
type rare struct {
	own    Limits   // of Limit
	limits *limits  // with those of the groups around, nil for none; set with the table
	form   *pattern // of Fallback, else nil
}

// rarely returns rt.rare, and makes it if there is none. The caller registers routes, or makes the table.
func (rt *Route) rarely() *rare {
	x := rt.rare.Load()
	if x == nil {
		x = &rare{}
		rt.rare.Store(x)
	}
	return x
}

// form returns the pattern of a route of Fallback, else nil.
func (rt *Route) form() *pattern {
	if x := rt.rare.Load(); x != nil {
		return x.form
	}
	return nil
}

// Name gives the route a name for Router.URL, in place of the one that it had, and returns the route. It panics if name
// is empty, if another route of the router has that name, or after the router has begun to serve.
func (rt *Route) Name(name string) *Route {
	r := rt.scope.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Name")
	if name == "" {
		panic(fmt.Sprintf("router: the name of %s is empty: leave out the call of Name, or give it a name", rt.describe()))
	}
	if old := r.byName[name]; old != nil && old != rt {
		panic(fmt.Sprintf("router: two routes are called %q: %s and %s. Give one of them another name",
			name, old.describe(), rt.describe()))
	}
	if r.names == nil {
		r.byName, r.names = map[string]*Route{}, map[*Route]string{}
	}
	delete(r.byName, r.names[rt])
	r.byName[name], r.names[rt] = rt, name
	return rt
}

// text returns the pattern with the method.
func (rt *Route) text() string {
	return withMethod(rt.method, rt.match.Pattern)
}

// describe returns the pattern and where it was registered.
func (rt *Route) describe() string {
	return fmt.Sprintf("%q (registered at %s)", rt.text(), callText(rt.caller))
}

// parse parses the pattern again: a router that serves keeps no parsed ones, but those of Fallback.
func (rt *Route) parse() *pattern {
	if f := rt.form(); f != nil {
		return f
	}
	p, err := parse(rt.method + " " + rt.match.Pattern) // without the blank, one in the path would end a method
	if err != nil {
		panic(err) // it was parsed before
	}
	p.route = rt
	return p
}

// caller returns the call of the function that calls it. It costs less than callSite, and is for functions that
// are called from outside of this package.
func caller() (pc [1]uintptr) {
	runtime.Callers(3, pc[:])
	return pc
}

// callSite returns the innermost call that this package didn't make.
func callSite() uintptr {
	const own = "github.com/galehttp/gale/router."
	var pcs [8]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil && !strings.HasPrefix(f.Name(), own) {
				return pc
			}
		}
		if n < len(pcs) {
			return 0
		}
	}
}

// callText returns the file and line of a call.
func callText(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Errors of URL.
var (
	// ErrNoRoute is wrapped by the error of URL for a name that no route has.
	ErrNoRoute = errors.New("router: no route has this name")
	// ErrURLValues is wrapped by the error of URL for values that don't fit the route, and for a route
	// that never matches.
	ErrURLValues = errors.New("router: the values don't fit the route")
)

// URL returns a path that the route called name matches, with "//" and the host before it if the pattern
// has one. values are those of the pattern's wildcards, in the order in which the pattern has them:
// r.URL("item", "7") is "/items/7" for "/items/{id}". They are escaped, so that the route captures the
// same values. Slashes stay in the value of a {name...} only.
//
// It is an error if a value is missing or too many, or if the route wouldn't match the URL: for a value that is
// empty, has a part "." or "..", or is no label of a host, and for a pattern that never matches, such as one that
// begins with "//". A more specific route may match the URL, too, and then gets the request: URL doesn't check
// that. "/items/{id}" with the value "new" is "/items/new", also if there is a route with this pattern.
//
// A router doesn't know where it is mounted: the URL has the prefixes of its groups, and not the prefix of a Mount that
// is around the router. Put that before the path. If the prefix has wildcards, name the route of the mount, whose URL
// is the prefix with a slash at its end.
func (r *Router) URL(name string, values ...string) (string, error) {
	r.mu.Lock()
	rt := r.byName[name]
	r.mu.Unlock()
	if rt == nil {
		return "", fmt.Errorf("%w: %q", ErrNoRoute, name)
	}
	p := rt.parse()
	if p.forms != nil {
		out, err := p.formURL(values)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrURLValues, rt.text(), err)
		}
		return string(out), nil
	}
	wants := 0
	for _, n := range p.names() {
		if n != "" {
			wants++
		}
	}
	if len(values) != wants {
		return "", fmt.Errorf("%w: %s takes %d, and there are %d", ErrURLValues, rt.text(), wants, len(values))
	}
	if p.never() {
		return "", fmt.Errorf("%w: %s never matches a path", ErrURLValues, rt.text())
	}
	out, err := p.appendURL(nil, values)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrURLValues, rt.text(), err)
	}
	return string(out), nil
}

// appendHost appends the host of a URL that p matches. values begin with its values.
func (p *pattern) appendHost(out []byte, values []string) ([]byte, error) {
	for i, s := range p.host {
		if s.kind == capture {
			if s.text, values = values[0], values[1:]; !isLabel(s.text) {
				return nil, fmt.Errorf("%q is no label of a host", s.text)
			}
		}
		out = append(append(out, [...]string{"//", "."}[min(i, 1)]...), s.text...)
	}
	return out, nil
}

// appendURL appends a URL that p matches. There are as many values as it takes.
func (p *pattern) appendURL(out []byte, values []string) ([]byte, error) {
	out, err := p.appendHost(out, values)
	if err != nil {
		return nil, err
	}
	values = values[len(p.host)-literals(p.host):]
	for _, s := range p.path {
		out = append(out, '/')
		v := ""
		if s.name != "" {
			v, values = values[0], values[1:]
		}
		if s.kind == rest {
			if hasDots(v) || strings.HasPrefix(v, "/") || strings.Contains(v, "//") {
				return nil, fmt.Errorf("%q has an empty part, or one that is \".\" or \"..\"", v)
			}
			for i, part := range strings.Split(v, "/") {
				if i > 0 {
					out = append(out, '/')
				}
				out = pathrule.AppendReference(out, appendCanonical(nil, part))
			}
			continue
		}
		text := s.text + v + s.suffix
		if s.kind == capture && v == "" || hasDots(text) {
			return nil, fmt.Errorf("%q is empty, or has a part that is \".\" or \"..\"", v)
		}
		out = pathrule.AppendReference(out, appendCanonical(nil, text))
	}
	return out, nil
}

// isLabel reports whether s may be a label of a host, in lower case.
func isLabel(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
