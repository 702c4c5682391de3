package ws

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/galehttp/gale"
)

// A refused handshake gives the status and what has come of the body, also if that doesn't
// end, with each protocol.
func TestDialRefusedBody(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxAnswerBody+1)
	release := make(chan struct{})
	bodies := map[string]struct {
		answer func(ctx *gale.RequestCtx)
		want   []byte
	}{
		"/complete": {func(ctx *gale.RequestCtx) { ctx.SetBodyString("no") }, []byte("no")},
		"/empty":    {func(ctx *gale.RequestCtx) {}, nil},
		"/long":     {func(ctx *gale.RequestCtx) { ctx.SetBody(long) }, long[:maxAnswerBody]},
		"/without-end": {func(ctx *gale.RequestCtx) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(&lasting{text: "no", release: release}, -1)
		}, []byte("no")},
		"/part-of-length": {func(ctx *gale.RequestCtx) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(&lasting{text: "no", release: release}, 100)
		}, []byte("no")},
		"/only-a-head": {func(ctx *gale.RequestCtx) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(&lasting{release: release}, 100)
		}, nil},
		"/ok-without-end": {func(ctx *gale.RequestCtx) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(&lasting{text: "data: x\n\n", release: release}, -1)
			ctx.SetStatusCode(200)
		}, []byte("data: x\n\n")},
	}
	s := http2Server(t, way{engine: gale.EngineAuto}, gale.HTTP2Config{H2C: true, WebSocket: true}, func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusForbidden)
		bodies[string(ctx.Path())].answer(ctx)
	})
	t.Cleanup(func() { close(release) })
	shared := &gale.Client{HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(shared.CloseIdleConnections)
	for protocol, o := range map[string]*DialOptions{
		"HTTP/1.1": {}, "HTTP/2": {HTTP2: gale.HTTP2Only}, "HTTP/2 of a Client": {HTTP2: gale.HTTP2Only, Client: shared},
	} {
		for path, b := range bodies {
			if protocol != "HTTP/1.1" && path == "/ok-without-end" {
				continue // 200 opens a stream
			}
			t.Run(fmt.Sprint(protocol, path), func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				_, resp, err := Dial(ctx, s.url()+path[1:], o)
				if ctx.Err() != nil {
					t.Error("Dial waited until the context ended")
				}
				var he *HandshakeError
				if !errors.As(err, &he) || he.StatusCode != 403 && path != "/ok-without-end" {
					t.Fatalf("error %v", err)
				}
				if resp.StatusCode() != he.StatusCode || !bytes.Equal(resp.Body(), b.want) || resp.StreamBody {
					t.Errorf("response %.300q", resp.String())
				}
			})
		}
	}
}

// lasting is a body that has some text at first, and then nothing until release is closed.
type lasting struct {
	text    string
	release chan struct{}
}

func (b *lasting) Read(p []byte) (n int, err error) {
	if b.text == "" {
		<-b.release
		return 0, io.EOF
	}
	n = copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}
