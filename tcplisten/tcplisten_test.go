package tcplisten_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/tcplisten"
)

// reusable reports whether this system has ReusePort.
func reusable(t *testing.T) bool {
	t.Helper()
	ln, err := (&tcplisten.Config{ReusePort: true}).NewListener("tcp4", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return true
}

// echo answers one line on each connection of ln, until it is closed.
func echo(ln net.Listener, name string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 4)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(c, b); err == nil {
			_, _ = io.WriteString(c, name+string(b))
		}
		c.Close()
	}
}

// ask sends a line to addr and returns the answer.
func ask(t *testing.T, addr string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever the options, the listener accepts connections and passes bytes.
func TestListens(t *testing.T) {
	canReuse := reusable(t)
	for _, network := range []string{"tcp4", "tcp6", "tcp"} {
		for bits := range 16 {
			cfg := tcplisten.Config{ReusePort: bits&1 != 0, DeferAccept: bits&2 != 0, FastOpen: bits&4 != 0}
			if bits&8 != 0 {
				cfg.Backlog = 16
			}
			if cfg.ReusePort && !canReuse {
				continue
			}
			addr := "127.0.0.1:0"
			if network == "tcp6" {
				addr = "[::1]:0"
			}
			ln, err := cfg.NewListener(network, addr)
			if err != nil {
				if network == "tcp6" && bits == 0 {
					t.Logf("no IPv6 here: %v", err)
					break
				}
				t.Fatalf("%s %+v: %v", network, cfg, err)
			}
			if _, ok := ln.(*net.TCPListener); !ok {
				t.Errorf("%s %+v: got a %T, want what package net returns", network, cfg, ln)
			}
			go echo(ln, "")
			if got := ask(t, ln.Addr().String()); got != "ping" {
				t.Errorf("%s %+v: got %q back", network, cfg, got)
			}
			ln.Close()
		}
	}
}

// Listeners with ReusePort share an address, in one configuration and in
// several; without it the address is taken.
func TestReusePort(t *testing.T) {
	if !reusable(t) {
		t.Skip("this system has no SO_REUSEPORT")
	}
	cfg := tcplisten.Config{ReusePort: true}
	first, err := cfg.NewListener("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	addr := first.Addr().String()
	second, err := cfg.NewListener("tcp4", addr)
	if err != nil {
		t.Fatalf("the second listener: %v", err)
	}
	defer second.Close()
	if ln, err := new(tcplisten.Config).NewListener("tcp4", addr); err == nil {
		ln.Close()
		t.Error("a listener without ReusePort joined those with it")
	}
	go echo(first, "first ")
	go echo(second, "second ")
	for range 20 {
		if got := ask(t, addr); got != "first ping" && got != "second ping" {
			t.Fatalf("got %q", got)
		}
	}
	first.Close()
	for range 20 { // the other one takes all connections now
		if got := ask(t, addr); got != "second ping" {
			t.Fatalf("after closing the first: got %q", got)
		}
	}
}

// An unspecified address of tcp6 takes IPv4 too, that of tcp4 only IPv4.
func TestUnspecified(t *testing.T) {
	for _, tt := range []struct {
		network, addr string
	}{
		{"tcp6", "[::]:0"}, {"tcp6", ":0"}, {"tcp4", ":0"}, {"tcp", ":0"},
	} {
		ln, err := new(tcplisten.Config).NewListener(tt.network, tt.addr)
		if err != nil {
			if tt.network == "tcp6" {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		go echo(ln, "")
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		if got := ask(t, "127.0.0.1:"+port); got != "ping" {
			t.Errorf("%s %s: got %q over IPv4", tt.network, tt.addr, got)
		}
		ln.Close()
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ network, addr string }{
		{"udp", "127.0.0.1:0"}, {"unix", "socket"}, {"", "127.0.0.1:0"}, {"TCP4", "127.0.0.1:0"},
		{"tcp4", "127.0.0.1"}, {"tcp4", "127.0.0.1:99999"}, {"tcp4", "[::1]:0"}, {"tcp6", "127.0.0.1:0"},
	} {
		ln, err := new(tcplisten.Config).NewListener(tt.network, tt.addr)
		if err == nil {
			ln.Close()
			t.Errorf("%q %q: no error", tt.network, tt.addr)
		}
		if ln != nil {
			t.Errorf("%q %q: a listener besides the error", tt.network, tt.addr)
		}
	}
	var unknown net.UnknownNetworkError
	if _, err := new(tcplisten.Config).NewListener("udp", "127.0.0.1:0"); !errors.As(err, &unknown) {
		t.Errorf("an unknown network: got %T %v", err, err)
	}
}

func ExampleConfig_NewListener() {
	cfg := tcplisten.Config{DeferAccept: true, Backlog: 4096}
	ln, err := cfg.NewListener("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	fmt.Println(ln.Addr().Network()) // give ln to gale.Serve
	// Output: tcp
}
