package bench

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// The queries: an ordinary one, and one with much to decode.
var queries = []struct{ name, query, key string }{
	{"plain4", "id=123&page=2&sort=name&order=desc", "order"},
	{"escaped4", "q=caf%C3%A9+au+lait&from=2026-01-02T03%3A04%3A05Z&tags=a%2Cb%2Cc&ok=%E2%9C%93", "ok"},
	{"plain16", "a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11&l=12&m=13&n=14&o=15&p=16", "p"},
}

// BenchmarkArgsParse measures how a query becomes arguments.
func BenchmarkArgsParse(b *testing.B) {
	for _, q := range queries {
		b.Run(q.name+"/impl=gale", func(b *testing.B) {
			var a gale.Args
			b.ReportAllocs()
			for b.Loop() {
				a.Parse(q.query)
				if a.Len() == 0 {
					b.Fatal("nothing")
				}
			}
		})
		b.Run(q.name+"/impl=fasthttp", func(b *testing.B) {
			var a fasthttp.Args
			b.ReportAllocs()
			for b.Loop() {
				a.Parse(q.query)
				if a.Len() == 0 {
					b.Fatal("nothing")
				}
			}
		})
		b.Run(q.name+"/impl=nethttp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := url.ParseQuery(q.query); err != nil || len(v) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkArgsPeek measures the look-up of the last argument.
func BenchmarkArgsPeek(b *testing.B) {
	for _, q := range queries {
		b.Run(q.name+"/impl=gale", func(b *testing.B) {
			var a gale.Args
			a.Parse(q.query)
			b.ReportAllocs()
			for b.Loop() {
				if len(a.Peek(q.key)) == 0 {
					b.Fatal("nothing")
				}
			}
		})
		b.Run(q.name+"/impl=fasthttp", func(b *testing.B) {
			var a fasthttp.Args
			a.Parse(q.query)
			b.ReportAllocs()
			for b.Loop() {
				if len(a.Peek(q.key)) == 0 {
					b.Fatal("nothing")
				}
			}
		})
		b.Run(q.name+"/impl=nethttp", func(b *testing.B) {
			v, err := url.ParseQuery(q.query)
			must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if v.Get(q.key) == "" {
					b.Fatal("nothing")
				}
			}
		})
	}
}

// BenchmarkArgsAppend measures how arguments become a query.
func BenchmarkArgsAppend(b *testing.B) {
	for _, q := range queries {
		b.Run(q.name+"/impl=gale", func(b *testing.B) {
			var a gale.Args
			a.Parse(q.query)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = a.AppendBytes(dst[:0])
			}
		})
		b.Run(q.name+"/impl=fasthttp", func(b *testing.B) {
			var a fasthttp.Args
			a.Parse(q.query)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = a.AppendBytes(dst[:0])
			}
		})
		b.Run(q.name+"/impl=nethttp", func(b *testing.B) {
			v, err := url.ParseQuery(q.query)
			must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_ = v.Encode()
			}
		})
	}
}

const (
	cookieField = "session=0123456789abcdef0123456789abcdef; theme=dark; _ga=GA1.1.1234567890.1700000000; csrftoken=abcdefghijklmnopqrstuvwxyz"
	setCookie   = "session=0123456789abcdef0123456789abcdef; max-age=3600; domain=example.com; path=/; HttpOnly; secure; SameSite=Lax"
)

