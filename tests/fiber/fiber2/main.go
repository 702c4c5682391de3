// The program of Fiber 2: each middleware and each kind of response has paths of its own.
// The package above describes how it is used.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	fiberlog "github.com/gofiber/fiber/v2/log"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/basicauth"
	"github.com/gofiber/fiber/v2/middleware/cache"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/gofiber/fiber/v2/middleware/csrf"
	"github.com/gofiber/fiber/v2/middleware/earlydata"
	"github.com/gofiber/fiber/v2/middleware/encryptcookie"
	"github.com/gofiber/fiber/v2/middleware/envvar"
	"github.com/gofiber/fiber/v2/middleware/etag"
	"github.com/gofiber/fiber/v2/middleware/expvar"
	"github.com/gofiber/fiber/v2/middleware/favicon"
	"github.com/gofiber/fiber/v2/middleware/filesystem"
	"github.com/gofiber/fiber/v2/middleware/healthcheck"
	"github.com/gofiber/fiber/v2/middleware/helmet"
	"github.com/gofiber/fiber/v2/middleware/idempotency"
	"github.com/gofiber/fiber/v2/middleware/keyauth"
	"github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/gofiber/fiber/v2/middleware/logger"
	"github.com/gofiber/fiber/v2/middleware/monitor"
	"github.com/gofiber/fiber/v2/middleware/pprof"
	"github.com/gofiber/fiber/v2/middleware/proxy"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/gofiber/fiber/v2/middleware/redirect"
	"github.com/gofiber/fiber/v2/middleware/requestid"
	"github.com/gofiber/fiber/v2/middleware/rewrite"
	"github.com/gofiber/fiber/v2/middleware/session"
	"github.com/gofiber/fiber/v2/middleware/skip"
	"github.com/gofiber/fiber/v2/middleware/timeout"
)

// ids returns a generator of ids that are the same in each run.
func ids(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s%028d", prefix, n.Add(1)) }
}

// templates is a views engine with one template.
type templates struct{}

func (templates) Load() error { return nil }

func (templates) Render(w io.Writer, name string, bind any, layouts ...string) error {
	if name != "page" {
		return fmt.Errorf("no template %q", name)
	}
	_, err := fmt.Fprintf(w, "<h1>%v</h1>%d layouts", bind.(fiber.Map)["title"], len(layouts))
	return err
}

// reveal hides the length of a reader.
type reveal struct{ io.Reader }

