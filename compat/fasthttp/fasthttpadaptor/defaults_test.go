package fasthttpadaptor_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// TestHijackBare: a connection that is taken over begins with what was written, without a
// head, as under fasthttp.
func TestHijackBare(t *testing.T) {
	h := func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "written")
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, " taken")
		c.Close()
	}
	client, server := net.Pipe()
	defer client.Close()
	go fasthttp.ServeConn(server, fasthttpadaptor.NewFastHTTPHandlerFunc(h))
	go io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if b, err := io.ReadAll(client); string(b) != "written taken" {
		t.Errorf("%q, %v, want what was written and no head", b, err)
	}
}
