package main

import (
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/renewed/renewedtest"
)

// A renewed file of passwords is used, in whatever way it was renewed.
func TestAuthFileRenewed(t *testing.T) {
	renewedtest.Run(t, renewedtest.Watched{
		Names: []string{"users"}, Old: []string{aliceLine}, New: []string{bobLine}, Every: lookAgain,
		Watch: func(t *testing.T, now time.Time, paths ...string) func(time.Time) string {
			f, err := openPasswords(paths[0], now, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatalf("the first file: %v", err)
			}
			return func(now time.Time) string {
				table := f.users(now)
				if _, known := table.find("bob"); known {
					return "new"
				}
				if _, known := table.find("alice"); known {
					return "old"
				}
				return "a table without both"
			}
		},
	})
}

// gale serve -tls-cert uses renewed files, in whatever way they were renewed.
func TestCertificateRenewed(t *testing.T) {
	pair := func() (texts []string, der string) {
		cert, key, err := gale.GenerateTestCertificate("localhost")
		if err != nil {
			t.Fatalf("making a certificate: %v", err)
		}
		block, _ := pem.Decode(cert)
		return []string{string(cert), string(key)}, string(block.Bytes)
	}
	old, oldDER := pair()
	next, newDER := pair()
	renewedtest.Run(t, renewedtest.Watched{
		Names: []string{"cert.pem", "key.pem"}, Old: old, New: next, RealClock: true,
		Watch: func(t *testing.T, _ time.Time, paths ...string) func(time.Time) string {
			source, err := (&serveConfig{tlsCert: paths[0], tlsKey: paths[1]}).loadTLS()
			if err != nil {
				t.Fatalf("the first certificate: %v", err)
			}
			if source.reload != certReload {
				t.Errorf("files are looked at every %v", source.reload)
			}
			source.reload = 1 // so that each connection looks
			var log lockedBuffer
			s := &gale.Server{Handler: func(*gale.RequestCtx) {}, Slog: slog.New(slog.NewTextHandler(&log, nil))}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatalf("listening: %v", err)
			}
			done := make(chan error, 1)
			go func() { done <- source.serve(s, ln) }()
			t.Cleanup(func() {
				_ = s.Close()
				_ = ln.Close() // Serve may not have begun yet, and would begin after Close
				<-done
			})
			return func(time.Time) string {
				c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
				if err != nil {
					return err.Error()
				}
				defer c.Close()
				return map[string]string{oldDER: "old", newDER: "new"}[string(c.ConnectionState().PeerCertificates[0].Raw)]
			}
		},
	})
}
