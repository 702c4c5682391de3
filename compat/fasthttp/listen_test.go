package fasthttp_test

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

// TestListen: an address without a host is listened on with IPv4, as in fasthttp.
func TestListen(t *testing.T) {
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe(":0") }()
	for len(s.Stats().Listeners) == 0 {
		time.Sleep(time.Millisecond)
	}
	host, _, err := net.SplitHostPort(s.Stats().Listeners[0].Address)
	if err != nil || host != "0.0.0.0" {
		t.Errorf("listens on %s, %v", host, err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if network := prefork.New(s).Network; network != "tcp4" {
		t.Errorf("prefork listens on %s", network)
	}
}
