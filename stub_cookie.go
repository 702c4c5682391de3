package gale

import (
	"io"
	"time"
)

const CookieSameSiteDefaultMode CookieSameSite = 1

const CookieSameSiteDisabled CookieSameSite = 0

const CookieSameSiteLaxMode CookieSameSite = 2

const CookieSameSiteNoneMode CookieSameSite = 4

const CookieSameSiteStrictMode CookieSameSite = 3

func AcquireCookie() *Cookie { panic("stub") }

func ReleaseCookie(*Cookie) { panic("stub") }

func (*Cookie) AppendBytes([]byte) []byte { panic("stub") }

func (*Cookie) Cookie() []byte { panic("stub") }

func (*Cookie) CopyTo(*Cookie) { panic("stub") }

func (*Cookie) Domain() []byte { panic("stub") }

func (*Cookie) Expire() time.Time { panic("stub") }

func (*Cookie) HTTPOnly() bool { panic("stub") }

func (*Cookie) Key() []byte { panic("stub") }

func (*Cookie) MaxAge() int { panic("stub") }

func (*Cookie) Parse(string) error { panic("stub") }

func (*Cookie) ParseBytes([]byte) error { panic("stub") }

func (*Cookie) Partitioned() bool { panic("stub") }

func (*Cookie) Path() []byte { panic("stub") }

func (*Cookie) Reset() { panic("stub") }

func (*Cookie) SameSite() CookieSameSite { panic("stub") }

func (*Cookie) Secure() bool { panic("stub") }

func (*Cookie) SetDomain(string) { panic("stub") }

func (*Cookie) SetDomainBytes([]byte) { panic("stub") }

func (*Cookie) SetExpire(time.Time) { panic("stub") }

func (*Cookie) SetHTTPOnly(bool) { panic("stub") }

func (*Cookie) SetKey(string) { panic("stub") }

func (*Cookie) SetKeyBytes([]byte) { panic("stub") }

func (*Cookie) SetMaxAge(int) { panic("stub") }

func (*Cookie) SetPartitioned(bool) { panic("stub") }

func (*Cookie) SetPath(string) { panic("stub") }

func (*Cookie) SetPathBytes([]byte) { panic("stub") }

func (*Cookie) SetSameSite(CookieSameSite) { panic("stub") }

func (*Cookie) SetSecure(bool) { panic("stub") }

func (*Cookie) SetValue(string) { panic("stub") }

func (*Cookie) SetValueBytes([]byte) { panic("stub") }

func (*Cookie) String() string { panic("stub") }

func (*Cookie) Value() []byte { panic("stub") }

func (*Cookie) WriteTo(io.Writer) (int64, error) { panic("stub") }

type Cookie struct {
}

type CookieSameSite int

var CookieExpireDelete time.Time

var CookieExpireUnlimited time.Time
