package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
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
