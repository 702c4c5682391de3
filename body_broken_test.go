package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strings"
	"testing"
)

var errBoom = errors.New("boom")

// breaksOff returns a stream that gives s and then fails.
func breaksOff(s string) io.Reader { return io.MultiReader(strings.NewReader(s), iotestErr{errBoom}) }

// formBody returns a form with one file of n bytes, and its Content-Type.
func formBody(n int) (body, contentType string) {
	var b strings.Builder
	mw := multipart.NewWriter(&b)
	fw, _ := mw.CreateFormFile("file", "name")
	_, _ = io.WriteString(fw, strings.Repeat("x", n))
	_ = mw.WriteField("a", "b")
	_ = mw.Close()
	return b.String(), mw.FormDataContentType()
}

// No method returns a body that was not read to its end, and it can't be sent.
func TestBrokenRequestBody(t *testing.T) {
	form, formType := formBody(10)
	const urlencoded = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		contentType string
		read        func(req *Request) any
	}{
		"Body":        {"", func(r *Request) any { return string(r.Body()) }},
		"SwapBody":    {"", func(r *Request) any { return string(r.SwapBody(nil)) }},
		"BodyWriteTo": {"", func(r *Request) any { _ = r.BodyWriteTo(io.Discard); return string(r.Body()) }},
		"BodyUncompressed": {"", func(r *Request) any {
			b, err := r.BodyUncompressed()
			return fmt.Sprint(string(b), errors.Is(err, errBoom))
		}},
		"BodyGunzip": {"", func(r *Request) any { b, err := r.BodyGunzip(); return fmt.Sprint(string(b), errors.Is(err, errBoom)) }},
		"PostArgs":   {urlencoded, func(r *Request) any { return r.PostArgs().String() }},
		"MultipartForm": {formType, func(r *Request) any {
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, errBoom))
		}},
		"MultipartForm twice": {formType, func(r *Request) any {
			_, _ = r.MultipartForm()
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, errBoom), r.IsBodyStream(), string(r.Body()))
		}},
		"Body, then MultipartForm": {formType, func(r *Request) any {
			_ = r.Body()
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, errBoom))
		}},
		"a copy": {"", func(r *Request) any {
			_ = r.Body()
			var other Request
			r.CopyTo(&other)
			return fmt.Sprint(string(other.Body()), errors.Is(other.BodyError(), errBoom))
		}},
	} {
		var req Request
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod("POST")
		req.Header.SetContentType(test.contentType)
		req.SetBodyStream(breaksOff("a=b&"+form[:len(form)-20]), -1)
		if test.contentType == formType {
			req.SetBodyStream(breaksOff(form), -1) // a complete form, but not a complete body
		}
		got := fmt.Sprint(test.read(&req))
		want := map[string]string{
			"BodyUncompressed": "true", "BodyGunzip": "true", "a copy": "true", "MultipartForm": "true true",
			"MultipartForm twice": "true true false", "Body, then MultipartForm": "true true",
		}[name]
		if strings.TrimSpace(got) != want || !errors.Is(req.BodyError(), errBoom) {
			t.Errorf("%s: got %q, %v, want %q", name, got, req.BodyError(), want)
		}
		if err := req.Write(bufio.NewWriter(io.Discard)); !errors.Is(err, errBoom) {
			t.Errorf("%s: Write returns %v", name, err)
		}
		if _, _, err := req.appendRequest(nil, true); !errors.Is(err, errBoom) {
			t.Errorf("%s: sending returns %v", name, err)
		}
		for how, mend := range map[string]func(*Request){
			"SetBody":       func(r *Request) { r.SetBodyString("new") },
			"AppendBody":    func(r *Request) { r.AppendBodyString("new") },
			"SetBodyRaw":    func(r *Request) { r.SetBodyRaw([]byte("new")) },
			"SetBodyStream": func(r *Request) { r.SetBodyStream(strings.NewReader("new"), 3) },
			"SwapBody":      func(r *Request) { _ = r.SwapBody([]byte("new")) },
			"ResetBody":     func(r *Request) { r.ResetBody(); r.SetBodyString("new") },
			"Reset":         func(r *Request) { r.Reset(); r.SetBodyString("new") },
		} {
			var again Request
			again.Header.SetContentType(test.contentType)
			again.SetBodyStream(breaksOff("a=b"), -1)
			test.read(&again)
			mend(&again)
			if again.BodyError() != nil || string(again.Body()) != "new" {
				t.Errorf("%s, then %s: %q, %v", name, how, again.Body(), again.BodyError())
			}
		}
	}
}

