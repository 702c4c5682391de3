package adaptor_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The head of a response whose body comes later, such as events, is sent before the first byte if the
// handler asks for that: with ImmediateHeaderFlush, or by a flush before the first byte.
func TestHeadBeforeStream(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	for _, kind := range []struct {
		name   string
		body   string // that comes after next
		handle func(ctx *gale.RequestCtx, next <-chan bool)
	}{
		{"ImmediateHeaderFlush, StreamWriter", "abc", func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { <-next; io.WriteString(w, "abc") })
		}},
		{"ImmediateHeaderFlush, stream", "abc", func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.Response.ImmediateHeaderFlush = true
			r, w := io.Pipe()
			ctx.SetBodyStream(r, -1)
			go func() { <-next; io.WriteString(w, "abc"); w.Close() }()
		}},
		{"a flush of StreamWriter", "abc", func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Flush(); <-next; io.WriteString(w, "abc") })
		}},
		{"two flushes, long", long, func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Flush(); w.Flush(); <-next; io.WriteString(w, long) })
		}},
		{"a flush and no byte", "", func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Flush(); <-next })
		}},
		{"a flush, NewStreamReader", "abc", func(ctx *gale.RequestCtx, next <-chan bool) {
			ctx.SetBodyStream(gale.NewBoundedStreamReader(func(w *bufio.Writer) { w.Flush(); <-next; io.WriteString(w, "abc") }), -1)
		}},
		{"RequestCtx.Flush", "abc", func(ctx *gale.RequestCtx, next <-chan bool) { ctx.Flush(); <-next; ctx.WriteString("abc") }},
		{"Flush of net/http", "abc", func(ctx *gale.RequestCtx, next <-chan bool) {
			adaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.(http.Flusher).Flush()
				<-next
				io.WriteString(w, "abc")
			}))(ctx)
		}},
	} {
		for _, coded := range []bool{false, true} {
			for _, out := range outsides {
				t.Run(fmt.Sprintf("%s/%s/coded=%t", kind.name, out.name, coded), func(t *testing.T) {
					t.Parallel()
					next := make(chan bool)
					h := func(ctx *gale.RequestCtx) {
						if string(ctx.Path()) == "/" {
							kind.handle(ctx, next)
						}
					}
					if coded {
						h = gale.CompressHandler(h)
					}
					url := out.serve(t, out.version, h)
					client := &http.Client{Transport: &http.Transport{Protocols: peers.Protocols(out.version)}}
					t.Cleanup(client.CloseIdleConnections)
					// What a new connection of HTTP/2 sends by itself would carry the head along.
					if resp, err := client.Get(url + "/first"); err != nil {
						t.Fatal("the first request:", err)
					} else {
						resp.Body.Close()
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					req, _ := http.NewRequestWithContext(ctx, "GET", url+"/", nil)
					resp, err := client.Do(req)
					close(next)
					if err != nil {
						t.Fatal("the head doesn't come before the body:", err)
					}
					defer resp.Body.Close()
					if b, err := io.ReadAll(resp.Body); string(b) != kind.body || err != nil {
						t.Errorf("a body of %d bytes, %v", len(b), err)
					}
				})
			}
		}
	}
}
