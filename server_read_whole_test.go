package gale

import (
	"fmt"
	"strings"
	"testing"
)

// The server logs that a streamed body was read into memory as a whole, for several
// requests, but only a limited number of times.
func TestReadsWholeLog(t *testing.T) {
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) { ctx.Write(ctx.Request.Body()) })
	c := ts.dial()
	const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
	for _, n := range []int{2, 100} {
		fmt.Fprint(c, strings.Repeat(post, n))
		for range n {
			var resp Response
			if err := resp.Read(c.br); err != nil || string(resp.Body()) != "hello" {
				t.Fatalf("%q, %v", resp.Body(), err)
			}
		}
		if got := strings.Count(ts.log.String(), "Request.Body() reads the entire stream"); got != min(n, maxReadWholeLogs) {
			t.Errorf("after %d more requests there are %d lines", n, got)
		}
	}
}
