package h2

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// streamConnCalls are the calls of a stream that is a net.Conn, by name.
var streamConnCalls = map[string]func(nc net.Conn) error{
	"Read":          func(nc net.Conn) error { _, err := nc.Read(make([]byte, 1)); return err },
	"Read nothing":  func(nc net.Conn) error { _, err := nc.Read(nil); return err },
	"Write":         func(nc net.Conn) error { _, err := nc.Write([]byte("x")); return err },
	"Write nothing": func(nc net.Conn) error { _, err := nc.Write(nil); return err },
	"CloseWrite":    func(nc net.Conn) error { return nc.(interface{ CloseWrite() error }).CloseWrite() },
	"SetDeadline":   func(nc net.Conn) error { return nc.SetDeadline(time.Time{}) },
	"SetLinger":     func(nc net.Conn) error { return nc.(interface{ SetLinger(int) error }).SetLinger(1) },
	"Close":         func(nc net.Conn) error { return nc.Close() },
	"Close twice":   func(nc net.Conn) error { _ = nc.Close(); return nc.Close() },
}

// errReset stands for a *StreamResetError.
var errReset = errors.New("a *StreamResetError")

// TestStreamConnStates proves what each call of a stream that is a net.Conn returns in each
// state, and that it is the same on both sides of HTTP/2.
func TestStreamConnStates(t *testing.T) {
	call := func(nc net.Conn, name string) { _ = streamConnCalls[name](nc) }
	reset := func(near, far net.Conn) {
		_ = far.(interface{ SetLinger(int) error }).SetLinger(0)
		_ = far.Close()
		_, _ = io.Copy(io.Discard, near) // until the reset has come
	}
	past := time.Now().Add(-time.Hour)
	states := []struct {
		name string
		set  func(near, far net.Conn)
		want map[string]error // nil for calls that aren't named; those that would wait are left out
		skip string
	}{
		{"open", func(near, far net.Conn) {}, nil, "Read"},
		{"the peer has ended its side", func(near, far net.Conn) { call(far, "CloseWrite"); call(near, "Read") },
			map[string]error{"Read": io.EOF}, ""},
		{"CloseWrite was called", func(near, far net.Conn) { call(near, "CloseWrite") },
			map[string]error{"Write": net.ErrClosed, "Write nothing": net.ErrClosed, "CloseWrite": net.ErrClosed}, "Read"},
		{"both sides have ended", func(near, far net.Conn) { call(far, "CloseWrite"); call(near, "Read"); call(near, "CloseWrite") },
			map[string]error{"Read": io.EOF, "Write": net.ErrClosed, "Write nothing": net.ErrClosed, "CloseWrite": net.ErrClosed}, ""},
		{"the deadlines have passed", func(near, far net.Conn) { _ = near.SetDeadline(past) },
			map[string]error{"Read": os.ErrDeadlineExceeded, "Read nothing": os.ErrDeadlineExceeded, "Write": os.ErrDeadlineExceeded, "Write nothing": os.ErrDeadlineExceeded}, ""},
		{"the deadlines have passed and were removed", func(near, far net.Conn) { _ = near.SetDeadline(past); _ = near.SetDeadline(time.Time{}) }, nil, "Read"},
		{"the peer has reset it", reset,
			map[string]error{"Read": errReset, "Write": errReset, "Write nothing": errReset, "CloseWrite": errReset}, ""},
		{"reset, and the deadlines have passed", func(near, far net.Conn) { reset(near, far); _ = near.SetDeadline(past) },
			map[string]error{"Read": os.ErrDeadlineExceeded, "Read nothing": os.ErrDeadlineExceeded, "Write": errReset, "Write nothing": errReset, "CloseWrite": errReset}, ""},
		{"closed", func(near, far net.Conn) { call(near, "Close") }, allClosed, ""},
		{"reset and closed", func(near, far net.Conn) { reset(near, far); call(near, "Close") }, allClosed, ""},
		{"closed after the deadlines have passed", func(near, far net.Conn) { _ = near.SetDeadline(past); call(near, "Close") }, allClosed, ""},
		{"closed after CloseWrite", func(near, far net.Conn) { call(near, "CloseWrite"); call(near, "Close") }, allClosed, ""},
	}
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, taken := harness.TunnelServer(t, way, &gale.Server{})
		c := harness.OpenClient(hs)
		t.Cleanup(c.CloseIdleConnections)
		for _, side := range []string{"client", "server"} {
			for _, state := range states {
				for name, do := range streamConnCalls {
					if name == state.skip {
						continue
					}
					near, err := c.OpenStream(context.Background(), harness.ConnectRequest("/taken"), nil)
					if err != nil {
						t.Fatal("opening a stream:", err)
					}
					far := peers.GetTaken(t, taken)
					if side == "server" {
						near, far = far, near
					}
					state.set(near, far)
					want := state.want[name]
					if name == "Close twice" {
						want = net.ErrClosed
					}
					err = do(near)
					if re := (*gale.StreamResetError)(nil); errors.As(err, &re) {
						err = errReset
					}
					if !errors.Is(err, want) {
						t.Errorf("%s, %s: %s returns %v, want %v", side, state.name, name, err, want)
					}
					near.Close()
					far.Close()
				}
			}
		}
		await.Until(t, "the end of all streams", func() bool { return c.PendingRequests() == 0 })
	})
}

// allClosed is what calls return after Close.
var allClosed = map[string]error{
	"Read": net.ErrClosed, "Read nothing": net.ErrClosed, "Write": net.ErrClosed, "Write nothing": net.ErrClosed,
	"CloseWrite": net.ErrClosed, "SetDeadline": net.ErrClosed, "Close": net.ErrClosed,
}
