package adaptor

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
)

// TestTypeAfterNetHTTP: after a net/http handler that has written nothing, as middlewares do,
// a Gale handler's body has the default Content-Type. Where the net/http handler has answered,
// or has decided about the Content-Type, nothing is added.
func TestTypeAfterNetHTTP(t *testing.T) {
	const byDefault = "text/plain; charset=utf-8"
	for _, row := range []struct {
		name  string
		first http.HandlerFunc
		set   func(*gale.Server)
		body  string // that a Gale handler sets afterwards
		want  []string
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, nil, "inside", []string{byDefault}},
		{"a field", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Mw", "1") }, nil, "inside", []string{byDefault}},
		{"an interim response", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }, nil, "inside", []string{byDefault}},
		{"no default on this server", func(http.ResponseWriter, *http.Request) {},
			func(s *gale.Server) { s.NoDefaultContentType = true }, "inside", nil},
		{"a type", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "a/b") }, nil, "inside", []string{"a/b"}},
		{"no type", func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil }, nil, "inside", nil},
		{"a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, nil, "inside", nil},
		{"an empty write", func(w http.ResponseWriter, _ *http.Request) { w.Write(nil) }, nil, "inside", nil},
		{"a body", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, nil, "inside", []string{"text/html; charset=utf-8"}},
		{"nothing at all", func(http.ResponseWriter, *http.Request) {}, nil, "", nil},
		{"only a field", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Mw", "1") }, nil, "", nil},
		{"only a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, nil, "", nil},
	} {
		first := NewFastHTTPHandlerFunc(row.first)
		for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
			addr := galeServerWith(t, func(ctx *gale.RequestCtx) {
				first(ctx)
				if row.body != "" {
					ctx.SetBodyString(row.body)
				}
			}, func(s *gale.Server) {
				if s.Engine = engine; row.set != nil {
					row.set(s)
				}
			})
			for name, c := range clientsOf(t) {
				for _, method := range []string{"GET", "HEAD"} {
					req, _ := http.NewRequest(method, "http://"+addr, nil)
					resp, err := c.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if got := resp.Header["Content-Type"]; fmt.Sprint(got) != fmt.Sprint(row.want) || err != nil || method == "GET" && string(b) != row.body {
						t.Errorf("%s, %v, %s, %s: Content-Type %q, body %q, %v, want %q", row.name, engine, name, method, got, b, err, row.want)
					}
				}
			}
		}
	}
}

// galeServerWith is galeServer with settings, and with HTTP/2.
func galeServerWith(t *testing.T, h gale.RequestHandler, set func(*gale.Server)) string {
	s := &gale.Server{Handler: h, Logger: quietLog{}, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
	set(s)
	return serveOn(t, s)
}

// clientsOf returns a client for each version of HTTP.
func clientsOf(t *testing.T) map[string]*http.Client {
	clients := map[string]*http.Client{}
	for name, set := range map[string]func(*http.Protocols, bool){
		"HTTP/1.1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2,
	} {
		tr := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
		set(tr.Protocols, true)
		t.Cleanup(tr.CloseIdleConnections)
		clients[name] = &http.Client{Transport: tr}
	}
	return clients
}
