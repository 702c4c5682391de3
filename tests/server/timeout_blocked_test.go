package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The timeout of a handler ends a Flush in which it is blocked because the client doesn't
// read. The connection is closed.
func TestTimeoutHandlerFreesBlockedFlush(t *testing.T) {
	for _, interim := range []bool{false, true} {
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			peers.WithMoreTime(t, 100*time.Millisecond, func(limit time.Duration) error {
				failed := make(chan error, 1)
				s := &gale.Server{Engine: e, WriteStallTimeout: -1, Handler: gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
					b := make([]byte, 256<<10)
					var h gale.ResponseHeader
					h.Set("X-Pad", strings.Repeat("x", 64<<10)) // fills what the client doesn't read before the time is over
					var err error
					for err == nil {
						if interim {
							err = ctx.SendInterim(gale.StatusProcessing, &h)
							continue
						}
						_, _ = ctx.Write(b)
						err = ctx.Flush()
					}
					failed <- err
				}, limit, "late")}
				for kind, dial := range dialers(t, s) {
					c := dial()
					c.Send(peers.Get("/"))
					select {
					case err := <-failed:
						if errors.Is(err, gale.ErrNilConnection) { // the client gets the answer
							return fmt.Errorf("%s: the handler was not blocked when its time was over", kind)
						}
						if !errors.Is(err, gale.ErrTimeout) {
							t.Errorf("%s: Flush returned %v", kind, err)
						}
					case <-time.After(time.Minute):
						t.Fatalf("%s: the handler is still blocked", kind)
					}
					peers.WaitClosed(t, s, kind)
					c.Close()
				}
				return nil
			})
		})
	}
}
