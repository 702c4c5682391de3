package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/galehttp/gale"
)

const host = "gale.example"

// memory is a cache of certificates.
type memory map[string][]byte

func (m memory) Get(_ context.Context, key string) ([]byte, error) {
	if b, ok := m[key]; ok {
		return b, nil
	}
	return nil, autocert.ErrCacheMiss
}
func (m memory) Put(_ context.Context, key string, data []byte) error { return nil }
func (m memory) Delete(context.Context, string) error                 { return nil }

// start serves on loopback by f and returns the address.
func start(t *testing.T, s *gale.Server, f func(net.Listener) error) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f(ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// The certificate comes from the cache: nothing here needs an authority.
func TestServers(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate(host)
	if err != nil {
		t.Fatal(err)
	}
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		HostPolicy: autocert.HostWhitelist(host),
		// An entry of the cache is the key, followed by the certificates.
		Cache: memory{host: append(append([]byte{}, key...), cert...)},
	}
	s := tlsServer(manager)
	addr := start(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, "", "") })
	plain := plainServer(manager)
	plainAddr := start(t, plain, plain.Serve)

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	var dialer net.Dialer
	client := &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, addr)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "Hello over HTTP/2.0\n" {
		t.Errorf("%q, %v", body, err)
	}

	for _, tt := range []struct {
		target   string
		status   int
		location string
	}{
		{"/a?b=c", 302, "https://" + host + "/a?b=c"},
		{"/.well-known/acme-challenge/unknown", 404, ""},
	} {
		req, err := http.NewRequest(http.MethodGet, "http://"+plainAddr+tt.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := (&http.Client{CheckRedirect: client.CheckRedirect}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status || resp.Header.Get("Location") != tt.location {
			t.Errorf("%s: %d %q", tt.target, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
}
