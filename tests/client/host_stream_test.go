package client

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientStream proves that the connection of a streamed body is kept if the body was
// read to its end, or if the rest had already arrived, and is closed otherwise.
func TestClientStream(t *testing.T) {
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, tc := range []struct {
		name   string
		answer string
		read   int // bytes that are read before closing; -1 for all
		body   string
		keeps  bool
	}{
		{"known length", peers.OkAnswer("good body"), -1, "good body", true},
		{"chunked", chunked + "4\r\ngood\r\n5\r\n body\r\n0\r\n\r\n", -1, "good body", true},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\ngood body", -1, "good body", false},
		{"empty", peers.OkAnswer(""), -1, "", true},
		{"empty, not read", peers.OkAnswer(""), 0, "", true},
		{"rest has come", peers.OkAnswer("good body"), 4, "good", true},
		{"rest has come, chunked", chunked + "4\r\ngood\r\n5\r\n body\r\n0\r\n\r\n", 2, "go", true},
		{"rest is missing", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ngood body", 4, "good", false},
		{"rest is missing, chunked", chunked + "4\r\ngood\r\n5\r\n bo", 4, "good", false},
		{"bytes behind", peers.OkAnswer("good body") + "evil", -1, "good body", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
				p.Request()
				p.Say(tc.answer)
				if tc.name == "until the end" {
					return
				}
				p.Hold()
			})
			c := &gale.HostClient{Addr: s.Addr(), StreamResponseBody: true, MaxResponseBodySize: 1}
			defer c.CloseIdleConnections()
			resp, err := harness.GetFrom(c, "GET", s.URL())
			if err != nil {
				t.Fatal(err)
			}
			r := resp.BodyStream()
			var b []byte
			if tc.read < 0 {
				b, err = io.ReadAll(r)
			} else {
				b = make([]byte, tc.read)
				_, err = io.ReadFull(r, b)
			}
			if string(b) != tc.body || err != nil {
				t.Errorf("%q, %v, want %q", b, err, tc.body)
			}
			if c.IdleConnsCount() != btoi(tc.keeps && (tc.read < 0 || tc.body == "")) {
				t.Errorf("%d idle connections before the body is closed", c.IdleConnsCount())
			}
			for range 2 {
				if err := resp.CloseBodyStream(); err != nil {
					t.Error(err)
				}
			}
			if c.IdleConnsCount() != btoi(tc.keeps) || c.ConnsCount() != btoi(tc.keeps) {
				t.Errorf("%d connections, %d idle, want it kept: %v", c.ConnsCount(), c.IdleConnsCount(), tc.keeps)
			}
			if _, err := r.Read(make([]byte, 1)); err != io.EOF && err != io.ErrClosedPipe {
				t.Errorf("a read after closing: %v", err)
			}
		})
	}
}

// TestClientStreamErrors proves that a body that is cut off leads to a permanent error of
// the stream.
func TestClientStreamErrors(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		want         error
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ngood", io.ErrUnexpectedEOF},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ngood", io.ErrUnexpectedEOF},
	} {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			p.Request()
			p.Say(tc.answer)
		})
		c := &gale.HostClient{Addr: s.Addr()}
		req, resp := &gale.Request{}, &gale.Response{StreamBody: true}
		req.SetRequestURI(s.URL())
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		r := resp.BodyStream()
		b, err := io.ReadAll(r)
		if string(b) != "good" || err != tc.want {
			t.Errorf("%s: %q, %v", tc.name, b, err)
		}
		if _, err := r.Read(make([]byte, 1)); err != tc.want {
			t.Errorf("%s: another read: %v", tc.name, err)
		}
		if c.ConnsCount() != 0 {
			t.Errorf("%s: the connection is kept", tc.name)
		}
		resp.Reset()
	}
}

