package message

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A body that is swapped in for a failed one can be used.
func TestBrokenBodySwapped(t *testing.T) {
	var req gale.Request
	req.SetRequestURI("http://a.test/")
	req.SetBodyStream(peers.BreaksOff("old"), -1)
	if old := req.SwapBody([]byte("new")); len(old) > 0 || req.BodyError() != peers.ErrBoom || string(req.Body()) != "new" {
		t.Errorf("got %q, %v, %q", old, req.BodyError(), req.Body())
	}
	if got := req.String(); !strings.HasSuffix(got, "\r\n\r\nnew") {
		t.Errorf("written: %s", got)
	}
}

func TestBrokenResponseBody(t *testing.T) {
	for name, read := range map[string]func(*gale.Response) any{
		"Body":             func(r *gale.Response) any { return string(r.Body()) },
		"SwapBody":         func(r *gale.Response) any { return string(r.SwapBody(nil)) },
		"BodyWriteTo":      func(r *gale.Response) any { _ = r.BodyWriteTo(io.Discard); return string(r.Body()) },
		"BodyUncompressed": func(r *gale.Response) any { b, _ := r.BodyUncompressed(); return string(b) },
		"BodyUnbrotli":     func(r *gale.Response) any { b, _ := r.BodyUnbrotli(); return string(b) },
	} {
		var resp gale.Response
		resp.SetBodyStream(peers.BreaksOff("half"), -1)
		if got := read(&resp); got != "" || resp.BodyError() != peers.ErrBoom {
			t.Errorf("%s: got %q, %v", name, got, resp.BodyError())
		}
		var b bytes.Buffer
		bw := bufio.NewWriter(&b)
		if err := resp.Write(bw); err != peers.ErrBoom || bw.Flush() != nil || b.Len() > 0 {
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
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		flush := ctx.QueryArgs().Has("flush")
		if flush {
			ctx.SetBodyString("first ")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
		}
		ctx.SetBodyStream(peers.BreaksOff("half"), -1)
		_ = ctx.Response.Body()
		if flush && ctx.Flush() != peers.ErrBoom {
			t.Error("Flush sends a body that failed")
		}
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 500, "Internal Server Error")
	c.Send(peers.Get("/?flush"))
	b, _ := io.ReadAll(c.Br)
	if !bytes.Contains(b, []byte("first ")) || bytes.Contains(b, []byte("\r\n0\r\n")) {
		t.Errorf("got %s", b)
	}
	if !strings.Contains(ts.Log.String(), "boom") {
		t.Errorf("logged: %s", ts.Log)
	}
}

// A streamed upload that is broken off, or has invalid chunks, never looks like a
// complete body to a handler.
func TestBrokenUpload(t *testing.T) {
	form, formType := peers.FormBody(10)
	got := make(chan string, 1)
	s := &gale.Server{StreamRequestBody: true}
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
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
			c := ts.Dial()
			c.Send("POST /" + test.path + " HTTP/1.1\r\nHost: h\r\nContent-Type: " + test.contentType + "\r\n" + in)
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
