package server

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// keptStrings calls all methods of v whose results have strings or errors, with arguments
// of their types, and returns the results by the names of the methods. Errors are kept too:
// their texts must not change either.
func keptStrings(t *testing.T, name string, v any) map[string]any {
	kept := make(map[string]any)
	rv := reflect.ValueOf(v)
	for i := range rv.NumMethod() {
		m := rv.Type().Method(i)
		if !returnsText(m.Type) {
			continue
		}
		args, ok := argsFor(m.Type)
		if !ok {
			continue // of these, none returns a string: see below
		}
		for j, out := range rv.Method(i).Call(args) {
			kept[fmt.Sprintf("%s.%s %d", name, m.Name, j)] = out.Interface()
		}
	}
	return kept
}

var (
	typeOfString = reflect.TypeFor[string]()
	typeOfError  = reflect.TypeFor[error]()
)

func returnsText(m reflect.Type) bool {
	for i := range m.NumOut() {
		if out := m.Out(i); out == typeOfString || out == typeOfError || out == reflect.TypeFor[[]string]() {
			return true
		}
	}
	return false
}

// argsFor returns arguments for a method, ok is false if it can't.
func argsFor(m reflect.Type) (args []reflect.Value, ok bool) {
	for i := 1; i < m.NumIn(); i++ {
		switch in := m.In(i); {
		case in == typeOfString:
			args = append(args, reflect.ValueOf("user"))
		case in == reflect.TypeFor[[]byte]():
			args = append(args, reflect.ValueOf([]byte("user")))
		case in.Kind() == reflect.Int:
			args = append(args, reflect.ValueOf(1<<20))
		default:
			for j := range m.NumOut() {
				if m.Out(j) == typeOfString {
					panic("no argument for " + m.String())
				}
			}
			return nil, false
		}
	}
	return args, true
}

// textOf returns the text of a result, as a copy.
func textOf(v any) string { return strings.Clone(fmt.Sprintf("%v", v)) }

// Strings that the methods of a request return are copies: they don't change when the
// context serves other requests.
func TestStringsAreKept(t *testing.T) {
	peers.UsedAgain(t)
	request := func(user string) string {
		return "POST /" + user + "?user=" + user + " HTTP/1.1\r\nHost: " + user + "\r\nX-User: " + user + "\r\nCookie: user=" + user +
			"\r\nuser: " + user + "\r\nAuthorization: Basic YWxpY2UwMDAxOmFsaWNlMDAwMQ==" +
			"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 14\r\n\r\nuser=" + user
	}
	skip := map[string]bool{ // with effects on the connection or the body
		"RequestCtx.HijackNow 1": true,
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		kept := make(map[string]any)
		texts := make(map[string]string)
		var first *gale.RequestCtx
		again := 0
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set("X-User", "alice0001")
			ctx.SetPathValue("user", string(ctx.Path()))
			ctx.Response.Header.SetServer(string(ctx.Path()))
			ctx.Response.Header.SetContentTypeBytes(ctx.Path())
			var cookie gale.Cookie
			cookie.SetKey("user")
			cookie.SetValueBytes(ctx.Request.Header.Cookie("user"))
			ctx.Response.Header.SetCookie(&cookie)
			if first != nil {
				if ctx == first {
					again++
				}
				_, _ = ctx.URI().FullURI(), ctx.PostArgs().QueryString()
				ctx.WriteString("mallet999")
				return
			}
			first = ctx
			for name, v := range map[string]any{
				"RequestHeader": &ctx.Request.Header, "ResponseHeader": &ctx.Response.Header,
				"URI": ctx.URI(), "QueryArgs": ctx.QueryArgs(), "PostArgs": ctx.PostArgs(), "Cookie": &cookie,
				"Request": &stringMethods{&ctx.Request}, "Response": &stringMethods{&ctx.Response}, "RequestCtx": &ctxStrings{ctx},
			} {
				for name, v := range keptStrings(t, name, v) {
					if !skip[name] {
						kept[name], texts[name] = v, textOf(v)
					}
				}
			}
			_, err := ctx.MultipartForm()
			kept["MultipartForm"], texts["MultipartForm"] = err, textOf(err)
			err = ctx.BindJSON(&struct{}{})
			kept["BindJSON"], texts["BindJSON"] = err, textOf(err)
		})
		c := ts.Dial()
		// A pool need not return what it got last: the context may lie with another processor,
		// or a collection may have dropped it. Then another one is the first.
		for rounds := 1; again == 0; rounds++ {
			first = nil
			c.Send(request("alice0001"))
			c.Answer("POST")
			for range 100 {
				c.Send(request("mallet999"))
				c.Answer("POST")
			}
			found := 0
			for name, v := range kept {
				if got := textOf(v); got != texts[name] {
					t.Errorf("%s was %q and is %q", name, texts[name], got)
				}
				if strings.Contains(texts[name], "alice0001") {
					found++
				}
			}
			if found < 6 {
				t.Errorf("only %d of %d results have something of the request", found, len(kept))
			}
			if race.Enabled { // the pools of programs with the race detector drop objects
				break
			}
			if rounds == 100 {
				t.Fatal("no other request used the context")
			}
		}
	})
}

