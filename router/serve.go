package router

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// table is what a router serves with. It never changes.
type table struct {
	router   *Router
	number   uint64                     // no other table has it
	any      site                       // routes of all hosts
	named    map[string]*site           // those of hosts without wildcards, nil for none
	wild     *hostNode                  // those of hosts with wildcards, nil for none
	sites    []*site                    // all of them
	hosts    bool                       // there are such routes
	max      int                        // how many values a route may have
	slashes  int                        // how many routes match a slash at the end of a path and nothing after it
	ways     [msg.MethodQuery + 1]*tree // those of any without fixed, see way
	forms    *formTable                 // of Fallback, or nil
	fallback gale.RequestHandler

	own struct { // memory for no host
		sites [1]*site
		named [2]methodTree
	}
}

// tables counts the tables of the process.
var tables atomic.Uint64

// site has the routes of one host, as a tree for each method. Those of routes without a method are in
// each of them that has a number, and those for GET in that of HEAD, unless a narrower one has the same path.
type site struct {
	host  []segment
	known [msg.MethodQuery + 1]*tree // by the number of the method; that of msg.MethodOther has the routes without a method
	named []methodTree               // of all methods that match routes with one; those without a number may be many
	forms map[string]*formNode       // of Fallback, by method
}

type methodTree struct {
	method string
	tree   *tree
}

// tree returns the tree of a method by its name, nil if no route has that.
func (s *site) tree(method []byte) *tree {
	for i := range s.named {
		if s.named[i].method == string(method) {
			return s.named[i].tree
		}
	}
	return nil
}

// newTable makes the table of r, with the patterns of x. The caller holds r.making.
func newTable(r *Router, x *index) *table {
	t := &table{router: r, number: tables.Add(1)}
	t.sites, t.any.named = t.own.sites[:0], t.own.named[:0]
	wildcards := 0
	for _, p := range x.patterns {
		rt := p.route
		handler := rt.handler
		if p.mount {
			handler = t.mounted(rt)
		}
		t.prepare(rt, handler)
		t.max = max(t.max, len(rt.match.Names)+1)
		wildcards += len(rt.match.Names)
		if last := p.path[len(p.path)-1]; last.kind == rest || last == (segment{}) {
			t.slashes++
		}
	}
	b := newBuilder(len(x.patterns), wildcards, t.redirects())
	for _, h := range x.order {
		s := &t.any
		if h.text != "" {
			s = &site{host: h.host}
		}
		s.grow(b, h, !r.NoHEAD)
		t.sites = append(t.sites, s)
		switch {
		case h.text == "":
		case literals(s.host) == len(s.host):
			if t.named == nil {
				t.named = map[string]*site{}
			}
			t.named[h.text] = s
		default:
			if t.wild == nil {
				t.wild = &hostNode{}
			}
			t.wild.add(s)
		}
	}
	if t.hosts = t.named != nil || t.wild != nil; !t.hosts {
		t.setWays()
	}
	t.addForms(r.forms)
	t.fallback = r.chain(t.answer)
	return t
}

// setWays sets t.ways, of a table without hosts. Methods without a number have none.
func (t *table) setWays() {
	for id, tree := range t.any.known {
		if tree != nil && tree.fixed == nil && msg.MethodID(id) != msg.MethodOther {
			t.ways[id] = tree
		}
	}
}

// prepare sets what rt has only when it is served.
func (t *table) prepare(rt *Route, handler gale.RequestHandler) {
	rt.chain = rt.scope.chain(handler)
	if !t.router.limited {
		return
	}
	if l := newLimits(rt); l != nil {
		rt.rarely().limits = l
		rt.chain = t.onlyAttached(rt, rt.chain)
	}
}

// grow makes the trees of s from the patterns of each method. With head those for GET match HEAD.
func (s *site) grow(b *builder, h *hostIndex, head bool) {
	of := func(method string) []*pattern {
		if m := h.of(method); m != nil && slices.ContainsFunc(m.patterns, func(p *pattern) bool { return !p.never() }) {
			return m.patterns
		}
		return nil
	}
	if n := len(h.methods) + 1; n > cap(s.named) { // one more for HEAD
		s.named = make([]methodTree, 0, n)
	}
	unnamed := b.newTree(of(""))
	for i := range s.known {
		s.known[i] = unnamed
	}
	add := func(method string, t *tree) {
		s.named = append(s.named, methodTree{method, t})
		if id := msg.LookupMethod([]byte(method)); id != msg.MethodOther {
			s.known[id] = t
		}
	}
	for _, patterns := range h.methods {
		m := patterns.method
		if m == "" || of(m) == nil {
			continue
		}
		var gets, rest []*pattern
		if m == gale.MethodHead && head {
			gets = of(gale.MethodGet)
		}
		if msg.LookupMethod([]byte(m)) != msg.MethodOther {
			rest = of("")
		}
		t := b.newTree(of(m), gets, rest)
		add(m, t)
		if m == gale.MethodGet && head && of(gale.MethodHead) == nil {
			add(gale.MethodHead, t)
		}
	}
}

// found leaves in m what was found: rt, or what matchSlowly finds if rt is nil. It returns it.
func (t *table) found(ctx *gale.RequestCtx, m *door.Route, rt *Route, target []byte) *Route {
	if rt == nil {
		rt = t.matchSlowly(ctx, m, target)
	}
	if rt == nil {
		m.NotFound(pathOf(target))
	} else {
		m.Found = &rt.match
	}
	if m.Noted {
		door.NoteRoute(ctx)
	}
	return rt
}

