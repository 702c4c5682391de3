package client

import (
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// A request with a chunked body is sent as HTTP/1.1.
func TestClientWireChunkedVersion(t *testing.T) {
	req := &gale.Request{}
	req.SetRequestURI("http://a.example/x")
	req.Header.SetProtocol("HTTP/1.0")
	req.SetBodyStream(strings.NewReader("hello"), -1)
	if got := req.String(); !strings.HasPrefix(got, "GET /x HTTP/1.1\r\n") || !strings.HasSuffix(got, "\r\n\r\n5\r\nhello\r\n0\r\n\r\n") {
		t.Errorf("%q", got)
	}
}
