package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The error of a head that meets a limit says which limit, and which setting moves it.
func TestHeadLimitIsNamed(t *testing.T) {
	const trailers = "Transfer-Encoding: chunked\r\n\r\n0\r\n"
	line := func(n int) string { return "X: " + strings.Repeat("x", n) + "\r\n" }
	long, many := line(70_000), strings.Repeat("X: y\r\n", 600)
	for _, test := range []struct {
		s            *gale.Server
		fields       string // after Host
		http1, http2 string
	}{
		{&gale.Server{}, long, "65536 bytes of header: Server.MaxHeaderBytes", "65536 bytes of header: Server.MaxHeaderBytes"},
		{&gale.Server{}, many, "512 fields of header: Server.MaxHeaderFields", "512 fields of header: Server.MaxHeaderFields"},
		{&gale.Server{}, trailers + many, "512 fields of header: Server.MaxHeaderFields", ""},
		{&gale.Server{}, trailers + long, "65536 bytes of header: Server.MaxHeaderBytes", ""},
		{&gale.Server{MaxHeaderFields: 5}, many, "5 fields of header: Server.MaxHeaderFields", "5 fields of header: Server.MaxHeaderFields"},
		{&gale.Server{MaxHeaderBytes: 5000}, line(5000), "5000 bytes of header: Server.MaxHeaderBytes", "5000 bytes of header: Server.MaxHeaderBytes"},
		{&gale.Server{ReadBufferSize: 6000}, line(6000), "6000 bytes of header: Server.ReadBufferSize", "6000 bytes of header: Server.ReadBufferSize"},
		{&gale.Server{ReadBufferSize: 6000, MaxHeaderBytes: 5000}, line(5000), "5000 bytes of header: Server.MaxHeaderBytes", "5000 bytes of header: Server.MaxHeaderBytes"},
		{&gale.Server{HTTP2: gale.HTTP2Config{MaxHeaderFields: 9}}, many, "512 fields of header: Server.MaxHeaderFields", "9 fields of header: Server.HTTP2.MaxHeaderFields"},
		{&gale.Server{MaxHeaderBytes: 3000, HTTP2: gale.HTTP2Config{MaxHeaderBytes: 2999}}, line(3000), "3000 bytes of header: Server.MaxHeaderBytes", "2999 bytes of header: Server.HTTP2.MaxHeaderBytes"},
	} {
		for _, way := range peers.ClearWays[harness.H2Way]() {
			got := make(chan error, 2)
			s := &gale.Server{
				MaxHeaderFields: test.s.MaxHeaderFields, MaxHeaderBytes: test.s.MaxHeaderBytes,
				ReadBufferSize: test.s.ReadBufferSize, HTTP2: test.s.HTTP2,
				Handler: func(*gale.RequestCtx) {},
				ErrorHandler: func(ctx *gale.RequestCtx, err error) {
					got <- err
					ctx.SetStatusCode(499)
				},
			}
			hs := way.Start(t, s)
			c := peers.NewConn(t, hs.DialRaw())
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n", test.fields)
			check := func(protocol, want string) {
				var small *gale.ErrSmallBuffer
				err := <-got
				if !errors.As(err, &small) || !errors.Is(err, gale.ErrSmallReadBuffer) || !strings.HasSuffix(err.Error(), "more than "+want+" is the limit") {
					t.Errorf("%s, %.20q: %v", protocol, test.fields, err)
				}
			}
			check("HTTP/1.1", test.http1)
			c.Close()
			if test.http2 != "" {
				c := hs.DialH2()
				var fields []string
				for line := range strings.Lines(test.fields) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					fields = append(fields, strings.ToLower(name), value)
				}
				block := c.Block("GET", "/", fields...)
				c.Headers(block[:1], true, false)
				for block = block[1:]; len(block) > 0; {
					n := min(len(block), 16<<10)
					c.Check(c.Fr.WriteContinuation(c.Last, n == len(block), block[:n]))
					block = block[n:]
				}
				c.Await(c.Last, "499")
				check("HTTP/2", test.http2)
				c.Close()
			}
			hs.S.Close()
		}
	}
}
