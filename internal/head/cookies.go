package head

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// CookieState says where the cookies of a request are.
type CookieState uint8

// The states of cookies.
const (
	CookiesUnread CookieState = iota // in the Cookie fields
	CookiesRead                      // in the Cookie fields, with a copy in Request.Cookies
	CookiesOwned                     // only in Request.Cookies
)

// MaxCookies is the highest number of cookies that are parsed in the fields of one
// request. Further cookies can't be found, but are sent when the request is forwarded.
const MaxCookies = 4096

// ReadCookies copies the cookies of the Cookie fields to Cookies, unless that was done.
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

// OwnCookies moves the cookies to Cookies, where they can be changed.
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

// SetCookieField sets the cookies in the value of a Cookie field. They replace cookies of
// the same names; other cookies stay.
func (r *Request) SetCookieField(name, value []byte) {
	if r.Has(msg.Cookie) || r.CookieState == CookiesOwned {
		var list kv.List
		list.AddCookies(value, MaxCookies)
		r.ReadCookies()
		if r.Cookies.Len() >= MaxCookies { // the fields may have more of them
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

// AddCookieField adds the cookies in the value of a Cookie field. As long as no single
// cookie is changed, the value stays exactly as it is, including quotes.
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

// CookieText returns the value of one Cookie field with the cookies of all fields, nil
// for none. It may use the memory of *buf.
func (r *Request) CookieText(buf *[]byte) []byte {
	if r.CookieState == CookiesOwned {
		if r.Cookies.Len() == 0 {
			return nil
		}
		*buf = lifetime.Kept(r.Loan, *buf, r.AppendCookies((*buf)[:0]))
		return *buf
	}
	i := r.Find(msg.Cookie)
	if i < 0 {
		return nil
	}
	return r.JoinValues(buf, i, "; ")
}

// AppendCookies appends Cookies as a field value. Names and values in the list may have
// any bytes; those that would end a cookie or the line are replaced.
func (r *Request) AppendCookies(dst []byte) []byte {
	n := len(dst)
	dst = r.Cookies.AppendCookies(dst)
	bytesconv.NeutralizeText(dst[n:])
	return dst
}
