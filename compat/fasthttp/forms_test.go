package fasthttp_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/galehttp/gale"
)

// TestBrokenForms: a multipart form that can't be parsed is refused before the handler is
// called, as fasthttp does it, with both engines and over HTTP/1.1 and HTTP/2. Where the
// server doesn't parse it first, the handler gets the error and answers.
func TestBrokenForms(t *testing.T) {
	const (
		part = "--B\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a\"\r\n\r\nhello"
		form = "multipart/form-data; boundary=B"
	)
	for _, row := range []struct {
		name              string
		set               func(*fasthttp.Server)
		contentType, body string
		coding            []string // the lines of Content-Encoding
		chunked           bool
		status            int
		want              string
	}{
		{name: "whole", contentType: form, body: part + "\r\n--B--\r\n", status: 200, want: "<nil>"},
		{name: "cut off", contentType: form, body: part, status: 400, want: "Error when parsing request"},
		{name: "cut off, chunked", contentType: form, body: part, chunked: true, status: 400, want: "Error when parsing request"},
		{name: "no part", contentType: form, body: "text", status: 400, want: "Error when parsing request"},
		{name: "other case", contentType: "Multipart/Form-Data; Boundary=B", body: part, status: 400, want: "Error when parsing request"},
		{name: "own answer", set: func(s *fasthttp.Server) {
			s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) { ctx.Error("mine: "+err.Error(), 422) }
		}, contentType: form, body: part, status: 422, want: "mine: cannot read multipart/form-data body: unexpected EOF"},
		{name: "not parsed first", set: func(s *fasthttp.Server) { s.DisablePreParseMultipartForm = true }, contentType: form, body: part,
			status: 500, want: "cannot read multipart/form-data body: unexpected EOF"},
		{name: "streamed", set: func(s *fasthttp.Server) { s.StreamRequestBody = true }, contentType: form, body: part,
			status: 500, want: "cannot read multipart/form-data body: unexpected EOF"},
		{name: "coded", contentType: form, body: part, coding: []string{"gzip"}, status: 500, want: "cannot read multipart/form-data body: multipart: NextPart: gzip: invalid header"},
		{name: "coded in the second line", contentType: form, body: part, coding: []string{"", "gzip"}, status: 500, want: "cannot read multipart/form-data body: multipart: NextPart: gzip: invalid header"},
		{name: "no body", contentType: form, status: 500, want: "form size must be greater than 0: given 0"},
		{name: "no boundary", contentType: "multipart/form-data", body: part, status: 500, want: fasthttp.ErrNoMultipartForm.Error()},
		{name: "another type", contentType: "text/plain", body: part, status: 500, want: fasthttp.ErrNoMultipartForm.Error()},
	} {
		for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
			for _, http2 := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/http2=%v", row.name, engine, http2), func(t *testing.T) {
					s := &fasthttp.Server{Engine: engine, Logger: log.New(io.Discard, "", 0)}
					s.HTTP2.H2C = true
					if row.set != nil {
						row.set(s)
					}
					s.Handler = func(ctx *fasthttp.RequestCtx) {
						_, err := ctx.FormFile("doc")
						if err != nil {
							ctx.SetStatusCode(500)
						}
						fmt.Fprint(ctx, err)
					}
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						t.Fatal(err)
					}
					go s.Serve(ln)
					defer s.Shutdown()
					tr := &http.Transport{Protocols: new(http.Protocols)}
					tr.Protocols.SetHTTP1(!http2)
					tr.Protocols.SetUnencryptedHTTP2(http2)
					defer tr.CloseIdleConnections()
					var body io.Reader = strings.NewReader(row.body)
					if row.chunked {
						body = io.MultiReader(body)
					}
					c := http.Client{Transport: tr, Timeout: time.Minute}
					req, err := http.NewRequest("POST", "http://"+ln.Addr().String(), body)
					if err != nil {
						t.Fatal(err)
					}
					req.Header["Content-Type"] = []string{row.contentType}
					req.Header["Content-Encoding"] = row.coding
					resp, err := c.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err != nil || resp.StatusCode != row.status || string(got) != row.want {
						t.Errorf("%d %q, %v, want %d %q", resp.StatusCode, got, err, row.status, row.want)
					}
				})
			}
		}
	}
}
