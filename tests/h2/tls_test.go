package h2

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// negotiate does a TLS handshake and returns the connection and its protocol, "" for none.
func negotiate(hs *harness.H2Server, cfg *tls.Config) (*tls.Conn, string) {
	cfg.InsecureSkipVerify = true
	c, err := tls.Dial("tcp", hs.Addr, cfg)
	if err != nil {
		return nil, "error"
	}
	hs.T.Cleanup(func() { c.Close() })
	return c, c.ConnectionState().NegotiatedProtocol
}

// TestH2Offered proves when TLS clients are offered HTTP/2.
func TestH2Offered(t *testing.T) {
	handler := func(c net.Conn) error { defer c.Close(); _, err := io.WriteString(c, "mine"); return err }
	for _, tt := range []struct {
		name  string
		mode  gale.HTTP2Mode
		names []string
		own   string // a protocol passed to NextProto
		want  string
	}{
		{"auto", gale.HTTP2Auto, nil, "", "h2"},
		{"on", gale.HTTP2On, nil, "", "h2"},
		{"off", gale.HTTP2Off, nil, "", "http/1.1"},
		{"auto, other names", gale.HTTP2Auto, []string{"http/1.1"}, "", "http/1.1"},
		{"auto, named", gale.HTTP2Auto, []string{"h2", "http/1.1"}, "", "h2"},
		{"on, other names", gale.HTTP2On, []string{"http/1.1"}, "", "h2"},
		{"off, named", gale.HTTP2Off, []string{"h2", "http/1.1"}, "", "http/1.1"},
		{"auto, own", gale.HTTP2Auto, nil, "h2", "h2"},
		{"off, own", gale.HTTP2Off, nil, "h2", "h2"},
		{"auto, another one", gale.HTTP2Auto, nil, "foo", "http/1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &gale.Server{HTTP2: gale.HTTP2Config{Mode: tt.mode}, Handler: func(*gale.RequestCtx) {}}
			if tt.names != nil {
				s.TLSConfig = &tls.Config{NextProtos: slices.Clone(tt.names)}
			}
			if tt.own != "" {
				s.NextProto(tt.own, handler)
			}
			hs := harness.H2Way{Engine: gale.EngineEvent, TLS: true}.Start(t, s)
			c, got := negotiate(hs, &tls.Config{NextProtos: []string{"h2", "http/1.1"}})
			if got != tt.want {
				t.Fatalf("negotiated %q, want %q", got, tt.want)
			}
			if tt.own == "h2" {
				if b, _ := io.ReadAll(c); string(b) != "mine" {
					t.Errorf("the handler of NextProto did not serve: %q", b)
				}
			}
			if tt.names != nil && !slices.Equal(s.TLSConfig.NextProtos, tt.names) {
				t.Errorf("NextProtos of the program are %v now", s.TLSConfig.NextProtos)
			}
		})
	}
}

// TestH2ProgramsListener proves that a TLS listener that the program made offers the
// protocols of its own configuration, whatever the server's setting is.
func TestH2ProgramsListener(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range peers.Engines[gale.Engine]() {
		for _, mode := range []gale.HTTP2Mode{gale.HTTP2Auto, gale.HTTP2On, gale.HTTP2Off} {
			for _, tt := range []struct {
				names []string
				want  string
			}{{[]string{"h2", "http/1.1"}, "HTTP/2.0 h2"}, {nil, "HTTP/1.1 "}} {
				var early string // what HeaderReceived sees
				s := &gale.Server{Engine: e, HTTP2: gale.HTTP2Config{Mode: mode}, HeaderReceived: func(h *gale.RequestHeader) (c gale.RequestConfig) {
					early = string(h.Protocol())
					return c
				}, Handler: func(ctx *gale.RequestCtx) {
					fmt.Fprintf(ctx, "%s %s", ctx.Request.Header.Protocol(), ctx.TLSConnectionState().NegotiatedProtocol)
				}}
				ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: tt.names})
				if err != nil {
					t.Fatal(err)
				}
				go s.Serve(ln)
				t.Cleanup(func() { s.Close() })
				tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				resp, err := (&http.Client{Transport: tr}).Get("https://" + ln.Addr().String() + "/")
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				tr.CloseIdleConnections()
				if err != nil || string(body) != tt.want || !strings.HasPrefix(tt.want, early) || early == "" {
					t.Errorf("%v, mode %d, names %v: %q, for HeaderReceived %q, %v", e, mode, tt.names, body, early, err)
				}
			}
		}
	}
}

