package adaptor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// TestHelpersOnNetHTTP: JSON, BindJSON, BasicAuth and ClientIP work for a handler on a
// net/http server as they do natively, within the limits.
func TestHelpersOnNetHTTP(t *testing.T) {
	server := httptest.NewServer(adaptor.NewHTTPHandler(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/limit" {
			ctx.LimitRequestBody(5)
		}
		var v struct{ A string }
		if err := ctx.BindJSON(&v); err != nil {
			ctx.Error(err.Error(), err.(*gale.BindError).Status)
			return
		}
		user, password, ok := ctx.BasicAuth()
		ctx.Response.Header.Set("X-Seen", fmt.Sprintf("%s %s %v %s", user, password, ok, ctx.ClientIP()))
		if err := ctx.JSON(gale.StatusCreated, v); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		name, path, contentType string
		body                    io.Reader
		status                  int
		want                    string
	}{
		{"sized", "/", "application/json", strings.NewReader(`{"a":"b"}`), 201, `{"A":"b"}`},
		{"chunked", "/", "application/json", io.MultiReader(strings.NewReader(`{"a":"b"}`)), 201, `{"A":"b"}`},
		{"a form", "/", "text/plain", strings.NewReader(`{}`), 415, "the body must be application/json in UTF-8"},
		{"no JSON", "/", "application/json", strings.NewReader(`{"a":1}`), 400, `"A" must be a string, not a number, at byte 6`},
		{"too large", "/", "application/json", io.LimitReader(spaces{}, gale.DefaultMaxRequestBodySize+1), 413, "the body is too large"},
		{"beyond the handler's limit", "/limit", "application/json", strings.NewReader(`{"a":1}`), 413, "the body is too large"},
	} {
		req, err := http.NewRequest("POST", server.URL+c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.contentType)
		req.Header.Set("X-Forwarded-For", "6.6.6.6")
		req.SetBasicAuth("ann", "secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || string(got) != c.want {
			t.Errorf("%s: got %d %q, %v, want %d %q", c.name, resp.StatusCode, got, err, c.status, c.want)
		}
		if seen := resp.Header.Get("X-Seen"); resp.StatusCode == 201 && seen != "ann secret true 127.0.0.1" {
			t.Errorf("%s: the handler saw %q", c.name, seen)
		}
	}
}

// spaces is an endless body.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
