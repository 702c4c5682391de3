package tcplisten_test

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/tcplisten"
)

// The system has what the configuration asks for.
func TestOptionsAreSet(t *testing.T) {
	for _, cfg := range []tcplisten.Config{
		{},
		{ReusePort: true},
		{DeferAccept: true},
		{FastOpen: true},
		{Backlog: 7},
		{ReusePort: true, DeferAccept: true, FastOpen: true, Backlog: 33},
	} {
		ln, err := cfg.NewListener("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("%+v: %v", cfg, err)
		}
		c, err := ln.(*net.TCPListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = c.Control(func(fd uintptr) {
			for _, o := range []struct {
				name       string
				level, opt int
				want       bool
			}{
				{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, cfg.ReusePort},
				{"TCP_DEFER_ACCEPT", unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, cfg.DeferAccept},
				{"TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, cfg.FastOpen},
			} {
				got, err := unix.GetsockoptInt(int(fd), o.level, o.opt)
				if err != nil {
					t.Logf("%s isn't here: %v", o.name, err)
					continue
				}
				if (got != 0) != o.want {
					t.Errorf("%+v: %s is %d", cfg, o.name, got)
				}
			}
			// For a listening socket this field is the length of its queue.
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Logf("TCP_INFO isn't here: %v", err)
				return
			}
			if cfg.Backlog > 0 && int(info.Sacked) != cfg.Backlog {
				t.Errorf("%+v: the queue has %d places", cfg, info.Sacked)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
	}
}
