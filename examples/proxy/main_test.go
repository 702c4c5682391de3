package main

import (
	"io"
	"log"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

func TestProxy(t *testing.T) {
	log.SetOutput(io.Discard)
	users := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		ctx.WriteString(string(ctx.Request.Header.Peek("Via")) + " for " + string(ctx.Path()))
	})
	users.Network = "tcp4"
	users.Start()
	defer users.Close()
	for _, tt := range []struct {
		to, trust string
		want      string // "" for an error of newProxy
	}{
		{users.URL, "", "1.1 gale-proxy for /x"},
		{users.URL + "," + users.URL + "/base", "10.0.0.0/8,::1/128", "1.1 gale-proxy for /x"},
		{"127.0.0.1:1", "", "Bad Gateway"},
		{"", "", ""},
		{users.URL, "10.0.0.0", ""},
	} {
		p, err := newProxy(tt.to, tt.trust)
		if (err != nil) != (tt.want == "") {
			t.Errorf("newProxy(%q, %q) returns %v", tt.to, tt.trust, err)
		}
		if err != nil {
			continue
		}
		if got := galetest.Record(p.Handler, galetest.NewContext("GET", "/x", nil)).Response.Body(); string(got) != tt.want {
			t.Errorf("to %q: got %q, want %q", tt.to, got, tt.want)
		}
		p.Close()
	}
}
