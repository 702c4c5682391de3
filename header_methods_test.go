package gale

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/race"
)

// TestMethodsKeepHeads proves that the invariants of a head (msg.Fields.Check) hold
// between any two calls. It calls every exported method of messages and headers in random
// order with random arguments, on heads that are new, parsed, half parsed, refused or
// used again.
func TestMethodsKeepHeads(t *testing.T) {
	for _, newOne := range []func() any{
		func() any { return new(RequestHeader) }, func() any { return new(ResponseHeader) },
		func() any { return new(Request) }, func() any { return new(Response) },
	} {
		t.Run(reflect.TypeOf(newOne()).Elem().Name(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(race.Fewer(500)) {
				c := &methodCaller{rng: rand.New(rand.NewPCG(seed, 1)), t: t}
				c.run(newOne())
				if t.Failed() {
					t.Fatalf("seed %d, calls:\n%s", seed, strings.Join(c.calls, "\n"))
				}
			}
		})
	}
}

// methodCaller calls methods of one value.
type methodCaller struct {
	t     *testing.T
	rng   *rand.Rand
	calls []string
	rest  string // the rest of the text of a half parsed head
}

func (c *methodCaller) run(v any) {
	defer func() {
		if r := recover(); r != nil {
			c.t.Errorf("panic: %v", r)
		}
	}()
	rv := reflect.ValueOf(v)
	for range 60 {
		switch c.rng.IntN(8) {
		case 0:
			c.parse(v)
		case 1:
			c.resume(v)
		default:
			i := c.rng.IntN(rv.NumMethod())
			c.call(rv.Type().Method(i).Name, rv.Method(i))
		}
		for _, f := range sectionsOf(v) {
			if err := f.Check(); err != nil {
				c.t.Error(err)
			}
		}
		if c.t.Failed() {
			return
		}
	}
}

// headersOf returns the header in v; one of the two results is nil.
func headersOf(v any) (*RequestHeader, *ResponseHeader) {
	switch v := v.(type) {
	case *RequestHeader:
		return v, nil
	case *Request:
		return &v.Header, nil
	case *ResponseHeader:
		return nil, v
	case *Response:
		return nil, &v.Header
	}
	panic(fmt.Sprintf("what is a %T?", v))
}

func sectionsOf(v any) (list []*msg.Fields) {
	req, resp := headersOf(v)
	var trailers *head.Trailers
	if req != nil {
		list, trailers = append(list, &req.s.Fields), &req.s.Trailers
	} else {
		list, trailers = append(list, &resp.s.Fields), &resp.s.Trailers
	}
	if received, set := trailers.Fields(); set != nil {
		list = append(list, received, set)
	}
	return list
}

// parse gives the parser a head, a malformed one or a part of one, as servers and clients
// do.
func (c *methodCaller) parse(v any) {
	req, resp := headersOf(v)
	in := c.message(req != nil)
	if c.rng.IntN(2) == 0 {
		in = in[:c.rng.IntN(len(in)+1)]
	}
	c.calls = append(c.calls, fmt.Sprintf("parse %q", in))
	c.parseInto(req, resp, in, true)
}

// resume gives the parser the complete head that it waits for.
func (c *methodCaller) resume(v any) {
	req, resp := headersOf(v)
	if req != nil && !req.s.Suspended() || resp != nil && !resp.s.Suspended() {
		return
	}
	c.calls = append(c.calls, fmt.Sprintf("resume %q", c.rest))
	c.parseInto(req, resp, c.rest, false)
}

func (c *methodCaller) parseInto(req *RequestHeader, resp *ResponseHeader, in string, first bool) {
	var err error
	var got, fresh, want *msg.Fields
	if req != nil {
		if first {
			req.resetFields()
		}
		_, err = h1.ParseRequest([]byte(in), &req.s.RequestHead, nil)
		var ref RequestHeader
		ref.resetFields()
		_, wantErr := h1.ParseRequest([]byte(in), &ref.s.RequestHead, nil)
		got, fresh, want = &req.s.Fields, new(msg.Fields), &ref.s.Fields
		if err != wantErr {
			c.t.Errorf("%v, want %v", err, wantErr)
		}
	} else {
		if first {
			resp.resetFields()
		}
		_, err = h1.ParseResponse([]byte(in), &resp.s.ResponseHead, nil)
		var ref ResponseHeader
		ref.resetFields()
		_, wantErr := h1.ParseResponse([]byte(in), &ref.s.ResponseHead, nil)
		got, fresh, want = &resp.s.Fields, new(msg.Fields), &ref.s.Fields
		if err != wantErr {
			c.t.Errorf("%v, want %v", err, wantErr)
		}
	}
	if err == h1.ErrPartial {
		c.rest = in + c.restOf(in)
	}
	if err != nil {
		want = fresh
	}
	if !bytes.Equal(got.Buf, want.Buf) || !slices.Equal(got.Recs, want.Recs) || got.Parts != want.Parts || got.Seen() != want.Seen() {
		c.t.Errorf("after %v the head is %+v", err, got)
	}
}