func errorHandler(c *fiber.Ctx, err error) error {
	code := 500
	if e := (*fiber.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	return c.Status(code).SendString("error: " + err.Error())
}

func echo(c *fiber.Ctx) error {
	return c.SendString(fmt.Sprintf("%s %s %d %q", c.Method(), c.Path(), len(c.Body()), c.Body()))
}

func lines(m map[string][]string) string {
	var all []string
	for k, v := range m {
		all = append(all, fmt.Sprintf("%s: %q\n", k, v))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

type thing struct {
	Name string   `json:"name" query:"name" form:"name" reqHeader:"X-Name" cookie:"name" xml:"name" params:"name"`
	Age  int      `json:"age" query:"age" form:"age" reqHeader:"X-Age" cookie:"age" xml:"age" params:"age"`
	Tags []string `json:"tags" query:"tags" form:"tags" reqHeader:"X-Tags" cookie:"tags" xml:"tags"`
}

func text(n int) string { return strings.Repeat("0123456789abcde\n", n/16+1)[:n] }

func plainRoutes(app *fiber.App, dir string) {
	app.Get("/plain", func(c *fiber.Ctx) error { return c.SendString("hello") })
	app.Get("/empty", func(c *fiber.Ctx) error { return nil })
	app.All("/echo", echo)
	app.All("/echo/*", echo)
	app.All("/head", func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("%s %q path %q host %q %q protocol %q ip %s secure %v ips %q\n%s",
			c.Method(), c.OriginalURL(), c.Path(), c.Context().Host(), c.Hostname(), c.Protocol(), c.IP(), c.Secure(), c.IPs(), lines(c.GetReqHeaders())))
	})
	app.Get("/url", func(c *fiber.Ctx) error {
		u := c.Context().URI()
		return c.SendString(fmt.Sprintf("%s %s %s %s %s %s", u.FullURI(), u.Host(), u.Path(), u.PathOriginal(), u.QueryString(), u.Hash()))
	})
	app.Get("/text/:n", func(c *fiber.Ctx) error {
		n, err := strconv.Atoi(c.Params("n"))
		if err != nil {
			return fiber.ErrBadRequest
		}
		return c.SendString(text(n))
	})
	app.Get("/params/:a/:b?", func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("%q %q", c.Params("a"), c.Params("b", "none")))
	})
	app.Get("/int/:id<int>", func(c *fiber.Ctx) error { return c.SendString(c.Params("id")) }).Name("int")
	app.Get("/wild/*", func(c *fiber.Ctx) error { return c.SendString(fmt.Sprintf("%q", c.Params("*"))) })
	app.Get("/query", func(c *fiber.Ctx) error {
		var all []string
		for k, v := range c.Queries() {
			all = append(all, fmt.Sprintf("%q=%q\n", k, v))
		}
		slices.Sort(all)
		return c.SendString(strings.Join(all, "") + c.Query("a", "none"))
	})
	app.Post("/form", func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("%q %q %q", c.FormValue("a"), c.FormValue("b", "none"), c.Request().PostArgs().String()))
	})
	app.Post("/multipart", func(c *fiber.Ctx) error {
		form, err := c.MultipartForm()
		if err != nil {
			return err
		}
		var b strings.Builder
		b.WriteString(lines(form.Value))
		for name, files := range form.File {
			for _, f := range files {
				fmt.Fprintf(&b, "file %q %q %d %q\n", name, f.Filename, f.Size, f.Header.Get("Content-Type"))
			}
		}
		return c.SendString(b.String())
	})
	app.Post("/save", func(c *fiber.Ctx) error {
		f, err := c.FormFile("f")
		if err != nil {
			return err
		}
		name := dir + "/saved"
		if err := c.SaveFile(f, name); err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return c.Send(b)
	})
	app.Get("/json", func(c *fiber.Ctx) error { return c.JSON(thing{"n", 1, []string{"a<b"}}) })
	app.Get("/jsonp", func(c *fiber.Ctx) error { return c.JSONP(thing{Name: "n"}, c.Query("callback", "cb")) })
	app.Get("/xml", func(c *fiber.Ctx) error { return c.XML(thing{Name: "n"}) })
	app.Get("/view/:name", func(c *fiber.Ctx) error {
		return c.Render(c.Params("name"), fiber.Map{"title": "t"})
	})
	app.Get("/links", func(c *fiber.Ctx) error { c.Links("http://a/", "next", "http://b/", "last"); return nil })
	app.Get("/location", func(c *fiber.Ctx) error { c.Location("http://a b/"); return c.SendStatus(201) })
	app.Get("/vary", func(c *fiber.Ctx) error {
		c.Vary("Origin")
		c.Vary("Origin", "Accept")
		c.Append("X-List", "a", "b")
		c.Append("X-List", "a", "c")
		return nil
	})
	app.Get("/attachment", func(c *fiber.Ctx) error { c.Attachment("a b.txt"); return c.SendString("x") })
	app.Get("/type/:ext", func(c *fiber.Ctx) error { return c.Type(c.Params("ext"), "utf-8").SendString("x") })
	app.Get("/accepts", func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("%s %s %s %s", c.Accepts("html", "json"), c.AcceptsCharsets("utf-8", "latin1"), c.AcceptsEncodings("br", "gzip"), c.AcceptsLanguages("en", "de")))
	})
	app.Get("/fresh", func(c *fiber.Ctx) error {
		c.Set("ETag", `"x"`)
		c.Set("Last-Modified", "Tue, 02 Jan 2024 03:04:05 GMT")
		if c.Fresh() {
			return c.SendStatus(304)
		}
		return c.SendString("stale")
	})
	app.Get("/range", func(c *fiber.Ctx) error {
		r, err := c.Range(100)
		if err != nil {
			return err
		}
		return c.SendString(fmt.Sprintf("%+v", r))
	})
	app.All("/status/:code", func(c *fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		return c.SendStatus(code)
	})
	app.All("/statusbody/:code", func(c *fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		return c.Status(code).SendString("a body")
	})
	app.All("/error/:code", func(c *fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		c.Set("X-Set", "before")
		return fiber.NewError(code, "of the handler")
	})
	app.Get("/fail", func(c *fiber.Ctx) error { return errors.New("plain error") })
	app.Get("/ctxerror", func(c *fiber.Ctx) error {
		c.Set("X-Set", "before")
		c.Context().Error("of the context", 418)
		return nil
	})
	app.Get("/notfound", func(c *fiber.Ctx) error { c.Context().NotFound(); return nil })
	app.Get("/ctxredirect", func(c *fiber.Ctx) error { c.Context().Redirect(c.Query("u"), 303); return nil })
	app.Get("/redirect", func(c *fiber.Ctx) error { return c.Redirect(c.Query("u", "/plain")) })
	app.Get("/redirect/back", func(c *fiber.Ctx) error { return c.RedirectBack("/fallback") })
	app.Get("/redirect/route", func(c *fiber.Ctx) error {
		return c.RedirectToRoute("int", fiber.Map{"id": "7", "queries": map[string]string{"q": "a b"}})
	})
	app.Get("/set", func(c *fiber.Ctx) error {
		c.Set(c.Query("k", "X-K"), c.Query("v"))
		return c.SendString("set")
	})
	app.Get("/add", func(c *fiber.Ctx) error {
		for range 3 {
			c.Context().Response.Header.Add("X-Many", "v")
		}
		c.Context().Response.Header.Set("X-Many", "w")
		c.Context().Response.Header.SetStatusMessage([]byte("Fine"))
		return c.SendString("added")
	})
	app.Get("/close", func(c *fiber.Ctx) error { c.Context().SetConnectionClose(); return c.SendString("bye") })
	app.Get("/length", func(c *fiber.Ctx) error { c.Response().Header.SetContentLength(77); return c.SendString("short") })
	app.Get("/skipbody", func(c *fiber.Ctx) error { c.Response().SkipBody = true; return c.SendString("skipped") })
	app.Get("/immediate", func(c *fiber.Ctx) error { c.Response().ImmediateHeaderFlush = true; return c.SendString("flushed") })
	app.Get("/timeouterror", func(c *fiber.Ctx) error {
		c.Context().TimeoutErrorWithCode("too late", 504)
		return nil
	})
	app.Get("/hijack", func(c *fiber.Ctx) error {
		c.Status(101).Set("Upgrade", "x")
		c.Set("Connection", "Upgrade")
		c.Context().Hijack(func(conn net.Conn) {
			b := make([]byte, 4)
			io.ReadFull(conn, b)
			fmt.Fprintf(conn, "<%s>", b)
		})
		return nil
	})
	app.Get("/panic", recover.New(), func(c *fiber.Ctx) error { panic("oh") })
	app.Get("/cookie/set", func(c *fiber.Ctx) error {
		c.Cookie(&fiber.Cookie{Name: "a", Value: c.Query("v", "1"), Path: "/p", MaxAge: 60, HTTPOnly: true, SameSite: "strict"})
		c.Cookie(&fiber.Cookie{Name: "b", Value: "x y", Domain: "example.com", Expires: time.Unix(2000000000, 0), Secure: true})
		return nil
	})
	app.Get("/cookie/get", func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprintf("%q %q %q", c.Cookies("a"), c.Cookies("b", "none"), c.Request().Header.String()))
	})
	app.Get("/cookie/clear", func(c *fiber.Ctx) error { c.ClearCookie(); return nil })
}

