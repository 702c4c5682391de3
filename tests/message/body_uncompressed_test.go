package message

import (
	"strconv"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// TestUncompressedOfNothing proves that a message without content has nothing to decode,
// whatever Content-Encoding says about the content of another response (RFC 9110 sections 6.4.1
// and 8.4): HEAD, 204, 304, and a length of 0, of responses and requests.
func TestUncompressedOfNothing(t *testing.T) {
	kin := map[string]func(r *gale.Response) ([]byte, error){
		"BodyUncompressed": (*gale.Response).BodyUncompressed, "BodyGunzip": (*gale.Response).BodyGunzip, "BodyInflate": (*gale.Response).BodyInflate,
		"BodyUnbrotli": (*gale.Response).BodyUnbrotli, "BodyUnzstd": (*gale.Response).BodyUnzstd,
		"BodyUncompressedWithLimit": func(r *gale.Response) ([]byte, error) { return r.BodyUncompressedWithLimit(1) },
	}
	ts := harness.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}}, func(ctx *gale.RequestCtx) {
		if b, err := ctx.Request.BodyUncompressed(); len(b) > 0 || err != nil {
			t.Errorf("the request's: %q, %v", b, err)
		}
		status, _ := strconv.Atoi(string(ctx.Path()[1:]))
		ctx.SetStatusCode(status)
		ctx.Response.Header.SetContentEncodingBytes(ctx.Request.Header.ContentEncoding())
		if ctx.IsHead() {
			ctx.WriteString("what a GET would get")
		}
	})
	for protocol, http2 := range map[string]gale.HTTP2Mode{"HTTP/1.1": gale.HTTP2Off, "HTTP/2": gale.HTTP2Only} {
		for _, stream := range []bool{false, true} {
			for _, uncompress := range []bool{false, true} {
				c := &gale.Client{HTTP2: http2, StreamResponseBody: stream, Uncompress: uncompress}
				t.Cleanup(c.CloseIdleConnections)
				for _, x := range []struct{ method, path, coding string }{
					{"HEAD", "/200", "gzip"}, {"HEAD", "/200", "compress"}, {"GET", "/200", "gzip"}, {"GET", "/200", "gzip, br"},
					{"GET", "/204", "br"}, {"GET", "/304", "gzip"}, {"POST", "/200", "zstd"}, {"POST", "/200", "deflate"},
				} {
					for name, f := range kin {
						var req gale.Request
						var resp gale.Response
						req.Header.SetMethod(x.method)
						req.SetRequestURI("http://" + ts.Addr + x.path)
						req.Header.SetContentEncoding(x.coding)
						if err := c.DoTimeout(&req, &resp, time.Minute); err != nil {
							t.Fatal(err)
						}
						if b, err := f(&resp); len(b) > 0 || err != nil {
							t.Errorf("%s, %+v, streamed %v, Uncompress %v: %s: %q, %v; want nothing and no error", protocol, x, stream, uncompress, name, b, err)
						}
					}
				}
			}
		}
	}
}
