package server

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A handler that has timed out may still call every method of its context: the server
// uses nothing that they change. The race detector checks that.
func TestTimedOutHandlerGoesOn(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var late sync.WaitGroup
		over := make(chan struct{})
		h := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			defer late.Done()
			for n := 0; ctx.LastTimeoutErrorResponse() == nil; n++ {
				ctx.Hijack(func(net.Conn) { t.Error("the connection was hijacked") })
				ctx.SetUserValue("n", n)
				ctx.Response.Header.Set("X-Late", "1")
				_ = ctx.SetWriteDeadline(time.Time{})
				ctx.CloseRequestBody()
			}
			for n := 0; ; n++ {
				ctx.Hijack(func(net.Conn) { t.Error("the connection was hijacked") })
				ctx.HijackSetNoResponse(true)
				ctx.SetUserValue("n", n)
				ctx.Response.Header.Set("X-Late", "1")
				ctx.WriteString("late")
				ctx.SetBodyStreamWriter(nil)
				ctx.SetStatusCode(500)
				ctx.SetConnectionClose()
				_ = ctx.SetWriteDeadline(time.Time{})
				_ = ctx.SetReadDeadline(time.Time{})
				_ = ctx.EarlyHints()
				_ = ctx.SendInterim(gale.StatusProcessing, nil)
				_ = ctx.Flush()
				ctx.LimitRequestBody(1)
				ctx.CloseRequestBody()
				_ = ctx.Err()
				_, _ = ctx.Request.BodyStream().Read(make([]byte, 1))
				select {
				case <-over:
					return
				default:
				}
			}
		}, time.Millisecond, "late")
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, h)
		for range 8 { // each of them keeps a processor busy
			late.Add(1)
			c := ts.Dial()
			c.Send(peers.Post("/", "body"))
			c.Want("POST", 408, "late")
		}
		close(over)
		late.Wait()
	})
}

// TimeoutError removes the temporary files of a form, even of one that is parsed later.
// After a timeout of TimeoutHandler they are removed when its handler has returned. If
// TimeoutHandlers are nested, what the request holds is closed once, when none of their
// handlers runs any more, whichever of them times out first.
func TestTimeoutHandlersNested(t *testing.T) {
	const soon, never = time.Millisecond, time.Hour
	for _, tc := range []struct {
		name                string
		outer, inner        time.Duration
		innermost, betweens bool // wait until the answer has come
	}{
		{"outer", soon, never, true, false},
		{"outer, with code between", soon, never, false, true},
		{"inner", never, soon, true, false},
		{"both", soon, 2 * soon, true, true},
	} {
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			var running atomic.Int32
			answered, closed := make(chan struct{}), make(chan int32, 2)
			inner := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
				running.Add(1)
				defer running.Add(-1)
				ctx.SetUserValue("v", peers.CloserFunc(func() error { closed <- running.Load(); return nil }))
				for ctx.LastTimeoutErrorResponse() == nil {
					runtime.Gosched()
				}
				if tc.innermost {
					<-answered
				}
			}, tc.inner, "late")
			h := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
				running.Add(1)
				defer running.Add(-1)
				inner(ctx)
				if tc.betweens {
					<-answered
				}
			}, tc.outer, "late")
			ts := harness.Start(t, &gale.Server{Engine: e}, h)
			c := ts.Dial()
			c.Send(peers.Get("/"))
			c.Want("GET", gale.StatusRequestTimeout, "late")
			close(answered)
			if n := <-closed; n != 0 {
				t.Errorf("%s: closed while %d handlers run", tc.name, n)
			}
		})
	}
}