func bindRoutes(app *fiber.App) {
	result := func(c *fiber.Ctx, t *thing, err error) error {
		if err != nil {
			return fiber.NewError(400, err.Error())
		}
		return c.SendString(fmt.Sprintf("%+v", *t))
	}
	app.All("/bind/query", func(c *fiber.Ctx) error { t := new(thing); return result(c, t, c.QueryParser(t)) })
	app.All("/bind/body", func(c *fiber.Ctx) error { t := new(thing); return result(c, t, c.BodyParser(t)) })
	app.All("/bind/header", func(c *fiber.Ctx) error { t := new(thing); return result(c, t, c.ReqHeaderParser(t)) })
	app.All("/bind/cookie", func(c *fiber.Ctx) error { t := new(thing); return result(c, t, c.CookieParser(t)) })
	app.All("/bind/uri/:name/:age", func(c *fiber.Ctx) error { t := new(thing); return result(c, t, c.ParamsParser(t)) })
}

func streamRoutes(app *fiber.App) {
	app.All("/stream/writer", func(c *fiber.Ctx) error {
		c.Set("Content-Type", "text/event-stream")
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				if w.Flush() != nil {
					return
				}
			}
		})
		return nil
	})
	app.Get("/stream/known", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("known")}, 5) })
	app.Get("/stream/unknown", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("unknown")}) })
	app.Get("/stream/buffer", func(c *fiber.Ctx) error { return c.SendStream(bytes.NewReader([]byte("buffer"))) })
	app.Get("/stream/empty", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("")}) })
	app.Get("/stream/short", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("short")}, 50) })
	app.Get("/stream/long", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("too long")}, 3) })
	app.Get("/stream/large", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader(text(50000))}, 50000) })
	app.Get("/stream/broken", func(c *fiber.Ctx) error {
		return c.SendStream(io.MultiReader(strings.NewReader("half"), errReader{}))
	})
	app.Get("/stream/trailer", func(c *fiber.Ctx) error {
		if err := c.Response().Header.AddTrailer("X-Sum"); err != nil {
			return err
		}
		c.Response().Header.Set("X-Sum", "14")
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			w.WriteString("with a trailer")
		})
		return nil
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func fileRoutes(app *fiber.App, dir string) {
	app.Get("/sendfile/*", func(c *fiber.Ctx) error { return c.SendFile(dir + "/" + c.Params("*")) })
	app.Get("/sendcompressed/*", func(c *fiber.Ctx) error { return c.SendFile(dir+"/"+c.Params("*"), true) })
	app.Get("/download/*", func(c *fiber.Ctx) error { return c.Download(dir+"/"+c.Params("*"), c.Query("as", "name.txt")) })
	mark := func(c *fiber.Ctx) error { c.Set("X-Before", "set"); return c.Next() }
	for _, path := range []string{"/static", "/compressed", "/embedded"} {
		app.Use(path, mark)
	}
	app.Static("/static", dir, fiber.Static{ByteRange: true, Browse: true, MaxAge: 3600})
	app.Static("/compressed", dir, fiber.Static{Compress: true})
	app.Static("/unlisted", dir)
	app.Use("/embedded", filesystem.New(filesystem.Config{Root: http.Dir(dir), Browse: true, MaxAge: 60, NotFoundFile: "a.txt"}))
}

