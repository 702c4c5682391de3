package gale

import (
	"bytes"
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/msg"
)

// cookieState says where the cookies of a request are.
type cookieState uint8

const (
	cookiesUnread cookieState = iota // in the Cookie fields
	cookiesRead                      // there, and a copy in RequestHeader.cookies
	cookiesOwned                     // in RequestHeader.cookies alone
)

// maxCookies is the number of cookies that are looked at in the fields of one
// request; those beyond are passed on, but not found.
const maxCookies = 4096

// Cookie returns the value of the cookie called key, or nil if there is none.
// The fields are taken apart when the first cookie is asked for.
func (h *RequestHeader) Cookie(key string) []byte {
	h.readCookies()
	return h.cookies.Peek(key)
}

// CookieBytes is [RequestHeader.Cookie] for a []byte key.
func (h *RequestHeader) CookieBytes(key []byte) []byte { return h.Cookie(bytesconv.B2S(key)) }

// SetCookie gives the cookie called key the value, or adds it. Semicolons and
// line ends in the value become spaces, those in the key when the header is
// written.
func (h *RequestHeader) SetCookie(key, value string) {
	h.ownCookies()
	h.cookies.Set(key, value)
	kv.NeutralizeCookie(h.cookies.Peek(key))
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
	h.ownCookies()
	h.cookies.Del(key)
}

// DelCookieBytes is [RequestHeader.DelCookie] for a []byte key.
func (h *RequestHeader) DelCookieBytes(key []byte) { h.DelCookie(bytesconv.B2S(key)) }

// DelAllCookies deletes all cookies.
func (h *RequestHeader) DelAllCookies() {
	h.s.Del(msg.Cookie, nil)
	h.cookies.Reset()
	h.cookieState = cookiesUnread
}

// Cookies returns an iterator over the names and values of the cookies, in
// order. The header must not be changed meanwhile.
func (h *RequestHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visitCookies(yield) }
}

// VisitAllCookie calls f for the name and the value of each cookie, in order.
// The slices are valid during the call.
//
// Deprecated: use Cookies.
func (h *RequestHeader) VisitAllCookie(f func(key, value []byte)) {
	for k, v := range h.Cookies() {
		f(k, v)
	}
}

func (h *RequestHeader) visitCookies(yield func(k, v []byte) bool) {
	h.readCookies()
	for i := range h.cookies.Len() {
		if !yield(h.cookies.At(i)) {
			return
		}
	}
}

// readCookies takes the Cookie fields apart, once.
func (h *RequestHeader) readCookies() {
	if h.cookieState != cookiesUnread || !h.s.Has(msg.Cookie) {
		return
	}
	h.cookies.Reset()
	for i := h.s.Find(msg.Cookie); i >= 0; i = h.s.Next(i) {
		if !h.cookies.AddCookies(h.s.Value(i), maxCookies) {
			break
		}
	}
	h.cookieState = cookiesRead
}

// ownCookies makes the list the place where cookies are changed.
func (h *RequestHeader) ownCookies() {
	h.readCookies()
	h.s.Del(msg.Cookie, nil)
	h.cookieState = cookiesOwned
}

// addCookieField adds the cookies of a Cookie field's value. As long as no
// single cookie was changed the value stays as it is, quotes and all.
func (h *RequestHeader) addCookieField(key, value []byte) {
	if h.cookieState == cookiesOwned {
		h.cookies.AddCookies(value, maxCookies)
		return
	}
	if h.cookieState == cookiesRead {
		h.cookies.Reset()
		h.cookieState = cookiesUnread
	}
	if old := h.cookieText(); len(old) > 0 {
		value = bytes.Join([][]byte{old, value}, []byte("; "))
	}
	if len(value) > 0 {
		h.s.Put(msg.Cookie, key, value, h.asIs)
	}
}

// cookieText returns the value of the one Cookie field that says what all of
// them say, or nil.
func (h *RequestHeader) cookieText() []byte {
	if h.cookieState == cookiesOwned {
		if h.cookies.Len() == 0 {
			return nil
		}
		h.text.cookie = h.appendCookies(h.text.cookie[:0])
		return h.text.cookie
	}
	i := h.s.Find(msg.Cookie)
	if i < 0 {
		return nil
	}
	next := h.s.Next(i)
	if next < 0 {
		return h.s.Value(i)
	}
	b := append(h.text.cookie[:0], h.s.Value(i)...)
	for ; next >= 0; next = h.s.Next(next) {
		b = append(b, "; "...)
		b = append(b, h.s.Value(next)...)
	}
	h.text.cookie = b
	return b
}

// appendCookies appends the list as a field value. The list may hold anything;
// nothing in what is appended ends a cookie or the line.
func (h *RequestHeader) appendCookies(dst []byte) []byte {
	n := len(dst)
	dst = h.cookies.AppendCookies(dst)
	bytesconv.NeutralizeText(dst[n:])
	return dst
}
