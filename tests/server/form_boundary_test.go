package server

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A handler that asks for a field of a form whose boundary others could read in another way, and
// goes on without it, gets its response replaced by a 400. It is the handler's if it has heard
// the error, or never asks.
func TestFormOfTwoBoundaries(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, streamed := range []bool{false, true} {
			s := harness.Start(t, &gale.Server{StreamRequestBody: streamed, Engine: e}, func(ctx *gale.RequestCtx) {
				switch string(ctx.Path()) {
				case "/value":
					fmt.Fprintf(ctx, "role=%s", ctx.FormValue("role"))
				case "/form":
					if _, err := ctx.MultipartForm(); !errors.Is(err, gale.ErrNoMultipartForm) || len(ctx.PostBody()) > 0 {
						t.Errorf("%v, body %q", err, ctx.PostBody())
					}
				}
			})
			for _, c := range []struct {
				path, params string
				want         int
			}{
				{"/value", "; boundary=A; boundary*=utf-8''B", 400},
				{"/value", "; boundary*0=B", 400},
				{"/value", "; boundary=A,B", 400},
				{"/value", "; boundary=A", 200},
				{"/value", "; boundary=A;", 200},
				{"/value", "", 200},
				{"/form", "; boundary=A; boundary=B", 200},
				{"/other", "; boundary=A; boundary=B", 200},
			} {
				body := "--A\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nuser\r\n--A--\r\n"
				c2 := s.Dial()
				fmt.Fprintf(c2, "POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: multipart/form-data%s\r\nContent-Length: %d\r\n\r\n%s", c.path, c.params, len(body), body)
				got, err := io.ReadAll(c2)
				if !strings.HasPrefix(string(got), fmt.Sprintf("HTTP/1.1 %d ", c.want)) {
					t.Errorf("streamed %v, %s%s: %q, %v", streamed, c.path, c.params, got, err)
				}
			}
		}
	})
}
