package router

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
)

// table is what a router serves with. It never changes.
type table struct {
	router   *Router
	any      site             // routes of all hosts
	named    map[string]*site // those of hosts without wildcards, nil for none
	wild     []*site          // those of hosts with wildcards, the narrower ones first
	max      int              // how many values a route may have
	slashes  int              // how many routes match a slash at the end of a path and nothing after it
	fallback gale.RequestHandler
}

// site has the routes of one host, as a tree for each method. Those of routes without a method are in
// each of them, and those for GET in that of HEAD, unless a narrower one has the same path.
type site struct {
	host    []segment
	get     *tree
	head    *tree
	post    *tree
	others  []methodTree
	unnamed *tree // routes without a method, for all methods without a tree of their own
}

type methodTree struct {
	method string
	tree   *tree
}

// tree returns the tree of a method, nil if no route may match.
func (s *site) tree(method []byte) *tree {
	switch string(method) {
	case "GET":
		return s.get
	case "POST":
		return s.post
	case "HEAD":
		return s.head
	}
	for i := range s.others {
		if s.others[i].method == string(method) {
			return s.others[i].tree
		}
	}
	return s.unnamed
}

// newTable makes the table of r. The caller holds r.mu.
func newTable(r *Router) *table {
	t := &table{router: r}
	hosts, order := map[string][]*pattern{}, []string{}
	for _, rt := range r.routes {
		handler := rt.handler
		if rt.mount {
			handler = rt.mounted()
		}
		rt.chain = rt.scope.chain(handler)
		p := rt.parse()
		if hosts[p.hostText] == nil {
			order = append(order, p.hostText)
		}
		hosts[p.hostText] = append(hosts[p.hostText], p)
		t.max = max(t.max, len(rt.match.Names)+1)
		if last := p.path[len(p.path)-1]; last.kind == rest || last == (segment{}) {
			t.slashes++
		}
	}
	for _, text := range order {
		patterns := hosts[text]
		s := newSite(patterns, !r.NoHEAD)
		switch {
		case text == "":
			t.any = *s
		case literals(s.host) == len(s.host):
			if t.named == nil {
				t.named = map[string]*site{}
			}
			t.named[text] = s
		default:
			t.wild = append(t.wild, s)
		}
	}
	sortHosts(t.wild)
	t.fallback = r.chain(t.answer)
	return t
}

func newSite(patterns []*pattern, head bool) *site {
	s := &site{host: patterns[0].host}
	byMethod := map[string][]*pattern{}
	for _, p := range patterns {
		if p.never() {
			continue
		}
		byMethod[p.method] = append(byMethod[p.method], p)
	}
	s.unnamed = newTree(byMethod[""])
	s.get, s.post, s.head = s.unnamed, s.unnamed, s.unnamed
	grow := func(methods ...string) *tree {
		var all []*pattern
		for _, m := range methods {
			all = append(all, byMethod[m]...)
		}
		return newTree(all)
	}
	for _, m := range slices.Sorted(maps.Keys(byMethod)) {
		switch m {
		case "", "HEAD":
		case "GET":
			s.get = grow("GET", "")
		case "POST":
			s.post = grow("POST", "")
		default:
			s.others = append(s.others, methodTree{m, grow(m, "")})
		}
	}
	switch {
	case head && byMethod["HEAD"] != nil:
		s.head = grow("HEAD", "GET", "")
	case head:
		s.head = s.get
	case byMethod["HEAD"] != nil:
		s.head = grow("HEAD", "")
	}
	return s
}

// newTree returns the tree of patterns, nil without any. Those with narrower methods come first.
func newTree(patterns []*pattern) *tree {
	if len(patterns) == 0 {
		return nil
	}
	b := &branch{}
	for _, p := range patterns {
		b.add(p.path, p.route)
	}
	t := b.grow()
	t.fixed = newFixed(b.fixedRoutes(nil, ""), len(patterns))
	return t
}

// serve is the RequestHandler of a router.
func (t *table) serve(ctx *gale.RequestCtx) {
	m, path := door.BeginRoute(ctx)
	at := m.Begin()
	rt := t.routeOf(ctx, m, path, at)
	if rt == nil {
		m.Text, m.Values = m.Text[:at], m.Values[:0]
	} else {
		m.Found = &rt.match
	}
	if m.Noted {
		door.NoteRoute(ctx)
	}
	if rt == nil {
		t.fallback(ctx)
		return
	}
	rt.chain(ctx)
}

// routeOf finds the route of a request, and leaves its values in m. It returns nil if none matches.
func (t *table) routeOf(ctx *gale.RequestCtx, m *door.Route, path []byte, at int) *Route {
	if len(path) == 0 || path[0] != '/' {
		return nil
	}
	if cap(m.Values) < t.max {
		m.Values = make([]door.Span, t.max)
	}
	values := m.Values[:t.max]
	if rt := t.match(ctx, m, path, at, values); rt != nil {
		return rt
	}
	return t.matchSlowly(ctx, m, path, at, values)
}

