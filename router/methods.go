package router

import "github.com/galehttp/gale"

// The methods of Router and Group here register a handler for one method of HTTP and a pattern without a
// method: as Handle does for "GET " and the pattern. Any is for all methods.

// GET is Handle for the method GET. GET routes match HEAD, too: see Router.NoHEAD.
func (s *scope) GET(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("GET "+pattern, handler)
}

// HEAD is Handle for the method HEAD.
func (s *scope) HEAD(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("HEAD "+pattern, handler)
}

// POST is Handle for the method POST.
func (s *scope) POST(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("POST "+pattern, handler)
}

// PUT is Handle for the method PUT.
func (s *scope) PUT(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("PUT "+pattern, handler)
}

// PATCH is Handle for the method PATCH.
func (s *scope) PATCH(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("PATCH "+pattern, handler)
}

// DELETE is Handle for the method DELETE.
func (s *scope) DELETE(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("DELETE "+pattern, handler)
}

// CONNECT is Handle for the method CONNECT.
func (s *scope) CONNECT(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("CONNECT "+pattern, handler)
}

// OPTIONS is Handle for the method OPTIONS.
func (s *scope) OPTIONS(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("OPTIONS "+pattern, handler)
}

// TRACE is Handle for the method TRACE.
func (s *scope) TRACE(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("TRACE "+pattern, handler)
}

// QUERY is Handle for the method QUERY.
func (s *scope) QUERY(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle("QUERY "+pattern, handler)
}

// Any is Handle for all methods.
func (s *scope) Any(pattern string, handler gale.RequestHandler) *Route {
	return s.Handle(pattern, handler)
}
