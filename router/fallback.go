package router

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
)

// Fallback registers a handler for a pattern as github.com/fasthttp/router has them, with a method and a host as
// those of Handle. It is tried only where no pattern of Handle and the like matches. So a program can keep its
// patterns when it leaves that router, and others can use regular expressions:
//
//   - {name} matches one segment that is not empty. With text after it, as in "/{name}.json", the value may be
//     empty; and so it may be with text before it, as in "/v{name}/x", unless it is in the last segment. A segment
//     may have up to 16 wildcards with text between them, as in "/{a}-{b}": the first value is as long as it can be.
//   - {name:regex} matches what the regular expression matches as a whole (package regexp; the work is linear in
//     the length of the path). Braces in it must be in pairs. With text after it, it decides about what comes
//     before that text. A method and a space stand before a pattern with a space in it.
//   - {name?} and {name?:regex} are whole segments that may be missing, with the slash before them, and with all
//     that follows: "/a/{b?}" is "/a" and "/a/{b}". If there is one, the last segment is one. At most 64 are
//     optional.
//   - {name:*} at the end matches all that follows, also nothing.
//
// Names are of any text without "{", "}", ":", "?", "*" and "/", and differ from each other.
//
// If several of these patterns match, then text wins over wildcards, as far from the beginning as the paths are the
// same, and wildcards that were registered first over later ones, and {name:*} comes last. A pattern with a host
// comes first, and one with a method before one without. If the way that comes first leads nowhere, the next one is
// tried. So the order of registration matters here.
//
// All else is as with Handle: values are decoded once, dot segments are never matched, and GET matches HEAD. It panics
// if the pattern is malformed, or matches the same requests as another one, whatever the names in it are. A
// regular expression is the same only if its text is. A pattern of Handle that matches some of the same requests is
// no conflict.
//
// RequestCtx.Pattern is the pattern as it was registered. An optional wildcard that is missing has no value:
// UserValue is nil. Router.URL takes the values of all wildcards, or leaves out the last optional ones.
func (s *scope) Fallback(pattern string, handler gale.RequestHandler) *Route {
	r, text, caller := s.router, s.join(pattern), caller()[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Fallback")
	if r.forms == nil {
		r.forms = newFormIndex(r.index.patterns)
	}
	p, err := r.forms.parser.parse(text)
	rt := initRoute(&Route{}, s, text, handler, p, err, caller)
	if old := r.forms.add(p); old != nil {
		panic(sameText(p, old))
	}
	last := len(p.forms) - 1
	others := make([]Route, last)
	for i := range p.forms {
		f := &p.forms[i]
		f.route = rt
		if i != last {
			f.route = &others[i]
			f.route.method, f.route.scope, f.route.handler, f.route.caller = rt.method, s, handler, rt.caller
		}
		f.route.match.Pattern, f.route.match.Host, f.route.match.Names = rt.match.Pattern, rt.match.Host, f.names
		f.route.rare.Store(rt.rarely())
	}
	rt.rarely().form = p
	r.routes = append(r.routes, rt)
	return rt
}

// sameText says why two patterns that match the same requests can't be in one router.
func sameText(p, old *pattern) string {
	text := fmt.Sprintf("router: pattern %s conflicts with pattern %s:\nboth match the same requests", p.route.describe(), old.route.describe())
	for _, x := range [...]*pattern{p, old} {
		if x.forms == nil {
			text += fmt.Sprintf(", like %q", withMethod(x.method, common(x, x)))
		}
	}
	return text + ". The names of wildcards don't count.\n" +
		"To mend it, remove one of them, or give them different methods or hosts."
}

// formIndex has the shapes of all patterns of a router that has patterns of Fallback.
type formIndex struct {
	patterns []*pattern // of Fallback
	shapes   map[formKey]map[string]*pattern
	parser   formParser
}

type formKey struct{ method, host string }

func newFormIndex(others []*pattern) *formIndex {
	x := &formIndex{shapes: map[formKey]map[string]*pattern{}}
	x.parser.exprs = exprs{groups: map[string]int{}, compiled: map[string]*regexp.Regexp{}}
	for _, p := range others {
		x.addOther(p)
	}
	return x
}

// shapesOf returns the shapes of the patterns with the same method and host as p.
func (x *formIndex) shapesOf(p *pattern) map[string]*pattern {
	key := formKey{p.method, p.hostText}
	shapes := x.shapes[key]
	if shapes == nil {
		shapes = map[string]*pattern{}
		x.shapes[key] = shapes
	}
	return shapes
}

// addOther keeps p, a pattern of Handle. x may be nil.
func (x *formIndex) addOther(p *pattern) {
	if x != nil {
		x.shapesOf(p)[shapeOf(p.path)] = p
	}
}

// equal returns a pattern of Fallback that is equal to p, a pattern of Handle, or nil. x may be nil.
func (x *formIndex) equal(p *pattern) *pattern {
	if x == nil {
		return nil
	}
	if old := x.shapesOf(p)[shapeOf(p.path)]; old != nil && old.forms != nil {
		return old
	}
	return nil
}

// add returns a pattern that is equal to p, a pattern of Fallback, or keeps p.
func (x *formIndex) add(p *pattern) *pattern {
	shapes := x.shapesOf(p)
	for i := range p.forms {
		if old := shapes[p.forms[i].shape]; old != nil {
			return old
		}
	}
	for i := range p.forms {
		shapes[p.forms[i].shape] = p
	}
	x.patterns = append(x.patterns, p)
	return nil
}

// formTable finds the routes of Fallback by host, as table does others.
type formTable struct {
	any   *site
	named map[string]*site
	wild  *hostNode
	sites []*site
	head  bool // GET matches HEAD
}

func newFormTable(patterns []*pattern, head bool) *formTable {
	t := &formTable{any: &site{}, named: map[string]*site{}, head: head}
	all := map[string]*site{"": t.any}
	for _, p := range patterns {
		s := all[p.hostText]
		if s == nil {
			s = &site{host: p.host}
			all[p.hostText] = s
			if literals(p.host) == len(p.host) {
				t.named[p.hostText] = s
			} else {
				if t.wild == nil {
					t.wild = &hostNode{}
				}
				t.wild.add(s)
			}
		}
		if s.forms == nil {
			s.forms = map[string]*formNode{}
			t.sites = append(t.sites, s)
		}
		root := s.forms[p.method]
		if root == nil {
			root = &formNode{}
			s.forms[p.method] = root
		}
		root.add(p.forms)
	}
	return t
}

// addForms adds the routes of Fallback, and what the table has to know of them.
func (t *table) addForms(x *formIndex) {
	if x == nil {
		return
	}
	for _, p := range x.patterns {
		rt := p.route
		t.prepare(rt, rt.handler)
		for i := range p.forms {
			f := &p.forms[i]
			f.route.chain = rt.chain
			t.max = max(t.max, len(f.names)+1)
			if n := len(f.parts); strings.HasSuffix(f.text, "/") || f.text == "" && f.parts[n-1].tail.rest {
				t.slashes++
			}
		}
		t.hosts = t.hosts || p.host != nil
	}
	t.forms = newFormTable(x.patterns, !t.router.NoHEAD)
}

// sitesOf appends the sites of a host, the narrower ones first.
func (t *formTable) sitesOf(sites []*site, host string) []*site {
	return sitesOf(sites, t.named, t.wild, t.any, host)
}

// methods returns the methods whose trees are tried in turn for a request. A CONNECT that opens a WebSocket
// gets a route for GET if no other one matches.
func (t *formTable) methods(method string, webSocket bool) []string {
	switch {
	case webSocket:
		return []string{method, "", gale.MethodGet}
	case method == gale.MethodHead && t.head:
		return []string{method, gale.MethodGet, ""}
	}
	return []string{method, ""}
}

// find looks for a path among the forms of a host and a method, and returns the site.
func (t *formTable) find(f *formSearch, host, method string, webSocket bool) *site {
	methods := t.methods(method, webSocket)
	var room [8]*site
	for _, s := range t.sitesOf(room[:0], host) {
		for _, m := range methods {
			if root := s.forms[m]; root != nil && root.find(f, 0, 0) {
				return s
			}
		}
	}
	return nil
}

// findAny is find, and then a search for a route of Fallback.
func (q *query) findAny(path []byte) bool {
	if q.find(path) {
		return true
	}
	if q.forms == nil {
		return false
	}
	q.search = search{path: path, values: q.values}
	q.site = q.forms.find(&formSearch{search: &q.search}, q.host, bytesconv.B2S(q.method), q.webSocket)
	return q.site != nil
}

// allowed appends the methods with which routes for a method match path.
func (t *formTable) allowed(methods []string, host string, path []byte, values []door.Span) []string {
	if t == nil {
		return methods
	}
	for _, s := range t.sitesOf(nil, host) {
		for m, root := range s.forms {
			if m != "" && root.find(&formSearch{search: &search{path: path, values: values}}, 0, 0) {
				methods = t.withHead(methods, m)
			}
		}
	}
	return methods
}

// withHead appends a method and what it matches.
func (t *formTable) withHead(methods []string, method string) []string {
	if method == gale.MethodGet && t.head {
		methods = append(methods, gale.MethodHead)
	}
	return append(methods, method)
}

// all appends the methods of all routes; without those of one that has none.
func (t *formTable) all(methods []string) (list []string, any bool) {
	if t == nil {
		return methods, false
	}
	for _, s := range t.sites {
		for m := range maps.Keys(s.forms) {
			if m == "" {
				any = true
				continue
			}
			methods = t.withHead(methods, m)
		}
	}
	return methods, any
}

// explainForms is Explain for routes of Fallback, of which found is that which matches, or nil. best is a route of
// Handle that matches, or nil.
func (a *asked) explainForms(patterns []*pattern, best *pattern) (found *pattern, misses []Miss) {
	if len(patterns) == 0 {
		return nil, nil
	}
	path, values := a.canonical, make([]door.Span, len(a.canonical)+1)
	t := newFormTable(patterns, !a.noHEAD)
	if best == nil && a.bad == "" {
		s := search{path: path, values: values}
		if t.find(&formSearch{search: &s}, a.host, a.method, false) != nil {
			found = s.route.form()
		}
	}
	for _, p := range patterns {
		if p == found {
			continue
		}
		reason, depth := a.missForm(p, path, values)
		switch {
		case reason != "":
		case best != nil:
			reason = fmt.Sprintf("it matches, and %q does, too: patterns of Fallback come after others", best.route.text())
		case found != nil:
			reason = fmt.Sprintf("it matches, and %q comes first", found.route.text())
		}
		misses = append(misses, Miss{p.route, p.route.text(), reason, depth})
	}
	return found, misses
}

// missForm is miss for a pattern of Fallback.
func (a *asked) missForm(p *pattern, path []byte, values []door.Span) (reason string, depth int) {
	if a.bad != "" {
		return a.bad, 0
	}
	if p.host != nil && !hostMatches(p.host, a.host) {
		return fmt.Sprintf("the host is %q", a.host), 0
	}
	root := &formNode{}
	root.add(p.forms)
	f := formSearch{search: &search{path: path, values: values}}
	if root.find(&f, 0, 0) {
		return a.missMethod(p), len(a.path) + 2
	}
	fits := path[:f.far]
	if len(fits) == 0 {
		return fmt.Sprintf("it matches no path that begins like %q", path), 0
	}
	return fmt.Sprintf("it matches no path that begins with %q and goes on with %q", fits, path[f.far:]), strings.Count(string(fits), "/")
}

// URL of a pattern of Fallback: see Router.URL.
func (p *pattern) formURL(values []string) ([]byte, error) {
	f := &p.forms[len(p.forms)-1]
	for i := range p.forms {
		if len(p.forms[i].names) == len(values) {
			f = &p.forms[i]
		}
	}
	if len(f.names) != len(values) {
		return nil, fmt.Errorf("it takes %d, and there are %d", len(f.names), len(values))
	}
	out, err := p.appendHost(nil, values)
	if err != nil {
		return nil, err
	}
	return f.appendURL(out, values[len(p.host)-literals(p.host):])
}
