package reverse_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

func TestZZ(t *testing.T) {
	onUpstreams(t, func(t *testing.T) {
		addr := server(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			fmt.Println(r.Proto, r.Trailer, r.Header)
		})
		for _, merge := range []bool{false, true} {
			p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
			ln, _ := net.Listen("tcp4", "127.0.0.1:0")
			s := &gale.Server{Handler: p.Handler, Engine: engine, MergeTrailers: merge}
			go s.Serve(ln)
			defer s.Close()
			c, br := dial(t, ln.Addr().String())
			io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Real-IP, X-Forwarded-For\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Real-IP: 6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n")
			fmt.Printf("%.20q\n", readHead(br))
		}
	})
}