// match finds the route of a request whose path is as it was sent, and leaves its values in m. It
// returns nil where that isn't enough.
func (t *table) match(ctx *gale.RequestCtx, m *door.Route, path []byte, at int, values []door.Span) *Route {
	if t.named != nil || t.wild != nil {
		return t.matchHost(ctx, m, path, at, values)
	}
	tree := t.any.tree(ctx.Method())
	if tree == nil {
		return nil
	}
	var f found
	text := bytesconv.B2S(path)
	if !tree.search(text, values, &f) || f.odd || f.open && t.mayRedirect(path) {
		return nil
	}
	if f.n == 0 {
		return f.route
	}
	m.Text = append(m.Text[:at], path...)
	m.Values = values[:f.n]
	if at > 0 {
		shift(m.Values, at)
	}
	return f.route
}

// matchHost is match for a router with hosts.
func (t *table) matchHost(ctx *gale.RequestCtx, m *door.Route, path []byte, at int, values []door.Span) *Route {
	q := t.query(ctx, values)
	if !q.find(bytesconv.B2S(path)) || q.odd || q.open && t.mayRedirect(path) {
		return nil
	}
	q.keep(m, path, at)
	return q.route
}

// shift moves values by at bytes.
func shift(values []door.Span, at int) {
	for i := range values {
		values[i].From += uint32(at)
		values[i].End += uint32(at)
	}
}

// matchSlowly is match for a path that must be decoded, or that no route matches as it is.
func (t *table) matchSlowly(ctx *gale.RequestCtx, m *door.Route, path []byte, at int, values []door.Span) *Route {
	path = withoutFragment(path)
	q := t.query(ctx, values)
	changed := !isClean(path)
	if changed {
		if t.router.UncleanPath != Serve {
			return nil // also where Refuse stands: no pattern has such segments
		}
		path = clean(path)
	}
	m.Text = appendPath(m.Text[:at], path)
	text := m.Text[at:len(m.Text):len(m.Text)]
	if hasDotSegment(text) {
		return nil
	}
	matched := q.find(bytesconv.B2S(text))
	if (!matched || q.open) && t.mayRedirect(text) {
		m.Text = append(m.Text, '/')
		longer := m.Text[at:]
		if q.find(bytesconv.B2S(longer)) && !q.open {
			if t.router.TrailingSlash != Serve {
				return nil
			}
			text, changed, matched = longer, true, true
		} else {
			matched = q.find(bytesconv.B2S(text))
		}
	}
	if !matched {
		return nil
	}
	q.keep(m, text, at)
	q.decode(m)
	if changed {
		door.SetRoutePath(ctx, text)
	}
	return q.route
}

// mayRedirect reports whether a route may match path with a slash at its end, and come first.
func (t *table) mayRedirect(path []byte) bool {
	return t.slashes > 0 && path[len(path)-1] != '/' && t.router.TrailingSlash != Refuse
}

// query is one search for a route.
type query struct {
	*table
	found
	method    []byte
	host      string
	webSocket bool
	site      *site
	values    []door.Span
}

// find looks for the narrowest route of a path in canonical form.
func (q *query) find(path string) bool {
	q.found = found{}
	if q.named != nil || q.wild != nil {
		if s := q.named[q.host]; s != nil && q.findIn(s, path) {
			return true
		}
		for _, s := range q.wild {
			if hostMatches(s.host, q.host) && q.findIn(s, path) {
				return true
			}
		}
	}
	return q.findIn(&q.any, path)
}

// findIn is find for one host.
func (q *query) findIn(s *site, path string) bool {
	q.site = s
	if t := s.tree(q.method); t != nil {
		if t.search(path, q.values, &q.found) {
			return true
		}
		q.found = found{}
	}
	if q.webSocket && s.get != nil && s.get.search(path, q.values, &q.found) {
		return true
	}
	q.found = found{}
	return false
}

// keep leaves path and values in m, whose Text has what comes before path.
func (q *query) keep(m *door.Route, path []byte, at int) {
	names := q.route.match.Names
	m.Values = q.values[:len(names)]
	if len(names) == 0 {
		return
	}
	m.Text = append(m.Text[:at], path...)
	shift(m.Values[:q.n], at)
	if q.n == len(names) {
		return
	}
	host := q.host
	for i := range q.site.host {
		label, rest, _ := strings.Cut(host, ".")
		if q.site.host[i].kind == capture {
			from := uint32(len(m.Text))
			m.Text = append(m.Text, label...)
			m.Values[q.n] = door.Span{From: from, End: uint32(len(m.Text))}
			q.n++
		}
		host = rest
	}
}

// decode decodes the values with escapes that have a name.
func (q *query) decode(m *door.Route) {
	for i, v := range m.Values {
		if q.route.match.Names[i] == "" || bytes.IndexByte(m.Bytes(v), '%') < 0 {
			continue
		}
		from := uint32(len(m.Text))
		m.Text = decode(m.Text, m.Bytes(v))
		m.Values[i] = door.Span{From: from, End: uint32(len(m.Text))}
	}
}

// hostOf returns the host of a request without its port, in lower case.
func hostOf(ctx *gale.RequestCtx) string {
	host := ctx.Host()
	if n := bytes.LastIndexByte(host, ':'); n >= 0 && bytes.IndexByte(host[n:], ']') < 0 {
		host = host[:n]
	}
	return bytesconv.B2S(host)
}

// hostMatches reports whether a host matches a pattern.
func hostMatches(pattern []segment, host string) bool {
	for i := range pattern {
		label, rest, more := strings.Cut(host, ".")
		if more == (i+1 == len(pattern)) || label == "" || pattern[i].kind == literal && pattern[i].text != label {
			return false
		}
		host = rest
	}
	return true
}
