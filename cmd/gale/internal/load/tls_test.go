package load

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/measure/figures"
)

// testTLS returns the settings of both sides.
func testTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}},
		&tls.Config{RootCAs: roots, ServerName: "127.0.0.1", ClientSessionCache: tls.NewLRUClientSessionCache(0)}
}

// TestRunTLS proves that requests go over TLS, with resumption.
func TestRunTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				server, client := testTLS(t)
				client.MaxVersion = version
				body := strings.Repeat("x", 100_000)
				addr := serveOn(t, tls.NewListener(listen(t), server), func(w http.ResponseWriter, r *http.Request) {
					n, _ := io.Copy(io.Discard, r.Body)
					if r.Method == "POST" && n != 1<<20 {
						panic(http.ErrAbortHandler)
					}
					io.WriteString(w, body)
				})
				p := planFor(addr)
				p.Targets[0].TLS, p.Count = client, 100
				r := do(p)
				if r.Requests.Good != 100 || r.Connections.TLS.Count != 4 || r.Bytes.Read < 100*100_000 {
					t.Errorf("%+v, %d handshakes, %d bytes, errors %v", r.Requests, r.Connections.TLS.Count, r.Bytes.Read, r.Errors)
				}
				p.NoKeepAlive, p.Count = true, 40
				if r := do(p); r.Requests.Good != 40 || r.Connections.Resumed < 20 {
					t.Errorf("%+v, %d resumed, errors %v", r.Requests, r.Connections.Resumed, r.Errors)
				}
				p.Targets[0].Source, p.Count = newFixed("POST", "/", strings.Repeat("x", 1<<20)), 12
				if r := do(p); r.Requests.Good != 12 {
					t.Errorf("1 MB: %+v, errors %v", r.Requests, r.Errors)
				}
			})
		})
	}
}

// TestPipeKeepsPartsOfRecords proves that crypto/tls goes on after a read that found no
// bytes, wherever a record was split.
func TestPipeKeepsPartsOfRecords(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config, clientConfig := testTLS(t)
		clientConfig.MaxVersion = version
		near, far := net.Pipe()
		defer near.Close()
		server := tls.Server(far, config)
		p := &pipe{shaking: true, tell: func() {}}
		p.more.L = &p.mu
		client := tls.Client(p, clientConfig)
		shaken := make(chan error, 2)
		go func() { shaken <- client.Handshake() }()
		go func() { shaken <- server.Handshake() }()
		pump(t, near, p, shaken)
		// From here on the records that the server writes arrive one byte at a time.
		go func() {
			for range 3 {
				server.Write([]byte("hello"))
			}
			server.Close()
		}()
		p.shaking = false
		var got []byte
		b, one := make([]byte, 100), make([]byte, 1)
		for len(got) < 15 {
			n, err := client.Read(b)
			got = append(got, b[:n]...)
			if err == nil {
				continue
			}
			if !temporary(err) {
				t.Fatalf("after %q: %v", got, err)
			}
			if _, err := near.Read(one); err != nil {
				t.Fatal(err)
			}
			p.in = append(p.in, one...)
		}
		if string(got) != "hellohellohello" {
			t.Errorf("%s: got %q", tls.VersionName(version), got)
		}
	}
}

// pump moves bytes between the network and p until both handshakes have ended.
func pump(t *testing.T, near net.Conn, p *pipe, shaken chan error) {
	t.Helper()
	b := make([]byte, 1<<14)
	for ended := 0; ended < 2; {
		select {
		case err := <-shaken:
			if err != nil {
				t.Fatal(err)
			}
			ended++
		default:
		}
		p.mu.Lock()
		out := p.out
		p.out = nil
		p.mu.Unlock()
		if len(out) > 0 {
			if _, err := near.Write(out); err != nil {
				t.Fatal(err)
			}
		}
		near.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, _ := near.Read(b)
		p.mu.Lock()
		p.in = append(p.in, b[:n]...)
		p.more.Signal()
		p.mu.Unlock()
	}
	near.SetReadDeadline(time.Time{})
}

// TestTLSErrors proves that a connection whose records become invalid fails with its own
// kind of error.
func TestTLSErrors(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		server, client := testTLS(t)
		addr := script(t, func(c net.Conn, _ *bufio.Reader) {
			secure := tls.Server(c, server)
			if readRequest(bufio.NewReader(secure)) != "" {
				c.Write([]byte{23, 3, 3, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
				io.Copy(io.Discard, c)
			}
		})
		p := planFor(addr)
		p.Targets[0].TLS, p.Count = client, 10
		if r := do(p); errorCount(r, kindTLS) != 10 || r.Requests.Failed != 10 {
			t.Errorf("%+v, errors %v", r.Requests, r.Errors)
		}
	})
}
