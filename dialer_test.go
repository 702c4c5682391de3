package gale

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/peers"
)

// A timeout and a cancelled context end a dial in every state, with an error that says
// which one it was.
func TestDialerTimeoutAndCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	port := peers.DialTarget(t, "127.0.0.1:0")
	hung := peers.ResolverFunc(func(ctx context.Context, _ string) ([]net.IPAddr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	d := &TCPDialer{Resolver: hung}
	for _, addr := range []string{"127.0.0.1:" + port, "example.org:" + port} {
		for _, timeout := range []time.Duration{-1, 0, 1} {
			_, err := d.DialTimeout(addr, timeout)
			if !errors.Is(err, ErrDialTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s in %v: got %v, want ErrDialTimeout", addr, timeout, err)
			}
			if want := "gale: error when dialing " + addr + ": gale: dialing to the given tcp address timed out"; err.Error() != want {
				t.Errorf("%s in %v: got %q, want %q", addr, timeout, err, want)
			}
			var timed net.Error
			if e := errors.Unwrap(err); !errors.As(e, &timed) && !e.(interface{ Timeout() bool }).Timeout() {
				t.Errorf("%s in %v: %v is no timeout", addr, timeout, e)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := d.DialContext(ctx, "tcp", "example.org:"+port); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}

	full := &TCPDialer{Resolver: hung, Concurrency: 1}
	done := make(chan error)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := full.DialContext(ctx, "tcp", "example.org:"+port)
		done <- err
	}()
	for len(full.slotsForTest()) == 0 {
		runtime.Gosched()
	}
	if _, err := full.DialTimeout("127.0.0.1:"+port, 10*time.Millisecond); !errors.Is(err, ErrDialTimeout) {
		t.Errorf("got %v, want ErrDialTimeout as another dial is running", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	conn, err := full.Dial("127.0.0.1:" + port)
	peers.Dialed(t, conn, err)
	peers.WantGoroutines(t, before+1) // dialTarget's
}

// slotsForTest returns the channel that holds a value for each running dial.
func (d *TCPDialer) slotsForTest() chan struct{} {
	d.once.Do(func() { d.slots = make(chan struct{}, d.Concurrency) })
	return d.slots
}
