package router

import (
	"bytes"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pathrule"
)

// answer answers a request that no route matches. A middleware may have given it another path: what counts is
// the one for which no route was found.
func (t *table) answer(ctx *gale.RequestCtx) {
	m := door.RouteOf(ctx)
	m.Miss()
	path := m.Missed
	if len(path) == 0 || path[0] != '/' {
		if t.answersOptions(ctx) && string(ctx.RequestURI()) == "*" {
			t.options(ctx, t.methods())
			return
		}
		t.notFound(ctx)
		return
	}
	path = withoutFragment(path)
	cleaned := path
	if !isClean(path) {
		if t.router.UncleanPath == Refuse {
			t.notFound(ctx)
			return
		}
		cleaned = clean(path)
	}
	text := appendPath(nil, cleaned)
	if t.redirectsToSlash(ctx, text) {
		redirect(ctx, m, append(bytes.Clone(cleaned), '/'), t.router.TrailingSlash)
		return
	}
	if len(cleaned) != len(path) && t.router.UncleanPath != Serve {
		redirect(ctx, m, cleaned, t.router.UncleanPath)
		return
	}
	t.refuse(ctx, text)
}

// redirectsToSlash reports whether the path text gets a slash at its end.
func (t *table) redirectsToSlash(ctx *gale.RequestCtx, text []byte) bool {
	if !t.mayRedirect(text) || t.router.TrailingSlash == Serve || hasDotSegment(text) {
		return false
	}
	q := t.query(ctx, make([]door.Span, t.max))
	if q.findAny(text) && !q.open {
		return false
	}
	return q.findAny(append(bytes.Clone(text), '/')) && !q.open
}

// redirect answers with another path on the same host.
func redirect(ctx *gale.RequestCtx, m *door.Route, path []byte, way Way) {
	to := pathrule.AppendReference(nil, append(bytes.Clone(m.Bytes(m.Base)), path...))
	if query := ctx.URI().QueryString(); len(query) > 0 {
		to = append(to, '?')
		for _, c := range query {
			if c <= ' ' || c == 0x7f || c == '#' {
				const hex = "0123456789ABCDEF"
				to = append(to, '%', hex[c>>4], hex[c&15])
			} else {
				to = append(to, c)
			}
		}
	}
	status := gale.StatusTemporaryRedirect
	if way == RedirectPermanent {
		status = gale.StatusPermanentRedirect
	}
	ctx.Response.Header.SetBytesV(gale.HeaderLocation, to)
	ctx.Response.SetBodyString("")
	ctx.SetStatusCode(status)
}

// refuse answers 404, 405, or OPTIONS.
func (t *table) refuse(ctx *gale.RequestCtx, text []byte) {
	var methods []string
	if !hasDotSegment(text) {
		methods = t.allowed(ctx, text)
		if t.mayRedirect(text) { // with these methods it would be redirected
			methods = append(methods, t.allowed(ctx, append(bytes.Clone(text), '/'))...)
		}
	}
	switch {
	case len(methods) == 0 || slices.Contains(methods, string(ctx.Method())): // a middleware has changed method or host
		t.notFound(ctx)
	case t.answersOptions(ctx):
		t.options(ctx, methods)
	default:
		ctx.Response.Header.Set(gale.HeaderAllow, strings.Join(t.complete(methods), ", "))
		if f := t.router.MethodNotAllowed; f != nil {
			f(ctx)
			return
		}
		ctx.Fail(gale.StatusMethodNotAllowed, nil)
	}
}

func (t *table) notFound(ctx *gale.RequestCtx) {
	if f := t.router.NotFound; f != nil {
		f(ctx)
		return
	}
	ctx.Fail(gale.StatusNotFound, nil)
}

// answersOptions reports whether the router answers a request by the methods of its path.
func (t *table) answersOptions(ctx *gale.RequestCtx) bool {
	return ctx.IsOptions() && !t.router.NoOPTIONS
}

func (t *table) options(ctx *gale.RequestCtx, methods []string) {
	ctx.Response.Header.Set(gale.HeaderAllow, strings.Join(t.complete(methods), ", "))
	ctx.SetStatusCode(gale.StatusNoContent)
}

// complete returns methods sorted, each once, with OPTIONS if the router answers it.
func (t *table) complete(methods []string) []string {
	if !t.router.NoOPTIONS {
		methods = append(methods, gale.MethodOptions)
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

// allowed returns the methods with which a route matches path.
func (t *table) allowed(ctx *gale.RequestCtx, path []byte) (methods []string) {
	q := t.query(ctx, make([]door.Span, t.max))
	q.path = path
	for _, s := range t.sitesOf(q.host) {
		for _, m := range s.named {
			if q.findWith(m.tree) {
				methods = append(methods, m.method)
			}
		}
	}
	return t.forms.allowed(methods, q.host, path, q.values)
}

// query returns a query that leaves values in values.
func (t *table) query(ctx *gale.RequestCtx, values []door.Span) query {
	q := query{table: t, search: search{values: values}, method: ctx.Method()}
	q.id = msg.LookupMethod(q.method)
	if t.hosts {
		q.host = hostOf(ctx)
	}
	q.webSocket = string(q.method) == gale.MethodConnect && ctx.ConnectProtocol() == "websocket"
	return q
}

// sitesOf returns the sites of a host, the narrower ones first.
func (t *table) sitesOf(host string) []*site { return sitesOf(nil, t.named, t.wild, &t.any, host) }

func sitesOf(sites []*site, named map[string]*site, wild *hostNode, any *site, host string) []*site {
	if s := named[host]; s != nil {
		sites = append(sites, s)
	}
	return append(wild.find(sites, host), any)
}

// methods returns the methods that routes of t name. A route without a method has those of RFC 9110 and
// RFC 10008 that ask for an answer.
func (t *table) methods() []string {
	methods, any := t.forms.all(nil)
	for _, s := range t.sites {
		for _, m := range s.named {
			methods = append(methods, m.method)
		}
		any = any || s.known[msg.MethodOther] != nil
	}
	if any {
		methods = append(methods, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY")
	}
	return methods
}
