package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/lifetime"
)

// alice is in every part of the objects of these tests: as name, value, path and body.
const alice = "alice0001"

// lender is an object that a loan can have.
type lender interface {
	lend(*lifetime.Loan)
	lapse()
}

// newLoan returns a loan, and the number of uses after its end.
func newLoan() (*lifetime.Loan, *atomic.Int64) {
	n := new(atomic.Int64)
	g := lifetime.New(lifetime.Config{Report: func(*lifetime.Use) { n.Add(1) }})
	return g.Begin(lifetime.Origin{Kind: "handler"}), n
}

// end ends the loan of an object as its owner does.
func end(o lender, l *lifetime.Loan) {
	o.lapse()
	l.End()
}

// lentTypes returns a filled object of each type that can be lent.
func lentTypes() []func() lender {
	return []func() lender{
		func() lender { return aliceCtx(aliceForm) },
		func() lender { return &aliceCtx(aliceForm).Request },
		func() lender { return &aliceCtx(aliceMultipart).Request },
		func() lender { return &aliceCtx(aliceChunked).Request.Header },
		func() lender { return &aliceCtx(aliceForm).Response },
		func() lender { return &aliceCtx(aliceForm).Response.Header },
		func() lender { return aliceCtx(aliceForm).Request.URI() },
		func() lender { return aliceCtx(aliceForm).Request.URI().QueryArgs() },
		func() lender {
			c := new(Cookie)
			_ = c.Parse("alice0001=alice0001; domain=alice0001; path=/alice0001")
			return c
		},
	}
}

const requestStart = "POST /alice0001/a%20alice0001?alice0001=alice0001&b=alice0001 HTTP/1.1\r\nHost: alice0001.example\r\n" +
	"Alice0001: alice0001\r\nalice0001-low: alice0001\r\nUser-Agent: alice0001\r\nReferer: http://alice0001/\r\n" +
	"Cookie: alice0001=alice0001; c=alice0001\r\nConnection: alice0001\r\n"

func aliceForm() string {
	const body = "alice0001=alice0001&p=alice0001"
	return requestStart + fmt.Sprintf("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func aliceMultipart() string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary("alice0001")
	_ = w.WriteField(alice, alice)
	_ = w.Close()
	return requestStart + fmt.Sprintf("Content-Type: multipart/form-data; boundary=alice0001\r\nContent-Length: %d\r\n\r\n%s", b.Len(), &b)
}

func aliceChunked() string {
	return requestStart + "Transfer-Encoding: chunked\r\nTrailer: Alice0001-T\r\n\r\n" +
		"9\r\nalice0001\r\n0\r\nAlice0001-T: alice0001\r\nalice0001-u: alice0001\r\n\r\n"
}

// aliceCtx returns a context with a received request and a response.
func aliceCtx(request func() string) *RequestCtx {
	ctx := new(RequestCtx)
	ctx.Init2(pipeEnd, nil, true)
	ctx.x = noExchange{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}}
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(request()))); err != nil {
		panic(err)
	}
	trailers := []byte("Alice0001: alice0001\r\nalice0001-u: alice0001\r\n\r\n")
	if _, err := h1.ParseTrailers(trailers, &ctx.trailers, &h1.Limits{}); err != nil {
		panic(err)
	}
	resp := &ctx.Response
	resp.SetStatusCode(StatusAccepted)
	resp.Header.Set("Alice0001", alice)
	resp.Header.SetContentType("text/alice0001")
	resp.Header.SetServer(alice)
	resp.Header.SetStatusMessage([]byte(alice))
	resp.Header.SetContentEncoding(alice)
	for _, name := range []string{alice, "alice0002"} {
		var c Cookie
		c.SetKey(name)
		c.SetValue(alice)
		resp.Header.SetCookie(&c)
	}
	_ = resp.Header.AddTrailerValue("Alice0001-T", alice)
	resp.SetBodyString(alice)
	return ctx
}

