package fasthttp_test

import (
	"net"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"

	"github.com/galehttp/gale/tests/harness/await"
)

// TestListen: an address without a host is listened on with IPv4, as in fasthttp.
func TestListen(t *testing.T) {
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe(":0") }()
	await.Until(t, "the server to listen", func() bool { return len(s.Stats().Listeners) > 0 })
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
