package main

import (
	"log/slog"
	"testing"

	"github.com/galehttp/gale/galetest"
)

// TestNotes calls the handler without a server: each request has a context of its own.
func TestNotes(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	handler := new(notes).handler()
	for _, tt := range []struct {
		method, target, user, body string
		status                     int
		want                       string
	}{
		{"GET", "/notes", "", "", 401, `the header X-User is missing`},
		{"GET", "/notes", "ada", "", 200, `[]`},
		{"POST", "/notes", "ada", `{"text":"one"}`, 201, `{"author":"ada","text":"one"}`},
		{"POST", "/notes", "bob", `{"text":"two"}`, 201, `{"author":"bob","text":"two"}`},
		{"POST", "/notes", "bob", `{`, 400, `the body is not valid JSON: unexpected end of JSON input, at byte 1`},
		{"GET", "/notes?limit=1", "ada", "", 200, `[{"author":"bob","text":"two"}]`},
		{"GET", "/notes?limit=-1", "ada", "", 400, `limit must be a number`},
		{"DELETE", "/notes", "ada", "", 405, `Method Not Allowed`},
		{"GET", "/", "ada", "", 404, `Not Found`},
	} {
		ctx := galetest.NewContext(tt.method, tt.target, []byte(tt.body))
		ctx.Request.Header.SetContentType("application/json")
		if tt.user != "" {
			ctx.Request.Header.Set("X-User", tt.user)
		}
		resp := galetest.Record(handler, ctx).Response
		if resp.StatusCode() != tt.status || string(resp.Body()) != tt.want {
			t.Errorf("%s %s: got %d %s, want %d %s", tt.method, tt.target, resp.StatusCode(), resp.Body(), tt.status, tt.want)
		}
	}
}
