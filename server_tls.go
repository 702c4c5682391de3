package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/renewed"
)

// serverTLS has the TLS state of a Server.
type serverTLS struct {
	mu     sync.Mutex
	protos map[string]ServeHandler
	certs  []*certFile
}

// errNoCert says that the server has no certificate: pass a certificate and a key, call
// AppendCert, or set Server.TLSConfig. The text is fasthttp's, because programs match on
// it.
var errNoCert = newBareError("cert or key has not provided")

// NextProto makes handler serve connections on which the TLS handshake negotiated the
// protocol key (ALPN, RFC 7301). Call it before serving.
func (s *Server) NextProto(key string, handler ServeHandler) {
	s.tls.mu.Lock()
	defer s.tls.mu.Unlock()
	if s.tls.protos == nil {
		s.tls.protos = make(map[string]ServeHandler)
	}
	if s.TLSConfig == nil {
		s.TLSConfig = &tls.Config{}
	}
	s.TLSConfig.NextProtos = append(s.TLSConfig.NextProtos, key)
	s.tls.protos[key] = handler
}

// ListenAndServeTLS is ListenAndServe over TLS; see ServeTLS.
func (s *Server) ListenAndServeTLS(addr, certFile, keyFile string) error {
	ln, err := s.listenTCP(addr)
	if err != nil {
		return err
	}
	return s.ServeTLS(ln, certFile, keyFile)
}

// ListenAndServeTLSEmbed is ListenAndServe over TLS; see ServeTLSEmbed.
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	ln, err := s.listenTCP(addr)
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, certData, keyData)
}

// ServeTLS is Serve over TLS with the PEM files certFile and keyFile, in addition to the
// certificates of AppendCert and TLSConfig. If there are such certificates, both names
// may be empty. See CertReloadInterval for renewed files.
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	if certFile != "" || keyFile != "" {
		if err := s.AppendCert(certFile, keyFile); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ServeTLSEmbed is ServeTLS with PEM data.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	if len(certData) > 0 || len(keyData) > 0 {
		if err := s.AppendCertEmbed(certData, keyData); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

func (s *Server) serveTLS(ln net.Listener) error {
	cfg, err := s.tlsConfig()
	if err != nil {
		ln.Close()
		return err
	}
	return s.serve(tls.NewListener(pacedListener{ln}, cfg), ln, cfg)
}

// pacedListener accepts sockets on which the engine can time out writes below TLS,
// because a TLS connection can't write again after a timeout.
type pacedListener struct{ net.Listener }

func (ln pacedListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return engine.Pace(c), nil
}

// tlsConfig returns the configuration to serve with.
func (s *Server) tlsConfig() (*tls.Config, error) {
	s.tls.mu.Lock()
	defer s.tls.mu.Unlock()
	cfg := &tls.Config{}
	if s.TLSConfig != nil {
		cfg = s.TLSConfig.Clone()
	}
	if cfg.MinVersion == 0 {
		cfg.MinVersion = tls.VersionTLS12
	}
	names := cfg.NextProtos
	if !slices.Contains(cfg.NextProtos, "http/1.1") {
		// With a name in the list, a client that wants another protocol is refused (RFC
		// 7301 section 3.2).
		cfg.NextProtos = append(slices.Clone(cfg.NextProtos), "http/1.1")
	}
	cfg.NextProtos = s.addALPN(cfg.NextProtos)
	cfg.NextProtos = s.addHTTP2(cfg.NextProtos, names)
	if len(s.tls.certs) > 0 {
		cfg.GetCertificate = s.certChooser(cfg.GetCertificate)
	}
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
		return nil, errNoCert
	}
	return cfg, nil
}

// AppendCert adds a certificate from PEM files. A client gets the certificate for the
// server name that it asks for.
func (s *Server) AppendCert(certFile, keyFile string) error {
	if certFile == "" || keyFile == "" {
		return errNoCert
	}
	f, err := loadCertFile(certFile, keyFile)
	if err != nil {
		return err
	}
	s.tls.mu.Lock()
	s.tls.certs = append(s.tls.certs, f)
	s.tls.mu.Unlock()
	return nil
}

// AppendCertEmbed is AppendCert with PEM data.
func (s *Server) AppendCertEmbed(certData, keyData []byte) error {
	if len(certData) == 0 || len(keyData) == 0 {
		return errNoCert
	}
	f := &certFile{name: "the certificate given"}
	if err := f.use(certData, keyData); err != nil {
		return f.wrap(err)
	}
	s.tls.mu.Lock()
	s.tls.certs = append(s.tls.certs, f)
	s.tls.mu.Unlock()
	return nil
}

// ReloadCertificates reads all certificate files again. If a file can't be used, its old
// certificate stays, and the error says why. Open connections keep their certificates.
func (s *Server) ReloadCertificates() error {
	s.tls.mu.Lock()
	certs := append([]*certFile(nil), s.tls.certs...)
	s.tls.mu.Unlock()
	var errs []error
	for _, f := range certs {
		errs = append(errs, f.reload())
	}
	return errors.Join(errs...)
}

// certChooser returns a function that chooses a certificate by the server name that the
// client asks for: first among those of the server, then by get.
func (s *Server) certChooser(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if get != nil {
			if c, err := get(hello); c != nil || err != nil {
				return c, err
			}
		}
		return s.chooseCert(hello, time.Now()), nil
	}
}

