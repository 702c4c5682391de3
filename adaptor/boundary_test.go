package adaptor_test

import (
	"errors"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// Under NewHTTPHandler a request has a form only where a handler of net/http finds it: one that
// looks into forms may have let the request pass because there was none. A body in which the two
// find different forms can't be handed on once the handler has asked.
func TestFormUnderNetHTTPIsThatOfNetHTTP(t *testing.T) {
	for _, parameters := range []string{
		"boundary=B", "boundary=B;", "boundary=\"B\"", "boundary=B; charset=utf-8", "boundary=a=b", "boundary=a/b", "boundary=a:b", "boundary=a=b;",
		"boundary=\"a=b\"", "boundary=\"a/b:c\"", "boundary = B", "boundary= B", "boundary=a,b", "boundary=\"a\\b\"", "boundary*=utf-8''B",
		"charset=utf-8; boundary=a/b", "boundary=B; boundary=C", "x", "",
	} {
		for raw, h := range map[string]func(gale.RequestHandler) http.Handler{
			"": adaptor.NewHTTPHandler, "RawTargets, ": adaptor.Config{RawTargets: true}.NewHTTPHandler,
		} {
			contentType := "multipart/form-data; " + parameters
			_, params, err := mime.ParseMediaType(contentType)
			want := params["boundary"]
			if err != nil {
				want = ""
			}
			name := raw + contentType
			h(func(ctx *gale.RequestCtx) {
				got := string(ctx.Request.Header.MultipartFormBoundary())
				if got != "" && got != want {
					t.Errorf("%s: the boundary is %q, for package mime %q", name, got, want)
				}
				var copied gale.Request
				ctx.Request.CopyTo(&copied)
				if again := string(copied.Header.MultipartFormBoundary()); again != got {
					t.Errorf("%s: the boundary of a copy is %q, before %q", name, again, got)
				}
				if got != "" {
					return
				}
				if _, err := ctx.MultipartForm(); !errors.Is(err, gale.ErrNoMultipartForm) {
					t.Errorf("%s: asked for the form: %v", name, err)
				}
				if b := ctx.PostBody(); want != "" && (len(b) > 0 || ctx.Request.BodyError() == nil) {
					t.Errorf("%s: the body is %q after the question for the form, %v", name, b, ctx.Request.BodyError())
				}
			}).ServeHTTP(httptest.NewRecorder(), func() *http.Request {
				r := httptest.NewRequest("POST", "/", strings.NewReader("--B\r\n\r\n--B--\r\n"))
				r.Header.Set("Content-Type", contentType)
				return r
			}())
		}
	}
	// The next request that uses the memory is read by the rules of its server.
	var req gale.Request
	req.Header.SetContentType("multipart/form-data; boundary=a=b")
	if got := string(req.Header.MultipartFormBoundary()); got != "a=b" {
		t.Errorf("elsewhere the boundary is %q", got)
	}
}
