package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// certReload is how often renewed certificate files are looked for.
const certReload = time.Minute

// tlsSource says where the certificate comes from. The zero value means no TLS.
type tlsSource struct {
	certFile, keyFile string
	reload            time.Duration // how often renewed files are looked for
	certPEM, keyPEM   []byte        // of a certificate made for this run
	fingerprint       string        // of that certificate
}

func (t *tlsSource) enabled() bool { return t.certFile != "" || t.certPEM != nil }

// serve serves ln until the server is shut down.
func (t *tlsSource) serve(s *gale.Server, ln net.Listener) error {
	switch {
	case t.certFile != "":
		s.CertReloadInterval = t.reload
		return s.ServeTLS(ln, t.certFile, t.keyFile)
	case t.certPEM != nil:
		return s.ServeTLSEmbed(ln, t.certPEM, t.keyPEM)
	}
	return s.Serve(ln)
}

// loadTLS makes or checks the certificate.
func (cfg *serveConfig) loadTLS() (*tlsSource, error) {
	switch {
	case cfg.tlsSelfSigned:
		return selfSigned(time.Now(), certNames())
	case cfg.tlsCert != "":
		return &tlsSource{certFile: cfg.tlsCert, keyFile: cfg.tlsKey, reload: certReload}, checkKeyPair(cfg.tlsCert, cfg.tlsKey)
	}
	return &tlsSource{}, nil
}

// checkKeyPair reports what is wrong with the files, before a port is opened.
func checkKeyPair(certFile, keyFile string) error {
	for _, f := range []struct{ flag, name string }{{"-tls-cert", certFile}, {"-tls-key", keyFile}} {
		if _, err := os.Stat(f.name); errors.Is(err, os.ErrNotExist) {
			return usagef("there is no file %q: check %s", f.name, f.flag)
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return usagef("can't use the certificate: %v; -tls-cert and -tls-key must be PEM files that belong together", err)
	}
	if now := time.Now(); pair.Leaf != nil && now.After(pair.Leaf.NotAfter) {
		return usagef("the certificate in %q expired on %s: renew it", certFile, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return nil
}

// certNames returns the names and addresses that a browser on this machine or in
// its network may use for it.
func certNames() []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, err := os.Hostname(); err == nil && host != "localhost" {
		names = append(names, host)
	}
	for _, ip := range localIPs() {
		names = append(names, ip.String())
	}
	return names
}

// selfSigned makes a certificate for the names and addresses given. Its key is only
// in memory.
func selfSigned(now time.Time, names []string) (*tlsSource, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "gale serve"},
		NotBefore:             now.Add(-time.Hour), // clocks may differ
		NotAfter:              now.AddDate(0, 3, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &tlsSource{
		certPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		fingerprint: fingerprint(der),
	}, nil
}

// fingerprint writes the SHA-256 of a certificate as browsers show it.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
