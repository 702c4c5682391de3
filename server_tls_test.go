package gale

import (
	"crypto/tls"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/renewed/renewedtest"
	"github.com/galehttp/gale/tests/harness/peers"
)

// testPair returns a certificate and its key, and the certificate in DER.
func testPair(t *testing.T) (texts []string, der string) {
	t.Helper()
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatalf("making a certificate: %v", err)
	}
	block, _ := pem.Decode(cert)
	return []string{string(cert), string(key)}, string(block.Bytes)
}

// Renewed certificate files are used, in whatever way they were renewed. The log says that
// they can't be used, and when they can.
func TestRenewedCertificate(t *testing.T) {
	old, oldDER := testPair(t)
	pair, newDER := testPair(t)
	renewedtest.Run(t, renewedtest.Watched{
		Names: []string{"cert.pem", "key.pem"}, Old: old, New: pair, Every: time.Minute,
		Watch: func(t *testing.T, _ time.Time, paths ...string) func(time.Time) string {
			var log peers.Log
			s := &Server{CertReloadInterval: time.Minute, Logger: &log}
			if err := s.AppendCert(paths[0], paths[1]); err != nil {
				t.Fatalf("the first certificate: %v", err)
			}
			failed := false
			return func(now time.Time) string {
				before := log.String()
				version := map[string]string{oldDER: "old", newDER: "new"}[string(s.chooseCert(&tls.ClientHelloInfo{}, now).Certificate[0])]
				line := strings.TrimPrefix(log.String(), before)
				switch {
				case strings.Contains(line, "keeping the old certificate"):
					failed = true
				case strings.Contains(line, "can be used again"):
					if !failed || version != "new" {
						t.Errorf("with the %s certificate the log said %s", version, line)
					}
					failed = false
				case line != "":
					t.Errorf("the log said %s", line)
				}
				if failed && version == "new" {
					t.Error("the log hasn't said that the files can be used")
				}
				return version
			}
		},
	})
}

// ReloadCertificates reads files whose size, time and identity are the old ones.
func TestReloadCertificates(t *testing.T) {
	old, _ := testPair(t)
	pair, newDER := testPair(t)
	renewedtest.Run(t, renewedtest.Watched{
		Names: []string{"cert.pem", "key.pem"}, Old: old, New: pair, Every: time.Minute,
		Watch: func(t *testing.T, _ time.Time, paths ...string) func(time.Time) string {
			s := &Server{}
			if err := s.AppendCert(paths[0], paths[1]); err != nil {
				t.Fatalf("the first certificate: %v", err)
			}
			return func(now time.Time) string {
				err := s.ReloadCertificates()
				if string(s.chooseCert(&tls.ClientHelloInfo{}, now).Certificate[0]) != newDER {
					return "old"
				}
				if err != nil {
					return err.Error()
				}
				return "new"
			}
		},
	})
}
