package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/grpclog"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/await"
)

// TestMain keeps the interop functions of grpc-go from ending the process: they report
// failures with the logger's Fatalf.
func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(panics{grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)})
	os.Exit(m.Run())
}

// panics is a logger that panics instead of ending the process.
type panics struct{ grpclog.LoggerV2 }

// fatal is the value of these panics.
type fatal string

func (panics) Fatal(args ...any)                 { panic(fatal(fmt.Sprint(args...))) }
func (panics) Fatalln(args ...any)               { panic(fatal(fmt.Sprintln(args...))) }
func (panics) Fatalf(format string, args ...any) { panic(fatal(fmt.Sprintf(format, args...))) }

// check calls f and fails the test if f reports a failure with the logger.
func check(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		switch r := recover().(type) {
		case nil:
		case fatal:
			t.Fatal(string(r))
		default:
			panic(r)
		}
	}()
	f()
}

// way is one of the ways to serve.
type way struct {
	engine gale.Engine
	tls    bool
}

func (w way) String() string {
	if w.tls {
		return w.engine.String() + ",tls"
	}
	return w.engine.String()
}

// eachWay runs a test on both engines, with TLS and without.
func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		for _, secure := range []bool{false, true} {
			w := way{e, secure}
			t.Run(w.String(), func(t *testing.T) { f(t, w) })
		}
	}
}

// eachEngine runs a test on both engines, without TLS.
func eachEngine(t *testing.T, f func(t *testing.T, w way)) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		t.Run(e.String(), func(t *testing.T) { f(t, way{engine: e}) })
	}
}

// certificate is for all servers with TLS.
var certificate = sync.OnceValues(func() (cert, key []byte) {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		panic(err)
	}
	return cert, key
})

// running is a server that ends with its test.
type running struct {
	t    *testing.T
	gale *gale.Server
	addr string
	tls  bool
	log  *logged
}

// logged is what a server logs.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.b, format+"\n", args...)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve serves h on s, or on a server with the default settings if s is nil. When the test
// has ended, no goroutine may be left.
func (w way) serve(t *testing.T, s *gale.Server, h http.Handler) *running {
	t.Helper()
	wantNoGoroutines(t)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		s = new(gale.Server)
	}
	logs := new(logged)
	s.Engine, s.Logger, s.Handler = w.engine, logs, adaptor.NewFastHTTPHandler(h)
	s.StreamRequestBody, s.HTTP2.H2C = true, true
	served := make(chan error, 1)
	go func() {
		if w.tls {
			cert, key := certificate()
			served <- s.ServeTLSEmbed(ln, cert, key)
		} else {
			served <- s.Serve(ln)
		}
	}()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &running{t: t, gale: s, addr: ln.Addr().String(), tls: w.tls, log: logs}
}

// dial returns a connection of grpc-go that ends with the test.
func (r *running) dial(options ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	c, err := grpc.NewClient(r.addr, append([]grpc.DialOption{grpc.WithTransportCredentials(r.credentials())}, options...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

func (r *running) credentials() credentials.TransportCredentials {
	if !r.tls {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{RootCAs: roots()})
}

// roots are the authorities that clients trust.
func roots() *x509.CertPool {
	cert, _ := certificate()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}

// wantNoGoroutines checks at the end of the test, after the functions given to Cleanup
// from now on, that no goroutine is left that wasn't there before.
func wantNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		await.Gone(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// url returns the URL of a path.
func (r *running) url(path string) string {
	if r.tls {
		return "https://" + r.addr + path
	}
	return "http://" + r.addr + path
}

// client returns a client of net/http for HTTP/2.
func (r *running) client() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(r.tls)
	protocols.SetUnencryptedHTTP2(!r.tls)
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots()}}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
