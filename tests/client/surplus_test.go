package client

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// gathered is a connection that keeps what was written, and sends it all at once when
// told to.
type gathered struct {
	net.Conn
	mu  sync.Mutex
	buf bytes.Buffer
}

func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = g.buf.WriteTo(g.Conn)
}

// A second response to one request never becomes the answer to the next request, even if
// TLS has already read it from the socket, in the record of the first response or in one
// after it.
func TestClientSurplusTLS(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("g", 9000)
	for _, tc := range []struct {
		name   string
		writes []string
		stream bool
	}{
		{"one record", []string{peers.OkAnswer("good") + peers.OkAnswer("evil")}, false},
		{"two records", []string{peers.OkAnswer("good"), peers.OkAnswer("evil")}, false},
		{"one record, long", []string{peers.OkAnswer(long) + peers.OkAnswer("evil")}, false},
		{"two records, long", []string{peers.OkAnswer(long), peers.OkAnswer("evil")}, false},
		{"one record, streamed", []string{peers.OkAnswer(long) + peers.OkAnswer("evil")}, true},
		{"two records, streamed", []string{peers.OkAnswer(long), peers.OkAnswer("evil")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
				g := &gathered{Conn: p.Conn}
				srv := tls.Server(flushOnRead{g}, &tls.Config{Certificates: []tls.Certificate{cert}})
				buf := make([]byte, 1<<12)
				for first := nth == 1; ; first = false {
					if _, err := srv.Read(buf); err != nil {
						return
					}
					if !first {
						_, _ = srv.Write([]byte(peers.OkAnswer("good")))
						continue
					}
					for _, w := range tc.writes {
						_, _ = srv.Write([]byte(w))
					}
				}
			})
			c := &gale.HostClient{Addr: s.Addr(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, StreamResponseBody: tc.stream}
			defer c.CloseIdleConnections()
			for range 3 {
				resp, err := harness.GetFrom(c, "GET", "https://a/")
				if err != nil {
					t.Fatal(err)
				}
				if got := string(resp.Body()); got == "evil" {
					t.Fatal("the response to nobody became that to the next request")
				}
			}
		})
	}
}

// flushOnRead sends what was written before it waits for more.
type flushOnRead struct{ *gathered }

func (f flushOnRead) Read(p []byte) (int, error) {
	f.flush()
	return f.Conn.Read(p)
}

// The same if the client can't look at the socket, and both responses arrive together.
func TestClientSurplusHidden(t *testing.T) {
	for _, size := range []int{1, 4000, 4096, 9000, 100_000} {
		for _, stream := range []bool{false, true} {
			good := strings.Repeat("g", size)
			var sent atomic.Int64 // bytes that were sent, or will be at once
			s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
				for first := nth == 1; p.Request() != nil; first = false {
					answers := []string{peers.OkAnswer(good)}
					if first {
						answers = append(answers, peers.OkAnswer("evil"))
					}
					for _, a := range answers {
						sent.Add(int64(len(a)))
					}
					for _, a := range answers {
						p.Say(a)
					}
				}
			})
			var come int64
			c := &gale.HostClient{Addr: s.Addr(), StreamResponseBody: stream, Dial: func(addr string) (net.Conn, error) {
				nc, err := net.Dial("tcp", addr)
				return &slowReader{Conn: nc, sent: &sent, come: &come}, err
			}}
			defer c.CloseIdleConnections()
			for range 3 {
				resp, err := harness.GetFrom(c, "GET", s.URL())
				if err != nil {
					t.Fatal(err)
				}
				if got := string(resp.Body()); got != good {
					t.Fatalf("%d bytes, streamed %t: the response is %.9q", size, stream, got)
				}
			}
		}
	}
}

// slowReader is a connection that waits before it returns from a read, so that everything
// that was written has arrived.
type slowReader struct {
	net.Conn
	sent *atomic.Int64 // bytes of all connections, set before the first is written
	come *int64        // how many of them were read
	got  bytes.Buffer
}

func (r *slowReader) Read(p []byte) (int, error) {
	for b := make([]byte, 1<<16); r.got.Len() == 0 || *r.come < r.sent.Load(); {
		n, err := r.Conn.Read(b)
		if err != nil {
			return 0, err
		}
		r.got.Write(b[:n])
		*r.come += int64(n)
	}
	return r.got.Read(p)
}
