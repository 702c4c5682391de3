package prefork_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
)

// tlsClient trusts one certificate.
type tlsClient struct{ cert []byte }

func (c *tlsClient) dial(addr string) (net.Conn, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.cert)
	return tls.DialWithDialer(&net.Dialer{Timeout: wait}, "tcp", addr, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
}
