package gale

import (
	"bytes"
	"io"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pathrule"
	"github.com/galehttp/gale/internal/pool"
)

// CookieExpireDelete is an expiration time in the past. A client deletes a cookie
// that has it.
var CookieExpireDelete = time.Date(2009, time.November, 10, 23, 0, 0, 0, time.UTC)

// CookieExpireUnlimited is the expiration time of cookies without an Expires
// attribute: they don't expire, or end with the browser's session. It is the zero
// time.
var CookieExpireUnlimited time.Time

// CookieSameSite is the value of the SameSite attribute. It says whether browsers
// send the cookie with requests that come from other sites.
type CookieSameSite int

// Values of the SameSite attribute.
const (
	CookieSameSiteDisabled    CookieSameSite = iota // no attribute
	CookieSameSiteDefaultMode                       // "SameSite" without a value
	CookieSameSiteLaxMode                           // "SameSite=Lax"
	CookieSameSiteStrictMode                        // "SameSite=Strict"
	CookieSameSiteNoneMode                          // "SameSite=None"
)

// Cookie is a cookie with its attributes, as a server sends it in a Set-Cookie
// header (RFC 6265 section 4.1).
//
// The printed cookie is always one cookie, whatever was set: in names, values,
// domains and paths, ";" and control characters become spaces, and so does "=" in
// names.
//
// The zero value is an empty cookie. Cookie must not be copied (use
// [Cookie.CopyTo]) or used by several goroutines at once.
//
// Bytes that methods return are borrowed; see "Borrowed bytes" in the comment of the
// package. Only setting the same part, parsing into the cookie, Reset and a release
// count as changes. Methods copy their arguments.
type Cookie struct {
	_ noCopy

	key, value, domain, path []byte

	expire      time.Time
	maxAge      int // seconds; 0: none, negative: delete now
	sameSite    CookieSameSite
	httpOnly    bool
	secure      bool
	partitioned bool

	buf []byte // what Cookie returned

	loan *lifetime.Loan // what c belongs to while it is lent, else nil
}

var cookiePool = pool.Pool{New: func() any { return new(Cookie) }}

// AcquireCookie returns an empty cookie from a pool. It belongs to the caller until
// [ReleaseCookie]. If it isn't released, the garbage collector frees it.
func AcquireCookie() *Cookie {
	if l := borrow("ReleaseCookie"); l != nil {
		c := new(Cookie)
		c.lend(l)
		return c
	}
	return cookiePool.Get().(*Cookie)
}

// ReleaseCookie puts c into the pool. Neither c nor anything that its methods
// returned may be used afterwards.
func ReleaseCookie(c *Cookie) {
	if l := c.loan; l != nil {
		giveUp(c, l, "ReleaseCookie")
		return
	}
	c.Reset()
	cookiePool.Put(c)
}

// Reset makes c an empty cookie. It keeps the buffers for reuse unless they are
// huge.
func (c *Cookie) Reset() {
	used(c.loan)
	c.key, c.value = keepScratch(c.key), keepScratch(c.value)
	c.domain, c.path = keepScratch(c.domain), keepScratch(c.path)
	c.buf = keepScratch(c.buf)
	c.expire, c.maxAge, c.sameSite = CookieExpireUnlimited, 0, CookieSameSiteDisabled
	c.httpOnly, c.secure, c.partitioned = false, false, false
}

// CopyTo makes c a copy of src that shares no memory with it. Note the direction: the
// receiver is what changes.
func (c *Cookie) CopyTo(src *Cookie) {
	used(c.loan)
	used(src.loan)
	c.key = c.kept(c.key, append(c.key[:0], src.key...))
	c.value = c.kept(c.value, append(c.value[:0], src.value...))
	c.domain = c.kept(c.domain, append(c.domain[:0], src.domain...))
	c.path = c.kept(c.path, append(c.path[:0], src.path...))
	c.expire, c.maxAge, c.sameSite = src.expire, src.maxAge, src.sameSite
	c.httpOnly, c.secure, c.partitioned = src.httpOnly, src.secure, src.partitioned
}

// Key returns the name. The bytes are borrowed: they are valid until c changes or the
// handler returns.
func (c *Cookie) Key() []byte {
	used(c.loan)
	return c.key
}

// SetKey sets the name.
func (c *Cookie) SetKey(key string) { c.SetKeyBytes(bytesconv.S2B(key)) }

// SetKeyBytes is [Cookie.SetKey] for bytes.
func (c *Cookie) SetKeyBytes(key []byte) {
	used(c.loan)
	c.key = setCookiePart(c.loan, c.key, key)
	for i, b := range c.key {
		if b == '=' {
			c.key[i] = ' '
		}
	}
}

