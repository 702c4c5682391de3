package galetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// Host is the host of servers that listen in memory.
const Host = "gale.test"

// closeTimeout is how long Close waits for requests.
const closeTimeout = 5 * time.Second

// Server is a server for tests, with clients for it. NewServer, NewTLSServer and
// NewUnstartedServer make one. All methods except Start and StartTLS may be called from
// several goroutines.
type Server struct {
	// URL is the address of the server, without a path: "http://gale.test" in memory, or
	// such as "https://127.0.0.1:40123" on TCP with TLS. Start and StartTLS set it.
	URL string
	// Config is the server with its settings, which may be changed before Start.
	Config *gale.Server
	// Network says where the server listens. If it is empty, the server listens in
	// memory. Otherwise it is a network for net.Listen, such as "tcp", and the server
	// listens on a free port of the loopback address. It may be changed before Start.
	Network string
	// Listener is the listener of the server, without TLS. Start and StartTLS set it.
	Listener net.Listener
	// Certificate is the certificate of a server with TLS. The server's clients trust it.
	// StartTLS sets it.
	Certificate *x509.Certificate

	memory *galeutil.InmemoryListener // nil on a network
	served chan error
	roots  *x509.CertPool

	mu      sync.Mutex
	client  *gale.Client
	std     *http.Client
	stopped bool
}

// NewServer starts a server in memory that answers with handler. Call Close
// when done. It panics if handler is nil.
func NewServer(handler gale.RequestHandler) *Server {
	s := NewUnstartedServer(mustHandler(handler))
	s.Start()
	return s
}

// mustHandler returns handler. It panics if handler is nil: the server would end at once,
// and tests would only see errors that tell less.
func mustHandler(handler gale.RequestHandler) gale.RequestHandler {
	if handler == nil {
		panic("galetest: the handler is nil: pass the function that answers requests")
	}
	return handler
}

// NewTLSServer is NewServer with TLS and its own certificate.
func NewTLSServer(handler gale.RequestHandler) *Server {
	s := NewUnstartedServer(mustHandler(handler))
	s.StartTLS()
	return s
}

// NewUnstartedServer returns a server that isn't started, so that its Config and
// Network can be changed before Start or StartTLS.
func NewUnstartedServer(handler gale.RequestHandler) *Server {
	return &Server{Config: &gale.Server{Handler: handler}}
}

// Start starts a server from NewUnstartedServer. It panics if the server was already
// started or can't listen.
func (s *Server) Start() { s.start("http", s.Config.Serve) }

// StartTLS is Start with TLS. It uses Config.TLSConfig and adds a certificate for the
// host in URL.
func (s *Server) StartTLS() {
	s.start("https", func(ln net.Listener) error {
		return s.Config.ServeTLS(ln, "", "")
	})
}

func (s *Server) start(scheme string, serve func(net.Listener) error) {
	if s.Listener != nil {
		panic("galetest: the server was started before")
	}
	host, name := Host, Host
	if s.Network == "" {
		s.memory = galeutil.NewInmemoryListener()
		s.Listener = s.memory
	} else {
		ln, err := net.Listen(s.Network, "localhost:0")
		if err != nil {
			panic(fmt.Sprintf("galetest: listening: %v", err))
		}
		s.Listener = ln
		host = ln.Addr().String()
		name, _, _ = net.SplitHostPort(host)
	}
	if scheme == "https" {
		if err := s.certify(name); err != nil {
			panic(fmt.Sprintf("galetest: making a certificate: %v", err))
		}
	}
	s.URL = scheme + "://" + host
	s.served = make(chan error, 1)
	go func() { s.served <- serve(s.Listener) }()
}

// certify gives the server a certificate.
func (s *Server) certify(name string) error {
	certPEM, keyPEM, err := gale.GenerateTestCertificate(name)
	if err != nil {
		return err
	}
	if err := s.Config.AppendCertEmbed(certPEM, keyPEM); err != nil {
		return err
	}
	block, _ := pem.Decode(certPEM)
	if s.Certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return err
	}
	s.roots = x509.NewCertPool()
	s.roots.AddCert(s.Certificate)
	return nil
}

// Dial connects to the server and returns the connection without TLS, for tests that
// write HTTP or TLS themselves.
func (s *Server) Dial() (net.Conn, error) { return s.dial(context.Background(), "", "") }

func (s *Server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.memory != nil {
		return s.memory.DialContext(ctx, network, addr)
	}
	a := s.Listener.Addr()
	return new(net.Dialer).DialContext(ctx, a.Network(), a.String())
}

// tlsConfig is the configuration of the clients: whatever host they ask for, they expect
// the certificate of this server.
func (s *Server) tlsConfig() *tls.Config {
	if s.roots == nil {
		return nil
	}
	name := Host
	if s.memory == nil {
		name, _, _ = net.SplitHostPort(s.Listener.Addr().String())
	}
	return &tls.Config{RootCAs: s.roots, ServerName: name}
}

// Client returns a client whose connections all go to the server, whatever the host of a
// request is. All calls return the same client. Its settings may be changed before its
// first request. Close closes its connections.
func (s *Server) Client() *gale.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client = &gale.Client{DialContext: s.dial, TLSConfig: s.tlsConfig()}
	}
	return s.client
}

// HTTPClient returns a net/http client whose connections all go to the server. All calls
// return the same client.
func (s *Server) HTTPClient() *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.std == nil {
		s.std = &http.Client{Transport: &http.Transport{DialContext: s.dial, TLSClientConfig: s.tlsConfig()}}
	}
	return s.std
}

// Do sends req with Client and reads the response into resp. A request without a host,
// such as NewRequest makes for a path, gets the host of URL.
func (s *Server) Do(req *gale.Request, resp *gale.Response) error {
	u := req.URI()
	if len(u.Host()) == 0 {
		u.Update(s.URL + string(u.RequestURI()))
	}
	return s.Client().Do(req, resp)
}

// Get sends a GET request for target, a path or a whole URL, and returns the response.
// The result belongs to the caller.
func (s *Server) Get(target string) (*gale.Response, error) {
	resp := new(gale.Response)
	return resp, s.Do(NewRequest(gale.MethodGet, target, nil), resp)
}

// Close closes the idle connections of the clients, waits up to five seconds for running
// requests, and stops the server. If requests take longer, their connections are closed,
// and the error says so. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	stopped := s.stopped || s.Listener == nil
	s.stopped = true
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	if s.std != nil {
		s.std.CloseIdleConnections()
	}
	s.mu.Unlock()
	if stopped {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.Config.ShutdownWithContext(ctx)
	if err != nil {
		s.Config.Close()
		err = fmt.Errorf("galetest: closing the server: requests are still being answered: %w", err)
	}
	s.Listener.Close() // in case Serve has not begun
	if serveErr := <-s.served; serveErr != nil && err == nil {
		err = serveErr
	}
	return err
}
