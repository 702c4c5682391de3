package client

import (
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale"
)

// A server refuses a request and resets the connection while the body is being sent. A
// response with a length is accepted if it is complete. One that ends with the connection
// is never taken for complete.
func TestResponseBeforeReset(t *testing.T) {
	heads := map[string]bool{
		"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno": true,
		"HTTP/1.1 413 Too Large\r\n\r\nno":                      false,
		"HTTP/1.1 413 Too Large\r\n\r\n":                        false,
	}
	for head, whole := range heads {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(head))
				_ = c.(*net.TCPConn).SetLinger(0)
				_ = c.Close()
			}
		}()
		for range 200 {
			c := gale.HostClient{Addr: ln.Addr().String()}
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI("http://a.test/")
			req.Header.SetMethod("POST")
			req.SetBodyStream(iotest.OneByteReader(strings.NewReader(strings.Repeat("body", 100))), -1)
			err := c.Do(req, resp)
			if err == nil && (!whole || string(resp.Body()) != "no" || resp.StatusCode() != 413) {
				t.Fatalf("%q: %d %q without an error", head, resp.StatusCode(), resp.Body())
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
			c.CloseIdleConnections()
		}
		ln.Close()
	}
}
