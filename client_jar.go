package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
)

// CookieJar keeps the cookies of a [Client] and decides which requests they are
// sent with (RFC 6265 section 5). Its methods may be called concurrently.
// net/http/cookiejar implements these rules; the example uses it.
type CookieJar interface {
	// SetCookies receives the cookies of a response to a request for u. u and the
	// cookies are valid only during the call: the jar must copy what it keeps. Values
	// and paths have the bytes that the server sent, also the quotes around a value
	// that Cookie.Parse drops, and the values are sent back so.
	SetCookies(u *URI, cookies []*Cookie)
	// Cookies returns the cookies to send in a request for u. The client reads them
	// before it calls the jar again, and doesn't keep them. u is valid only during
	// the call.
	Cookies(u *URI) []*Cookie
}

func init() {
	door.KeepCookies = func(jar, u, h any) { keepCookies(jar.(CookieJar), u.(*URI), h.(*ResponseHeader)) }
}

// addCookies adds the jar's cookies for req, the first of each name, except names
// that req has already. restore removes them again, so that they neither follow a
// redirect nor stay in the caller's request.
func addCookies(jar CookieJar, req *Request) (restore func()) {
	h := &req.Header
	own := string(h.Peek(HeaderCookie))
	if cookies := jar.Cookies(req.URI()); len(cookies) > 0 {
		// A map, because a server may have filled the jar with thousands of
		// cookies.
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
		c := cookiePool.Get().(*Cookie)
		defer ReleaseCookie(c)
		if c.parseKept(value) == nil {
			cookies = append(cookies, c)
		}
	}
	if len(cookies) > 0 {
		jar.SetCookies(u, cookies)
	}
}
