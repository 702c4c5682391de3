package main

import (
	"io"
	"log"
	"testing"

	"github.com/galehttp/gale"
)

// TestNotes calls the handler without a server: a context of its own for each
// request, and a look at the response.
func TestNotes(t *testing.T) {
	log.SetOutput(io.Discard)
	handler := new(notes).handler()
	for _, tt := range []struct {
		method, target, user, body string
		status                     int
		want                       string
	}{
		{"GET", "/notes", "", "", 401, `{"error":"say who you are in X-User"}`},
		{"GET", "/notes", "ada", "", 200, `[]`},
		{"POST", "/notes", "ada", `{"text":"one"}`, 201, `{"author":"ada","text":"one"}`},
		{"POST", "/notes", "bob", `{"text":"two"}`, 201, `{"author":"bob","text":"two"}`},
		{"POST", "/notes", "bob", `{`, 400, `{"error":"unexpected end of JSON input"}`},
		{"GET", "/notes?limit=1", "ada", "", 200, `[{"author":"bob","text":"two"}]`},
		{"GET", "/notes?limit=-1", "ada", "", 400, `{"error":"limit is no number"}`},
		{"DELETE", "/notes", "ada", "", 405, `{"error":"GET or POST"}`},
		{"GET", "/", "ada", "", 404, `{"error":"there is nothing here"}`},
	} {
		var req gale.Request
		req.Header.SetMethod(tt.method)
		req.SetRequestURI("http://example.com" + tt.target)
		if tt.user != "" {
			req.Header.Set("X-User", tt.user)
		}
		req.SetBodyString(tt.body)

		var ctx gale.RequestCtx
		ctx.Init(&req, nil, nil)
		handler(&ctx)

		status, body := ctx.Response.StatusCode(), string(ctx.Response.Body())
		if status != tt.status || body != tt.want+"\n" {
			t.Errorf("%s %s: got %d %s, want %d %s", tt.method, tt.target, status, body, tt.status, tt.want)
		}
	}
}