// TestH2Suites proves that TLS 1.2 with a suite that RFC 9113 appendix A prohibits is
// refused.
func TestH2Suites(t *testing.T) {
	for _, e := range peers.Engines[gale.Engine]() {
		hs := harness.H2Way{Engine: e, TLS: true}.Start(t, &gale.Server{Handler: func(*gale.RequestCtx) {}, TLSConfig: &tls.Config{CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		}}, HTTP2: gale.HTTP2Config{Mode: gale.HTTP2On}})
		for _, tt := range []struct {
			suites []uint16
			code   int // -1 for none
		}{
			{[]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}, int(http2.ErrCodeInadequateSecurity)},
			{[]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}, -1},
		} {
			nc, proto := negotiate(hs, &tls.Config{NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS12, CipherSuites: tt.suites})
			if proto != "h2" {
				t.Fatalf("%v: negotiated %q", tt.suites, proto)
			}
			c := &peers.H2Conn{Conn: nc, T: t, Fr: http2.NewFramer(nc, nc)}
			io.WriteString(nc, http2.ClientPreface)
			c.Fr.WriteSettings()
			if tt.code < 0 {
				c.Sync()
				continue
			}
			if f := c.Await(0, "goaway"); int(f.Code) != tt.code {
				t.Errorf("%v: got %v", tt.suites, f)
			}
		}
	}
}

// TestH2Events proves that server-sent events end when the client resets its stream or
// leaves.
func TestH2Events(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		ended := make(chan error, 10)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			ctx.SetContentType("text/event-stream")
			for i := 0; ; i++ {
				fmt.Fprintf(ctx, "data: %d\n\n", i)
				if err := ctx.Flush(); err != nil {
					ended <- err
					return
				}
				if i == 3 {
					<-ctx.Done()
					ended <- ctx.Err()
					return
				}
			}
		}})
		for _, end := range []string{"reset", "close"} {
			resp, err := hs.Client(2).Get(hs.URL("/"))
			if err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(resp.Body)
			for {
				line, err := br.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(line, "data: 3") {
					break
				}
			}
			resp.Body.Close() // net/http resets the stream
			if err := <-ended; err == nil {
				t.Errorf("%s: no error", end)
			}
			c := hs.DialH2()
			id := c.Open("GET", "/", true)
			for body := ""; !strings.Contains(body, "data: 3"); {
				body += c.Await(id, "data").Data
			}
			c.Close()
			if err := <-ended; err == nil {
				t.Errorf("%s: no error", end)
			}
		}
	})
}

// wrappedTLS is a TLS connection in a type of the program.
type wrappedTLS struct{ *tls.Conn }

// wrappingListener wraps the connections of a TLS listener.
type wrappingListener struct{ net.Listener }

func (ln wrappingListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrappedTLS{c.(*tls.Conn)}, nil
}

// TestH2Wrapped proves that a connection on which a TLS listener of the program has
// negotiated HTTP/2 speaks it, even if the connection is wrapped.
func TestH2Wrapped(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrap := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) { fmt.Fprintf(ctx, "%s %v", ctx.Request.Header.Protocol(), ctx.IsTLS()) }}
		over := tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}})
		if wrap {
			over = wrappingListener{over}
		}
		go s.Serve(over)
		t.Cleanup(func() { s.Close() })
		hs := &harness.H2Server{H2Plain: &peers.H2Plain{Server: &peers.Server{T: t, Addr: ln.Addr().String()}, TLS: true}, S: s, Way: harness.H2Way{Engine: gale.EngineBlock, TLS: true}}
		for major := 1; major <= 2; major++ {
			if status, body := hs.Get(hs.Client(major), "/"); status != 200 || body != fmt.Sprintf("HTTP/%d.%d true", major, 2-major) {
				t.Errorf("wrap=%v, HTTP/%d: %d %q", wrap, major, status, body)
			}
		}
		// A protocol that was not negotiated is not spoken.
		c, _ := negotiate(hs, &tls.Config{NextProtos: []string{"http/1.1"}})
		io.WriteString(c, http2.ClientPreface)
		if b, _ := io.ReadAll(c); !strings.HasPrefix(string(b), "HTTP/1.1 505 ") {
			t.Errorf("wrap=%v: the preface of HTTP/2 for HTTP/1.1 got %q", wrap, b)
		}
	}
}
