package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/wsframe"
)

// A peer that takes a large message slowly isn't idle, though it says nothing for much longer
// than IdleTimeout. One that stops taking is ended by IdleTimeout, or by WriteTimeout without it.
func TestTakingIsNotIdle(t *testing.T) {
	const pause, chunks = 100 * time.Millisecond, 100
	for _, tt := range []struct {
		name  string
		o     *Options
		takes int // chunks, of which the message has a hundred
		want  error
	}{
		{"takes all", &Options{IdleTimeout: time.Second}, chunks, nil},
		{"takes all, without pings", &Options{IdleTimeout: time.Second, PingInterval: -1}, chunks, nil},
		{"stops, with IdleTimeout", &Options{IdleTimeout: time.Second, WriteTimeout: -1}, chunks / 2, errConnIdle},
		{"stops, with WriteTimeout", &Options{IdleTimeout: -1, WriteTimeout: time.Second}, chunks / 2, errWriteTimeout},
		{"takes nothing", &Options{IdleTimeout: time.Second, WriteTimeout: -1}, 0, errConnIdle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Hour - time.Duration(clock.Ticks())) // bubbles begin before ticks do
				nc, peer := net.Pipe()
				c := connOver(t, nc, tt.o)
				wrote := make(chan error, 1)
				go func() { wrote <- c.Write(context.Background(), Binary, make([]byte, chunks*plainChunk)) }()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for range tt.takes {
						time.Sleep(pause) // of the bubble's clock
						if _, err := io.ReadFull(peer, make([]byte, plainChunk)); err != nil {
							t.Error("the peer got", err)
							return
						}
					}
					if tt.takes < chunks {
						return
					}
					go io.Copy(io.Discard, peer)
					_, _ = peer.Write(wsframe.AppendMasked(nil, wsframe.Text, true, false, testKey, []byte("done")))
				}()
				_, data, err := c.Read(context.Background())
				if tt.want == nil && (err != nil || string(data) != "done") {
					t.Errorf("read %q, %v", data, err)
				}
				if tt.want != nil && err != tt.want {
					t.Errorf("read ended with %v, want %v", err, tt.want)
				}
				if err := <-wrote; (err == nil) != (tt.want == nil) {
					t.Errorf("write: %v", err)
				}
				<-ended
				_ = c.CloseNow()
				_ = peer.Close()
			})
		})
	}
}

// The same over a socket, by the clock of the test: IdleTimeout begins when the peer makes room
// in a full socket. What fits into the socket's buffer says nothing about the peer.
func TestTakingOverSocket(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatalf("dialing: %v", err)
	}
	defer peer.Close()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatalf("accepting: %v", err)
	}
	// Systems make the buffers as large as they like otherwise: perhaps larger than any message of a test.
	const buffer, message = 64 << 10, 4 << 20
	if err := errors.Join(nc.(*net.TCPConn).SetWriteBuffer(buffer), peer.(*net.TCPConn).SetReadBuffer(buffer)); err != nil {
		t.Fatalf("setting buffers: %v", err)
	}
	const idle = time.Hour
	c := connOver(t, nc, &Options{IdleTimeout: idle, PingInterval: -1, WriteTimeout: -1})
	if c.raw == nil {
		t.Skip("sockets are written by methods of net.Conn here, as in TestTakingIsNotIdle")
	}
	if err := c.Write(testContext(t), Text, []byte("short")); err != nil {
		t.Fatalf("writing: %v", err)
	}
	if c.took.Load() != 0 {
		t.Error("a short message in the socket's buffer counts as taken")
	}
	ctx := &waitingContext{testContext(t), make(chan struct{}), make(chan struct{})}
	wrote := make(chan error, 1)
	go func() { wrote <- c.Write(ctx, Binary, make([]byte, message)) }()
	<-ctx.waits
	if _, err := io.CopyN(io.Discard, peer, message); err != nil {
		t.Fatalf("reading: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("writing: %v", err)
	}
	if c.took.Load() == 0 {
		t.Fatal("a peer that has made room in a full socket isn't noted")
	}
	took := clock.Tick(c.took.Load())
	c.in.since = took.Add(-2 * idle)
	if due, err := c.upkeep(took.Add(idle - 1)); err != nil || due != took.Add(idle) {
		t.Errorf("before IdleTimeout: due in %v, %v", due-took, err)
	}
	if _, err := c.upkeep(took.Add(idle)); err != errConnIdle {
		t.Errorf("after IdleTimeout: %v", err)
	}
}

// waitingContext tells when the first write waits: only such a write watches its context.
type waitingContext struct {
	context.Context
	done, waits chan struct{}
}

func (c *waitingContext) Done() <-chan struct{} { return c.done }

func (c *waitingContext) AfterFunc(func()) (stop func() bool) {
	close(c.waits)
	return func() bool { return true }
}
