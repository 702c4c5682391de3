package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
)

// tlsVersionFlag is a version of TLS; 0 means that none was given.
type tlsVersionFlag uint16

const tls12 tlsVersionFlag = tls.VersionTLS12

var tlsVersions = []struct {
	name    string
	version tlsVersionFlag
}{{"1.0", tls.VersionTLS10}, {"1.1", tls.VersionTLS11}, {"1.2", tls.VersionTLS12}, {"1.3", tls.VersionTLS13}}

func (f *tlsVersionFlag) String() string {
	for _, v := range tlsVersions {
		if v.version == *f {
			return v.name
		}
	}
	return ""
}

func (f *tlsVersionFlag) Set(s string) error {
	for _, v := range tlsVersions {
		if v.name == s {
			*f = v.version
			return nil
		}
	}
	return errors.New("use 1.0, 1.1, 1.2 or 1.3")
}

// tlsFlags are the flags that are about TLS only.
var tlsFlags = []string{"insecure", "cacert", "cert", "tls-min", "tls-max", "no-resumption"}

// tlsConfig returns the settings for https URLs, without the name of the server.
func (cfg *benchConfig) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: cfg.insecure, MinVersion: uint16(cfg.tlsMin), MaxVersion: uint16(cfg.tlsMax)}
	if !cfg.noResumption {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if cfg.tlsMax != 0 && cfg.tlsMin == 0 {
		c.MinVersion = min(tls.VersionTLS12, c.MaxVersion)
	}
	if cfg.caCert != "" {
		pem, err := readPEM("--cacert", cfg.caCert)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usagef("--cacert: %q has no certificate: give a PEM file", cfg.caCert)
		}
	}
	if cfg.cert == "" {
		return c, nil
	}
	certPEM, err := readPEM("--cert", cfg.cert)
	if err != nil {
		return nil, err
	}
	keyPEM, err := readPEM("--key", cfg.key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, usagef("--cert and --key: %v: give PEM files that belong together", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func readPEM(flag, file string) ([]byte, error) {
	pem, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("%s: there is no file %q: check the spelling", flag, file)
	case err != nil:
		return nil, usagef("%s: can't read %q: check its permissions", flag, file)
	}
	return pem, nil
}
