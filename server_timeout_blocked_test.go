package gale

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The timeout of a handler ends a Flush in which it is blocked because the client doesn't
// read. The connection is closed.
func TestTimeoutHandlerFreesBlockedFlush(t *testing.T) {
	for _, interim := range []bool{false, true} {
		onEngines(t, func(t *testing.T, e Engine) {
			failed := make(chan error, 1)
			s := &Server{Engine: e, WriteStallTimeout: -1, Handler: TimeoutHandler(func(ctx *RequestCtx) {
				b := make([]byte, 256<<10)
				var h ResponseHeader
				h.Set("X-Pad", strings.Repeat("x", 64<<10)) // fills what the client doesn't read before the time is over
				var err error
				for err == nil {
					if interim {
						err = ctx.SendInterim(StatusProcessing, &h)
						continue
					}
					_, _ = ctx.Write(b)
					err = ctx.Flush()
				}
				failed <- err
			}, 100*time.Millisecond, "late")}
			for kind, dial := range dialers(t, s) {
				c := dial()
				c.send(get("/"))
				select {
				case err := <-failed:
					if errors.Is(err, ErrNilConnection) {
						t.Logf("%s: the handler was not blocked when its time was over", kind)
						c.Close() // it got the answer
					} else if !errors.Is(err, ErrTimeout) {
						t.Errorf("%s: Flush returned %v", kind, err)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%s: the handler is still blocked", kind)
				}
				waitClosed(t, s, kind)
				c.Close()
			}
		})
	}
}