// restOf returns a text that may complete the head that begins with in.
func (c *methodCaller) restOf(in string) string {
	if c.rng.IntN(4) == 0 {
		return "\x00"
	}
	if strings.Contains(in, "\r\n") {
		return "x: y\r\nContent-Type: late\r\n\r\n"
	}
	return ""
}

var methodNames = []string{
	"", "a", "X-A", "x-a", "X-Long-Name-Of-A-Field", "Host", "host", "Cookie", "Set-Cookie", "Content-Type", "content-length", "Content-Length",
	"Transfer-Encoding", "Connection", "Trailer", "Server", "Date", "Expect", "User-Agent", "Content-Encoding", "Accept", "Vary", "ETag",
	"no token", "X:", "X\r\nY", "\x00", strings.Repeat("n", 300),
}

var methodValues = []string{
	"", "a", "b c", "close", "keep-alive, x", "chunked", "5", "-1", "99999999999999999999", "X-A, a, Content-Type", "k=v; l=w", "k=v; path=/; HttpOnly",
	"text/html", "multipart/form-data; boundary=b", "gzip", "100-continue", "GET", "POST", "HEAD", "/a?b=c", "http://u:p@h.example:80/x?y#z", "//h/x", "*", "HTTP/1.0",
	"line\r\nX-Injected: yes\r\n\r\n", "\x00\x7f", strings.Repeat("v", 100), strings.Repeat("v", 3000), strings.Repeat("long ", 1500),
}

// text returns a string: a name, a value, or a mixture of both.
func (c *methodCaller) text() string {
	if c.rng.IntN(2) == 0 {
		return methodNames[c.rng.IntN(len(methodNames))]
	}
	return methodValues[c.rng.IntN(len(methodValues))]
}

// message returns a message that a peer might send, mostly a valid one.
func (c *methodCaller) message(request bool) string {
	var b strings.Builder
	if request {
		b.WriteString([]string{"GET / HTTP/1.1\r\n", "POST /p?q HTTP/1.1\r\n", "CONNECT h:1 HTTP/1.1\r\n", "GET http://h/x HTTP/1.0\r\n", "M / HTTP/1.9\r\n"}[c.rng.IntN(5)])
		b.WriteString("Host: h.example\r\n")
	} else {
		b.WriteString([]string{"HTTP/1.1 200 OK\r\n", "HTTP/1.0 404 Not Found\r\n", "HTTP/1.1 304\r\n", "HTTP/1.9 500 \r\n"}[c.rng.IntN(4)])
	}
	for range c.rng.IntN(8) {
		b.WriteString([]string{
			"X-A: 1\r\n", "x-a:  two \r\n", "Cookie: k=v; l=w\r\n", "Set-Cookie: sid=secret\r\n", "Trailer: X-A, X-B\r\n", "Connection: close, x\r\n",
			"Content-Type: text/html\r\n", "Server: s\r\n", "Date: d\r\n", "fOO-bar: b\r\n", "Expect: 100-continue\r\n", "X-Long: " + strings.Repeat("l", 2000) + "\r\n",
			"Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "broken\r\n", "folded: a\r\n b\r\n", "sp ace: a\r\n",
		}[c.rng.IntN(17-c.rng.IntN(2)*3)])
	}
	b.WriteString("\r\n")
	b.WriteString([]string{"", "abc", "3\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\nX-A: t\r\nX-B: u\r\n\r\n", "0\r\nX-A: t\r\nbroken"}[c.rng.IntN(5)])
	return b.String()
}

// call calls a method and reads its results.
func (c *methodCaller) call(name string, m reflect.Value) {
	mt := m.Type()
	var args []reflect.Value
	for i := range mt.NumIn() {
		args = append(args, c.arg(mt.In(i)))
	}
	text := name
	for _, a := range args {
		if a.Kind() == reflect.String || a.Kind() == reflect.Int || a.Kind() == reflect.Slice {
			text += fmt.Sprintf(" %.60q", fmt.Sprint(a))
		}
	}
	c.calls = append(c.calls, text)
	var results []reflect.Value
	if mt.IsVariadic() {
		results = m.CallSlice(args)
	} else {
		results = m.Call(args)
	}
	for _, r := range results {
		c.look(r)
	}
}