// A body that is swapped in for a failed one can be used.
func TestBrokenBodySwapped(t *testing.T) {
	var req Request
	req.SetRequestURI("http://a.test/")
	req.SetBodyStream(breaksOff("old"), -1)
	if old := req.SwapBody([]byte("new")); len(old) > 0 || req.BodyError() != errBoom || string(req.Body()) != "new" {
		t.Errorf("got %q, %v, %q", old, req.BodyError(), req.Body())
	}
	if got := req.String(); !strings.HasSuffix(got, "\r\n\r\nnew") {
		t.Errorf("written: %s", got)
	}
}

// A form whose files are gone can't be written as a body either.
func TestBrokenFormFiles(t *testing.T) {
	withoutEngine(t)
	t.Setenv("TMPDIR", t.TempDir())
	body, contentType := formBody(maxFormMemory)
	var req Request
	in := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
	if err := req.Read(bufio.NewReader(strings.NewReader(in))); err != nil {
		t.Fatal(err)
	}
	if err := req.form.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	if b := req.Body(); len(b) > 0 || !errors.Is(req.BodyError(), os.ErrNotExist) {
		t.Errorf("got %.100q, %v", b, req.BodyError())
	}
	if err := req.Write(bufio.NewWriter(io.Discard)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Write: %v", err)
	}
	req.SetBodyString("new")
	if req.BodyError() != nil {
		t.Error("the error stays behind a new body")
	}
}

func TestBrokenResponseBody(t *testing.T) {
	for name, read := range map[string]func(*Response) any{
		"Body":             func(r *Response) any { return string(r.Body()) },
		"SwapBody":         func(r *Response) any { return string(r.SwapBody(nil)) },
		"BodyWriteTo":      func(r *Response) any { _ = r.BodyWriteTo(io.Discard); return string(r.Body()) },
		"BodyUncompressed": func(r *Response) any { b, _ := r.BodyUncompressed(); return string(b) },
		"BodyUnbrotli":     func(r *Response) any { b, _ := r.BodyUnbrotli(); return string(b) },
	} {
		var resp Response
		resp.SetBodyStream(breaksOff("half"), -1)
		if got := read(&resp); got != "" || resp.BodyError() != errBoom {
			t.Errorf("%s: got %q, %v", name, got, resp.BodyError())
		}
		var b bytes.Buffer
		bw := bufio.NewWriter(&b)
		if err := resp.Write(bw); err != errBoom || bw.Flush() != nil || b.Len() > 0 {
			t.Errorf("%s: Write: %v, %s", name, err, b.String())
		}
		resp.Reset()
		if resp.BodyError() != nil {
			t.Errorf("%s: the error survives Reset", name)
		}
	}
}

// If the body of a response can't be read, the client gets a 500, not a 200 with half a
// body or none. After a flush the connection breaks.
func TestBrokenResponseServed(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		flush := ctx.QueryArgs().Has("flush")
		if flush {
			ctx.SetBodyString("first ")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
		}
		ctx.SetBodyStream(breaksOff("half"), -1)
		_ = ctx.Response.Body()
		if flush && ctx.Flush() != errBoom {
			t.Error("Flush sends a body that failed")
		}
	})
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 500, "Internal Server Error")
	c.send(get("/?flush"))
	b, _ := io.ReadAll(c.br)
	if !bytes.Contains(b, []byte("first ")) || bytes.Contains(b, []byte("\r\n0\r\n")) {
		t.Errorf("got %s", b)
	}
	if !strings.Contains(ts.log.String(), "boom") {
		t.Errorf("logged: %s", ts.log)
	}
}

