package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// ends are the kinds of connections that a Conn may have. Each function returns one and its
// other end.
var ends = map[string]func(t *testing.T) (of, peer net.Conn){
	"socket": socketEnds,
	"TLS": func(t *testing.T) (of, peer net.Conn) {
		return tlsEnds(socketEnds(t))
	},
	"TLS in TLS": func(t *testing.T) (of, peer net.Conn) {
		return tlsEnds(tlsEnds(socketEnds(t)))
	},
	"net.Pipe":                func(*testing.T) (of, peer net.Conn) { return net.Pipe() },
	"TLS over a pipe":         func(*testing.T) (of, peer net.Conn) { return tlsEnds(net.Pipe()) },
	"galeutil":                func(*testing.T) (of, peer net.Conn) { p := galeutil.NewPipeConns(); return p.Conn1(), p.Conn2() },
	"program's own":           func(*testing.T) (of, peer net.Conn) { of, peer = net.Pipe(); return calm(of), peer },
	"HTTP/2, server":          func(t *testing.T) (of, peer net.Conn) { peer, of = streamEnds(t, false); return },
	"HTTP/2, client":          func(t *testing.T) (of, peer net.Conn) { return streamEnds(t, false) },
	"HTTP/2 over TLS, server": func(t *testing.T) (of, peer net.Conn) { peer, of = streamEnds(t, true); return },
	"HTTP/2 over TLS, client": func(t *testing.T) (of, peer net.Conn) { return streamEnds(t, true) },
}

// socketEnds returns a pair of sockets with small buffers.
func socketEnds(t *testing.T) (of, peer net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if peer, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if of, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = of.(*net.TCPConn).SetWriteBuffer(4 << 10)
	_ = peer.(*net.TCPConn).SetReadBuffer(4 << 10)
	return of, peer
}

func tlsEnds(a, b net.Conn) (of, peer net.Conn) {
	server := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{testCert()}})
	client := tls.Client(b, &tls.Config{InsecureSkipVerify: true})
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-done); err != nil {
		panic(err)
	}
	return server, client
}

// streamEnds returns both ends of a stream of HTTP/2.
func streamEnds(t *testing.T, overTLS bool) (client, server net.Conn) {
	taken := make(chan net.Conn, 1)
	s := http2Server(t, way{gale.EngineEvent, overTLS}, gale.HTTP2Config{H2C: true, WebSocket: true}, func(ctx *gale.RequestCtx) {
		ctx.Hijack(func(nc net.Conn) { taken <- nc })
	})
	s.KeepHijackedConns = true
	hc := &gale.HostClient{Addr: s.addr, IsTLS: overTLS, HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(hc.CloseIdleConnections)
	req := new(gale.Request)
	req.SetRequestURI("/")
	req.Header.SetHost("a.test")
	req.SetConnectProtocol("websocket")
	client, err := hc.OpenStream(testContext(t), req, new(gale.Response))
	if err != nil {
		t.Fatal(err)
	}
	return client, <-taken
}

// connOver returns a Conn of a server over nc, which is closed with the test.
func connOver(t *testing.T, nc net.Conn, o *Options) *Conn {
	c := newConn(o.shared.params.get(&shook{set: o.settings()}), false)
	c.start(nc, nil)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// connCall is a call of a method of Conn, or of what one returns.
type connCall func(c *Conn, ctx context.Context) error

// blockingCalls has all methods of Conn that take a context, or wait without one.
func blockingCalls() map[string]connCall {
	prepared, _ := Prepare(Text, []byte("a"))
	return map[string]connCall{
		"Read":          func(c *Conn, ctx context.Context) error { _, _, err := c.Read(ctx); return err },
		"AppendRead":    func(c *Conn, ctx context.Context) error { _, _, err := c.AppendRead(ctx, nil); return err },
		"ReadJSON":      func(c *Conn, ctx context.Context) error { return c.ReadJSON(ctx, new(any)) },
		"Reader":        func(c *Conn, ctx context.Context) error { _, _, err := c.Reader(ctx); return err },
		"Write":         func(c *Conn, ctx context.Context) error { return c.Write(ctx, Text, []byte("a")) },
		"WriteJSON":     func(c *Conn, ctx context.Context) error { return c.WriteJSON(ctx, 1) },
		"WritePrepared": func(c *Conn, ctx context.Context) error { return c.WritePrepared(ctx, prepared) },
		"Writer":        func(c *Conn, ctx context.Context) error { _, err := c.Writer(ctx, Text); return err },
		"Ping":          func(c *Conn, ctx context.Context) error { return c.Ping(ctx) },
		"NetConn.Read": func(c *Conn, ctx context.Context) error {
			_, err := c.NetConn(ctx, Text).Read(make([]byte, 1))
			return err
		},
		"NetConn.Write": func(c *Conn, ctx context.Context) error {
			_, err := c.NetConn(ctx, Text).Write([]byte("a"))
			return err
		},
		"NetConn.Read to its deadline": func(c *Conn, ctx context.Context) error {
			nc := c.NetConn(context.Background(), Text)
			defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(clock.LongAgo) })()
			_, err := nc.Read(make([]byte, 1))
			return err
		},
		"NetConn.Write to its deadline": func(c *Conn, ctx context.Context) error {
			nc := c.NetConn(context.Background(), Text)
			defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(clock.LongAgo) })()
			_, err := nc.Write([]byte("a"))
			return err
		},
	}
}