// match finds the route of a request whose path is as it was sent, and leaves its values in m. It
// returns nil where that isn't enough.
func (t *table) match(ctx *gale.RequestCtx, m *door.Route, method msg.MethodID, target []byte) *Route {
	if cap(m.Values) < t.max {
		makeValues(m, t.max)
	}
	if t.hosts || method == msg.MethodOther {
		return t.matchHost(ctx, m, pathOf(target))
	}
	tree := t.any.known[method]
	if tree == nil {
		return nil
	}
	if tree.fixed != nil {
		if rt := tree.fixed.find(target); rt != nil { // no such path has a "?"
			return rt
		}
		if path := pathOf(target); len(path) < len(target) {
			target = path
			if rt := tree.fixed.find(target); rt != nil {
				return rt
			}
		}
	}
	m.Values = m.Values[:t.max]
	return tree.walk(m, target)
}

// way returns the tree whose walk does what match does for a method, and makes m ready for it. It returns nil if
// there is none. Handler asks it before match, as the compiler inlines it.
func (t *table) way(m *door.Route, method msg.MethodID) *tree {
	if cap(m.Values) < t.max {
		return nil
	}
	m.Values = m.Values[:t.max]
	return t.ways[method]
}

// makeValues makes room for values.
//
//go:noinline as it is rare
func makeValues(m *door.Route, n int) { m.Values = make([]door.Span, n) }

// matchHost is match for a router with hosts, and for methods without a number.
func (t *table) matchHost(ctx *gale.RequestCtx, m *door.Route, path []byte) *Route {
	q := t.query(ctx, m.Values[:t.max])
	if !q.find(path) || q.odd || q.open && t.mayRedirect(path) {
		return nil
	}
	q.keep(m, path, m.Start())
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
func (t *table) matchSlowly(ctx *gale.RequestCtx, m *door.Route, target []byte) *Route {
	if len(target) == 0 || target[0] != '/' {
		return nil
	}
	at, path := m.Start(), withoutFragment(pathOf(target))
	q := t.query(ctx, m.Values[:t.max])
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
	matched := q.findAny(text)
	if (!matched || q.open) && t.mayRedirect(text) {
		m.Text = append(m.Text, '/')
		longer := m.Text[at:]
		if q.findAny(longer) && !q.open {
			if t.router.TrailingSlash != Serve {
				return nil
			}
			text, changed, matched = longer, true, true
		} else {
			matched = q.findAny(text)
		}
	}
	if !matched {
		return nil
	}
	q.keep(m, text, at)
	q.decode(m)
	if changed {
		m.Moved = true
		door.SetRoutePath(ctx, text)
	}
	return q.route
}

// mayRedirect reports whether a route may match path with a slash at its end, and come first.
func (t *table) mayRedirect(path []byte) bool {
	return path[len(path)-1] != '/' && t.redirects()
}

// redirects reports whether there may be such a path.
func (t *table) redirects() bool { return t.slashes > 0 && t.router.TrailingSlash != Refuse }

// query is one search for a route.
type query struct {
	*table
	search
	id        msg.MethodID
	method    []byte
	host      string
	webSocket bool
	site      *site
}

// find looks for the narrowest route of a path in canonical form.
func (q *query) find(path []byte) bool {
	q.path = path
	if q.hosts {
		if s := q.named[q.host]; s != nil && q.findIn(s) {
			return true
		}
		var room [8]*site
		for _, s := range q.wild.find(room[:0], q.host) {
			if q.findIn(s) {
				return true
			}
		}
	}
	return q.findIn(&q.any)
}

// findIn is find for one host. A route without a method has no narrower path than one with a method that matches the
// same request: that would be a conflict.
func (q *query) findIn(s *site) bool {
	q.site = s
	return q.id == msg.MethodOther && q.findWith(s.tree(q.method)) ||
		q.findWith(s.known[q.id]) || q.webSocket && q.findWith(s.known[msg.MethodGet])
}

// findWith is find in one tree, which may be nil.
func (q *query) findWith(t *tree) bool {
	q.search = search{path: q.path, values: q.values}
	return t != nil && t.search(&q.search)
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

// hostNode finds the hosts with wildcards by their labels, from the last one to the first.
type hostNode struct {
	labels map[string]*hostNode
	any    *hostNode // for any label, or nil
	site   *site     // of the host that ends here, or nil
}

func (n *hostNode) add(s *site) {
	for i := len(s.host) - 1; i >= 0; i-- {
		next := n.any
		if s.host[i].kind == literal {
			next = n.labels[s.host[i].text]
		}
		if next == nil {
			next = &hostNode{}
			switch {
			case s.host[i].kind == capture:
				n.any = next
			case n.labels == nil:
				n.labels = map[string]*hostNode{}
				fallthrough
			default:
				n.labels[s.host[i].text] = next
			}
		}
		n = next
	}
	n.site = s
}

// find appends the sites below n, which may be nil, of the hosts that match host. Of two hosts the
// narrower one comes first.
func (n *hostNode) find(list []*site, host string) []*site {
	if n == nil {
		return list
	}
	dot := strings.LastIndexByte(host, '.')
	label := host[dot+1:]
	if label == "" {
		return list
	}
	for _, next := range [...]*hostNode{n.labels[label], n.any} {
		switch {
		case next == nil:
		case dot >= 0:
			list = next.find(list, host[:dot])
		case next.site != nil:
			list = append(list, next.site)
		}
	}
	return list
}

// hostOf returns the host of a request without its port, in lower case.
//
//go:noinline so that table.hostOf is inlined
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
