package server

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Close ends connections with TLS while their goroutines write. The alert that crypto/tls
// then sends must not use the state of the engine's own writes. The race detector checks
// that.
func TestCloseWhileWritingTLS(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		begun := make(chan struct{}, 8)
		s := &gale.Server{Engine: gale.EngineBlock, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			begun <- struct{}{}
			for ctx.Flush() == nil {
				_, _ = ctx.WriteString("more")
			}
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
		for range 4 {
			c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(peers.Get("/"))); err != nil {
				t.Fatal(err)
			}
			go func() {
				b := make([]byte, 1<<10)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
				}
			}()
			<-begun
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