func middlewares(app *fiber.App, dir, upstream string) {
	ok := func(c *fiber.Ctx) error { return c.SendString("ok") }
	nethttp := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Adaptor", r.Method)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		if r.FormValue("code") != "" {
			code, _ := strconv.Atoi(r.FormValue("code"))
			w.WriteHeader(code)
		}
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.RequestURI, r.Host, r.Proto, b)
	})
	app.All("/adaptor/handler", adaptor.HTTPHandler(nethttp))
	app.All("/adaptor/func", adaptor.HTTPHandlerFunc(nethttp))
	app.Get("/adaptor/flush", adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprint(w, i)
			w.(http.Flusher).Flush()
		}
	}))
	app.Get("/adaptor/error", adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	app.Get("/adaptor/redirect", adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "../x", http.StatusFound) }))
	app.Get("/adaptor/files/*", adaptor.HTTPHandler(http.StripPrefix("/adaptor/files", http.FileServer(http.Dir(dir)))))
	app.All("/adaptor/fiber", adaptor.HTTPHandler(adaptor.FiberHandler(func(c *fiber.Ctx) error {
		c.Set("X-Inner", "fiber")
		return c.SendString("inner " + c.Method() + " " + string(c.Body()))
	})))
	app.Use("/adaptor/middleware", adaptor.HTTPMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Deny") != "" {
				http.Error(w, "denied", http.StatusForbidden)
				return
			}
			w.Header().Set("X-Middleware", "net/http")
			next.ServeHTTP(w, r)
		})
	}))
	app.All("/adaptor/middleware", echo)

	app.Use("/basicauth", basicauth.New(basicauth.Config{Realm: "r", Authorizer: func(user, pass string) bool { return user == "u" && pass == "p" }}))
	app.All("/basicauth", ok)

	app.Use("/cache", cache.New(cache.Config{Expiration: time.Hour, StoreResponseHeaders: true, Methods: []string{"GET", "HEAD"}}))
	var calls atomic.Int64
	counted := func(c *fiber.Ctx) error {
		c.Set("X-Handler", "ran")
		if v := c.Query("cc"); v != "" {
			c.Set("Cache-Control", v)
		}
		if v := c.Query("vary"); v != "" {
			c.Set("Vary", v)
		}
		if v := c.Query("code"); v != "" {
			code, _ := strconv.Atoi(v)
			c.Status(code)
		}
		return c.SendString(fmt.Sprintf("call %d", calls.Add(1)))
	}
	app.All("/cache", counted)

	app.Use("/compress", compress.New())
	app.Get("/compress/text/:n", func(c *fiber.Ctx) error {
		n, _ := strconv.Atoi(c.Params("n"))
		c.Set("ETag", `"strong"`)
		return c.SendString(text(n))
	})
	app.Get("/compress/json", func(c *fiber.Ctx) error { return c.JSON(thing{Name: text(2000)}) })
	app.Get("/compress/type", func(c *fiber.Ctx) error {
		c.Set("Content-Type", c.Query("t"))
		if v := c.Query("cc"); v != "" {
			c.Set("Cache-Control", v)
		}
		return c.Send([]byte(text(2000)))
	})
	app.Get("/compress/stream", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader(text(5000))}) })
	app.Get("/compress/status/:code", func(c *fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		return c.Status(code).SendString(text(2000))
	})
	app.Static("/compress/static", dir)

	app.Use("/cors", cors.New(cors.Config{AllowOrigins: "https://a.example, https://*.b.example", AllowMethods: "GET,PUT", AllowHeaders: "X-A", ExposeHeaders: "X-B", MaxAge: 60, AllowCredentials: true}))
	app.All("/cors", ok)
	app.Use("/corsany", cors.New())
	app.All("/corsany", ok)

	app.Use("/csrf", csrf.New(csrf.Config{KeyGenerator: ids("csrf"), CookieSessionOnly: true}))
	app.All("/csrf", ok)

	app.Use("/earlydata", earlydata.New(earlydata.Config{}))
	app.All("/earlydata", func(c *fiber.Ctx) error { return c.SendString(fmt.Sprint(earlydata.IsEarly(c))) })

	flip := func(v, _ string) (string, error) {
		b := []byte(v)
		slices.Reverse(b)
		return string(b), nil
	}
	app.Use("/encryptcookie", encryptcookie.New(encryptcookie.Config{Key: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", Encryptor: flip, Except: []string{"open"},
		Decryptor: func(v, key string) (string, error) {
			if v == "bad" {
				return "", errors.New("bad cookie")
			}
			return flip(v, key)
		}}))
	app.Get("/encryptcookie", func(c *fiber.Ctx) error {
		c.Cookie(&fiber.Cookie{Name: "secret", Value: "abc"})
		c.Cookie(&fiber.Cookie{Name: "open", Value: "def"})
		return c.SendString(fmt.Sprintf("%q %q", c.Cookies("secret"), c.Cookies("open")))
	})

	app.Use("/envvar", envvar.New(envvar.Config{ExportVars: map[string]string{"GALE_NONE": "default"}}))

	app.Use("/etag", etag.New())
	app.Use("/etagweak", etag.New(etag.Config{Weak: true}))
	for _, path := range []string{"/etag", "/etagweak"} {
		app.All(path, func(c *fiber.Ctx) error { c.Set("X-Before", "set"); return c.SendString("tagged") })
	}
	app.Get("/etag/own", func(c *fiber.Ctx) error { c.Set("ETag", `"own"`); return c.SendString("own") })
	app.Get("/etag/error", func(c *fiber.Ctx) error { return fiber.ErrTeapot })
	app.Get("/etag/stream", func(c *fiber.Ctx) error { return c.SendStream(reveal{strings.NewReader("streamed")}) })

	mark := func(c *fiber.Ctx) error { c.Set("X-Before", "set"); return c.Next() }
	app.Use(func(c *fiber.Ctx) error {
		if strings.HasPrefix(c.Path(), "/debug/") {
			c.Set("X-Before", "set")
		}
		return c.Next()
	})
	app.Use(expvar.New())
	app.Use(pprof.New())
	app.Use(pprof.New(pprof.Config{Prefix: "/prefix"}))

	app.Use(favicon.New(favicon.Config{Data: []byte("icon"), URL: "/favicon.ico"}))

	app.Use(healthcheck.New(healthcheck.Config{ReadinessProbe: func(*fiber.Ctx) bool { return false }}))

	app.Get("/monitor", monitor.New(monitor.Config{APIOnly: false}))
	app.Get("/monitor/api", monitor.New(monitor.Config{APIOnly: true}))

	app.Use("/helmet", helmet.New(helmet.Config{ContentSecurityPolicy: "default-src 'self'", PermissionPolicy: "camera=()", HSTSMaxAge: 60}))
	app.All("/helmet", ok)

	app.Use("/idempotency", idempotency.New(idempotency.Config{Lifetime: time.Hour}))
	app.All("/idempotency", counted)

	app.Use("/keyauth", keyauth.New(keyauth.Config{Validator: func(_ *fiber.Ctx, key string) (bool, error) {
		if key == "good" {
			return true, nil
		}
		return false, keyauth.ErrMissingOrMalformedAPIKey
	}}))
	app.All("/keyauth", ok)

	key := func(c *fiber.Ctx) string { return c.Get("X-Key") }
	app.Use("/limiter/fixed", limiter.New(limiter.Config{Max: 2, Expiration: time.Hour, KeyGenerator: key}))
	app.Use("/limiter/sliding", limiter.New(limiter.Config{Max: 2, Expiration: time.Hour, KeyGenerator: key, LimiterMiddleware: limiter.SlidingWindow{}}))
	app.Use("/limiter/failed", limiter.New(limiter.Config{Max: 2, Expiration: time.Hour, KeyGenerator: key, SkipSuccessfulRequests: true}))
	app.All("/limiter/:kind", func(c *fiber.Ctx) error {
		if c.Query("fail") != "" {
			return fiber.ErrBadRequest
		}
		return c.SendString("ok")
	})

	var logged bytes.Buffer
	app.Use("/logger", logger.New(logger.Config{Output: &logged, DisableColors: true,
		Format: "${protocol} ${ip} ${host} ${method} ${path} ${url} ${ua} ${referer} ${body} ${resBody} ${queryParams} ${bytesSent} ${bytesReceived} ${route} ${status} ${reqHeader:X-A} ${respHeader:X-B} ${query:q} ${form:f} ${cookie:c} ${error}\n"}))
	app.All("/logger", func(c *fiber.Ctx) error {
		c.Set("X-B", "b")
		if c.Query("fail") != "" {
			return fiber.ErrTeapot
		}
		return c.SendString("ok")
	})
	app.Get("/logged", func(c *fiber.Ctx) error {
		defer logged.Reset()
		return c.SendString(logged.String())
	})

	app.All("/proxy/balancer/*", func(c *fiber.Ctx) error { c.Set("X-Before", "set"); return c.Next() }, proxy.Balancer(proxy.Config{
		Servers:       []string{upstream},
		ModifyRequest: func(c *fiber.Ctx) error { c.Request().Header.Set("X-Proxy", "yes"); return nil },
		ModifyResponse: func(c *fiber.Ctx) error {
			c.Response().Header.Set("X-Modified", "yes")
			return nil
		},
	}))
	app.All("/proxy/forward", proxy.Forward(upstream+"/echo/forward"))
	app.All("/proxy/bforward/*", proxy.BalancerForward([]string{upstream}))
	app.All("/proxy/domain/*", proxy.DomainForward("domain.example", upstream))
	app.All("/proxy/do/*", func(c *fiber.Ctx) error { return proxy.Do(c, upstream+"/"+c.Params("*")) })
	app.All("/proxy/timeout/*", func(c *fiber.Ctx) error { return proxy.DoTimeout(c, upstream+"/"+c.Params("*"), 5*time.Second) })
	app.All("/proxy/redirects/*", func(c *fiber.Ctx) error { return proxy.DoRedirects(c, upstream+"/"+c.Params("*"), 2) })

	app.Get("/recover/panic", recover.New(), func(c *fiber.Ctx) error { c.Set("X-Before", "set"); panic(errors.New("recovered")) })
	app.Get("/recover/error", recover.New(), func(c *fiber.Ctx) error { panic(fiber.ErrTeapot) })

	app.Use("/old", redirect.New(redirect.Config{Rules: map[string]string{"/old/*": "/new/$1"}, StatusCode: 301}))
	app.Use("/requestid", requestid.New(requestid.Config{Generator: ids("request")}))
	app.All("/requestid", func(c *fiber.Ctx) error { return c.SendString(c.Locals("requestid").(string)) })
	app.Use("/rewrite", rewrite.New(rewrite.Config{Rules: map[string]string{"/rewrite/*": "/rewrite/to/$1/x"}}))
	app.Get("/rewrite/*", func(c *fiber.Ctx) error { return c.SendString(c.Path() + " " + c.OriginalURL() + " " + c.Query("q")) })

	store := session.New(session.Config{KeyGenerator: ids("session"), CookieHTTPOnly: true, CookieSessionOnly: true})
	withSession := func(f func(c *fiber.Ctx, s *session.Session) error) fiber.Handler {
		return func(c *fiber.Ctx) error {
			s, err := store.Get(c)
			if err != nil {
				return err
			}
			return f(c, s)
		}
	}
	app.Get("/session", withSession(func(c *fiber.Ctx, s *session.Session) error {
		n, _ := s.Get("n").(int)
		s.Set("n", n+1)
		if err := s.Save(); err != nil {
			return err
		}
		return c.SendString(fmt.Sprint(n))
	}))
	app.Get("/session/regenerate", withSession(func(c *fiber.Ctx, s *session.Session) error {
		if err := s.Regenerate(); err != nil {
			return err
		}
		return s.Save()
	}))
	app.Get("/session/destroy", withSession(func(c *fiber.Ctx, s *session.Session) error { return s.Destroy() }))

	app.Use("/skip", skip.New(mark, func(c *fiber.Ctx) bool { return c.Query("skip") != "" }))
	app.All("/skip", ok)

	app.Get("/timeout", timeout.NewWithContext(func(c *fiber.Ctx) error {
		if c.Query("late") != "" {
			<-c.UserContext().Done()
			return context.DeadlineExceeded
		}
		return c.SendString("in time")
	}, 50*time.Millisecond))
	app.Get("/timeout/fast", timeout.NewWithContext(ok, time.Minute))

	sub := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error { return c.Status(418).SendString("sub: " + err.Error()) }})
	sub.Get("/plain", ok)
	sub.Get("/fail", func(c *fiber.Ctx) error { return errors.New("of the sub") })
	app.Mount("/mounted", sub)
	app.Group("/group", mark).Get("/x", ok)
}

