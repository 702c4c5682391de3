package head

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/msg"
)

// CookieState says where the cookies of a request are.
type CookieState uint8

// The states of cookies.
const (
	CookiesUnread CookieState = iota // in the Cookie fields
	CookiesRead                      // there, and a copy in Request.Cookies
	CookiesOwned                     // in Request.Cookies alone
)

// MaxCookies is the number of cookies that are looked at in the fields of one
// request; those beyond are passed on, but not found.
const MaxCookies = 4096

// ReadCookies makes Cookies a copy of what the Cookie fields have, unless it is one.
func (r *Request) ReadCookies() {
	if r.CookieState != CookiesUnread || !r.Has(msg.Cookie) {
		return
	}
	r.Cookies.Reset()
	for i := r.Find(msg.Cookie); i >= 0; i = r.Next(i) {
		if !r.Cookies.AddCookies(r.Value(i), MaxCookies) {
			break
		}
	}
	r.CookieState = CookiesRead
}

// OwnCookies makes Cookies the place where cookies are changed.
func (r *Request) OwnCookies() {
	r.ReadCookies()
	r.Del(msg.Cookie, nil)
	r.CookieState = CookiesOwned
}

// DelCookies deletes all cookies.
func (r *Request) DelCookies() {
	r.Del(msg.Cookie, nil)
	r.Cookies.Reset()
	r.CookieState = CookiesUnread
}

// SetCookieField sets the cookies of a Cookie field's value: those of the same names
// go, the others stay.
func (r *Request) SetCookieField(name, value []byte) {
	if r.Has(msg.Cookie) || r.CookieState == CookiesOwned {
		var list kv.List
		list.AddCookies(value, MaxCookies)
		r.ReadCookies()
		if r.Cookies.Len() >= MaxCookies { // there may be more of them in the fields
			r.OwnCookies()
		}
		for i := range list.Len() {
			if k := bytesconv.B2S(list.Key(i)); r.Cookies.Index(k) >= 0 {
				r.OwnCookies()
				r.Cookies.Del(k)
			}
		}
	}
	r.AddCookieField(name, value)
}

// AddCookieField adds the cookies of a Cookie field's value. As long as no
// single cookie was changed the value stays as it is, quotes and all.
func (r *Request) AddCookieField(name, value []byte) {
	if r.CookieState == CookiesOwned {
		r.Cookies.AddCookies(value, r.Cookies.Len()+MaxCookies)
		return
	}
	if r.CookieState == CookiesRead {
		r.Cookies.Reset()
		r.CookieState = CookiesUnread
	}
	var buf []byte
	if old := r.CookieText(&buf); len(old) > 0 {
		value = bytes.Join([][]byte{old, value}, []byte("; "))
	}
	if len(value) > 0 {
		r.Put(msg.Cookie, name, value, r.Spelling)
	}
}

// CookieText returns the value of the one Cookie field that says what all of
// them say, nil for none. It may be made in *buf.
func (r *Request) CookieText(buf *[]byte) []byte {
	if r.CookieState == CookiesOwned {
		if r.Cookies.Len() == 0 {
			return nil
		}
		*buf = r.AppendCookies((*buf)[:0])
		return *buf
	}
	i := r.Find(msg.Cookie)
	if i < 0 {
		return nil
	}
	return r.JoinValues(buf, i, "; ")
}

// AppendCookies appends Cookies as a field value. The list may hold anything;
// nothing in what is appended ends a cookie or the line.
func (r *Request) AppendCookies(dst []byte) []byte {
	n := len(dst)
	dst = r.Cookies.AppendCookies(dst)
	bytesconv.NeutralizeText(dst[n:])
	return dst
}
