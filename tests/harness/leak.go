package harness

import (
	"bufio"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// SendTokens sends total requests to s, each with its own token, and checks that the responses
// have no other token.
func SendTokens(t *testing.T, s *gale.Server, total int64) {
	s.Logger = &peers.Log{}
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Done()
		time.Sleep(time.Millisecond) // so that the timeout's answer is on its way when the handler goes on
		ctx.Response.Header.Set("X-Token", "late")
		ctx.Write(ctx.Request.Body())
	}, time.Millisecond, "timeout")
	ts := Start(t, s, func(ctx *gale.RequestCtx) {
		token := ctx.QueryArgs().Peek("token")
		ctx.Response.Header.SetBytesV("X-Token", token)
		switch string(ctx.Path()) {
		case "/panic":
			ctx.Write(token)
			panic(string(token))
		case "/timeout":
			slow(ctx)
			return
		case "/abort":
			panic(gale.ErrAbortHandler)
		case "/stream":
			body := append([]byte(nil), ctx.PostBody()...)
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(body); w.Flush() })
			return
		}
		h := &ctx.Request.Header
		fmt.Fprintf(ctx, "%s %s %s %s", token, h.Peek("X-Token"), h.Cookie("token"), ctx.PostBody())
	})
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for sent.Load() < total && !t.Failed() {
				peers.LeakConn(t, ts.Addr, &sent, total)
			}
		}()
	}
	wg.Wait()
}
