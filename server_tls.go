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
	"time"

	"github.com/galehttp/gale/internal/engine"
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
	cert, err := tls.X509KeyPair(certData, keyData)
	if err != nil {
		return wrapCertError("the certificate given", err)
	}
	s.tls.mu.Lock()
	s.tls.certs = append(s.tls.certs, &certFile{cert: &cert})
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
		s.tls.mu.Lock()
		certs := s.tls.certs
		s.tls.mu.Unlock()
		var first *tls.Certificate
		for _, f := range certs {
			c, err := f.current(s.CertReloadInterval)
			if err != nil {
				s.logError(nil, "keeping the old certificate", err)
			}
			if hello.SupportsCertificate(c) == nil {
				return c, nil
			}
			if first == nil {
				first = c
			}
		}
		return first, nil
	}
}

// certFile is a certificate and where it came from, "" for nowhere.
type certFile struct {
	certPath, keyPath string

	mu      sync.Mutex
	cert    *tls.Certificate
	looked  time.Time
	certMod time.Time
	keyMod  time.Time
}

func loadCertFile(certPath, keyPath string) (*certFile, error) {
	f := &certFile{certPath: certPath, keyPath: keyPath}
	if err := f.reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// reload reads the files again; on an error the old certificate stays.
func (f *certFile) reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

func (f *certFile) load() error {
	if f.certPath == "" {
		return nil
	}
	f.looked, f.certMod, f.keyMod = time.Now(), modTime(f.certPath), modTime(f.keyPath)
	cert, err := tls.LoadX509KeyPair(f.certPath, f.keyPath)
	if err != nil {
		return wrapCertError(f.certPath+" with "+f.keyPath, err)
	}
	f.cert = &cert
	return nil
}

// current returns the certificate. If the last check of the files was longer than every
// ago, it checks them first; if every is 0, it never does.
func (f *certFile) current(every time.Duration) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if now := time.Now(); every > 0 && f.certPath != "" && now.Sub(f.looked) >= every {
		f.looked = now
		if !modTime(f.certPath).Equal(f.certMod) || !modTime(f.keyPath).Equal(f.keyMod) {
			err = f.load()
		}
	}
	return f.cert, err
}

func modTime(path string) time.Time {
	fi, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

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

func wrapCertError(what string, err error) error {
	return fmt.Errorf("gale: certificate: %s: %w", what, err)
}
