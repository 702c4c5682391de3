package gale

import (
	"bytes"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// PathValue returns what the wildcard called name of the route has captured, percent-decoded once:
// "7" for the pattern "/users/{id}" of package router and the path /users/7. It is "" if there is no
// such wildcard. It copies the value, which may be kept.
func (ctx *RequestCtx) PathValue(name string) string {
	used(ctx.loan)
	v, _ := ctx.route.Value(name)
	return string(v)
}

// PeekPathValue is PathValue without a copy; nil if there is no such wildcard. The bytes are borrowed:
// they are valid until ctx.Request changes or the handler returns. A value of a router that another handler calls is
// valid until that router returns.
func (ctx *RequestCtx) PeekPathValue(name string) []byte {
	used(ctx.loan)
	v, _ := ctx.route.Value(name)
	if ctx.loan != nil && v != nil {
		return lifetime.Move(ctx.loan, bytes.Clone(v))
	}
	return v
}

// SetPathValue sets the value that PathValue returns for name, for routers and tests. Both strings are
// copied. It replaces what a router has captured under that name, and a router that runs afterwards replaces
// it by what it captures. A router that a handler of another router calls, without Mount, drops what was set
// in it when it returns.
func (ctx *RequestCtx) SetPathValue(name, value string) {
	used(ctx.loan)
	ctx.makeRoute().Set(string([]byte(name)), value)
}

// Pattern returns the pattern of the route that package router has found for the request, without the
// method: the host, the prefixes of groups and mounts, and the path as it was registered, such as
// "/v1/items/{id}". It is known before the route's middlewares and handler run, and stays until the
// request ends. It is "" if no route matched, and without a router. So it has few different values,
// and may name a metric.
func (ctx *RequestCtx) Pattern() string {
	used(ctx.loan)
	return ctx.route.Whole()
}

// pathValue returns the value of a wildcard as UserValue does, nil if there is none.
func (ctx *RequestCtx) pathValue(key any) any {
	switch key := key.(type) {
	case string:
		if v, ok := ctx.route.Value(key); ok {
			return string(v)
		}
	case []byte:
		if v, ok := ctx.route.Value(bytesconv.B2S(key)); ok {
			return string(v)
		}
	}
	return nil
}

func init() {
	door.RouteOf = func(ctx any) *door.Route { return ctx.(*RequestCtx).makeRoute() }
	door.BeginRoute = beginRoute
	door.NoteRoute = func(ctx any) { ctx.(*RequestCtx).noteRoute() }
	door.ResumeRoute = func(c any, m *door.Route, outer *door.Outer) {
		ctx := c.(*RequestCtx)
		if ctx.given.Load() {
			return // other goroutines may be using the request
		}
		if m.Resume(outer); m.Noted {
			ctx.noteRoute()
		}
	}
	door.DropURI = func(ctx any) { ctx.(*RequestCtx).Request.uriParsed, ctx.(*RequestCtx).Request.uriBad = false, false }
	door.SetRoutePath = func(ctx any, path []byte) { ctx.(*RequestCtx).URI().SetPathBytes(path) }
	door.ChangeRoutePath = func(c any, around door.Saved, path []byte) door.Saved {
		ctx := c.(*RequestCtx)
		u := ctx.URI()
		saved := ctx.makeRoute().Save(around, u.PathOriginal(), path)
		u.SetPathBytes(path)
		return saved
	}
	door.RestoreRoutePath = func(c any, saved door.Saved) {
		ctx := c.(*RequestCtx)
		if ctx.given.Load() {
			return // other goroutines may be using the request
		}
		u := ctx.URI()
		if before := ctx.makeRoute().Restore(saved, u.PathOriginal()); before != nil {
			u.SetPathBytes(before)
		}
	}
}

// makeRoute returns the Route of ctx, which stays with it for other requests.
func (ctx *RequestCtx) makeRoute() *door.Route {
	if ctx.route == nil {
		ctx.route = &door.Route{Given: &ctx.given, Made: &ctx.Request.uriParsed}
	}
	return ctx.route
}

// beginRoute is door.BeginRoute.
func beginRoute(c any) (*door.Route, uint8, []byte) {
	ctx := c.(*RequestCtx)
	used(ctx.loan)
	m := ctx.makeRoute()
	m.Used, m.Noted = true, ctx.noted
	m.Begin()
	req := &ctx.Request
	req.routed, m.Early = true, req.uriParsed
	if target := req.Header.s.PartAndMore(msg.Target); len(target) > 0 && target[0] == '/' && !req.uriParsed {
		return m, uint8(req.Header.s.MethodID), target // as routeTarget does, without a call
	}
	return m, uint8(req.Header.s.MethodID), req.routeTarget()
}

// routeTarget returns the target of door.BeginRoute.
func (req *Request) routeTarget() []byte {
	if !req.uriParsed {
		target := req.Header.target()
		switch {
		case target[0] == '/':
			return target
		case string(target) == "*", req.Header.IsConnect():
			return nil
		}
	}
	u := req.URI()
	u.route()
	path := u.PathOriginal()
	switch {
	case req.uriBad, req.Header.IsConnect() && !bytes.HasPrefix(path, slash):
		return nil
	case len(path) == 0: // "/", by RFC 9110 4.2.3
		return slash
	case bytes.ContainsAny(path, "?#\x00"): // after SetPath
		return []byte(noPathByte.Replace(string(path)))
	}
	return path
}

// noPathByte encodes bytes that no path of a target has.
var noPathByte = strings.NewReplacer("?", "%3F", "#", "%23", "\x00", "%00")