// chooseCert returns the first certificate of the server that the client supports, or the first
// one. If CertReloadInterval is set, it looks for renewed files at first.
func (s *Server) chooseCert(hello *tls.ClientHelloInfo, now time.Time) *tls.Certificate {
	s.tls.mu.Lock()
	certs := s.tls.certs
	s.tls.mu.Unlock()
	var first *tls.Certificate
	for _, f := range certs {
		if f.files != nil && s.CertReloadInterval > 0 {
			s.logRenewal(f, f.files.Look(now, s.CertReloadInterval))
		}
		c := f.cert.Load()
		if hello.SupportsCertificate(c) == nil {
			return c
		}
		if first == nil {
			first = c
		}
	}
	return first
}

func (s *Server) logRenewal(f *certFile, news renewed.News) {
	if news.Failed != nil {
		s.logError(nil, "keeping the old certificate", f.wrap(news.Failed))
	}
	if news.Over {
		s.logger().Printf("gale: certificate: %s: the files can be used again", f.name)
	}
}

// certFile is a certificate and the files that it came from.
type certFile struct {
	name  string         // of the files; for errors
	files *renewed.Files // nil if it came from none
	cert  atomic.Pointer[tls.Certificate]
}

func loadCertFile(certPath, keyPath string) (*certFile, error) {
	f := &certFile{name: certPath + " with " + keyPath}
	f.files = renewed.New(func(contents [][]byte) error { return f.use(contents[0], contents[1]) }, certPath, keyPath)
	return f, f.reload()
}

func (f *certFile) use(certPEM, keyPEM []byte) error {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil {
		f.cert.Store(&cert)
	}
	return err
}

// reload reads the files again; on an error the old certificate stays.
func (f *certFile) reload() error {
	if f.files == nil {
		return nil
	}
	if err := f.files.Read(time.Now()); err != nil {
		return f.wrap(err)
	}
	return nil
}

func (f *certFile) wrap(err error) error { return fmt.Errorf("gale: certificate: %s: %w", f.name, err) }

// handshake does the TLS handshake within its timeout, and returns the handler for the
// negotiated protocol, if there is one.
func (s *Server) handshake(tc *tls.Conn, epoch uint32) (proto ServeHandler, err error) {
	if !s.enterHandshake(tc, epoch) {
		return nil, errShuttingDown
	}
	err = s.shakeHands(tc)
	if err == errShuttingDown {
		return nil, err
	}
	if err != nil {
		s.logError(tc, "TLS handshake", err)
		answerPlain(err)
		return nil, err
	}
	s.tls.mu.Lock()
	defer s.tls.mu.Unlock()
	return s.tls.protos[tc.ConnectionState().NegotiatedProtocol], nil
}

// answerPlain answers a client that sent a plain HTTP request instead of a TLS handshake.
// err is the error of the handshake.
func answerPlain(err error) {
	var notTLS tls.RecordHeaderError
	if !errors.As(err, &notTLS) || notTLS.Conn == nil {
		return
	}
	switch string(notTLS.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		dismissWith(notTLS.Conn, refusedPlain)
	}
}

// shakeHands does the handshake after enterHandshake, and undoes enterHandshake. It returns
// errShuttingDown if a shutdown has closed the connection, even if the handshake is done.
func (s *Server) shakeHands(tc *tls.Conn) (err error) {
	defer func() { // functions of TLSConfig may panic
		if !s.leaveHandshake(tc) && err == nil {
			err = errShuttingDown
		}
	}()
	ctx := context.Background()
	d := s.TLSHandshakeTimeout
	if d == 0 {
		d = DefaultTLSHandshakeTimeout
	}
	if s.ReadTimeout > 0 && (d < 0 || s.ReadTimeout < d) {
		d = s.ReadTimeout
	}
	if d < 0 {
		return tc.HandshakeContext(ctx)
	}
	tc.SetDeadline(time.Now().Add(d))
	err = tc.HandshakeContext(ctx)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrTLSHandshakeTimeout
	}
	tc.SetDeadline(time.Time{})
	return err
}

var errShuttingDown = errors.New("gale: the server is shutting down")
