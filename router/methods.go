package router

import "github.com/galehttp/gale"

// The methods here register a handler for one method of HTTP and a pattern without a method: as Handle
// does for "GET " and the pattern. Any is for all methods.

// GET is Handle for the method GET. GET routes match HEAD, too: see Router.NoHEAD.
func (r *Router) GET(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("GET "+pattern, handler)
}

// HEAD is Handle for the method HEAD.
func (r *Router) HEAD(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("HEAD "+pattern, handler)
}

// POST is Handle for the method POST.
func (r *Router) POST(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("POST "+pattern, handler)
}

// PUT is Handle for the method PUT.
func (r *Router) PUT(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("PUT "+pattern, handler)
}

// PATCH is Handle for the method PATCH.
func (r *Router) PATCH(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("PATCH "+pattern, handler)
}

// DELETE is Handle for the method DELETE.
func (r *Router) DELETE(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("DELETE "+pattern, handler)
}

// CONNECT is Handle for the method CONNECT.
func (r *Router) CONNECT(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("CONNECT "+pattern, handler)
}

// OPTIONS is Handle for the method OPTIONS.
func (r *Router) OPTIONS(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("OPTIONS "+pattern, handler)
}

// TRACE is Handle for the method TRACE.
func (r *Router) TRACE(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("TRACE "+pattern, handler)
}

// QUERY is Handle for the method QUERY.
func (r *Router) QUERY(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle("QUERY "+pattern, handler)
}

// Any is Handle for all methods.
func (r *Router) Any(pattern string, handler gale.RequestHandler) *Route {
	return r.Handle(pattern, handler)
}

// GET is Handle for the method GET. GET routes match HEAD, too: see Router.NoHEAD.
func (g *Group) GET(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("GET "+pattern, handler)
}

// HEAD is Handle for the method HEAD.
func (g *Group) HEAD(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("HEAD "+pattern, handler)
}

// POST is Handle for the method POST.
func (g *Group) POST(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("POST "+pattern, handler)
}

// PUT is Handle for the method PUT.
func (g *Group) PUT(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("PUT "+pattern, handler)
}

// PATCH is Handle for the method PATCH.
func (g *Group) PATCH(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("PATCH "+pattern, handler)
}

// DELETE is Handle for the method DELETE.
func (g *Group) DELETE(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("DELETE "+pattern, handler)
}

// CONNECT is Handle for the method CONNECT.
func (g *Group) CONNECT(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("CONNECT "+pattern, handler)
}

// OPTIONS is Handle for the method OPTIONS.
func (g *Group) OPTIONS(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("OPTIONS "+pattern, handler)
}

// TRACE is Handle for the method TRACE.
func (g *Group) TRACE(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("TRACE "+pattern, handler)
}

// QUERY is Handle for the method QUERY.
func (g *Group) QUERY(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle("QUERY "+pattern, handler)
}

// Any is Handle for all methods.
func (g *Group) Any(pattern string, handler gale.RequestHandler) *Route {
	return g.Handle(pattern, handler)
}