// BenchmarkCookieLookup measures the way from a Cookie field to the value of
// the last of its cookies.
func BenchmarkCookieLookup(b *testing.B) {
	b.Run("impl=gale", func(b *testing.B) {
		var h gale.RequestHeader
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.Set("Cookie", cookieField)
			if len(h.Cookie("csrftoken")) == 0 {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var h fasthttp.RequestHeader
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.Set("Cookie", cookieField)
			if len(h.Cookie("csrftoken")) == 0 {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("impl=nethttp", func(b *testing.B) {
		r := http.Request{Header: make(http.Header)}
		b.ReportAllocs()
		for b.Loop() {
			r.Header.Set("Cookie", cookieField)
			if c, err := r.Cookie("csrftoken"); err != nil || c.Value == "" {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCookieParse measures how a Set-Cookie value is parsed.
func BenchmarkCookieParse(b *testing.B) {
	b.Run("impl=gale", func(b *testing.B) {
		var c gale.Cookie
		b.ReportAllocs()
		for b.Loop() {
			must(b, c.Parse(setCookie))
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var c fasthttp.Cookie
		b.ReportAllocs()
		for b.Loop() {
			must(b, c.Parse(setCookie))
		}
	})
	b.Run("impl=nethttp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := http.ParseSetCookie(setCookie)
			must(b, err)
		}
	})
}

// BenchmarkCookieAppend measures how a Set-Cookie value is written.
func BenchmarkCookieAppend(b *testing.B) {
	b.Run("impl=gale", func(b *testing.B) {
		var c gale.Cookie
		must(b, c.Parse(setCookie))
		var dst []byte
		b.ReportAllocs()
		for b.Loop() {
			dst = c.AppendBytes(dst[:0])
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var c fasthttp.Cookie
		must(b, c.Parse(setCookie))
		var dst []byte
		b.ReportAllocs()
		for b.Loop() {
			dst = c.AppendBytes(dst[:0])
		}
	})
	b.Run("impl=nethttp", func(b *testing.B) {
		c, err := http.ParseSetCookie(setCookie)
		must(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if c.String() == "" {
				b.Fatal("nothing")
			}
		}
	})
}

// The targets: the usual, and one whose path has to be cleaned.
var targets = []struct{ name, target, path string }{
	{"plain", "/some/path/to/a/page?id=123&page=2", "/some/path/to/a/page"},
	{"dots", "/a/./b/../c//d/%C3%A9?id=123", "/a/c/d/é"},
}

// BenchmarkURIParse measures how host and target become a URI, up to its path.
// net/http's url.URL does not clean the path.
func BenchmarkURIParse(b *testing.B) {
	host := []byte("www.example.com")
	for _, t := range targets {
		target := []byte(t.target)
		b.Run(t.name+"/impl=gale", func(b *testing.B) {
			var u gale.URI
			b.ReportAllocs()
			for b.Loop() {
				must(b, u.Parse(host, target))
				if string(u.Path()) != t.path {
					b.Fatalf("%q", u.Path())
				}
			}
		})
		b.Run(t.name+"/impl=fasthttp", func(b *testing.B) {
			var u fasthttp.URI
			b.ReportAllocs()
			for b.Loop() {
				must(b, u.Parse(host, target))
				if string(u.Path()) != t.path {
					b.Fatalf("%q", u.Path())
				}
			}
		})
		b.Run(t.name+"/impl=nethttp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u, err := url.ParseRequestURI(t.target)
				must(b, err)
				if !strings.HasPrefix(u.Path, "/") {
					b.Fatalf("%q", u.Path)
				}
			}
		})
	}
}

// BenchmarkArgsPeekConst measures four look-ups by constant keys, as handlers
// make them.
func BenchmarkArgsPeekConst(b *testing.B) {
	const query = "id=123&page=2&sort=name&order=desc"
	b.Run("impl=gale", func(b *testing.B) {
		var a gale.Args
		a.Parse(query)
		b.ReportAllocs()
		for b.Loop() {
			if len(a.Peek("id"))+len(a.Peek("page"))+len(a.Peek("sort"))+len(a.Peek("order")) != 12 {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var a fasthttp.Args
		a.Parse(query)
		b.ReportAllocs()
		for b.Loop() {
			if len(a.Peek("id"))+len(a.Peek("page"))+len(a.Peek("sort"))+len(a.Peek("order")) != 12 {
				b.Fatal("nothing")
			}
		}
	})
}

// BenchmarkArgsSet measures how three arguments are set in an empty list.
func BenchmarkArgsSet(b *testing.B) {
	b.Run("impl=gale", func(b *testing.B) {
		var a gale.Args
		b.ReportAllocs()
		for b.Loop() {
			a.Reset()
			a.Set("id", "123")
			a.Set("page", "2")
			a.Set("order", "descending")
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var a fasthttp.Args
		b.ReportAllocs()
		for b.Loop() {
			a.Reset()
			a.Set("id", "123")
			a.Set("page", "2")
			a.Set("order", "descending")
		}
	})
}

// BenchmarkAppendUint measures how lengths are written.
func BenchmarkAppendUint(b *testing.B) {
	for _, n := range []int{7, 512, 12345, 1234567890} {
		b.Run(strconv.Itoa(n)+"/impl=gale", func(b *testing.B) {
			var dst [32]byte
			b.ReportAllocs()
			for b.Loop() {
				_ = gale.AppendUint(dst[:0], n)
			}
		})
		b.Run(strconv.Itoa(n)+"/impl=fasthttp", func(b *testing.B) {
			var dst [32]byte
			b.ReportAllocs()
			for b.Loop() {
				_ = fasthttp.AppendUint(dst[:0], n)
			}
		})
	}
}

// BenchmarkHeaderParams measures how the parameters of a field are found.
func BenchmarkHeaderParams(b *testing.B) {
	field := []byte(`multipart/form-data; charset=utf-8; boundary="----WebKitFormBoundary7MA4YWxk"`)
	n := 0
	visit := func(key, value []byte) bool { n += len(value); return true }
	b.Run("impl=gale", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			gale.VisitHeaderParams(field, visit)
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fasthttp.VisitHeaderParams(field, visit)
		}
	})
	if n == 0 {
		b.Fatal("nothing")
	}
}