// TestClientStreamCloseWithError proves that closing a body with an error also closes its
// connection.
func TestClientStreamCloseWithError(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good body")))
	c := &gale.HostClient{Addr: s.Addr(), StreamResponseBody: true}
	resp, err := harness.GetFrom(c, "GET", s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.BodyStream().(gale.ReadCloserWithError).CloseWithError(errors.New("no more")); err != nil {
		t.Error(err)
	}
	if c.ConnsCount() != 0 {
		t.Error("the connection is kept")
	}
}

// TestClientStreamClosers proves that a body never holds bytes of another one, and that
// no connection is lost, if streamed bodies are closed from other goroutines at random
// moments, several times, while they are read and their responses are used again. It is
// most useful with the race detector.
func TestClientStreamClosers(t *testing.T) {
	const size = 20_000
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		for req := p.Request(); req != nil; req = p.Request() {
			token := req.URL.Query().Get("t")
			body := bytes.Repeat([]byte(token), size/len(token))
			if token[0]%2 == 0 {
				_, _ = p.Write([]byte(peers.OkAnswer(string(body))))
				continue
			}
			resp := gale.Response{}
			resp.Header.SetTrailer("X-Token")
			resp.Header.Set("X-Token", token)
			resp.SetBodyStream(iotestChunks(body), -1)
			if _, err := resp.WriteTo(p); err != nil {
				return
			}
		}
	})
	c := &gale.HostClient{Addr: s.Addr(), MaxConns: 8, MaxConnWaitTimeout: time.Minute, StreamResponseBody: true}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var req gale.Request
			var resp gale.Response
			token := string(rune('a' + g))
			for range 150 {
				req.SetRequestURI(s.URL() + "?t=" + token)
				if err := c.Do(&req, &resp); err != nil {
					t.Error(err)
					return
				}
				r := resp.BodyStream().(gale.ReadCloserWithError)
				var closers sync.WaitGroup
				for range rng.IntN(3) {
					closers.Add(1)
					delay := time.Duration(rng.IntN(300)) * time.Microsecond
					go func() {
						defer closers.Done()
						time.Sleep(delay) // some time during the read
						_ = r.CloseWithError(nil)
					}()
				}
				b, err := io.ReadAll(r)
				if strings.Trim(string(b), token) != "" {
					gate.Unforgiven(t, "foreign bytes in the body of %s", token)
				}
				if err == nil && len(b) != size {
					t.Errorf("%d bytes without an error", len(b))
				}
				if err != nil && err != io.ErrClosedPipe {
					t.Error(err)
				}
				if v := resp.Header.Peek("X-Token"); len(v) > 0 && string(v) != token {
					gate.Unforgiven(t, "foreign trailer %q", v)
				}
				if rng.IntN(2) == 0 {
					closers.Wait()
				}
				resp.Reset()
				closers.Wait()
			}
		}()
	}
	wg.Wait()
	if st := c.PoolStats(); st.Open != st.Idle || st.Open > 8 {
		t.Errorf("connections are lost: %+v", st)
	}
	c.CloseIdleConnections()
}

// iotestChunks gives b in pieces.
func iotestChunks(b []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(b[:len(b)/3]), bytes.NewReader(b[len(b)/3:len(b)/2]), bytes.NewReader(b[len(b)/2:]))
}

// TestClientStreamDropped proves that if a streamed body is not wanted, it is read to its
// end if it is short, and otherwise its connection is closed.
func TestClientStreamDropped(t *testing.T) {
	for _, tc := range []struct {
		answer string
		keeps  bool
	}{
		{peers.OkAnswer("good"), true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false},
	} {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			p.Request()
			p.Say(tc.answer)
			p.Hold()
		})
		c := &gale.HostClient{Addr: s.Addr(), StreamResponseBody: true}
		req := &gale.Request{}
		req.SetRequestURI(s.URL())
		if err := c.Do(req, nil); err != nil {
			t.Error(err)
		}
		if c.IdleConnsCount() != btoi(tc.keeps) || c.ConnsCount() != btoi(tc.keeps) {
			t.Errorf("%q: %d connections", tc.answer, c.ConnsCount())
		}
		c.CloseIdleConnections()
	}
}
