package harness

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// PipeServer serves h until the test ends, and returns a client of it.
func PipeServer(t testing.TB, h peers.PipeHandler) *gale.PipelineClient {
	t.Helper()
	return &gale.PipelineClient{Addr: peers.ServePipes(t, h), Logger: peers.DiscardLog{}}
}

// PipeDo performs a request and returns the body of the response, or the
// error.
func PipeDo(c *gale.PipelineClient, method, path, body string) string {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://example.org" + path)
	req.Header.SetMethod(method)
	req.SetBodyString(body)
	if err := c.Do(req, resp); err != nil {
		return "error: " + err.Error()
	}
	return string(resp.Body())
}

func PipeReq(method string) *gale.Request {
	req := &gale.Request{}
	req.SetRequestURI("http://example.org/")
	req.Header.SetMethod(method)
	return req
}

func PipeReqTo(path string) *gale.Request {
	req := &gale.Request{}
	req.SetRequestURI("http://example.org" + path)
	return req
}
