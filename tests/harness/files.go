package harness

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// FileAnswer is a response in the form that tests need.
type FileAnswer struct {
	Status int
	Header *gale.ResponseHeader
	Body   string
}

func (a *FileAnswer) Get(name string) string { return string(a.Header.Peek(name)) }

// Ask sends a request to h. Fields are given as "Name: value".
func Ask(t *testing.T, h gale.RequestHandler, method, target string, fields ...string) *FileAnswer {
	t.Helper()
	var req gale.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(target)
	req.Header.SetHost("example.com")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	var ctx gale.RequestCtx
	ctx.Init(&req, nil, peers.DiscardLog{})
	h(&ctx)
	a := &FileAnswer{Status: ctx.Response.StatusCode(), Header: &ctx.Response.Header}
	if s := ctx.Response.BodyStream(); s != nil {
		var b bytes.Buffer
		if _, err := io.Copy(&b, s); err != nil {
			t.Errorf("%s %s: body: %v", method, target, err)
		}
		a.Body = b.String()
		if err := ctx.Response.CloseBodyStream(); err != nil {
			t.Errorf("%s %s: close: %v", method, target, err)
		}
	} else if !ctx.Response.SkipBody {
		a.Body = string(ctx.Response.Body())
	}
	return a
}