// Value returns the value, without the quotes it was parsed with. The bytes are
// borrowed: they are valid until c changes or the handler returns.
func (c *Cookie) Value() []byte {
	used(c.loan)
	return c.value
}

// SetValue sets the value.
func (c *Cookie) SetValue(value string) { c.SetValueBytes(bytesconv.S2B(value)) }

// SetValueBytes is [Cookie.SetValue] for bytes.
func (c *Cookie) SetValueBytes(value []byte) {
	used(c.loan)
	c.value = setCookiePart(c.loan, c.value, value)
}

// Domain returns the Domain attribute, which is empty if there is none. The bytes are
// borrowed: they are valid until c changes or the handler returns.
func (c *Cookie) Domain() []byte {
	used(c.loan)
	return c.domain
}

// SetDomain sets the Domain attribute. A cookie without one is sent only to the
// host that it came from.
func (c *Cookie) SetDomain(domain string) { c.SetDomainBytes(bytesconv.S2B(domain)) }

// SetDomainBytes is [Cookie.SetDomain] for bytes.
func (c *Cookie) SetDomainBytes(domain []byte) {
	used(c.loan)
	c.domain = setCookiePart(c.loan, c.domain, domain)
}

// Path returns the Path attribute, which is empty if there is none. The bytes are
// borrowed: they are valid until c changes or the handler returns.
func (c *Cookie) Path() []byte {
	used(c.loan)
	return c.path
}

// SetPath sets the Path attribute to path, decoded and normalised as in [URI.Path];
// "" becomes "/".
func (c *Cookie) SetPath(path string) { c.SetPathBytes(bytesconv.S2B(path)) }

// SetPathBytes is [Cookie.SetPath] for bytes.
func (c *Cookie) SetPathBytes(path []byte) {
	used(c.loan)
	c.buf = c.kept(c.buf, pathrule.AppendNormal(c.buf[:0], path, pathrule.BackslashIsSlash, ""))
	c.path = setCookiePart(c.loan, c.path, c.buf)
}

// setCookiePart overwrites dst, which may be memory of l, with src. Bytes that would end a cookie, an
// attribute or a header line become spaces.
func setCookiePart(l *lifetime.Loan, dst, src []byte) []byte {
	if len(src) > cap(dst) {
		dst = lifetime.Grow(l, dst[:0], len(src))
	}
	dst = dst[:len(src)]
	copy(dst, src)
	for i, b := range dst {
		if cookieBreak[b] {
			dst[i] = ' '
		}
	}
	return dst
}

var cookieBreak = func() (t [256]bool) {
	for i := range 256 {
		t[i] = i == ';' || isControl(byte(i))
	}
	return t
}()

// Expire returns the Expires attribute, or [CookieExpireUnlimited] if there is
// none.
func (c *Cookie) Expire() time.Time {
	used(c.loan)
	return c.expire
}

// SetExpire sets the Expires attribute, which has a precision of one second.
// [CookieExpireUnlimited] removes it. The attribute is not printed if there is a
// Max-Age.
func (c *Cookie) SetExpire(expire time.Time) {
	used(c.loan)
	c.expire = expire
}

// MaxAge returns the Max-Age attribute in seconds, or 0 if there is none. It is
// negative if clients must delete the cookie at once.
func (c *Cookie) MaxAge() int {
	used(c.loan)
	return c.maxAge
}

// SetMaxAge sets the Max-Age attribute in seconds. 0 removes it. A negative number
// makes clients delete the cookie at once ("max-age=0"). Max-Age takes precedence
// over Expires (RFC 6265 section 4.1.2.2).
func (c *Cookie) SetMaxAge(seconds int) {
	used(c.loan)
	c.maxAge = seconds
}

// HTTPOnly reports whether the cookie has the HttpOnly attribute: browsers hide it
// from scripts.
func (c *Cookie) HTTPOnly() bool {
	used(c.loan)
	return c.httpOnly
}

// SetHTTPOnly sets or removes the HttpOnly attribute, which hides the cookie from
// scripts.
func (c *Cookie) SetHTTPOnly(httpOnly bool) {
	used(c.loan)
	c.httpOnly = httpOnly
}

// Secure reports whether the cookie has the Secure attribute: clients send it only
// over secure connections.
func (c *Cookie) Secure() bool {
	used(c.loan)
	return c.secure
}

// SetSecure sets or removes the Secure attribute. With it, clients send the cookie
// only over secure connections.
func (c *Cookie) SetSecure(secure bool) {
	used(c.loan)
	c.secure = secure
}

// SameSite returns the SameSite attribute.
func (c *Cookie) SameSite() CookieSameSite {
	used(c.loan)
	return c.sameSite
}

