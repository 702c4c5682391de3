package gale

import "github.com/galehttp/gale/internal/bytesconv"

// CookieJar keeps the cookies of a [Client]. Its methods may be called
// concurrently. It decides which cookies go where (RFC 6265 section 5): a jar
// that does so by the rules is net/http/cookiejar, see the example. Not in
// fasthttp.
type CookieJar interface {
	// SetCookies takes the cookies of a response to a request for u. Both are
	// good for the call only: the jar copies what it keeps.
	SetCookies(u *URI, cookies []*Cookie)
	// Cookies returns the cookies to send in a request for u. They are read
	// before the next call and not kept. u is good for the call only.
	Cookies(u *URI) []*Cookie
}

// addCookies adds the cookies that the jar has for req, the first of each name, unless
// req has one of that name itself. restore takes them out
// again, so that they don't follow a redirect nor stay in the caller's request.
func addCookies(jar CookieJar, req *Request) (restore func()) {
	h := &req.Header
	own := string(h.Peek(HeaderCookie))
	if cookies := jar.Cookies(req.URI()); len(cookies) > 0 {
		// A set, since a server may have filled the jar with thousands of cookies.
		names := make(map[string]bool, len(cookies))
		for name := range h.Cookies() {
			names[string(name)] = true
		}
		h.s.OwnCookies()
		for _, c := range cookies {
			if name := string(c.Key()); !names[name] {
				names[name] = true
				h.appendCookie(name, bytesconv.B2S(c.Value()))
			}
		}
	}
	return func() {
		h.DelAllCookies()
		if own != "" {
			h.Set(HeaderCookie, own)
		}
	}
}

// keepCookies gives the jar the cookies that a response from u sets.
func keepCookies(jar CookieJar, u *URI, h *ResponseHeader) {
	var cookies []*Cookie
	for _, value := range h.Cookies() {
		c := AcquireCookie()
		defer ReleaseCookie(c)
		if c.ParseBytes(value) == nil {
			cookies = append(cookies, c)
		}
	}
	if len(cookies) > 0 {
		jar.SetCookies(u, cookies)
	}
}
