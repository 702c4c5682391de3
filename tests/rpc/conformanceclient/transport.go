package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/rpc/conformancev1"
)

// newTransport returns a transport for the server of a request.
func newTransport(name string, req *conformancev1.ClientCompatRequest) (_ connect.Transport, closeIdle func(), err error) {
	cfg, err := tlsConfig(req)
	if err != nil {
		return nil, nil, err
	}
	c, err := httpClient(name, req.GetHttpVersion() == conformancev1.HTTPVersion_HTTP_VERSION_2, cfg)
	if err != nil {
		return nil, nil, err
	}
	scheme := "http"
	if cfg != nil {
		scheme = "https"
	}
	url := fmt.Sprintf("%s://%s:%d", scheme, req.GetHost(), req.GetPort())
	return connecthttp.NewTransport(c, url, options(req)...), c.CloseIdleConnections, nil
}

// options are what the request says about the protocol.
func options(req *conformancev1.ClientCompatRequest) (all []connecthttp.Option) {
	switch req.GetProtocol() {
	case conformancev1.Protocol_PROTOCOL_GRPC:
		all = append(all, connecthttp.WithGRPC())
	case conformancev1.Protocol_PROTOCOL_GRPC_WEB:
		all = append(all, connecthttp.WithGRPCWeb())
	}
	if req.GetCodec() == conformancev1.Codec_CODEC_JSON {
		all = append(all, connecthttp.WithProtoJSON())
	}
	if req.GetCompression() == conformancev1.Compression_COMPRESSION_GZIP {
		all = append(all, connecthttp.WithSendGzip())
	}
	if req.GetUseGetHttpMethod() {
		all = append(all, connecthttp.WithHTTPGet())
	}
	if n := req.GetMessageReceiveLimit(); n > 0 {
		all = append(all, connecthttp.WithReadMaxBytes(int(n)))
	}
	return all
}

// httpClient returns the client of that name, for one version of HTTP.
func httpClient(name string, http2 bool, cfg *tls.Config) (*http.Client, error) {
	switch name {
	case "gale":
		c := &gale.Client{TLSConfig: cfg, HTTP2: gale.HTTP2Off}
		if http2 {
			c.HTTP2 = gale.HTTP2Only
		}
		return &http.Client{Transport: adaptor.NewRoundTripper(c)}, nil
	case "nethttp":
		p := new(http.Protocols)
		p.SetHTTP1(!http2)
		p.SetHTTP2(http2)
		p.SetUnencryptedHTTP2(http2)
		return &http.Client{Transport: &http.Transport{Protocols: p, TLSClientConfig: cfg, DisableCompression: true}}, nil
	}
	return nil, fmt.Errorf("there is no client %q", name)
}

// tlsConfig returns the configuration that a request asks for, nil for none.
func tlsConfig(req *conformancev1.ClientCompatRequest) (*tls.Config, error) {
	if len(req.GetServerTlsCert()) == 0 {
		return nil, nil
	}
	cfg := &tls.Config{RootCAs: x509.NewCertPool()}
	if !cfg.RootCAs.AppendCertsFromPEM(req.GetServerTlsCert()) {
		return nil, errors.New("the certificate of the server is not PEM")
	}
	if c := req.GetClientTlsCreds(); c != nil {
		cert, err := tls.X509KeyPair(c.GetCert(), c.GetKey())
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}