// SetSameSite sets the SameSite attribute. [CookieSameSiteNoneMode] sets Secure
// too, because browsers refuse such cookies without it.
func (c *Cookie) SetSameSite(mode CookieSameSite) {
	used(c.loan)
	c.sameSite = mode
	if mode == CookieSameSiteNoneMode {
		c.secure = true
	}
}

// Partitioned reports whether the cookie has the Partitioned attribute: browsers
// keep a separate one for each top-level site.
func (c *Cookie) Partitioned() bool {
	used(c.loan)
	return c.partitioned
}

// SetPartitioned sets or removes the Partitioned attribute. With it, browsers keep
// a separate cookie for each top-level site. true also sets Secure and the path
// "/", because browsers refuse such cookies without them.
func (c *Cookie) SetPartitioned(partitioned bool) {
	used(c.loan)
	c.partitioned = partitioned
	if partitioned {
		c.secure = true
		c.path = c.kept(c.path, append(c.path[:0], '/'))
	}
}

// String returns the cookie as [Cookie.AppendBytes] writes it.
func (c *Cookie) String() string { return string(c.Cookie()) }

// Cookie returns the cookie as [Cookie.AppendBytes] writes it. The bytes are
// borrowed: they are valid until c changes or the handler returns. The next call of
// Cookie, String, WriteTo, SetPath or SetPathBytes overwrites them.
func (c *Cookie) Cookie() []byte {
	c.buf = c.kept(c.buf, c.AppendBytes(c.buf[:0]))
	return c.buf
}

// WriteTo writes the cookie as [Cookie.AppendBytes] does. It implements
// [io.WriterTo].
func (c *Cookie) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c.Cookie())
	return int64(n), err
}

// AppendBytes appends the value of a Set-Cookie field to dst and returns the
// extended slice:
//
//	key=value; max-age=1; domain=d; path=/p; HttpOnly; secure; SameSite=Lax; Partitioned
//
// Attributes that aren't set are left out; "expires=" is written only if there is no
// max-age. A cookie without a name is written as its value alone, with a "=" before
// it if the value could be read as a name. The result belongs to the caller.
func (c *Cookie) AppendBytes(dst []byte) []byte {
	used(c.loan)
	if len(c.key) > 0 || bytes.IndexByte(c.value, '=') >= 0 {
		dst = append(dst, c.key...)
		dst = append(dst, '=')
	}
	dst = append(dst, c.value...)

	switch {
	case c.maxAge > 0:
		dst = bytesconv.AppendInt(append(dst, "; max-age="...), c.maxAge)
	case c.maxAge < 0:
		dst = append(dst, "; max-age=0"...)
	case !c.expire.IsZero():
		dst = AppendHTTPDate(append(dst, "; expires="...), c.expire)
	}
	if len(c.domain) > 0 {
		dst = append(append(dst, "; domain="...), c.domain...)
	}
	if len(c.path) > 0 {
		dst = append(append(dst, "; path="...), c.path...)
	}
	if c.httpOnly {
		dst = append(dst, "; HttpOnly"...)
	}
	if c.secure {
		dst = append(dst, "; secure"...)
	}
	switch c.sameSite {
	case CookieSameSiteDefaultMode:
		dst = append(dst, "; SameSite"...)
	case CookieSameSiteLaxMode:
		dst = append(dst, "; SameSite=Lax"...)
	case CookieSameSiteStrictMode:
		dst = append(dst, "; SameSite=Strict"...)
	case CookieSameSiteNoneMode:
		dst = append(dst, "; SameSite=None"...)
	}
	if c.partitioned {
		dst = append(dst, "; Partitioned"...)
	}
	return dst
}

// lend makes c part of l: its memory moves to l, and grows there from now on.
func (c *Cookie) lend(l *lifetime.Loan) {
	c.loan = l
	for _, b := range [...]*[]byte{&c.key, &c.value, &c.domain, &c.path, &c.buf} {
		*b = lifetime.Move(l, *b)
	}
}

// lapse empties c at the end of its loan.
func (c *Cookie) lapse() {
	for _, b := range [...][]byte{c.key, c.value, c.domain, c.path, c.buf} {
		c.loan.KeepLast(b)
	}
	c.key, c.value, c.domain, c.path, c.buf = nil, nil, nil, nil, nil
	c.expire, c.maxAge, c.sameSite = CookieExpireUnlimited, 0, CookieSameSiteDisabled
	c.httpOnly, c.secure, c.partitioned = false, false, false
}

// kept returns b, the result of appending to old, in memory of the loan if there is one.
func (c *Cookie) kept(old, b []byte) []byte { return lifetime.Kept(c.loan, old, b) }
