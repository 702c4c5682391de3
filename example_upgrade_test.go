package gale_test

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// lineEcho answers each line with the same line. A connection that waits needs no goroutine
// on the event engine.
type lineEcho struct{}

func (lineEcho) Opened(c *gale.UpgradedConn) {
	c.SetTimeout(time.Minute)
	c.SetWriteTimeout(10 * time.Second)
}

func (lineEcho) Received(c *gale.UpgradedConn, in []byte) (n int) {
	n = bytes.LastIndexByte(in, '\n') + 1
	*c.Out() = append(*c.Out(), in[:n]...)
	switch {
	case c.Stopping():
		*c.Out() = append(*c.Out(), "the server stops\n"...)
		c.Close()
	case len(in)-n > 1000:
		c.Close() // the line is too long
	}
	return n
}

func (lineEcho) Stalled(c *gale.UpgradedConn, why error) { c.Close() }

func (lineEcho) Closed(c *gale.UpgradedConn, err error) {}

// A protocol of lines on connections that begin with a request.
func ExampleRequestCtx_Upgrade() {
	s := galetest.NewServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Request.Header.Peek("Upgrade")) != "lines" {
			ctx.Fail(gale.StatusUpgradeRequired, nil)
			return
		}
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "lines")
		ctx.Upgrade(lineEcho{})
	})
	defer s.Close()

	c, err := s.Dial()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\nhello\n")
	b := make([]byte, 1000)
	n := 0
	for n < len(b) && !bytes.HasSuffix(b[:n], []byte("hello\n")) && err == nil {
		var more int
		more, err = c.Read(b[n:])
		n += more
	}
	fmt.Printf("%s\n%q\n", b[:bytes.IndexByte(b, '\r')], b[bytes.Index(b, []byte("\r\n\r\n"))+4:n])
	// Output:
	// HTTP/1.1 101 Switching Protocols
	// "hello\n"
}