// stringMethods has the methods of a message without those that read or write it.
type stringMethods struct{ fmt.Stringer }

// ctxStrings has the methods of a RequestCtx that return strings.
type ctxStrings struct{ ctx *gale.RequestCtx }

func (c *ctxStrings) String() string                         { return c.ctx.String() }
func (c *ctxStrings) BasicAuth() (user, pass string, _ bool) { return c.ctx.BasicAuth() }
func (c *ctxStrings) ConnectProtocol() string                { return c.ctx.ConnectProtocol() }
func (c *ctxStrings) PathValue(name string) string           { return c.ctx.PathValue(name) }
func (c *ctxStrings) Pattern() string                        { return c.ctx.Pattern() }

// All methods of RequestCtx, Request and Response that return strings are in the test above.
func TestStringMethodsAreKnown(t *testing.T) {
	known := map[string]bool{"*gale.RequestCtx.String": true, "*gale.RequestCtx.BasicAuth": true,
		"*gale.RequestCtx.ConnectProtocol": true, "*gale.RequestCtx.PathValue": true, "*gale.RequestCtx.Pattern": true,
		"*gale.Request.ConnectProtocol": true, "*gale.Request.String": true, "*gale.Response.String": true}
	for _, of := range []reflect.Type{reflect.TypeFor[*gale.RequestCtx](), reflect.TypeFor[*gale.Request](), reflect.TypeFor[*gale.Response]()} {
		for i := range of.NumMethod() {
			m := of.Method(i)
			for j := range m.Type.NumOut() {
				if out := m.Type.Out(j); (out == typeOfString || out == reflect.TypeFor[[]string]()) && !known[of.String()+"."+m.Name] {
					t.Errorf("%v.%s returns a string: add it to ctxStrings", of, m.Name)
				}
			}
		}
	}
}

// Errors that quote what a client sent are copies too.
func TestErrorsAreKept(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var errs []error
		var texts []string
		ts := harness.Start(t, &gale.Server{Engine: e, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
			for at := err; at != nil; at = errors.Unwrap(at) {
				errs, texts = append(errs, at), append(texts, textOf(at))
				var re *gale.RequestError
				if errors.As(at, &re) {
					errs, texts = append(errs, errors.New(re.Line)), append(texts, textOf(re.Line))
				}
			}
			ctx.Error("no", gale.ErrorStatus(err))
		}}, func(ctx *gale.RequestCtx) {})
		for _, user := range []string{"alice0001", "mallet999"} {
			for _, head := range []string{" / HTTP/1.1\r\nHost: h\r\nContent-Length: %s\r\n\r\n", " /%s HTTP/9.%s\r\n\r\n", " /\x00%s HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: %s\r\n\r\n"} {
				for range 10 {
					c := ts.Dial()
					c.Send("GET" + strings.ReplaceAll(head, "%s", user))
					c.Answer("GET")
					c.Close()
				}
			}
		}
		peers.WaitClosed(t, ts.S, "all")
		for i, err := range errs {
			if got := err.Error(); got != texts[i] {
				t.Errorf("%q became %q", texts[i], got)
			}
		}
		if len(errs) < 80 {
			t.Errorf("there were only %d errors", len(errs))
		}
	})
}
