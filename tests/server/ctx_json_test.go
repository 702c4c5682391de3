package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestJSON proves that the response has the value, its status and type, and the headers
// that were set before.
func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"object", map[string]any{"a": 1, "b": []string{"x"}}, `{"a":1,"b":["x"]}`},
		{"null", nil, `null`},
		{"string", "<a> & b\n", `"\u003ca\u003e \u0026 b\n"`},
		{"own JSON", json.RawMessage(` {"a" : 1} `), `{"a":1}`},
		{"long", strings.Repeat("x", 100_000), `"` + strings.Repeat("x", 100_000) + `"`},
	} {
		ctx := &gale.RequestCtx{}
		ctx.Response.Header.Set("X-Before", "kept")
		ctx.WriteString("the body before")
		if err := ctx.JSON(gale.StatusCreated, c.v); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		h := &ctx.Response.Header
		if got := string(ctx.Response.Body()); got != c.want || h.StatusCode() != 201 ||
			string(h.ContentType()) != "application/json" || string(h.Peek("X-Before")) != "kept" {
			t.Errorf("%s: got %s%.100s", c.name, h, got)
		}
	}
}

type brokenReader struct{ closed bool }

func (r *brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
func (r *brokenReader) Close() error             { r.closed = true; return nil }

// TestJSONError proves that a value that can't be encoded doesn't change the response.
func TestJSONError(t *testing.T) {
	stream := &brokenReader{}
	for name, body := range map[string]func(ctx *gale.RequestCtx){
		"bytes":  func(ctx *gale.RequestCtx) { ctx.SetBodyString("before") },
		"raw":    func(ctx *gale.RequestCtx) { ctx.Response.SetBodyRaw([]byte("before")) },
		"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(stream, -1) },
	} {
		ctx := &gale.RequestCtx{}
		ctx.SetStatusCode(gale.StatusAccepted)
		ctx.SetContentType("text/x-before")
		body(ctx)
		err := ctx.JSON(gale.StatusOK, []any{1, make(chan int)})
		if te := (*json.UnsupportedTypeError)(nil); !errors.As(err, &te) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.Response.StatusCode() != gale.StatusAccepted || string(ctx.Response.Header.ContentType()) != "text/x-before" {
			t.Errorf("%s: the head has changed: %s", name, &ctx.Response.Header)
		}
		if name == "stream" {
			if !ctx.Response.IsBodyStream() || stream.closed {
				t.Error("the stream is gone")
			}
		} else if got := string(ctx.Response.Body()); got != "before" {
			t.Errorf("%s: the body is %q", name, got)
		}
	}
}

// TestJSONOfOwnBody proves that a value may hold the body that it replaces.
func TestJSONOfOwnBody(t *testing.T) {
	ctx := &gale.RequestCtx{}
	ctx.SetBodyString("the body before")
	before := ctx.Response.Body()
	if err := ctx.JSON(gale.StatusOK, map[string][]byte{"b": before}); err != nil {
		t.Fatal(err)
	}
	ctx.WriteString("more")
	if string(before) != "the body before" {
		t.Errorf("the slice that was handed out became %q", before)
	}
	if got := string(ctx.Response.Body()); got != `{"b":"dGhlIGJvZHkgYmVmb3Jl"}more` {
		t.Errorf("got %q", got)
	}
}

type bound struct {
	Name  string
	Age   uint8
	Score float64
	Big   int64
	On    bool
	Tags  []string
	Data  []byte
	At    time.Time
	Addr  netip.Addr
	Inner struct {
		N    *int32
		List [2]int
	} `json:"inner"`
	M map[string]int
	boundMore
}

type boundMore struct {
	Deep int
	Less boundLess `json:"less"`
}

type boundLess struct{ X []struct{ boundLeast } }

type boundLeast struct{ Y bool }

// TestBindJSONErrors proves that each error has its status, says where the mistake is,
// and names no Go type.
func TestBindJSONErrors(t *testing.T) {
	const js, notJSON = "application/json", "the body is not valid JSON: "
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		offset                  int64
		field, text             string
	}{
		{"no type", "", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"form", "application/x-www-form-urlencoded", "a=b", 415, 0, "", "the body must be application/json in UTF-8"},
		{"text", "text/json", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"no subtype", "application/", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"a suffix alone", "application/+json", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"another charset", "application/json; charset=utf-16", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"more after the type", "application/json x", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"a longer type", "application/jsonp", "{}", 415, 0, "", "the body must be application/json in UTF-8"},
		{"empty", js, "", 400, 0, "", "the body is empty"},
		{"spaces", js, " \r\n\t", 400, 4, "", "the body is empty"},
		{"cut off", js, `{"Name":"a"`, 400, 0, "", notJSON},
		{"syntax", js, `{"Name":x}`, 400, 0, "", notJSON},
		{"more", js, `{} {}`, 400, 0, "", notJSON},
		{"depth", js, strings.Repeat("[", 20_000), 400, 0, "", notJSON},
		{"array", js, `[1]`, 400, 1, "", "the body must be an object, not an array, at byte 1"},
		{"string", js, `{"Name":1}`, 400, 9, "Name", `"Name" must be a string, not a number, at byte 9`},
		{"number", js, `{"Score":"x"}`, 400, 12, "Score", `"Score" must be a number, not a string, at byte 12`},
		{"range", js, `{"Age":300}`, 400, 10, "Age", `"Age" must be an integer from 0 to 255, not number 300, at byte 10`},
		{"fraction", js, `{"Big":1.5}`, 400, 10, "Big", `"Big" must be an integer, not number 1.5, at byte 10`},
		{"many digits", js, `{"Age":` + strings.Repeat("1", 1000) + `}`, 400, 1007, "Age",
			`"Age" must be an integer from 0 to 255, not number ` + strings.Repeat("1", 93) + `..., at byte 1007`},
		{"bool", js, `{"On":1}`, 400, 7, "On", `"On" must be true or false, not a number, at byte 7`},
		{"not bool", js, `{"Name":true}`, 400, 12, "Name", `"Name" must be a string, not true or false, at byte 12`},
		{"list", js, `{"Tags":{}}`, 400, 9, "Tags", `"Tags" must be an array, not an object, at byte 9`},
		{"bytes", js, `{"Data":1}`, 400, 9, "Data", `"Data" must be a string in base64, not a number, at byte 9`},
		{"inner", js, `{"inner":{"N":"x"}}`, 400, 17, "inner.N", `"inner.N" must be an integer, not a string, at byte 17`},
		{"a text type", js, `{"Addr":1}`, 400, 9, "Addr", `"Addr" must be a string, not a number, at byte 9`},
		{"a type with rules of its own", js, `{"At":"x"}`, 400, 0, "", "the body has a value that can't be used"},
		{"a bad address", js, `{"Addr":"x"}`, 400, 0, "", "the body has a value that can't be used"},
		{"embedded", js, `{"Deep":"x"}`, 400, 11, "Deep", `"Deep" must be an integer, not a string, at byte 11`},
		{"embedded in a list", js, `{"less":{"X":[{"Y":true},{"Y":1}]}}`, 400, 31, "less.X.Y", `"less.X.Y" must be true or false, not a number, at byte 31`},
	} {
		ctx := &gale.RequestCtx{}
		if c.contentType != "" {
			ctx.Request.Header.SetContentType(c.contentType)
		}
		ctx.Request.SetBodyString(c.body)
		var v bound
		err := ctx.BindJSON(&v)
		e, ok := err.(*gale.BindError)
		if !ok {
			t.Errorf("%s: %T %v", c.name, err, err)
			continue
		}
		if rest, ok := strings.CutPrefix(e.Error(), notJSON); ok && c.text == notJSON {
			// The rest of the text comes from encoding/json.
			if e.Status != c.status || e.Offset == 0 || !strings.HasSuffix(rest, fmt.Sprintf(", at byte %d", e.Offset)) {
				t.Errorf("%s: got %d, %d: %s", c.name, e.Status, e.Offset, e)
			}
			continue
		}
		if e.Status != c.status || e.Offset != c.offset || e.Field != c.field || e.Error() != c.text {
			t.Errorf("%s: got %d, %d, %q: %s\nwant %d, %d, %q: %s", c.name, e.Status, e.Offset, e.Field, e, c.status, c.offset, c.field, c.text)
		}
	}
	ctx := &gale.RequestCtx{}
	ctx.Request.Header.SetContentType(js)
	ctx.Request.SetBodyString("{}")
	if e, ok := ctx.BindJSON(bound{}).(*gale.BindError); !ok || e.Status != 500 || strings.Contains(e.Error(), "gale") {
		t.Errorf("a v that is no pointer: %v", e)
	}
	ctx.Request.Header.SetContentEncoding("gzip")
	if e, ok := ctx.BindJSON(&bound{}).(*gale.BindError); !ok || e.Status != 415 {
		t.Errorf("a content coding: %v", e)
	}
}

