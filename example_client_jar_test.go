package gale_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/url"

	"github.com/galehttp/gale"
)

// jar adapts a cookie jar of net/http to Gale.
type jar struct{ http.CookieJar }

func (j jar) SetCookies(u *gale.URI, cookies []*gale.Cookie) {
	var all []*http.Cookie
	for _, c := range cookies {
		if parsed, err := http.ParseSetCookie(c.String()); err == nil {
			all = append(all, parsed)
		}
	}
	j.CookieJar.SetCookies(asURL(u), all)
}

func (j jar) Cookies(u *gale.URI) []*gale.Cookie {
	var all []*gale.Cookie
	for _, c := range j.CookieJar.Cookies(asURL(u)) {
		cookie := new(gale.Cookie)
		cookie.SetKey(c.Name)
		cookie.SetValue(c.Value)
		all = append(all, cookie)
	}
	return all
}

func asURL(u *gale.URI) *url.URL {
	return &url.URL{Scheme: string(u.Scheme()), Host: string(u.Host()), Path: string(u.Path())}
}

// Use the cookie jar of net/http, which follows RFC 6265.
func ExampleCookieJar() {
	dial, stop := exampleServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/login" {
			ctx.Response.Header.Add("Set-Cookie", "session=42; Path=/; HttpOnly")
			return
		}
		fmt.Fprintf(ctx, "session %s", ctx.Request.Header.Cookie("session"))
	})
	defer stop()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := &gale.Client{Dial: dial, Jar: jar{cookies}}

	if _, _, err := client.Get(nil, "http://example.com/login"); err != nil {
		log.Fatal(err)
	}
	_, body, err := client.Get(nil, "http://example.com/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output: session 42
}