// streamed are the routes of the application that reads bodies while they arrive. It is the
// upstream of the proxies, too.
func streamed(app *fiber.App) {
	app.Get("/plain", func(c *fiber.Ctx) error { return c.SendString("hello") })
	app.All("/echo", echo)
	app.All("/echo/*", echo)
	app.All("/proxy/balancer/echo/*", func(c *fiber.Ctx) error {
		return c.SendString(c.Method() + " " + c.OriginalURL() + "\n" + lines(c.GetReqHeaders()) + string(c.Body()))
	})
	app.All("/proxy/bforward/*", echo)
	app.All("/proxy/domain/*", echo)
	app.All("/proxy/balancer/close", func(c *fiber.Ctx) error { c.Context().SetConnectionClose(); return c.SendString("closes") })
	app.All("/proxy/balancer/fail", func(c *fiber.Ctx) error { c.Set("X-Hop", "1"); return fiber.ErrTeapot })
	app.Post("/unread", func(c *fiber.Ctx) error { return c.SendString("unread") })
	app.Post("/stream", func(c *fiber.Ctx) error {
		r := c.Request().BodyStream()
		if r == nil {
			return c.SendString("no stream")
		}
		n, err := io.Copy(io.Discard, r)
		return c.SendString(fmt.Sprintf("%d %v", n, err))
	})
	app.Post("/form", func(c *fiber.Ctx) error { return c.SendString(fmt.Sprintf("%q", c.FormValue("a"))) })
	app.Post("/multipart", func(c *fiber.Ctx) error {
		form, err := c.MultipartForm()
		if err != nil {
			return err
		}
		return c.SendString(lines(form.Value))
	})
	app.Get("/hop/:n", func(c *fiber.Ctx) error {
		n, _ := strconv.Atoi(c.Params("n"))
		if n == 0 {
			return c.SendString("arrived")
		}
		return c.Redirect(fmt.Sprintf("/hop/%d", n-1))
	})
	streamRoutes(app)
}

