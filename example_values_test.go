package gale_test

import (
	"fmt"

	"github.com/galehttp/gale"
)

func ExampleArgs() {
	var args gale.Args
	args.Parse("q=hello+world&page=2&tag=a&tag=b&debug")

	fmt.Printf("%s\n", args.Peek("q"))
	fmt.Println(args.GetUintOrZero("page"), args.Has("debug"))
	fmt.Printf("%s\n", args.PeekMulti("tag"))

	args.SetUint("page", 3)
	args.Del("tag")
	fmt.Println(args.String())
	// Output:
	// hello world
	// 2 true
	// [a b]
	// q=hello+world&page=3&debug
}

func ExampleURI() {
	var u gale.URI
	if err := u.Parse(nil, []byte("https://Example.com/a%20b/../docs//x?lang=en#top")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s %s\n", u.Scheme(), u.Host(), u.Path(), u.QueryArgs().Peek("lang"))
	fmt.Printf("%s\n", u.PathOriginal())

	u.Update("../y?z")
	fmt.Println(u.String())
	// Output:
	// https example.com /docs/x en
	// /a%20b/../docs//x
	// https://example.com/y?z
}

func ExampleCookie() {
	c := gale.AcquireCookie()
	defer gale.ReleaseCookie(c)
	c.SetKey("session")
	c.SetValue("0123; Domain=evil.example")
	c.SetPath("/")
	c.SetMaxAge(3600)
	c.SetHTTPOnly(true)
	c.SetSameSite(gale.CookieSameSiteLaxMode)
	fmt.Println(c.String())
	// Output:
	// session=0123  Domain=evil.example; max-age=3600; path=/; HttpOnly; SameSite=Lax
}
