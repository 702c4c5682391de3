package gale

import (
	"bufio"
	"io"
	"net/http"
	"testing"
)

// After the head of a response was sent, reading the body of the request sends no 100:
// that would be in the middle of the response.
func TestNoContinueWithinResponse(t *testing.T) {
	for name, h := range map[string]RequestHandler{
		"flush": func(ctx *RequestCtx) {
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
			io.Copy(ctx, ctx.RequestBodyStream())
		},
		"stream": func(ctx *RequestCtx) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) },
		"writer": func(ctx *RequestCtx) {
			body := ctx.RequestBodyStream()
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.Copy(w, body) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, e Engine) {
				c := startServer(t, &Server{Engine: e, StreamRequestBody: true}, h).dial()
				c.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
				resp, err := http.ReadResponse(c.br, nil) // the head comes before the body is sent
				if err != nil {
					t.Fatal(err)
				}
				c.send("body")
				if b, err := io.ReadAll(resp.Body); string(b) != "body" || err != nil || resp.StatusCode != 200 {
					t.Errorf("%d, %q, %v", resp.StatusCode, b, err)
				}
			})
		})
	}
}
