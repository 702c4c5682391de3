package harness

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/compress"
)

func Itoa(n int) string { return string(gale.AppendUint(nil, n)) }

func FormRequest(body string) *gale.Request {
	req := &gale.Request{}
	req.Header.SetMethod(gale.MethodPost)
	req.Header.SetMultipartFormBoundary("foo")
	req.SetBodyString(body)
	return req
}

// Compressed calls the handler with a request that accepts the codings given,
// and returns the response.
func Compressed(t *testing.T, wrap func(gale.RequestHandler) gale.RequestHandler, accept string, h gale.RequestHandler) *gale.Response {
	t.Helper()
	ctx := &gale.RequestCtx{}
	ctx.Request.Header.SetMethod(gale.MethodGet)
	if accept != "" {
		ctx.Request.Header.Set(gale.HeaderAcceptEncoding, accept)
	}
	wrap(h)(ctx)
	return &ctx.Response
}

// Decoded returns the body of resp without its coding.
func Decoded(t *testing.T, resp *gale.Response) string {
	t.Helper()
	c, ok := compress.Parse(resp.Header.ContentEncoding())
	if !ok {
		t.Fatalf("Content-Encoding %q", resp.Header.ContentEncoding())
	}
	b, err := compress.AppendDecoded(nil, resp.Body(), c, 1<<20)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return string(b)
}

func WithBrotli(h gale.RequestHandler) gale.RequestHandler {
	return gale.CompressHandlerBrotliLevel(h, gale.CompressBrotliDefaultCompression, gale.CompressDefaultCompression)
}
