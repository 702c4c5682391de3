package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/rpc/conformancev1"
)

// server is a server under test.
type server interface {
	serve(ln net.Listener) error
	shutdown(ctx context.Context) error
}

// newServer returns the server of that name for h. It speaks HTTP/1.1 and HTTP/2, with TLS
// if the runner asks for it.
func newServer(name string, engine gale.Engine, req *conformancev1.ServerCompatRequest, h http.Handler) (server, error) {
	cfg, err := tlsConfig(req)
	if err != nil {
		return nil, err
	}
	switch name {
	case "gale":
		return &galeServer{gale.Server{
			Engine:            engine,
			Handler:           adaptor.NewFastHTTPHandler(h),
			StreamRequestBody: true,
			HTTP2:             gale.HTTP2Config{H2C: true},
			TLSConfig:         cfg,
		}}, nil
	case "nethttp":
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		return &netHTTPServer{http.Server{Handler: h, Protocols: protocols, TLSConfig: cfg}}, nil
	}
	return nil, fmt.Errorf("there is no server %q", name)
}

// tlsConfig returns the configuration that the runner asks for, nil for none.
func tlsConfig(req *conformancev1.ServerCompatRequest) (*tls.Config, error) {
	if !req.GetUseTls() {
		return nil, nil
	}
	cert, err := tls.X509KeyPair(req.GetServerCreds().GetCert(), req.GetServerCreds().GetKey())
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}}
	if pem := req.GetClientTlsCert(); len(pem) > 0 {
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the certificate of clients is not PEM")
		}
	}
	return cfg, nil
}

// galeServer is a Gale server that runs handlers through package adaptor.
type galeServer struct{ gale.Server }

func (s *galeServer) serve(ln net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(ln, "", "")
	}
	return s.Serve(ln)
}

func (s *galeServer) shutdown(ctx context.Context) error { return s.ShutdownWithContext(ctx) }

// netHTTPServer is the server of net/http.
type netHTTPServer struct{ http.Server }

func (s *netHTTPServer) serve(ln net.Listener) (err error) {
	if s.TLSConfig != nil {
		err = s.ServeTLS(ln, "", "")
	} else {
		err = s.Serve(ln)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *netHTTPServer) shutdown(ctx context.Context) error { return s.Shutdown(ctx) }
