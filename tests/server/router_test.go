package server

import (
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestRouter proves on each engine and both protocols which routes get requests whose targets are more or
// less than a path, and that a redirect never leads to another host.
func TestRouter(t *testing.T) {
	r := router.New()
	show := func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Route", string(ctx.Method())+" "+ctx.Pattern()+" "+ctx.PathValue("id"))
		ctx.SetStatusCode(gale.StatusForbidden) // so that a CONNECT opens nothing
	}
	r.GET("/items/{id}", show)
	r.GET("/tree/", show)
	r.GET("/ws", show)
	r.Any("/any", show)
	r.GET("/both", func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Route", "that for GET") })
	r.CONNECT("/both", show)
	r.POST("/post", show)
	r.GET("/{$}", show)
	r.GET("/all/ws", show)
	r.Any("/all/", show)
	every := "CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY"
	rows := []struct {
		method, target string
		protocol       string // of an extended CONNECT
		http           int    // the only version, or 0
		status, want   string // X-Route, Allow or Location
	}{
		{method: "GET", target: "/items/a%2Fb?c", status: "403", want: "GET /items/{id} a/b"},
		{method: "HEAD", target: "/items/12345678", status: "403", want: "HEAD /items/{id} 12345678"},
		{method: "GET", target: "/items/%2e%2e", status: "404"},
		{method: "POST", target: "/items/1", status: "405", want: "GET, HEAD, OPTIONS"},
		{method: "QUERY", target: "/any", status: "403", want: "QUERY /any"},
		{method: "GET", target: "/tree?x=//y", status: "307", want: "/tree/?x=//y"},
		{method: "GET", target: "//evil.example/tree", status: "307", want: "/evil.example/tree"},
		{method: "GET", target: "//evil.example/..//tree", status: "307", want: "/tree/"},
		{method: "GET", target: "/%5Cevil.example//x", status: "307", want: "/%5Cevil.example/x"},
		{method: "GET", target: "/%09//%0d%0aX:y", status: "307", want: "/%09/%0d%0aX:y"},
		{method: "GET", target: "http://evil.example//x", http: 1, status: "307", want: "/x"},
		{method: "GET", target: "http://evil.example/items/1", http: 1, status: "403", want: "GET /items/{id} 1"},
		{method: "GET", target: "http://h.example?q", http: 1, status: "403", want: "GET /{$}"},
		{method: "OPTIONS", target: "*", status: "204", want: every},
		{method: "OPTIONS", target: "/items/1", status: "204", want: "GET, HEAD, OPTIONS"},
		{method: "CONNECT", target: "h:80", http: 1, status: "404"},
		{method: "CONNECT", target: "h:80", http: 2, status: "501"}, // by the server: no handler sees it
		{method: "CONNECT", target: "/ws", protocol: "websocket", http: 2, status: "403", want: "CONNECT /ws"},
		{method: "CONNECT", target: "/any", protocol: "websocket", http: 2, status: "403", want: "CONNECT /any"},
		{method: "CONNECT", target: "/both", protocol: "websocket", http: 2, status: "403", want: "CONNECT /both"},
		{method: "CONNECT", target: "/all/ws", protocol: "websocket", http: 2, status: "403", want: "CONNECT /all/"},
		{method: "CONNECT", target: "/all/x", protocol: "websocket", http: 2, status: "403", want: "CONNECT /all/"},
		{method: "CONNECT", target: "/post", protocol: "websocket", http: 2, status: "405", want: "OPTIONS, POST"},
		{method: "CONNECT", target: "/none", protocol: "websocket", http: 2, status: "404"},
		{method: "CONNECT", target: "/tree", protocol: "websocket", http: 2, status: "307", want: "/tree/"},
	}
	ways := peers.ClearWays[harness.H2Way]()
	for i, way := range append(ways, ways...) {
		s := &gale.Server{Handler: r.Handler()}
		if i < len(ways) { // the routes are found before the bodies are read, and once
			s.Handler = nil
			if err := r.Attach(s); err != nil {
				t.Fatalf("Attach: %v", err)
			}
		}
		s.HTTP2.WebSocket = true
		hs := way.Start(t, s)
		for _, row := range rows {
			if row.http != 2 {
				c := hs.Dial()
				c.Send(row.method + " " + row.target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				a := c.Answer(row.method)
				got := a.Header.Get("X-Route") + a.Header.Get("Allow") + a.Header.Get("Location")
				if !strings.HasPrefix(a.Status, row.status) || got != row.want {
					t.Errorf("%v, HTTP/1.1, %s %s: got %s %q, want %s %q", way.Engine, row.method, row.target, a.Status, got, row.status, row.want)
				}
			}
			if row.http != 1 {
				c := hs.DialH2()
				var id uint32
				switch {
				case row.protocol != "":
					id = c.Connect(row.target)
				case row.method == "CONNECT":
					c.Await(c.Open("GET", "/items/1", true), "403") // OpenFields numbers later streams
					id = c.OpenFields(":method", "CONNECT", ":authority", row.target)
				default:
					id = c.Open(row.method, row.target, true)
				}
				f := c.Await(id, "200", "204", "307", "403", "404", "405", "501", "rst")
				got := f.Fields["x-route"] + f.Fields["allow"] + f.Fields["location"]
				if f.Kind != row.status || got != row.want {
					t.Errorf("%v, HTTP/2, %s %s: got %s %q, want %s %q", way.Engine, row.method, row.target, f.Kind, got, row.status, row.want)
				}
			}
		}
	}
}
