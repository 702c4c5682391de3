package router

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/galehttp/gale"
)

// Info describes a route.
type Info struct {
	Method      string   // "" for all
	Pattern     string   // without the method, as RequestCtx.Pattern returns it
	Name        string   // see Route.Name
	Handler     string   // the name of the function
	Middlewares []string // the names of the functions, the outermost first
	Limits      Limits   // with those of the groups around
	File        string   // where the route was registered
	Line        int
	Fallback    bool // see Router.Fallback
}

// Table is a list of routes. It is printed as a table.
type Table []Info

// Routes describes the routes of r, in the order in which they were registered. A router that is mounted is one of them.
func (r *Router) Routes() Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := make(Table, len(r.routes))
	for i, rt := range r.routes {
		f, _ := runtime.CallersFrames([]uintptr{rt.caller}).Next()
		t[i] = Info{Method: rt.method, Pattern: rt.match.Pattern, Name: r.names[rt], Handler: funcName(rt.handler)}
		t[i].File, t[i].Line, t[i].Fallback, t[i].Limits = f.File, f.Line, rt.form() != nil, rt.allLimits()
		for _, m := range rt.scope.all() {
			t[i].Middlewares = append(t[i].Middlewares, funcName(m.make))
		}
	}
	return t
}

// String returns a line for each route: method, pattern, handler, the middlewares in the order in
// which they run, and limits if a route has some.
func (t Table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	limited := slices.ContainsFunc(t, func(i Info) bool { return i.Limits != Limits{} })
	head, more := "METHOD\tPATTERN\tHANDLER\tMIDDLEWARES", ""
	if limited {
		head += "\tLIMITS"
	}
	fmt.Fprintln(w, head)
	for _, i := range t {
		method := i.Method
		if method == "" {
			method = "*"
		}
		pattern := i.Pattern
		if i.Fallback {
			pattern += " (fallback)"
		}
		if limited {
			more = "\t" + i.Limits.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", method, pattern, i.Handler, strings.Join(i.Middlewares, ", "), more)
	}
	_ = w.Flush() // to a strings.Builder
	return b.String()
}

func funcName(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Explanation says which route gets a request, and why others don't.
type Explanation struct {
	Route *Route // nil if none matches
	// Pattern is that of Route with its method, "" if none matches.
	Pattern string
	// Limits are those of Route, with those of the groups around.
	Limits Limits
	// Others are the routes that the request comes closest to, without Route, the next best first. There
	// are at most 5.
	Others []Miss
}

// Miss is a route that doesn't get a request.
type Miss struct {
	Route   *Route
	Pattern string // with the method
	Reason  string
	depth   int
}

// String returns the explanation as text.
func (e Explanation) String() string {
	var b strings.Builder
	if e.Route == nil {
		b.WriteString("no route matches\n")
	} else {
		fmt.Fprintf(&b, "%s matches\n", e.Route.describe())
	}
	if (e.Limits != Limits{}) {
		fmt.Fprintf(&b, "its limits are %s\n", e.Limits)
	}
	for _, m := range e.Others {
		fmt.Fprintf(&b, "not %s: %s\n", m.Route.describe(), m.Reason)
	}
	return b.String()
}

// maxMisses is how many routes that don't match an Explanation has.
const maxMisses = 5

// Explain says which route gets a request with this method, host (which may be empty, and has no port)
// and path, as a client sends it without a query. Redirects and middlewares are not looked at, nor are routes of a router
// that is mounted: ask that one with the path below the mount. It takes
// time that grows with the number of routes. It may be called at any time.
func (r *Router) Explain(method, host, path string) Explanation {
	r.mu.Lock()
	routes, noHEAD := slices.Clone(r.routes), r.NoHEAD
	r.mu.Unlock()
	ask := &asked{method: method, host: strings.ToLower(host), noHEAD: noHEAD}
	if !strings.HasPrefix(path, "/") {
		return Explanation{}
	}
	ask.setPath(path)
	var best *pattern
	var misses []Miss
	var forms []*pattern
	for _, rt := range routes {
		p := rt.parse()
		if p.forms != nil {
			forms = append(forms, p)
			continue
		}
		reason, depth := ask.miss(p)
		switch {
		case reason != "":
			misses = append(misses, Miss{rt, rt.text(), reason, depth})
		case best == nil || compare(p, best) == narrower:
			if best != nil {
				misses = append(misses, lost(best, rt))
			}
			best = p
		default:
			misses = append(misses, lost(p, best.route))
		}
	}
	found, more := ask.explainForms(forms, best)
	if found != nil {
		best = found
	}
	misses = append(misses, more...)
	slices.SortStableFunc(misses, func(a, b Miss) int { return b.depth - a.depth })
	e := Explanation{Others: misses[:min(len(misses), maxMisses)]}
	if best != nil {
		e.Route, e.Pattern = best.route, best.route.text()
		r.mu.Lock()
		e.Limits = best.route.allLimits()
		r.mu.Unlock()
	}
	return e
}

// lost is the Miss of a route that matches, but less narrowly than another one.
func lost(p *pattern, to *Route) Miss {
	return Miss{p.route, p.route.text(), fmt.Sprintf("it matches, and %q is more specific", to.text()), len(p.path) + 3}
}

// asked is the request of Explain.
type asked struct {
	method, host string
	path         []string // decoded
	canonical    []byte   // path
	bad          string   // why no route matches path, "" if one may
	noHEAD       bool
}

func (a *asked) setPath(path string) {
	a.canonical = appendPath(nil, []byte(path))
	for i, s := range strings.Split(path[1:], "/") {
		a.path = append(a.path, string(decode(nil, appendPath(nil, []byte(s)))))
		if s := a.path[i]; a.bad == "" && hasDots(s) {
			a.bad = fmt.Sprintf("segment %d is %q: one that is, or has between slashes or backslashes, "+
				"\".\" or \"..\" never matches", i+1, s)
		}
	}
	for i, s := range a.path[:len(a.path)-1] {
		if s == "" && a.bad == "" {
			a.bad = fmt.Sprintf("segment %d is empty, and not the last", i+1)
		}
	}
}

// miss returns why p doesn't match, "" if it does, and how far it was from that: a larger number is
// closer.
func (a *asked) miss(p *pattern) (reason string, depth int) {
	if a.bad != "" {
		return a.bad, 0
	}
	if p.host != nil && !hostMatches(p.host, a.host) {
		return fmt.Sprintf("the host is %q", a.host), 0
	}
	for i := range p.path {
		s := &p.path[i]
		if i == len(a.path) {
			return "the path is shorter", i
		}
		switch got := a.path[i]; {
		case s.kind == rest:
			return a.missMethod(p), i + 2
		case s.kind == literal && got != s.text:
			return fmt.Sprintf("segment %d is %q, not %q", i+1, got, s.text), i
		case s.kind == capture && !s.captures(got):
			return fmt.Sprintf("segment %d is %q, not %q", i+1, got, s.text+"{"+s.name+"}"+s.suffix), i
		}
	}
	if len(a.path) > len(p.path) {
		return "the path is longer", len(p.path)
	}
	return a.missMethod(p), len(p.path) + 2
}

func (a *asked) missMethod(p *pattern) string {
	if p.method == "" || p.method == a.method || p.method == gale.MethodGet && a.method == gale.MethodHead && !a.noHEAD {
		return ""
	}
	return fmt.Sprintf("the method is %s", a.method)
}
