package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// SetCookie sets a Set-Cookie field for the cookie. It replaces the first one whose
// cookie has the same name, whatever its domain and path, and deletes others of
// that name, as a server may have sent them. The cookie may be reused after the
// call.
func (h *ResponseHeader) SetCookie(cookie *Cookie) {
	used(h.s.Loan)
	value := lifetime.Kept(h.s.Loan, h.text.cookie, cookie.AppendBytes(h.text.cookie[:0]))
	bytesconv.NeutralizeText(value)
	h.text.cookie = value
	if i := h.findCookie(cookie.Key(), -1); i >= 0 {
		h.delCookie(cookie.Key(), i)
		h.s.SetAt(i, value)
		return
	}
	h.s.PutMore(msg.SetCookie, msg.SetCookie.Name(), value, msg.Normalized)
}

// Cookie sets cookie to the one that the response sets with the name cookie.Key().
// It returns false if there is none, or if it can't be parsed.
func (h *ResponseHeader) Cookie(cookie *Cookie) bool {
	used(h.s.Loan)
	v := h.peekCookie(cookie.Key())
	return v != nil && cookie.ParseBytes(v) == nil
}

// PeekCookie returns the whole value of the Set-Cookie field of the cookie called
// key, with its attributes, or nil if there is none. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *ResponseHeader) PeekCookie(key string) []byte { return h.peekCookie(bytesconv.S2B(key)) }

func (h *ResponseHeader) peekCookie(key []byte) []byte {
	used(h.s.Loan)
	if i := h.findCookie(key, -1); i >= 0 {
		return h.s.Value(i)
	}
	return nil
}

// findCookie returns the index of the first Set-Cookie field of the cookie called key
// that comes after field i, or -1.
func (h *ResponseHeader) findCookie(key []byte, i int) int {
	if i < 0 {
		i = h.s.Find(msg.SetCookie)
	} else {
		i = h.s.Next(i)
	}
	for ; i >= 0; i = h.s.Next(i) {
		if string(setCookieKey(h.s.Value(i))) == string(key) {
			return i
		}
	}
	return -1
}

// DelCookie deletes the Set-Cookie fields of the cookie called key. A client that
// has the cookie keeps it; to delete it there, use DelClientCookie.
func (h *ResponseHeader) DelCookie(key string) { h.DelCookieBytes(bytesconv.S2B(key)) }

// DelCookieBytes is [ResponseHeader.DelCookie] for a []byte key.
func (h *ResponseHeader) DelCookieBytes(key []byte) { h.delCookie(key, -1) }

// delCookie deletes the Set-Cookie fields of the cookie called key that come after
// field i.
func (h *ResponseHeader) delCookie(key []byte, i int) {
	used(h.s.Loan)
	for i = h.findCookie(key, i); i >= 0; i = h.findCookie(key, i) {
		h.s.DelAt(i)
	}
}

// DelClientCookie makes the client delete its cookie called key: the response sets
// it with an expiry in the past. This works for cookies without a domain and with
// the path of the request. To delete another cookie, set one with its domain and
// path and with CookieExpireDelete.
func (h *ResponseHeader) DelClientCookie(key string) {
	h.DelClientCookieBytes(bytesconv.S2B(key))
}

// DelClientCookieBytes is [ResponseHeader.DelClientCookie] for a []byte key.
func (h *ResponseHeader) DelClientCookieBytes(key []byte) {
	used(h.s.Loan)
	h.DelCookieBytes(key)
	b := append(h.text.cookie[:0], key...)
	kv.NeutralizeCookie(b)
	b = append(b, "=; expires=Tue, 10 Nov 2009 23:00:00 GMT"...)
	h.text.cookie = lifetime.Kept(h.s.Loan, h.text.cookie, b)
	h.s.PutMore(msg.SetCookie, msg.SetCookie.Name(), h.text.cookie, msg.Normalized)
}

// DelAllCookies deletes all Set-Cookie fields.
func (h *ResponseHeader) DelAllCookies() {
	used(h.s.Loan)
	h.s.Del(msg.SetCookie, nil)
}

// Cookies returns an iterator over the Set-Cookie fields, in order. It yields the
// name of each cookie and the whole value, which Cookie.ParseBytes parses. The header
// must not be changed during the iteration. The bytes are borrowed: they are valid
// until h changes or the handler returns.
func (h *ResponseHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visitCookies(yield) }
}

func (h *ResponseHeader) visitCookies(yield func(k, v []byte) bool) {
	used(h.s.Loan)
	for i := h.s.Find(msg.SetCookie); i >= 0; i = h.s.Next(i) {
		v := h.s.Value(i)
		if !yield(setCookieKey(v), v) {
			return
		}
	}
}

// VisitAllCookie calls f for what Cookies yields. The bytes are borrowed: they are
// valid until f returns.
//
// Deprecated: use Cookies.
func (h *ResponseHeader) VisitAllCookie(f func(key, value []byte)) {
	for k, v := range h.Cookies() {
		f(k, v)
	}
}

// cookieText is what Peek("Set-Cookie") returns.
func (h *ResponseHeader) cookieText() []byte {
	i := h.s.Find(msg.SetCookie)
	if i < 0 {
		return nil
	}
	return h.s.JoinValues(&h.text.cookie, i, "; ")
}
