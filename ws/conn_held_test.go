package ws

import (
	"context"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// A peer that sends short messages instead of a pong can't make Ping hold any number of them.
func TestConnPingHeld(t *testing.T) {
	for name, payload := range map[string]string{"empty": "", "one byte": "x"} {
		t.Run(name, func(t *testing.T) {
			const most = 3 * maxHeld
			held, ctx := make(chan int, 1), testContext(t)
			s := serveConns(t, way{gale.EngineEvent, false}, func(c *Conn) {
				ping, cancel := context.WithCancel(ctx)
				defer cancel()
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = c.Ping(ping)
				}()
				await.Until(t, "Ping doesn't read", func() bool {
					if !c.reading.tryLock() {
						return false
					}
					defer c.reading.unlock()
					return c.heldFull()
				})
				held <- len(c.msgs.held)
				for range most {
					if _, data, err := c.Read(ctx); err != nil || string(data) != payload {
						t.Errorf("Read: %q, %v", data, err)
						return
					}
				}
				cancel()
				<-done
			}, nil)
			c := s.dial(t)
			c.write([]byte(strings.Repeat(string(frame(wsframe.Binary, true, payload)), most)))
			if n := <-held; n > maxHeld+1 {
				t.Errorf("%d messages are held", n)
			}
			for {
				if f, err := c.next(); err != nil {
					t.Fatal(err)
				} else if f.Op == wsframe.Close {
					break
				}
			}
		})
	}
}
