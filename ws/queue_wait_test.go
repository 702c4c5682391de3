package ws

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// With QueueWait, a callback that sends large data back to a slow peer may go on to write.
func TestQueueWaitAfterSend(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const size, times = 100 << 10, 100
		h := newEvents()
		h.message = func(s *Socket, mt MessageType, data []byte) {
			for range times {
				if err := s.Write(mt, data); err != nil {
					t.Error(err)
				}
			}
		}
		o := &Options{MaxQueue: 64 << 10, QueuePolicy: QueueWait}
		c := serveSockets(t, w, h, o).dial(t)
		text := strings.Repeat("x", size)
		c.send(message(text))
		await.Until(t, "the callback waits", func() bool { return o.Stats().Waits > 0 })
		for range times {
			c.want(wsframe.Text, text)
		}
	})
}

// With QueueWait, callbacks and other goroutines may write at the same time.
func TestQueueWaitTogether(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const each, size = 50, 30_000
		text := strings.Repeat("x", size)
		h := newEvents()
		h.message = func(s *Socket, mt MessageType, data []byte) {
			for range each {
				if err := s.WriteString(Text, text); err != nil {
					t.Error(err)
				}
			}
		}
		h.open = func(s *Socket) {
			for range 4 {
				go func() {
					for range each {
						if err := s.WriteString(Text, text); err != nil {
							t.Error(err)
						}
					}
				}()
			}
		}
		s := serveSockets(t, w, h, &Options{MaxQueue: 200 << 10, QueuePolicy: QueueWait, WriteTimeout: -1})
		c := s.dial(t)

		c.send(message("go"))
		for range 5 * each {
			c.want(wsframe.Text, text)
		}
	})
}