// arguments returns arguments for the call of a method.
func arguments(f reflect.Type) (in []reflect.Value) {
	n := f.NumIn()
	if f.IsVariadic() {
		n--
	}
	for i := range n {
		in = append(in, argument(f.In(i)))
	}
	return in
}

func argument(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[[]byte]():
		return reflect.ValueOf([]byte(alice))
	case reflect.TypeFor[*bufio.Reader]():
		return reflect.ValueOf(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nAlice: alice\r\n\r\n")))
	case reflect.TypeFor[*bufio.Writer]():
		return reflect.ValueOf(bufio.NewWriter(io.Discard))
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Unix(1e9, 0))
	}
	switch t.Kind() {
	case reflect.String:
		return reflect.ValueOf(alice).Convert(t)
	case reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(i)))
			}
			return out
		})
	case reflect.Pointer:
		return reflect.New(t.Elem())
	case reflect.Interface:
		for _, v := range []any{new(bytes.Buffer), pipeEnd, zeroTCPAddr, errors.New(alice), noCtxLogger{}, noUpgrade{}} {
			if t.NumMethod() > 0 && reflect.TypeOf(v).Implements(t) {
				return reflect.ValueOf(v)
			}
		}
		return reflect.ValueOf(any(alice)).Convert(t)
	case reflect.Int, reflect.Int64:
		return reflect.ValueOf(103).Convert(t)
	}
	return reflect.Zero(t)
}

// pipeEnd is a connection that is not used.
var pipeEnd, _ = net.Pipe()

type noCtxLogger struct{}

func (noCtxLogger) Printf(string, ...any) {}

// noUpgrade is an UpgradeHandler that is not called.
type noUpgrade struct{ UpgradeHandler }

// callMethod calls a method and uses what it returned: it ranges over iterators, and writes to
// writers. It gives all bytes to take, unless that is nil.
func callMethod(m reflect.Value, take func([]byte)) []any {
	if take == nil {
		take = func([]byte) {}
	}
	in := arguments(m.Type())
	for i, a := range in {
		if a.Kind() == reflect.Func {
			in[i] = taker(a.Type(), take)
		}
	}
	var out []any
	for _, v := range m.Call(in) {
		switch r := v.Interface().(type) {
		case []byte:
			take(r)
			out = append(out, string(r))
		case [][]byte:
			for _, b := range r {
				take(b)
			}
			out = append(out, fmt.Sprintf("%q", r))
		case iter.Seq2[[]byte, []byte]:
			for k, v := range r {
				take(k)
				take(v)
				out = append(out, string(k), string(v))
			}
		case iter.Seq[[]byte]:
			for k := range r {
				take(k)
				out = append(out, string(k))
			}
		case Logger:
			r.Printf("x")
		case *multipart.Reader, *multipart.Form, *Args, *URI, io.Reader, error:
			out = append(out, fmt.Sprintf("%T", r))
		case io.Writer:
			_, _ = r.Write([]byte(alice))
		default:
			out = append(out, r)
		}
	}
	return out
}

// taker returns a function that gives its arguments to take.
func taker(t reflect.Type, take func([]byte)) reflect.Value {
	zero := argument(t)
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		for _, v := range in {
			if b, ok := v.Interface().([]byte); ok {
				take(b)
			}
		}
		return zero.Call(in)
	})
}

// methods calls f for each exported method of o's type.
func methods(o any, f func(name string)) {
	t := reflect.TypeOf(o)
	for i := range t.NumMethod() {
		f(t.Method(i).Name)
	}
}

func forLentTypes(t *testing.T, f func(t *testing.T, name string, fill func() lender)) {
	for i, fill := range lentTypes() {
		o := fill()
		methods(o, func(name string) {
			t.Run(fmt.Sprintf("%d/%s.%s", i, reflect.TypeOf(o).Elem().Name(), name), func(t *testing.T) { f(t, name, fill) })
		})
	}
}
