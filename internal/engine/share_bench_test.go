package engine_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	. "github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/engine/enginetest"
)

// What it costs to share a connection and take it back if no handler blocks, with
// something to do for other goroutines and without.
func BenchmarkShare(b *testing.B) {
	for _, k := range []string{"block/tcp", "event/tcp"} {
		for _, more := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/more=%v", k, more), func(b *testing.B) {
				const each = 100 // per Feed, since a handler that is preempted loses the connection
				t := new(testing.T)
				done := make(chan struct{})
				s := &bareStep{}
				n, lost := 0, 0
				s.feed = func(w *Work, next *Next) {
					w.Consume(len(w.Unread()))
					for range each {
						if n++; n == b.N {
							close(done)
							return
						}
						var ok bool
						if w, ok = s.c.Unshare(s.c.Share(w, more, 0)); !ok {
							lost++
							s.c.Waker().Wake()
							return
						}
					}
					next.Op = Flush
				}
				c := serveOn(t, k, s)
				c.client.Write([]byte("x"))
				<-done
				b.StopTimer()
				b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
				c.client.Close()
				<-c.ended
			})
		}
	}
}

// bareStep is a step without checks, whose Feed is a function.
type bareStep struct {
	c    Conn
	feed func(w *Work, next *Next)
}

func (s *bareStep) Open(c Conn, _ *Next)               { s.c = c; c.Waker() }
func (s *bareStep) Feed(w *Work, next *Next)           { s.feed(w, next) }
func (s *bareStep) Stall(_ *Work, _ error, next *Next) { next.Op = Close }
func (s *bareStep) Closed(error)                       {}
func (s *bareStep) Hijacked(net.Conn)                  {}
func (s *bareStep) Panicked(any)                       {}

// serveOn serves a connection of the kind that is named.
func serveOn(t *testing.T, kind string, sess Session) *served {
	for _, k := range shareKinds {
		if k.name == kind {
			return k.serve(t, sess)
		}
	}
	panic(kind)
}

// Handlers of one connection that block for 1 ms each, 100 at a time: 10,000 take 100 ms
// at least.
func BenchmarkShareSleep(b *testing.B) {
	const n, atOnce = 10_000, 100
	for _, k := range []string{"block/tcp", "start/tcp", "event/tcp"} {
		b.Run(k, func(b *testing.B) {
			for range b.N {
				s := &enginetest.Streams{Answer: func(_ *enginetest.Stream, p []byte) []byte {
					time.Sleep(time.Millisecond) // what the benchmark measures
					return p
				}}
				c := serveOn(new(testing.T), k, s)
				frame := enginetest.AppendFrame(nil, 1, []byte("x"))
				var wire []byte
				for range atOnce + 1 {
					wire = append(wire, frame...)
				}
				buf := make([]byte, len(wire))
				before := cpuTime()
				b.ResetTimer()
				c.client.Write(wire[:atOnce*len(frame)])
				for sent, got := atOnce*len(frame), 0; got < n*len(frame); {
					k, err := c.client.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					got += k
					if more := min(got+atOnce*len(frame), n*len(frame)) - sent; more > 0 {
						c.client.Write(wire[sent%len(frame):][:more])
						sent += more
					}
				}
				b.ReportMetric(float64((cpuTime() - before).Milliseconds()), "cpu-ms")
				b.StopTimer()
				c.client.Close()
				<-c.ended
				b.ReportMetric(float64(s.Lost.Load())/n, "lost/op")
			}
		})
	}
}