// TestBlockingCallsAreComplete proves that blockingCalls has each method of Conn that may
// wait.
func TestBlockingCallsAreComplete(t *testing.T) {
	others := map[string]string{
		"Close":      "CloseTimeout limits it: TestCloseEndsInTime",
		"CloseNow":   "it ends other calls, and is what ends some of the tests here",
		"Compressed": "it waits for nothing", "Subprotocol": "it waits for nothing",
		"LocalAddr": "it waits for nothing", "RemoteAddr": "it waits for nothing",
		"NetConn": "it waits for nothing; the rows with its name are calls of its result",
	}
	calls := blockingCalls()
	typ := reflect.TypeFor[*Conn]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if calls[name] == nil == (others[name] == "") {
			t.Errorf("Conn.%s is in none of the lists, or in both", name)
		}
	}
}

// connStates are what keeps a Conn from writing. Each function returns when it does.
var connStates = map[string]func(t *testing.T, c *Conn, peer net.Conn){
	// A pong, which a call that reads has to send, waits for the peer.
	"a pong waits": func(t *testing.T, c *Conn, peer net.Conn) {
		fillUp(t, c.nc)
		go peer.Write(frame(wsframe.Ping, true, "ping"))
		ctx, cancel := context.WithCancel(testContext(t))
		result := make(chan error, 1)
		go func() {
			_, _, err := c.Read(ctx)
			result <- err
		}()
		untilWriting(t, c)
		cancel()
		select {
		case err := <-result:
			if err != context.Canceled {
				t.Error("Read:", err)
			}
		case <-time.After(patience):
			t.Fatal("Read hasn't ended with its context")
		}
	},
	// A message waits for the peer.
	"a message waits": func(t *testing.T, c *Conn, _ net.Conn) {
		go c.Write(context.Background(), Binary, make([]byte, 16<<20))
		untilWriting(t, c)
	},
	// A message that is sent in fragments hasn't ended.
	"a Writer is open": func(t *testing.T, c *Conn, _ net.Conn) {
		if _, err := c.Writer(context.Background(), Text); err != nil {
			t.Error("Writer:", err)
		}
	},
}

// untilWriting waits until wire is locked. It doesn't lock it: a call that finds it locked leaves
// what it has to send to the holder.
func untilWriting(t *testing.T, c *Conn) {
	t.Helper()
	await.Until(t, "something is being written", func() bool {
		c.wire.mu.Lock()
		defer c.wire.mu.Unlock()
		return c.wire.held
	})
}

// fillUp writes to nc until nothing more fits. TLS fails for good when a write ends early: it
// must be over a pipe, which has no room.
func fillUp(t *testing.T, nc net.Conn) {
	if _, ok := nc.(*tls.Conn); ok {
		return
	}
	for stuck := 0; stuck < 3; stuck++ {
		_ = nc.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		if n, err := nc.Write(make([]byte, 64<<10)); n > 0 || err == nil {
			stuck = 0
		}
	}
	if err := nc.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// TestConnCallsEndInTime proves that each call of a Conn ends when its context does, and when
// the Conn is closed, whatever the Conn waits for, over each kind of connection. A call that
// has sent nothing leaves the Conn open.
func TestConnCallsEndInTime(t *testing.T) {
	for kind, pair := range ends {
		t.Run(kind, func(t *testing.T) {
			for state, enter := range connStates {
				if state == "a pong waits" && (kind == "TLS" || kind == "TLS in TLS") {
					continue // the row with a pipe has it: see fillUp
				}
				t.Run(state, func(t *testing.T) {
					checkNoLeaks(t)
					of, peer := pair(t)
					defer peer.Close()
					o := &Options{MaxControl: -1, WriteTimeout: -1, IdleTimeout: -1}
					c := connOver(t, of, o)
					enter(t, c, peer)
					endCalls(t, c)
				})
			}
		})
	}
}

// endCalls makes each call of a Conn that can't go on, and ends it in each way.
func endCalls(t *testing.T, c *Conn) {
	result := make(chan error, 1)
	for name, call := range blockingCalls() {
		for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
			ctx, cancel := context.WithCancel(context.Background())
			if want == context.DeadlineExceeded {
				cancel()
				ctx, cancel = context.WithTimeout(context.Background(), time.Microsecond)
			}
			if strings.Contains(name, "deadline") {
				want = os.ErrDeadlineExceeded
			}
			go func() { result <- call(c, ctx) }()
			time.AfterFunc(time.Millisecond, cancel)
			select {
			case err := <-result:
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			case <-time.After(patience):
				t.Fatalf("%s hasn't ended with its context", name)
			}
			cancel()
			if err := c.why(); err != nil {
				t.Fatalf("after %s: %v", name, err)
			}
		}
	}
	calls := blockingCalls()
	results := make(chan error, len(calls))
	for _, call := range calls {
		go func() { results <- call(c, context.Background()) }()
	}
	await.Until(t, "the calls wait", func() bool { return c.wanted.Load() > 0 })
	_ = c.CloseNow()
	for range calls {
		select {
		case err := <-results:
			if !errors.Is(err, ErrClosed) && err != io.EOF {
				t.Errorf("a call returned %v after CloseNow", err)
			}
		case <-time.After(patience):
			t.Fatal("a call hasn't ended with CloseNow")
		}
	}
}