func main() {
	fiberlog.SetOutput(io.Discard)
	dir := os.Args[1]
	serve := func(name string, config fiber.Config, set func(*fiber.App, string)) string {
		config.DisableStartupMessage = true
		app := fiber.New(config)
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		set(app, ln.Addr().String())
		go func() {
			panic(app.Listener(ln))
		}()
		return ln.Addr().String()
	}
	second := serve("stream", fiber.Config{StreamRequestBody: true, BodyLimit: 64 << 10, ErrorHandler: errorHandler}, func(app *fiber.App, _ string) { streamed(app) })
	first := serve("main", fiber.Config{BodyLimit: 64 << 10, ErrorHandler: errorHandler, Views: templates{}}, func(app *fiber.App, _ string) {
		plainRoutes(app, dir)
		bindRoutes(app)
		streamRoutes(app)
		fileRoutes(app, dir)
		middlewares(app, dir, "http://"+second)
	})
	third := serve("default", fiber.Config{ServerHeader: "own", CaseSensitive: true, StrictRouting: true, UnescapePath: true, DisableKeepalive: true}, func(app *fiber.App, _ string) {
		plainRoutes(app, dir)
	})
	fmt.Println(first, second, third)
	io.Copy(io.Discard, os.Stdin) // until the test ends
}
