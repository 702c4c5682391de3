package gale

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// canaries are what the users of TestNothingForeign put into every part of their
// messages: "ua" or "ub" for the user, and a number that no other request has. A
// canary that was cut off counts if three digits of it are there.
var canaries = regexp.MustCompile(`(?i)u[ab]x[0-9]{3,7}`)

func canary(user byte, n int64) string { return fmt.Sprintf("u%cx%07d", user, n) }

// foreign returns the first canary in b that belongs to none of those that may be
// there, or "".
func foreign(b []byte, own ...string) string {
	for _, found := range canaries.FindAll(b, -1) {
		if !ownedBy(strings.ToLower(string(found)), own) {
			return string(found)
		}
	}
	return ""
}

func ownedBy(found string, own []string) bool {
	for _, o := range own {
		if strings.HasPrefix(o, found) {
			return true
		}
	}
	return false
}

// skipped are methods without arguments that change something, wait, or take
// something away.
var skipped = regexp.MustCompile(`^(Close|Reset|Release|Remove|Set|Enable|Disable|Hijack|Flush|Done|Err$|Context$|Swap|NotFound|NotModified|EarlyHints|` +
	`Conn$|Logger$|BodyStream|RequestBodyStream|MultipartReader|BodyWriter|CloseRequestBody|Init|LocalAddr|TLS|CloseBody)`)

// show writes down what all exported methods of v return that can be called without
// knowing more.
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

// peeked are names that are looked up in headers.
var peeked = []string{
	"Host", "Cookie", "Set-Cookie", "Content-Type", "Content-Length", "Server", "Trailer", "Connection", "Location", "X-Canary",
	"X-Trail", "Link", "Authorization", "Transfer-Encoding", "Content-Encoding", "Via",
}

// showHeader is show for what takes the name of a field.
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