// TestBindJSON proves that media types of JSON are accepted in any spelling, and that v
// doesn't refer to the body.
func TestBindJSON(t *testing.T) {
	for _, contentType := range []string{"application/json", "Application/JSON", "application/json; charset=UTF-8",
		`application/json;charset="utf-8"`, "application/problem+json", "model/gltf+JSON ; v=1", "application/json;"} {
		ctx := &gale.RequestCtx{}
		ctx.Request.Header.SetContentType(contentType)
		ctx.Request.SetBodyString(` {"Name":"a","age":7,"unknown":[{}],"inner":{"N":1}} ` + "\n")
		var v struct {
			bound
			Raw json.RawMessage `json:"Unknown"`
		}
		if err := ctx.BindJSON(&v); err != nil {
			t.Errorf("%s: %v", contentType, err)
		}
		clear(ctx.Request.Body())
		if v.Name != "a" || v.Age != 7 || *v.Inner.N != 1 || string(v.Raw) != "[{}]" {
			t.Errorf("%s: %+v", contentType, v)
		}
	}
}

// TestBindJSONServed proves that buffered and streamed bodies are bound on both engines,
// up to the limits, and that an incomplete body leads to the right status.
func TestBindJSONServed(t *testing.T) {
	h := func(ctx *gale.RequestCtx) {
		if n := ctx.QueryArgs().GetUintOrZero("limit"); n > 0 {
			ctx.LimitRequestBody(int64(n))
		}
		var v struct{ A string }
		if err := ctx.BindJSON(&v); err != nil {
			e := err.(*gale.BindError)
			ctx.Error(e.Error(), e.Status)
			return
		}
		if err := ctx.JSON(gale.StatusOK, v); err != nil {
			t.Error(err)
		}
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, streamed := range []bool{false, true} {
			s := &gale.Server{Engine: e, StreamRequestBody: streamed, MaxRequestBodySize: 1000, ReadStallTimeout: 200 * time.Millisecond}
			ts := harness.Start(t, s, h)
			ask := func(path, framing, body string, status int, want string) {
				t.Helper()
				c := ts.Dial()
				c.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" + framing + "\r\n\r\n" + body)
				a := c.Answer("POST")
				if a.StatusCode != status || streamed && a.Text != want {
					t.Errorf("streamed %v, %s: got %d %q, want %d %q", streamed, framing, a.StatusCode, a.Text, status, want)
				}
			}
			const body = `{"A":"b"}`
			ask("/", "Content-Length: 9", body, 200, body)
			ask("/", "Transfer-Encoding: chunked", "4\r\n{\"A\"\r\n5\r\n:\"b\"}\r\n0\r\n\r\n", 200, body)
			ask("/", "Content-Length: 1001", strings.Repeat(" ", 1001), 413, "the body is too large")
			ask("/", "Transfer-Encoding: chunked", "3e9\r\n"+strings.Repeat(" ", 1001)+"\r\n0\r\n\r\n", 413, "the body is too large")
			ask("/", "Content-Length: 9", `{"A`, 408, "the body came too slowly")
			ask("/", "Transfer-Encoding: chunked", "zz\r\n", 400, "the body could not be read")
			if streamed {
				ask("/?limit=8", "Content-Length: 9", body, 413, "the body is too large")
				ask("/?limit=2000", "Content-Length: 1009", strings.Repeat(" ", 1000)+body, 200, body)
			}
		}
	})
}