// A call that waits for the end of the message of a Writer ends with the WebSocket.
func TestConnWriteBehindWriterEnds(t *testing.T) {
	for _, name := range []string{"Write", "WritePrepared", "WriteJSON", "Writer", "NetConn.Write"} {
		near, far := net.Pipe()
		defer far.Close()
		c := connOver(t, near, &Options{})
		if _, err := c.Writer(context.Background(), Text); err != nil {
			t.Fatal("Writer:", err)
		}
		if !c.wire.tryLock() {
			t.Fatal("something is being written")
		}
		result := make(chan error, 1)
		go func() { result <- blockingCalls()[name](c, context.Background()) }()
		await.Until(t, name+" waits for its turn", func() bool {
			c.wire.mu.Lock()
			defer c.wire.mu.Unlock()
			return c.wire.first != nil
		})
		c.wire.unlock()
		// It gives the turn back when it has seen the Writer, and waits for that.
		await.Until(t, name+" has had its turn", func() bool {
			c.wire.mu.Lock()
			defer c.wire.mu.Unlock()
			return !c.wire.held
		})
		_ = c.CloseNow()
		select {
		case err := <-result:
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s returned %v after CloseNow", name, err)
			}
		case <-time.After(patience):
			t.Fatalf("%s hasn't ended with CloseNow", name)
		}
	}
}

// TestCloseEndsInTime proves that Close ends after CloseTimeout, whatever the Conn waits for.
func TestCloseEndsInTime(t *testing.T) {
	for kind, pair := range ends {
		for state, enter := range connStates {
			if state == "a pong waits" && (kind == "TLS" || kind == "TLS in TLS") {
				continue
			}
			t.Run(kind+", "+state, func(t *testing.T) {
				checkNoLeaks(t)
				of, peer := pair(t)
				defer peer.Close()
				c := connOver(t, of, &Options{CloseTimeout: 10 * time.Millisecond, WriteTimeout: -1})
				enter(t, c, peer)
				result := make(chan error, 1)
				go func() { result <- c.Close(StatusNormal, "") }()
				select {
				case err := <-result:
					if err != errCloseTimeout {
						t.Error("Close:", err)
					}
				case <-time.After(patience):
					t.Fatal("Close hasn't ended")
				}
			})
		}
	}
}

// TestConnStreamsEndInTime proves that calls of what Reader and Writer return end with their
// context, over each kind of connection. Only one that has sent a part of a message ends the
// WebSocket.
func TestConnStreamsEndInTime(t *testing.T) {
	for kind, pair := range ends {
		t.Run(kind, func(t *testing.T) {
			checkNoLeaks(t)
			of, peer := pair(t)
			defer peer.Close()
			c := connOver(t, of, &Options{WriteTimeout: -1})
			go peer.Write(frame(wsframe.Text, false, "abc"))
			ctx, cancel := context.WithCancel(context.Background())
			_, r, err := c.Reader(ctx)
			if err != nil {
				t.Fatal("Reader:", err)
			}
			if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
				t.Fatal("the Reader's Read:", err)
			}
			w, err := c.Writer(ctx, Binary)
			if err != nil {
				t.Fatal("Writer:", err)
			}
			calls := []func() error{
				func() error { _, err := r.Read(make([]byte, 1)); return err },
				func() error { _, err := w.Write(make([]byte, 16<<20)); return err },
				w.Close, // waits for its turn
			}
			results := make(chan error, len(calls))
			for i, call := range calls {
				go func() { results <- call() }()
				if i > 0 {
					untilWriting(t, c)
				}
			}
			cancel()
			for range calls {
				select {
				case err := <-results:
					if !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				case <-time.After(patience):
					t.Fatal("a call hasn't ended with its context")
				}
			}
			if err := c.why(); !errors.Is(err, context.Canceled) {
				t.Error("the WebSocket is open with a part of a message:", err)
			}
		})
	}
}
