package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// Cookie returns the value of the cookie called key, or nil if there is none. The
// Cookie fields are parsed at the first call that needs a cookie. The bytes are
// borrowed: they are valid until h changes or the handler returns.
func (h *RequestHeader) Cookie(key string) []byte {
	h.s.ReadCookies()
	if v := h.s.Cookies.Peek(key); v != nil {
		return v
	}
	used(h.s.Loan)
	return nil
}

// CookieBytes is [RequestHeader.Cookie] for a []byte key. The bytes are borrowed:
// they are valid until h changes or the handler returns.
func (h *RequestHeader) CookieBytes(key []byte) []byte { return h.Cookie(bytesconv.B2S(key)) }

// SetCookie sets the cookie called key to the value, or adds it. If there are
// several cookies of that name, as a client may send them, the others are deleted.
// Semicolons and line ends in the value become spaces at once; those in the key
// become spaces when the header is written.
func (h *RequestHeader) SetCookie(key, value string) {
	used(h.s.Loan)
	h.s.OwnCookies()
	h.s.Cookies.SetOnly(key, value)
	kv.NeutralizeCookie(h.s.Cookies.Peek(key))
}

// appendCookie adds a cookie to those that the header owns, without looking for
// others of that name.
func (h *RequestHeader) appendCookie(key, value string) {
	h.s.Cookies.Add(key, value)
	kv.NeutralizeCookie(h.s.Cookies.Value(h.s.Cookies.Len() - 1))
}

// SetCookieBytesK is [RequestHeader.SetCookie] for a []byte key.
func (h *RequestHeader) SetCookieBytesK(key []byte, value string) {
	h.SetCookie(bytesconv.B2S(key), value)
}

// SetCookieBytesKV is [RequestHeader.SetCookie] for a []byte key and value.
func (h *RequestHeader) SetCookieBytesKV(key, value []byte) {
	h.SetCookie(bytesconv.B2S(key), bytesconv.B2S(value))
}

// DelCookie deletes all cookies called key.
func (h *RequestHeader) DelCookie(key string) {
	used(h.s.Loan)
	h.s.OwnCookies()
	h.s.Cookies.Del(key)
}

// DelCookieBytes is [RequestHeader.DelCookie] for a []byte key.
func (h *RequestHeader) DelCookieBytes(key []byte) { h.DelCookie(bytesconv.B2S(key)) }

// DelAllCookies deletes all cookies.
func (h *RequestHeader) DelAllCookies() {
	used(h.s.Loan)
	h.s.DelCookies()
}

// Cookies returns an iterator over the names and values of the cookies, in order.
// The header must not be changed during the iteration. The bytes are borrowed:
// they are valid until h changes or the handler returns.
func (h *RequestHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visitCookies(yield) }
}

// VisitAllCookie calls f for the name and the value of each cookie, in order. The
// bytes are borrowed: they are valid until f returns.
//
// Deprecated: use Cookies.
func (h *RequestHeader) VisitAllCookie(f func(key, value []byte)) {
	for k, v := range h.Cookies() {
		f(k, v)
	}
}

func (h *RequestHeader) visitCookies(yield func(k, v []byte) bool) {
	used(h.s.Loan)
	h.s.ReadCookies()
	for i := range h.s.Cookies.Len() {
		if !yield(h.s.Cookies.At(i)) {
			return
		}
	}
}

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
