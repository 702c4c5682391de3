package gale

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// ownBytes are the methods that return memory of the caller, or that no one else has.
var ownBytes = map[string]bool{
	"AppendBytes": true, "SwapBody": true, "BodyGunzip": true, "BodyInflate": true, "BodyUnbrotli": true, "BodyUnzstd": true,
	"BodyGunzipWithLimit": true, "BodyInflateWithLimit": true, "BodyUnbrotliWithLimit": true, "BodyUnzstdWithLimit": true,
	"Init": true, "Init2": true, "VisitUserValues": true,
}

// keeper keeps all bytes that methods return.
type keeper struct {
	t    *testing.T
	kept []keptSlice
}

type keptSlice struct {
	of string
	b  []byte
}

// visit keeps what the methods of o return. It calls only those that change nothing, or
// only those that change something.
func (k *keeper) visit(o any, changes bool) {
	typ := reflect.TypeOf(o).Elem().Name()
	methods(o, func(name string) {
		if changesSomething(name) != changes || ownBytes[name] {
			return
		}
		of := typ + "." + name
		callMethod(reflect.ValueOf(o).MethodByName(name), func(b []byte) { k.kept = append(k.kept, keptSlice{of, b}) })
	})
}

func changesSomething(name string) bool {
	for _, p := range []string{"Set", "Add", "Del", "Reset", "Remove", "Release", "Read", "Continue", "Close", "Timeout", "Fail", "Error",
		"Enable", "Disable", "Parse", "Update", "Sort", "CopyTo", "Append", "Success", "Write", "Redirect", "NotFound", "NotModified",
		"JSON", "Hijack", "Flush", "Send", "LimitRequestBody", "Bind", "BodyWriter", "After", "Before", "Early", "Logger"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// TestKeptBytesAreOverwritten proves that no byte that a method returned during a loan is
// intact after its end, also if the object has changed and grown in between.
func TestKeptBytesAreOverwritten(t *testing.T) {
	withoutEngine(t)
	for name, request := range map[string]func() string{"form": aliceForm, "multipart": aliceMultipart, "chunked": aliceChunked} {
		t.Run(name, func(t *testing.T) {
			ctx := aliceCtx(request)
			l, _ := newLoan()
			ctx.lend(l)
			k := &keeper{t: t}
			all := func(changes bool) {
				for _, o := range []any{ctx.QueryArgs(), ctx.PostArgs(), ctx.URI(), &ctx.Request.Header, &ctx.Response.Header, &ctx.Request, &ctx.Response, ctx} {
					k.visit(o, changes)
				}
			}
			all(false)
			if n := k.intact(); n < 100 {
				t.Fatalf("only %d slices have the text", n)
			}
			for i := range 100 {
				key, value := fmt.Sprint(alice, i), strings.Repeat(alice, i)
				ctx.QueryArgs().Add(key, value)
				ctx.PostArgs().Add(key, value)
				ctx.Request.Header.Add(key, value)
				ctx.Request.Header.SetCookie(key, value)
				ctx.Request.AppendBodyString(value)
				ctx.Response.Header.Set(key, value)
				ctx.Response.AppendBodyString(value)
				_ = ctx.Response.Header.AddTrailerValue(key, value)
				ctx.URI().SetPath("/" + value)
				if i%10 == 0 {
					all(false)
				}
			}
			all(true)
			all(false)
			had := k.intact()
			end(ctx, l)
			if left := k.intact(); left > 0 {
				t.Errorf("%d of %d slices are intact", left, had)
				k.show()
			}
		})
	}
}

// TestKeptCookieIsOverwritten proves it for the type that no request has.
func TestKeptCookieIsOverwritten(t *testing.T) {
	c := new(Cookie)
	l, _ := newLoan()
	c.lend(l)
	k := &keeper{t: t}
	for i := range 20 {
		v := strings.Repeat(alice, i+1)
		c.SetKey(v)
		c.SetValue(v)
		c.SetPath(v)
		c.SetDomain(v)
		k.visit(c, false)
	}
	end(c, l)
	if k.intact() > 0 {
		k.show()
		t.Error("slices are intact")
	}
}

func (k *keeper) intact() (n int) {
	for _, s := range k.kept {
		if hasAlice(s.b) {
			n++
		}
	}
	return n
}

func (k *keeper) show() {
	seen := map[string]bool{}
	for _, s := range k.kept {
		if hasAlice(s.b) && !seen[s.of] {
			seen[s.of] = true
			k.t.Logf("%s: %.60q", s.of, s.b)
		}
	}
}

func hasAlice(b []byte) bool { return bytes.Contains(bytes.ToLower(b), []byte("alice")) }