// A streamed upload that is broken off, or has invalid chunks, never looks like a
// complete body to a handler.
func TestBrokenUpload(t *testing.T) {
	form, formType := formBody(10)
	got := make(chan string, 1)
	s := &Server{StreamRequestBody: true}
	ts := startServer(t, s, func(ctx *RequestCtx) {
		how := string(ctx.Path()[1:])
		var v any
		switch how {
		case "post":
			v = string(ctx.PostBody())
		case "args":
			v = ctx.PostArgs().String()
		case "value":
			v = string(ctx.FormValue("a"))
		case "form":
			f, err := ctx.MultipartForm()
			v = fmt.Sprint(f == nil && err != nil)
		}
		got <- fmt.Sprintf("%v %v", v, ctx.Request.BodyError() != nil)
	})
	for _, test := range []struct{ path, contentType, body, want string }{
		{"post", "text/plain", "a=b", " true"},
		{"args", "application/x-www-form-urlencoded", "a=b", " true"},
		{"value", "application/x-www-form-urlencoded", "a=b", " true"},
		{"value", formType, form, " true"},
		{"form", formType, form, "true true"},
	} {
		for framing, in := range map[string]string{
			"early end":    fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(test.body)+1, test.body),
			"no last":      fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(test.body), test.body),
			"broken chunk": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nzz\r\n", len(test.body), test.body),
		} {
			c := ts.dial()
			c.send("POST /" + test.path + " HTTP/1.1\r\nHost: h\r\nContent-Type: " + test.contentType + "\r\n" + in)
			if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
				_ = cw.CloseWrite()
			}
			if v := <-got; v != test.want {
				t.Errorf("%s of %s, %s: the handler got %q, want %q", test.path, test.contentType, framing, v, test.want)
			}
			c.Close()
		}
	}
}

// Forms of streamed bodies have their own limit, and leave no files.
func TestStreamedFormLimit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const size = maxFormMemory + 1<<20 // large enough that the file goes to disk
	form, formType := formBody(size)
	result := make(chan string, 1)
	for _, test := range []struct {
		name  string
		limit int
		read  func(ctx *RequestCtx) error
		want  string
	}{
		{"default", 0, nil, "ok 1"},
		{"none", -1, nil, "ok 1"},
		{"enough", len(form), nil, "ok 1"},
		{"too little", len(form) - 1, nil, "too large 0"},
		{"MultipartFormWithLimit", size, func(ctx *RequestCtx) error { _, err := ctx.MultipartFormWithLimit(len(form)); return err }, "ok 1"},
		{"MultipartFormWithLimit of 0", size, func(ctx *RequestCtx) error { _, err := ctx.MultipartFormWithLimit(0); return err }, "too large 0"},
		{"LimitRequestBody", size, func(ctx *RequestCtx) error {
			ctx.LimitRequestBody(int64(len(form)))
			_, err := ctx.MultipartForm()
			return err
		}, "ok 1"},
		{"FormFile", size, func(ctx *RequestCtx) error { _, err := ctx.FormFile("file"); return err }, "too large 0"},
		{"again", size, func(ctx *RequestCtx) error {
			_ = ctx.FormValue("a")
			_, err := ctx.MultipartForm()
			return err
		}, "too large 0"},
	} {
		s := &Server{StreamRequestBody: true, MaxStreamedFormSize: test.limit}
		ts := startServer(t, s, func(ctx *RequestCtx) {
			read := test.read
			if read == nil {
				read = func(ctx *RequestCtx) error { _, err := ctx.MultipartForm(); return err }
			}
			err := read(ctx)
			text := "ok"
			if err != nil {
				text = err.Error()
			}
			if errors.Is(err, ErrBodyTooLarge) {
				text = "too large"
			}
			files, _ := os.ReadDir(dir)
			result <- fmt.Sprintf("%s %d", text, len(files))
		})
		c := ts.dial()
		go fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", formType, len(form), form)
		if got := <-result; got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		c.read("POST")
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %d files are left", test.name, len(files))
		}
	}
}
