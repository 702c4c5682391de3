package adaptor_test

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A body that could not be read, or that was dropped, isn't handed on as an empty one: the request
// is answered as a Server answers it, also if the handler before has got the error.
func TestLostBodyIsNotHandedOn(t *testing.T) {
	ways := map[string]func(ctx *gale.RequestCtx){
		"MultipartForm":       func(ctx *gale.RequestCtx) { _, _ = ctx.MultipartForm() },
		"FormValue":           func(ctx *gale.RequestCtx) { ctx.FormValue("role") },
		"PostBody":            func(ctx *gale.RequestCtx) { ctx.PostBody() },
		"PostBody, BodyError": func(ctx *gale.RequestCtx) { ctx.PostBody(); _ = ctx.Request.BodyError() },
	}
	form := func() (string, string) {
		var b strings.Builder
		w := multipart.NewWriter(&b)
		_ = w.WriteField("role", "user")
		_ = w.Close()
		return w.FormDataContentType(), b.String()
	}
	goodType, good := form()
	for _, out := range outsides {
		var ran atomic.Bool
		inner := std(func(w http.ResponseWriter, r *http.Request) {
			ran.Store(true)
			b, err := io.ReadAll(r.Body)
			fmt.Fprint(w, len(b) > 0, err)
		})
		for _, row := range []struct {
			name, way, contentType, body string
			status                       int
		}{
			{"two boundaries", "MultipartForm", "multipart/form-data; boundary=A; boundary=B", good, 400},
			{"two boundaries", "FormValue", "multipart/form-data; boundary=A; boundary=B", good, 400},
			{"malformed", "MultipartForm", "multipart/form-data; boundary=A", "garbage", 400},
			{"malformed", "FormValue", "multipart/form-data; boundary=A", "garbage", 400},
			{"too large", "PostBody", "text/plain", strings.Repeat("x", gale.DefaultMaxRequestBodySize+1), 413},
			{"too large", "PostBody, BodyError", "text/plain", strings.Repeat("x", gale.DefaultMaxRequestBodySize+1), 413},
			{"a form", "MultipartForm", goodType, good, 200},
			{"text", "MultipartForm", "text/plain", "text", 200},
			{"text", "PostBody, BodyError", "text/plain", "text", 200},
		} {
			t.Run(out.name+"/"+row.name+"/"+row.way, func(t *testing.T) {
				ran.Store(false)
				url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
					ways[row.way](ctx)
					inner(ctx)
				})
				tr := &http.Transport{Protocols: peers.Protocols(out.version)}
				defer tr.CloseIdleConnections()
				req, err := http.NewRequestWithContext(t.Context(), "PUT", url, strings.NewReader(row.body))
				if err != nil {
					t.Fatal("making the request:", err)
				}
				req.Header.Set("Content-Type", row.contentType)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal("sending the request:", err)
				}
				b, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != row.status || ran.Load() != (row.status == 200) || ran.Load() && string(b) != "true <nil>" {
					t.Errorf("%d %q, the handler ran: %v", resp.StatusCode, b, ran.Load())
				}
			})
		}
	}
	var ctx gale.RequestCtx
	ctx.Request.SetBodyStream(io.MultiReader(strings.NewReader("x"), brokenBody{}), -1)
	var r http.Request
	if err := adaptor.ConvertRequest(&ctx, &r, true); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ConvertRequest returned %v for a body that breaks off", err)
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
