package adaptor_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// Under NewHTTPHandler ctx.Path is http.Request.URL.Path, except that %2F and %5C stay encoded there.
// So a guard of net/http that isn't a ServeMux, which redirects paths with "//", reads the same path.
// What the next reader could read in another way isn't handed on.
func TestPathIsThatOfNetHTTP(t *testing.T) {
	for _, row := range []struct {
		target string
		path   string // "" for 400
		passes bool   // it may be handed on
	}{
		{"/a/b", "/a/b", true}, {"/a;b/%41", "/a;b/A", true}, {"/x://admin", "/x://admin", true}, {"/image/http://h/x?y", "/image/http://h/x", true},
		{"/x://", "/x://", true}, {"/x:///admin", "", false}, {"/x:/admin", "/x:/admin", true}, {"/x%3A//admin", "", false}, {"/x:/%2Fadmin", "/x:/%2Fadmin", false},
		{"//admin", "", false}, {"/x//admin", "", false}, {"/x://../admin", "", false}, {"/x://./admin", "", false}, {"/a%2Fb", "/a%2Fb", false},
		{"http://example.com/a", "/a", true}, {"http://example.com/x://admin", "/x://admin", true}, {"/x://%41://b", "/x://A://b", true},
	} {
		ran := false
		h := adaptor.NewHTTPHandler(func(ctx *gale.RequestCtx) {
			ran = true
			if got := string(ctx.Path()); got != row.path {
				t.Errorf("%s: the path is %q, want %q", row.target, got, row.path)
			}
			if u, err := url.ParseRequestURI(row.target); err != nil || u.RawPath == "" && u.Path != row.path {
				t.Errorf("%s: net/http reads %+v, %v", row.target, u, err)
			}
			was := string(ctx.RequestURI())
			reached := ""
			adaptor.NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = r.RequestURI })(ctx)
			if want := map[bool]string{true: was}[row.passes]; reached != want {
				t.Errorf("%s: the next handler gets %q, want %q", row.target, reached, want)
			}
			// A changed URI is written so that it has the same path.
			ctx.QueryArgs().Set("new", "1")
			ctx.Request.RequestURI()
			if got := string(ctx.Path()); got != row.path {
				t.Errorf("%s: the path is %q after a change of the query, want %q", row.target, got, row.path)
			}
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", row.target, nil))
		if ran != (row.path != "") || !ran && w.Code != 400 {
			t.Errorf("%s: status %d, the handler ran: %v", row.target, w.Code, ran)
		}
	}
}
