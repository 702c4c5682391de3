package gale

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// canaries matches the tokens that the users of TestNothingForeign put into every part of
// their messages: "ua" or "ub" for the user, and a number that no other request has. A
// canary that was cut off counts if it has three digits.
var canaries = regexp.MustCompile(`(?i)u[ab]x[0-9]{3,7}`)

func canary(user byte, n int64) string { return fmt.Sprintf("u%cx%07d", user, n) }

// foreign returns the first canary in b that isn't one of own, or "".
func foreign(b []byte, own ...string) string {
	b = bytes.ToLower(b)
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], 'x')
		if i < 0 {
			return ""
		}
		at += i
		if found := canaryAround(b, at); found != nil && !ownedBy(string(found), own) {
			return string(found)
		}
	}
}

// canaryAround returns the canary in b whose x is at i, or nil. It finds what canaries
// does, in lower case, and much faster.
func canaryAround(b []byte, i int) []byte {
	end := i + 1
	for end < len(b) && end <= i+7 && '0' <= b[end] && b[end] <= '9' {
		end++
	}
	if i < 2 || b[i-2] != 'u' || b[i-1] != 'a' && b[i-1] != 'b' || end < i+4 {
		return nil
	}
	return b[i-2 : end]
}

func ownedBy(found string, own []string) bool {
	for _, o := range own {
		if strings.HasPrefix(o, found) {
			return true
		}
	}
	return false
}

// skipped are methods without arguments that change something, wait, or remove something.
var skipped = regexp.MustCompile(`^(Close|Reset|Release|Remove|Set|Enable|Disable|Hijack|Flush|Done|Err$|Context$|Swap|NotFound|NotModified|EarlyHints|` +
	`Conn$|Logger$|BodyStream|RequestBodyStream|MultipartReader|BodyWriter|CloseRequestBody|Init|LocalAddr|TLS|CloseBody)`)

// show appends to b the results of all exported methods of v that need no arguments.
func show(b *bytes.Buffer, v any) {
	rv := reflect.ValueOf(v)
	for _, m := range getters(rv.Type()) {
		for _, out := range rv.Method(m).Call(nil) {
			showValue(b, out)
		}
	}
}

var gettersOf sync.Map // of type: the numbers of its methods

func getters(t reflect.Type) []int {
	if g, ok := gettersOf.Load(t); ok {
		return g.([]int)
	}
	var g []int
	for i := range t.NumMethod() {
		if m := t.Method(i); m.Type.NumIn() == 1 && m.Type.NumOut() > 0 && !skipped.MatchString(m.Name) {
			g = append(g, i)
		}
	}
	gettersOf.Store(t, g)
	return g
}

func showValue(b *bytes.Buffer, v reflect.Value) {
	if !v.IsValid() || !v.CanInterface() {
		return
	}
	switch x := v.Interface().(type) {
	case []byte:
		b.Write(x)
	case [][]byte:
		for _, p := range x {
			b.Write(p)
			b.WriteByte('\n')
		}
	case iter.Seq2[[]byte, []byte]:
		for k, val := range x {
			fmt.Fprintf(b, "%s: %s\n", k, val)
		}
	case iter.Seq[[]byte]:
		for k := range x {
			fmt.Fprintf(b, "%s\n", k)
		}
	case *URI, *Args, *RequestCtx, *Response:
	default:
		fmt.Fprintf(b, "%v", x)
	}
	b.WriteByte('\n')
}

// peeked are the names that are looked up in headers.
var peeked = []string{
	"Host", "Cookie", "Set-Cookie", "Content-Type", "Content-Length", "Server", "Trailer", "Connection", "Location", "X-Canary",
	"X-Trail", "Link", "Authorization", "Transfer-Encoding", "Content-Encoding", "Via",
}

// showHeader is show for methods that take the name of a header.
func showHeader(b *bytes.Buffer, peek func(string) []byte, all func(string) [][]byte) {
	for _, name := range peeked {
		b.Write(peek(name))
		b.WriteByte('\n')
		for _, v := range all(name) {
			b.Write(v)
			b.WriteByte('\n')
		}
	}
}

func showRequest(b *bytes.Buffer, req *Request) {
	show(b, &req.Header)
	showHeader(b, req.Header.Peek, req.Header.PeekAll)
	b.Write(req.Header.Cookie("a"))
	show(b, req.URI())
	show(b, req.URI().QueryArgs())
	if !req.IsBodyStream() {
		show(b, req)
		show(b, req.PostArgs())
	}
	for k, v := range req.userValues {
		fmt.Fprintf(b, "%v %v\n", k, v)
	}
}

func showResponse(b *bytes.Buffer, resp *Response) {
	show(b, &resp.Header)
	showHeader(b, resp.Header.Peek, resp.Header.PeekAll)
	for _, name := range []string{"a", "sid"} {
		c := AcquireCookie()
		c.SetKey(name)
		if resp.Header.Cookie(c) {
			show(b, c)
		}
		ReleaseCookie(c)
	}
	if !resp.IsBodyStream() {
		show(b, resp)
	}
}

// The fast search for canaries finds the same as the pattern.
func TestForeignFindsCanaries(t *testing.T) {
	for b, want := range map[string]string{
		"":                             "",
		"x uax ubx12 uax12 cax123":     "",
		"uax0000001":                   "",
		"..UAX0000001..uax0000":        "",
		"uax0000001uax0000002":         "uax0000002",
		"uax00000012":                  "",
		"xuBx123":                      "ubx123",
		"uax0000001ubx0000001":         "ubx0000001",
		"uax0000001 uxax1234 uax00001": "uax00001",
	} {
		if found := foreign([]byte(b), "uax0000001"); found != want {
			t.Errorf("%q: found %q, want %q", b, found, want)
		}
		slow := ""
		for _, f := range canaries.FindAllString(b, -1) {
			if f = strings.ToLower(f); slow == "" && !ownedBy(f, []string{"uax0000001"}) {
				slow = f
			}
		}
		if slow != want {
			t.Errorf("%q: the pattern finds %q, want %q", b, slow, want)
		}
	}
}
