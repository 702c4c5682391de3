package fasthttp_test

import (
	"bufio"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/galehttp/gale"
)

// TestServerName: a program that imports this package answers as fasthttp does,
// also where it uses Gale's own name.
func TestServerName(t *testing.T) {
	for name, serve := range map[string]func(net.Conn, fasthttp.RequestHandler) error{
		"fasthttp": fasthttp.ServeConn,
		"gale":     gale.ServeConn,
	} {
		t.Run(name, func(t *testing.T) {
			client, server := net.Pipe()
			defer client.Close()
			go serve(server, func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") })
			go client.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
			var res fasthttp.Response
			if err := res.Read(bufio.NewReader(client)); err != nil {
				t.Fatal(err)
			}
			if got := string(res.Header.Peek(fasthttp.HeaderServer)); got != "fasthttp" {
				t.Errorf("Server: %q", got)
			}
		})
	}
}

// TestAssign: an assignment by the one name is seen by the other, and by Gale
// itself.
func TestAssign(t *testing.T) {
	saved := fasthttp.NetHttpFormValueFunc
	defer func() { fasthttp.NetHttpFormValueFunc = saved }()
	fasthttp.NetHttpFormValueFunc = func(*fasthttp.RequestCtx, string) []byte { return []byte("mine") }
	if got := gale.NetHttpFormValueFunc(nil, ""); string(got) != "mine" {
		t.Errorf("gale.NetHttpFormValueFunc returned %q", got)
	}
	fasthttp.FSCompressedFileSuffixes["x"] = ".y"
	defer delete(fasthttp.FSCompressedFileSuffixes, "x")
	if gale.FSCompressedFileSuffixes["x"] != ".y" {
		t.Error("gale.FSCompressedFileSuffixes is another map")
	}
}
