package router

import "github.com/galehttp/gale"

// The methods of Router and Group here register a handler for one method of HTTP and a pattern without a
// method: as Handle does for "GET " and the pattern. Any is for all methods.

// GET is Handle for the method GET. GET routes match HEAD, too: see Router.NoHEAD.
func (s *scope) GET(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("GET "+pattern, handler, caller()[0])
}

// HEAD is Handle for the method HEAD.
func (s *scope) HEAD(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("HEAD "+pattern, handler, caller()[0])
}

// POST is Handle for the method POST.
func (s *scope) POST(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("POST "+pattern, handler, caller()[0])
}

// PUT is Handle for the method PUT.
func (s *scope) PUT(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("PUT "+pattern, handler, caller()[0])
}

// PATCH is Handle for the method PATCH.
func (s *scope) PATCH(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("PATCH "+pattern, handler, caller()[0])
}

// DELETE is Handle for the method DELETE.
func (s *scope) DELETE(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("DELETE "+pattern, handler, caller()[0])
}

// CONNECT is Handle for the method CONNECT.
func (s *scope) CONNECT(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("CONNECT "+pattern, handler, caller()[0])
}

// OPTIONS is Handle for the method OPTIONS.
func (s *scope) OPTIONS(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("OPTIONS "+pattern, handler, caller()[0])
}

// TRACE is Handle for the method TRACE.
func (s *scope) TRACE(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("TRACE "+pattern, handler, caller()[0])
}

// QUERY is Handle for the method QUERY.
func (s *scope) QUERY(pattern string, handler gale.RequestHandler) *Route {
	return s.handle("QUERY "+pattern, handler, caller()[0])
}

// Any is Handle for all methods.
func (s *scope) Any(pattern string, handler gale.RequestHandler) *Route {
	return s.handle(pattern, handler, caller()[0])
}
