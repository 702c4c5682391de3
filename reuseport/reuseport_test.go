package reuseport_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reuseport"
)

// Several servers share a port, and each connection reaches one of them.
func TestServersShareAPort(t *testing.T) {
	first, err := reuseport.Listen("tcp4", "127.0.0.1:0")
	var no *reuseport.ErrNoReusePort
	if errors.As(err, &no) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	addr := first.Addr().String()
	listeners := []net.Listener{first}
	for range 3 {
		ln, err := reuseport.Listen("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, ln)
	}
	for i, ln := range listeners {
		s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { fmt.Fprintf(ctx, "server %d", i) }}
		done := make(chan error, 1)
		go func() { done <- s.Serve(ln) }()
		t.Cleanup(func() {
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			ln.Close() // Serve may not have begun yet, and would begin after Shutdown
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		c, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(b), "\r\n\r\nserver ") {
			t.Fatalf("got %q, %v", b, err)
		}
		c.Close()
	}
}

// An address that another socket has for itself is an ordinary error.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ln, err := reuseport.Listen("tcp4", taken.Addr().String())
	if err == nil {
		ln.Close()
		t.Skip("this system lets listeners join that didn't agree")
	}
	var no *reuseport.ErrNoReusePort
	if errors.As(err, &no) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if _, err := reuseport.Listen("udp", "127.0.0.1:0"); err == nil {
		t.Error("udp is accepted")
	}
}

func TestErrNoReusePort(t *testing.T) {
	if text := new(reuseport.ErrNoReusePort).Error(); !strings.Contains(text, "SO_REUSEPORT") {
		t.Errorf("got %q", text)
	}
}

func ExampleListen() {
	ln, err := reuseport.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err) // an *ErrNoReusePort where the system can't
		return
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") }}
	go s.Serve(ln)
	fmt.Println(s.Shutdown())
	// Output: <nil>
}