// ErrorStatus returns the status of BindJSON's errors, wrapped or not.
func TestErrorStatusOfBindError(t *testing.T) {
	var ctx gale.RequestCtx
	ctx.Init(&gale.Request{}, nil, nil)
	ctx.Request.SetBodyString("a=1")
	ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
	err := ctx.BindJSON(new(any))
	for _, err := range []error{err, fmt.Errorf("item: %w", err)} {
		if got := gale.ErrorStatus(err); got != gale.StatusUnsupportedMediaType {
			t.Errorf("%v: got %d", err, got)
		}
	}
	if got := gale.ErrorStatus(&gale.BindError{}); got != gale.StatusBadRequest {
		t.Errorf("one without a status: got %d", got)
	}
}

type (
	jsonTree []jsonTree
	jsonMap  map[string]jsonMap
	jsonPtrs []*jsonPtrs
)

// BindJSON ends even for a recursive type.
func TestBindJSONRecursiveTypes(t *testing.T) {
	for _, test := range []struct {
		v    any
		body string
	}{
		{new(jsonTree), `[[], 1]`}, {new(jsonTree), `1`}, {new(jsonMap), `{"a": {"b": 1}}`}, {new(jsonMap), `[]`}, {new(jsonPtrs), `[[1]]`},
	} {
		var ctx gale.RequestCtx
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(test.body)
		done := make(chan error, 1)
		go func() { done <- ctx.BindJSON(test.v) }()
		select {
		case err := <-done:
			if be := (*gale.BindError)(nil); !errors.As(err, &be) || be.Status != 400 {
				t.Errorf("%T: %v", test.v, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%T: BindJSON does not return", test.v)
		}
	}
}
