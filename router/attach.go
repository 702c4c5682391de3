package router

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// Limits are limits of the requests of a route. They hold before the body of a request is read, and only on
// servers that Router.Attach was called for. A field that is zero keeps the limit of the group around, or
// else of the Server.
type Limits struct {
	// MaxBody is the largest body in bytes. A larger one is answered with 413, before a client that sends
	// "Expect: 100-continue" is asked for it. It also limits a streamed body: reading more fails with
	// gale.ErrBodyTooLarge. See gale.RequestConfig.MaxRequestBodySize.
	MaxBody int
	// ReadTimeout replaces Server.ReadTimeout: the time from the first byte of a request to the end of its
	// body. A request that takes longer is answered with 408.
	ReadTimeout time.Duration
	// WriteTimeout replaces Server.WriteTimeout.
	WriteTimeout time.Duration
	// MaxConcurrent is how many requests the route has at a time. One more is answered with 503, and by default
	// "Retry-After: 1". A request counts from the end of its head until its response was sent, or could not be
	// sent: also while its body is read and while its response is streamed, and after a timeout or Detach until
	// the answer was sent. A connection that Hijack or Upgrade has taken over, such as a WebSocket, doesn't
	// count after the response. In the limits of a group it is a limit of each of its routes, not of all
	// together. Responses to pipelined requests of the route are written one at a time.
	MaxConcurrent int
	// StreamBody makes the server call the handler before the body has arrived: see Server.StreamRequestBody.
	StreamBody bool
}

// String returns the names and values of the fields that are set, such as "MaxBody 1024, ReadTimeout 5s", and "" for
// none.
func (l Limits) String() string {
	var list []string
	add := func(set bool, name string, value any) {
		if set {
			list = append(list, strings.TrimSpace(fmt.Sprint(name, " ", value)))
		}
	}
	add(l.MaxBody != 0, "MaxBody", l.MaxBody)
	add(l.ReadTimeout != 0, "ReadTimeout", l.ReadTimeout)
	add(l.WriteTimeout != 0, "WriteTimeout", l.WriteTimeout)
	add(l.MaxConcurrent != 0, "MaxConcurrent", l.MaxConcurrent)
	add(l.StreamBody, "StreamBody", "")
	return strings.Join(list, ", ")
}

// over returns l with the fields of around where l has none.
func (l Limits) over(around Limits) Limits {
	return Limits{
		MaxBody:       cmp.Or(l.MaxBody, around.MaxBody),
		ReadTimeout:   cmp.Or(l.ReadTimeout, around.ReadTimeout),
		WriteTimeout:  cmp.Or(l.WriteTimeout, around.WriteTimeout),
		MaxConcurrent: cmp.Or(l.MaxConcurrent, around.MaxConcurrent),
		StreamBody:    l.StreamBody || around.StreamBody,
	}
}

// Limit sets limits for the requests of the route, and returns it. Those of an earlier call stay where l has
// none. They need Attach: without it a server has no limits of routes, and the route panics, so that its
// requests are answered with 500. Handlers that are called without a gale.Server, as in tests and by net/http
// (package adaptor), have none, and don't panic. Limit panics if a limit is negative, or after the router
// has begun to serve. With MaxConcurrent, responses to pipelined requests of the route are written one at a time.
func (rt *Route) Limit(l Limits) *Route {
	rt.scope.setLimits(rt, l)
	return rt
}

// Limit sets limits for the requests of each route of the router or group and of groups inside of it, whose
// limits come first, as those of the routes do. It is Route.Limit for each of them.
func (s *scope) Limit(l Limits) { s.setLimits(nil, l) }

// setLimits sets the limits of rt, or those of s if rt is nil.
func (s *scope) setLimits(rt *Route, l Limits) {
	if min(int64(l.MaxBody), int64(l.ReadTimeout), int64(l.WriteTimeout), int64(l.MaxConcurrent)) < 0 {
		panic(fmt.Sprintf("router: a limit is negative: %v (Limit is called at %s). Leave out those that the server has", l, callText(callSite())))
	}
	r := s.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mustBeOpen("Limit")
	r.limited = true
	of := &s.limits
	if rt != nil {
		of = &rt.rarely().own
	}
	*of = l.over(*of)
}

// allLimits returns the limits of rt with those of the groups around. The caller holds mu, or routes are fixed.
func (rt *Route) allLimits() Limits {
	var l Limits
	if x := rt.rare.Load(); x != nil {
		l = x.own
	}
	for s := rt.scope; s != nil; s = s.parent {
		l = l.over(s.limits)
	}
	return l
}

// limits are the Limits of one route, which is served.
type limits struct {
	config gale.RequestConfig
	most   int64 // MaxConcurrent, 0 for no limit
	now    atomic.Int64
	ended  func(sent int64, err error) // counts a request less
}

