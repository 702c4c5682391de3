package bench

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/galeutil"
	"github.com/valyala/fasthttp/fasthttputil"
)

// pipes make connections in memory; the one of net has no buffer.
var pipes = []struct {
	name string
	make func() (a, b net.Conn)
}{
	{"gale", func() (net.Conn, net.Conn) { pc := galeutil.NewPipeConns(); return pc.Conn1(), pc.Conn2() }},
	{"fasthttp", func() (net.Conn, net.Conn) { pc := fasthttputil.NewPipeConns(); return pc.Conn1(), pc.Conn2() }},
	{"net", net.Pipe},
}

// BenchmarkPipePingPong sends a message to another goroutine and waits for it
// to come back, with and without deadlines.
func BenchmarkPipePingPong(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		for _, deadlines := range []bool{false, true} {
			for _, impl := range pipes {
				b.Run(fmt.Sprintf("size=%d/deadlines=%t/impl=%s", size, deadlines, impl.name), func(b *testing.B) {
					client, server := impl.make()
					go echo(server, size, deadlines)
					b.SetBytes(int64(2 * size))
					b.ReportAllocs()
					b.ResetTimer()
					buf := make([]byte, size)
					for range b.N {
						roundTrip(b, client, buf, deadlines)
					}
					b.StopTimer()
					client.Close()
				})
			}
		}
	}
}

func roundTrip(b *testing.B, c net.Conn, buf []byte, deadlines bool) {
	if deadlines {
		c.SetDeadline(time.Now().Add(time.Minute))
	}
	if _, err := c.Write(buf); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil {
		b.Fatal(err)
	}
}

func echo(c net.Conn, size int, deadlines bool) {
	defer c.Close()
	buf := make([]byte, size)
	for {
		if deadlines {
			c.SetDeadline(time.Now().Add(time.Minute))
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}

// BenchmarkPipeStream writes as fast as another goroutine reads.
func BenchmarkPipeStream(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		for _, impl := range pipes {
			b.Run(fmt.Sprintf("size=%d/impl=%s", size, impl.name), func(b *testing.B) {
				client, server := impl.make()
				done := make(chan struct{})
				go func() {
					buf := make([]byte, 32<<10)
					for {
						if _, err := server.Read(buf); err != nil {
							close(done)
							return
						}
					}
				}()
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				buf := make([]byte, size)
				for range b.N {
					if _, err := client.Write(buf); err != nil {
						b.Fatal(err)
					}
				}
				client.Close()
				<-done
			})
		}
	}
}

// BenchmarkPipeDial connects, sends a byte and closes.
func BenchmarkPipeDial(b *testing.B) {
	type listener interface {
		net.Listener
		Dial() (net.Conn, error)
	}
	for _, impl := range []struct {
		name string
		ln   listener
	}{{"gale", galeutil.NewInmemoryListener()}, {"fasthttp", fasthttputil.NewInmemoryListener()}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			go func() {
				one := make([]byte, 1)
				for range b.N {
					c, err := impl.ln.Accept()
					if err != nil {
						b.Error(err)
						return
					}
					c.Read(one)
					c.Close()
				}
			}()
			b.ReportAllocs()
			one := make([]byte, 1)
			for range b.N {
				c, err := impl.ln.Dial()
				if err != nil {
					b.Fatal(err)
				}
				c.Write(one)
				c.Close()
			}
		})
	}
}
