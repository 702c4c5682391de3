package server

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// HijackSetNoResponse of a request that is not hijacked has no effect on a later request,
// which may be of another client.
func TestHijackNoResponseForgets(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/decline":
			ctx.HijackSetNoResponse(true)
			ctx.Error("no", gale.StatusBadRequest)
		case "/upgrade":
			ctx.SetStatusCode(gale.StatusSwitchingProtocols)
			ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "RAW") })
		}
	})
	for range 20 {
		c := ts.Dial()
		c.Send(peers.Get("/decline"))
		c.Want("GET", gale.StatusBadRequest, "no")
		c.Send(peers.Get("/upgrade"))
		c.CloseWrite()
		if b, err := io.ReadAll(c.Br); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 101 ") || !strings.HasSuffix(string(b), "\r\n\r\nRAW") {
			t.Fatalf("after a request that declined to hijack, an upgrade gets %q, %v", b, err)
		}
	}
}

// The error of a stream that could not be read is cleared together with its body.
func TestReadErrForgets(t *testing.T) {
	for name, replace := range map[string]func(req *gale.Request){
		"Reset":                 func(req *gale.Request) { req.Reset(); setForm(req) },
		"ReleaseBody":           func(req *gale.Request) { req.ReleaseBody(0); setForm(req) },
		"ReleaseBody and Reset": func(req *gale.Request) { req.ReleaseBody(0); req.Reset(); setForm(req) },
		"SetBody":               setForm,
		"SetBodyRaw":            func(req *gale.Request) { setForm(req); req.SetBodyRaw([]byte("a=1")) },
		"SwapBody":              func(req *gale.Request) { setForm(req); req.SwapBody([]byte("a=1")) },
		"ResetBody":             func(req *gale.Request) { req.ResetBody(); req.AppendBodyString("a=1"); setType(req) },
		"a stream":              func(req *gale.Request) { setType(req); req.SetBodyStream(strings.NewReader("a=1"), -1) },
		"CopyTo":                func(req *gale.Request) { var from gale.Request; setForm(&from); from.CopyTo(req) },
	} {
		var req gale.Request
		req.SetBodyStream(iotest.ErrReader(errors.New("broken")), -1)
		_ = req.Body()
		replace(&req)
		if v := string(req.PostArgs().Peek("a")); v != "1" {
			t.Errorf("%s: the form has a=%q, want 1", name, v)
		}
	}
}

func setForm(req *gale.Request) {
	setType(req)
	req.SetBodyString("a=1")
}

func setType(req *gale.Request) { req.Header.SetContentType("application/x-www-form-urlencoded") }

// A logger that a handler set with Init isn't used for a later request.
func TestLoggerForgets(t *testing.T) {
	other := &peers.Log{}
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/init" {
			ctx.Init2(ctx.Conn(), other, false)
			return
		}
		ctx.Logger().Printf("canary")
	})
	c := ts.Dial()
	c.Send(peers.Get("/init"))
	c.Answer("GET")
	c.Send(peers.Get("/"))
	c.Answer("GET")
	if s := other.String(); s != "" {
		t.Errorf("the logger of another request got %q", s)
	}
}