// newLimits returns the limits of rt, with those of the groups around, or nil.
func newLimits(rt *Route) *limits {
	l := rt.allLimits()
	if l == (Limits{}) {
		return nil
	}
	in := &limits{most: int64(l.MaxConcurrent), config: gale.RequestConfig{
		ReadTimeout: l.ReadTimeout, WriteTimeout: l.WriteTimeout, MaxRequestBodySize: l.MaxBody, StreamRequestBody: l.StreamBody,
	}}
	in.ended = func(int64, error) { in.now.Add(-1) }
	return in
}

// begin returns what holds for a request of the route. It counts it until it has ended.
func (l *limits) begin(ctx *gale.RequestCtx) gale.RequestConfig {
	if l.most == 0 {
		return l.config
	}
	for {
		n := l.now.Load()
		if n >= l.most {
			return gale.RequestConfig{RefuseStatus: gale.StatusServiceUnavailable}
		}
		if l.now.CompareAndSwap(n, n+1) {
			ctx.AfterSend(l.ended)
			return l.config
		}
	}
}

// onlyAttached returns next, the handler of rt, with a check that the limits of the route have held.
func (t *table) onlyAttached(rt *Route, next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if ctx.ConnRequestNum() != 0 && door.RouteOf(ctx).Asked != t.number {
			panic(fmt.Sprintf("router: the route %s has limits, and this server doesn't know them: call Attach for "+
				"the server, in place of setting its Handler. If the router is mounted in another one, set the limits of "+
				"the route that mounts it. If it is swapped in, swap what Attach sets, too", rt.describe()))
		}
		next(ctx)
	}
}

// Attach makes server serve the routes with their limits: it sets server.Handler to that of Handler, and
// server.RequestStarted to a function that finds the route of a request as soon as its head has arrived. So
// RequestCtx.Pattern is known also in ErrorHandler and BeforeSend, for requests that the server refuses. The
// handler doesn't look for the route again, unless method, path or host of the request were changed
// meanwhile, as by a middleware; the limits stay those of the route that was found first.
//
// It is an error if server.Handler, server.HeaderReceived or server.RequestStarted is set already. What Attach
// has set may be wrapped afterwards, such as server.Handler in a middleware. Call it before the server serves.
// The router may be attached to several servers; the limits count for all together.
//
// To swap routers, swap what Attach sets for a server that is used for nothing else, and make the handler that of
// the router whose RequestStarted was called for the request: see the example. A new router counts from 0.
func (r *Router) Attach(server *gale.Server) error {
	switch {
	case server == nil:
		return errors.New("router: Attach gets no server")
	case server.Handler != nil:
		return errors.New("router: Attach sets Server.Handler, and the server has one already: wrap the handler that " +
			"Attach sets, or register the other one as a route")
	case server.HeaderReceived != nil:
		return errors.New("router: Attach gives each route its limits, and the server has HeaderReceived, which " +
			"gives others: use Limit of the routes")
	case server.RequestStarted != nil:
		return errors.New("router: Attach sets Server.RequestStarted, and the server has one already: set it " +
			"after Attach, to a function that calls the one that Attach has set")
	}
	server.Handler, server.RequestStarted = r.Handler(), r.started()
	return nil
}

// started returns what is Server.RequestStarted.
//
//go:noinline so that it is compiled here, with what is inlined in it
func (r *Router) started() func(ctx *gale.RequestCtx) gale.RequestConfig {
	return func(ctx *gale.RequestCtx) (c gale.RequestConfig) {
		t := r.table()
		m, method, target := door.BeginRoute(ctx)
		rt := t.match(ctx, m, msg.MethodID(method), target)
		if rt == nil || m.Noted {
			rt = t.found(ctx, m, rt, target)
		} else {
			m.Found = &rt.match
		}
		m.Keep(t.number, method, target, t.hostOf(ctx), t.hosts, rt)
		if !m.Early && *m.Made && !m.Moved {
			door.DropURI(ctx) // so that what a middleware changes in the header still counts
		}
		if rt == nil {
			return c
		}
		if x := rt.rare.Load(); x != nil && x.limits != nil {
			return x.limits.begin(ctx)
		}
		return c
	}
}

// hostOf returns the host of a request if it counts, else "".
func (t *table) hostOf(ctx *gale.RequestCtx) string {
	if !t.hosts {
		return ""
	}
	return hostOf(ctx)
}

// serveKept serves a request if m has what started has found for it.
func (t *table) serveKept(ctx *gale.RequestCtx, m *door.Route, method uint8, target []byte) (served bool) {
	if !m.Take(t.number, method, target, t.hostOf(ctx)) {
		return false
	}
	if m.Noted {
		door.NoteRoute(ctx)
	}
	if m.Found == nil {
		t.fallback(ctx)
		return true
	}
	m.Running = true
	m.Kept().(*Route).chain(ctx)
	m.End()
	return true
}