// look reads all of a result.
func (c *methodCaller) look(r reflect.Value) {
	if r.Kind() == reflect.Func && !r.IsNil() { // an iterator
		r.Call([]reflect.Value{c.function(r.Type().In(0))})
		return
	}
	switch v := r.Interface().(type) {
	case []byte:
		_ = string(v)
	case [][]byte:
		_ = string(bytes.Join(v, nil))
	case io.ReadCloser:
		v.Close()
	case io.Writer:
		_, _ = v.Write([]byte("written"))
	}
}

// function returns a function that reads its arguments and mostly returns true.
func (c *methodCaller) function(ft reflect.Type) reflect.Value {
	return reflect.MakeFunc(ft, func(args []reflect.Value) []reflect.Value {
		for _, a := range args {
			if b, ok := a.Interface().([]byte); ok {
				_ = string(b)
			}
		}
		if ft.NumOut() == 0 {
			return nil
		}
		return []reflect.Value{reflect.ValueOf(c.rng.IntN(5) > 0)}
	})
}

// arg returns an argument of type at. A new method with another type of argument needs a
// case here.
func (c *methodCaller) arg(at reflect.Type) reflect.Value {
	if at.Kind() == reflect.Func && at != reflect.TypeFor[StreamWriter]() {
		return c.function(at)
	}
	var v any
	switch at {
	case reflect.TypeFor[string]():
		v = c.text()
	case reflect.TypeFor[[]byte]():
		v = []byte(c.text())
	case reflect.TypeFor[bool]():
		v = c.rng.IntN(2) == 0
	case reflect.TypeFor[[]bool]():
		v = make([]bool, c.rng.IntN(2))
	case reflect.TypeFor[int]():
		v = []int{-2, -1, 0, 1, 3, 5, 100, 103, 200, 204, 304, 404, 1000, 70000}[c.rng.IntN(14)]
	case reflect.TypeFor[any]():
		v = c.text()
	case reflect.TypeFor[time.Duration]():
		v = time.Duration(c.rng.IntN(3)) * time.Second
	case reflect.TypeFor[time.Time]():
		v = time.Unix(int64(c.rng.IntN(1e9)), 0)
	case reflect.TypeFor[io.Reader]():
		v = strings.NewReader(c.text())
	case reflect.TypeFor[io.Writer]():
		v = io.Discard
	case reflect.TypeFor[*bufio.Reader]():
		v = bufio.NewReader(strings.NewReader(c.message(c.rng.IntN(2) == 0)))
	case reflect.TypeFor[*bufio.Writer]():
		v = bufio.NewWriter(io.Discard)
	case reflect.TypeFor[StreamWriter]():
		text := c.text()
		v = StreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(text) })
	case reflect.TypeFor[net.Conn]():
		client, server := net.Pipe()
		server.Close()
		v = client
	case reflect.TypeFor[*Cookie]():
		k := &Cookie{}
		k.SetKey(c.text())
		k.SetValue(c.text())
		v = k
	case reflect.TypeFor[*URI]():
		u := &URI{}
		_ = u.Parse(nil, []byte(c.text()))
		v = u
	case reflect.TypeFor[*RequestHeader](), reflect.TypeFor[*ResponseHeader](), reflect.TypeFor[*Request](), reflect.TypeFor[*Response]():
		v = c.target(reflect.New(at.Elem()).Interface())
	default:
		c.t.Fatalf("what is a good %v?", at)
	}
	return reflect.ValueOf(v)
}

// target returns a destination to copy to, which already holds something or is half
// parsed. The methods that are called on it later check it.
func (c *methodCaller) target(v any) any {
	req, resp := headersOf(v)
	if c.rng.IntN(2) == 0 {
		in := c.message(req != nil)
		in = in[:c.rng.IntN(len(in)+1)]
		if req != nil {
			req.resetFields()
			_, _ = h1.ParseRequest([]byte(in), &req.s.RequestHead, nil)
		} else {
			resp.resetFields()
			_, _ = h1.ParseResponse([]byte(in), &resp.s.ResponseHead, nil)
		}
	}
	for _, f := range sectionsOf(v) {
		if err := f.Check(); err != nil {
			c.t.Error(err)
		}
	}
	return v
}
