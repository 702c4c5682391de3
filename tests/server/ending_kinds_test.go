package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
	"github.com/galehttp/gale/ws"
)

// kind is a kind of work of a server. The work runs until task.finish.
type kind struct {
	name string
	on   int  // protocols
	tls  bool // it exists only with TLS
	n    int  // functions of the program that it runs at a time

	set    func(w *task)                       // settings of the server
	handle func(w *task, ctx *gale.RequestCtx) // its handler
	ask    func(w *task)                       // what the client does; nil: it sends a GET
	ready  func(w *task) bool                  // the work runs; nil: when all functions have begun
	heard  func(w *task, told string)          // what the client does after it was told
	more   func(w *task)                       // what the client does to let the work end
	answer bool                                // the client is answered, by HTTP/1.1 with Connection: close
	begun  bool                                // the head of the answer was sent before
	hook   bool                                // the function may hold up Serve
}

// task is what is done for one client of a server of its own.
type task struct {
	kind
	t  *testing.T
	s  *gale.Server
	hs *harness.H2Server

	major int // the client's version of HTTP

	h1   *peers.Conn   // the client's connection, if it speaks HTTP/1.1
	h2   *peers.H2Conn // or HTTP/2
	id   uint32        // the stream
	conn net.Conn      // what is below both

	begins  chan struct{} // a function has begun
	release chan struct{} // closed by finish
	over    sync.Once     // finish

	mu   sync.Mutex
	runs int      // functions that run
	told []string // what they have noticed
}

// begin starts a server, and returns when the work runs.
func (k kind) begin(t *testing.T, way endWay) *task {
	w := &task{kind: k, t: t, major: way.major, begins: make(chan struct{}, 8), release: make(chan struct{})}
	w.s = &gale.Server{HTTP2: gale.HTTP2Config{WebSocket: true}, Logger: &peers.Log{}}
	w.s.Handler = func(ctx *gale.RequestCtx) {
		if w.handle != nil {
			w.handle(w, ctx)
		}
	}
	if k.set != nil {
		k.set(w)
	}
	w.hs = way.Start(t, w.s)
	t.Cleanup(w.finish) // before the end of the server
	w.connect()
	if k.ask != nil {
		k.ask(w)
	} else {
		w.get()
	}
	for range k.n {
		<-w.begins
	}
	if k.ready != nil {
		await.Until(t, "the work to begin", func() bool { return k.ready(w) })
	}
	return w
}

// finish lets the work end.
func (w *task) finish() {
	w.over.Do(func() {
		close(w.release)
		if w.more != nil && !w.t.Failed() {
			w.more(w)
		}
	})
}

// connect makes the client's connection.
func (w *task) connect() {
	w.t.Helper()
	c, err := net.Dial("tcp", w.hs.Addr)
	if err != nil {
		w.t.Fatal("connecting:", err)
	}
	w.conn = c
	c = w.secured(c)
	nc := peers.NewConn(w.t, c)
	if w.major == 1 {
		w.h1 = nc
		return
	}
	w.h2 = peers.NewH2Conn(w.t, nc.Conn)
}

// secured returns c, with TLS if the server has that. The handshake begins with the first byte.
func (w *task) secured(c net.Conn) net.Conn {
	if !w.hs.TLS {
		return c
	}
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{[...]string{1: "http/1.1", 2: "h2"}[w.major]}})
}

// shake begins the handshake, if there is one.
func (w *task) shake() {
	if c, ok := w.h1.Conn.(*tls.Conn); ok {
		go func() { _ = c.Handshake() }() // it may fail: the server may close the connection
	}
}

// What functions of the program do.

// run counts f as a function that runs.
func (w *task) run(f func()) {
	w.count(1)
	defer w.count(-1)
	f()
}

func (w *task) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs += n
}

// starts says that the function runs.
func (w *task) starts() { w.begins <- struct{}{} }

// hold says that the function runs, and waits for finish.
func (w *task) hold() {
	w.starts()
	<-w.release
}

// notice records what a function has noticed before finish.
func (w *task) notice(word string) {
	select {
	case <-w.release:
		return
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.told, word) {
		w.told = append(w.told, word)
		slices.Sort(w.told)
	}
}

// noticed returns the words of notice.
func (w *task) noticed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.told)
}

// watch notices word when done is closed.
func (w *task) watch(word string, done <-chan struct{}) {
	go func() {
		select {
		case <-done:
			w.notice(word)
		case <-w.release:
		}
	}()
}

// watchDone notices that Done is closed.
func (w *task) watchDone(ctx *gale.RequestCtx) { w.watch("done", ctx.Done()) }

// echo answers the bytes that come on a connection of the program, until finish.
func (w *task) echo(nc net.Conn) {
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-w.release:
			_ = nc.SetReadDeadline(time.Unix(1, 0))
		case <-over:
		}
	}()
	w.starts()
	b, word := make([]byte, 16), "read"
	for {
		n, err := nc.Read(b)
		if err == io.EOF {
			word = "end"
		}
		if err != nil {
			break
		}
		_, _ = nc.Write(b[:n]) // Read shows an error
	}
	w.notice(word)
	<-w.release
}

// What clients do.

func (w *task) get() { w.request("GET", "/", "") }

// request sends a request with a part of its body, of which size bytes follow.
func (w *task) request(method, path, part string, fields ...string) {
	w.t.Helper()
	if w.h2 != nil {
		w.id = w.h2.Open(method, path, part == "", fields...)
		if part != "" {
			w.h2.Data(w.id, part, false)
		}
		return
	}
	head := method + " " + path + " HTTP/1.1\r\nHost: h\r\n"
	for i := 0; i < len(fields); i += 2 {
		head += fields[i] + ": " + fields[i+1] + "\r\n"
	}
	w.h1.Send(head + "\r\n" + part)
}

const bodyPart, bodyRest = "some ", "bytes"

// post sends a request whose body comes in part.
func (w *task) post() { w.request("POST", "/", bodyPart, "content-length", "10") }

// rest sends the rest of the body.
func (w *task) rest() {
	if w.h2 != nil {
		w.h2.Data(w.id, bodyRest, true)
		return
	}
	w.h1.Send(bodyRest)
}

// upgrade asks for another protocol, and reads the head of the answer.
func (w *task) upgrade() {
	w.t.Helper()
	if w.h2 != nil {
		w.id = w.h2.Open("CONNECT", "/", false, ":protocol", "websocket", "sec-websocket-version", "13")
		w.h2.Await(w.id, "200")
		w.more = func(w *task) { w.h2.Data(w.id, "", true) } // the server waits for that for 5 s
		return
	}
	w.request("GET", "/", "", "Connection", "Upgrade", "Upgrade", "websocket",
		"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	if a := w.h1.Answer("GET"); a.StatusCode != gale.StatusSwitchingProtocols {
		w.t.Fatalf("asking for an upgrade: status %d", a.StatusCode)
	}
}

// tunnel asks for a tunnel, and reads the head of the answer.
func (w *task) tunnel() {
	w.t.Helper()
	w.h1.Send("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n")
	resp, err := http.ReadResponse(w.h1.Br, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != gale.StatusOK {
		w.t.Fatal("asking for a tunnel:", resp, err)
	}
}

// put sends bytes on an upgraded connection.
func (w *task) put(text string) {
	w.t.Helper()
	if w.h2 != nil {
		w.h2.Data(w.id, text, false)
		return
	}
	w.h1.Send(text)
}

// wantEcho checks that the connection is served on.
func (w *task) wantEcho() {
	w.t.Helper()
	w.put("echo")
	if w.h2 != nil {
		w.h2.WantData(w.id, "echo")
		return
	}
	w.h1.WantText("echo")
}

// drain reads all that comes until the connection ends.
func (w *task) drain() {
	if w.h2 == nil {
		_, _ = io.Copy(io.Discard, w.h1.Br)
		return
	}
	for w.h2.Next().Kind != "eof" {
	}
}

// wantGone checks that the server ends the connection.
func (w *task) wantGone() {
	w.t.Helper()
	w.more, w.heard = nil, nil
	over := make(chan struct{})
	go func() { defer close(over); w.drain() }()
	select {
	case <-over:
	case <-time.After(time.Minute): // only ends a hang
		w.t.Fatal("the connection isn't closed")
	}
}

// wantAnswer checks the response, if there is one, and that the server then ends the connection.
func (w *task) wantAnswer() {
	w.t.Helper()
	switch {
	case !w.answer:
	case w.h2 != nil:
		if status, _, _ := w.h2.Answer(w.id); status != "200" {
			w.t.Errorf("answered with %s, want 200", status)
		}
	default:
		if a := w.h1.Answer("GET"); a.StatusCode != gale.StatusOK || !a.Close && !w.begun {
			w.t.Errorf("answered with %d, close %t; want 200 and close", a.StatusCode, a.Close)
		}
	}
	w.wantGone()
	_ = w.conn.Close() // the server waits for that for 100 ms
}

// leave breaks the connection, and waits until a connection of HTTP/2 has ended at the server.
func (w *task) leave() {
	w.t.Helper()
	_ = w.conn.(*net.TCPConn).SetLinger(0) // a reset: after a FIN requests are answered
	_ = w.conn.Close()
	w.answer, w.more, w.heard = false, nil, nil
	if w.h2 != nil {
		await.Until(w.t, "the end of the connection", func() bool { return door.InsideOf(w.s).Conns == 0 })
	}
}

func nothing(*task) {}

// Connections on which no code of the program runs.
var (
	idleConn = kind{name: "idle connection", on: both, ask: (*task).idle}

	handshake = kind{name: "TLS handshake", on: h1, tls: true, ask: nothing,
		ready: func(w *task) bool { return door.InsideOf(w.s).Handshakes == 1 }}

	headInPart = kind{name: "head in part", on: h1, ask: func(w *task) {
		w.idle()
		w.h1.Send("GET / HT")
	},
		ready: isBusy, more: func(w *task) { w.h1.Send("TP/1.1\r\nHost: h\r\n\r\n") }, answer: true}

	bodyInPart = kind{name: "body in part", on: both, ask: func(w *task) {
		w.idle()
		w.post()
	}, ready: isBusy, more: (*task).rest, answer: true}

	unreadResponse = kind{name: "response that isn't read", on: both, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.SetBody(make([]byte, 32<<20))
		w.starts()
	}, ready: func(w *task) bool { <-w.begins; return true }, more: (*task).read}
)

// idle gets an answer, and waits until the connection is idle.
func (w *task) idle() {
	w.t.Helper()
	if w.get(); w.h2 != nil {
		w.h2.Answer(w.id)
	} else {
		w.h1.Answer("GET")
	}
	await.Until(w.t, "an idle connection", func() bool { return w.s.Stats().IdleConnections == 1 })
}

// isBusy reports whether the server has read a part of a request after idle.
func isBusy(w *task) bool {
	st := w.s.Stats()
	return st.OpenConnections == 1 && st.IdleConnections == 0 && (w.h2 == nil || door.InsideOf(w.s).Streams == 1)
}

// read reads a long response. A client of HTTP/2 gives windows for it.
func (w *task) read() {
	if w.h2 != nil {
		w.h2.Check(w.h2.Fr.WriteWindowUpdate(0, 1<<30))
		w.h2.Check(w.h2.Fr.WriteWindowUpdate(w.id, 1<<30))
	}
	w.drain()
}

// Functions that run for a connection.
var (
	inConnState = kind{name: "ConnState", on: h1, n: 1, set: func(w *task) {
		w.s.ConnState = func(_ net.Conn, st gale.ConnState) {
			if st == gale.StateNew {
				w.run(w.hold)
			}
		}
	}, ask: (*task).shake, hook: true}

	inConnContext = kind{name: "ConnContext", on: h1, n: 1, set: func(w *task) {
		w.s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			w.run(w.hold)
			return ctx
		}
	}, ask: (*task).shake, hook: true}

	inConnStateClosed = kind{name: "ConnState of the end", on: both, n: 1, set: func(w *task) {
		w.s.ConnState = func(_ net.Conn, st gale.ConnState) {
			if st == gale.StateClosed {
				w.run(w.hold)
			}
		}
	}, ask: func(w *task) {
		w.idle()
		w.conn.Close()
	}}

	inGetConfig = kind{name: "GetConfigForClient", on: h1, tls: true, n: 1, set: func(w *task) {
		w.s.TLSConfig = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			w.run(w.hold)
			return nil, nil
		}}
	}, ask: (*task).shake}
)

// Functions that run for a request.
var (
	inHandler = kind{name: "handler", on: both, n: 1, handle: held, answer: true}

	inTwoHandlers = kind{name: "two handlers of a connection", on: h2, n: 2, handle: held, ask: func(w *task) {
		w.get()
		w.get()
	}, answer: true}

	inWaitingHandler = kind{name: "handler, and a request that waits", on: h1 | eventOnly, n: 1, set: func(w *task) {
		w.s.EventLoops, w.s.MaxRunningHandlers = 1, 1
	}, handle: held, ask: func(w *task) {
		other := peers.NewConn(w.t, w.secured(w.hs.Dial().Conn))
		for _, c := range []net.Conn{w.h1.Conn, other.Conn} {
			if c, ok := c.(*tls.Conn); ok {
				peers.Check(w.t, c.Handshake())
			}
		}
		await.Until(w.t, "both connections", func() bool { return w.s.Stats().IdleConnections == 2 })
		w.get()
		<-w.begins
		other.Send(peers.Get("/"))
		w.starts()
		w.more = func(w *task) { other.Want("GET", gale.StatusOK, "") }
	}, answer: true}

	inLateHandler = kind{name: "handler that has timed out", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		gale.TimeoutHandler(func(ctx *gale.RequestCtx) { held(w, ctx) }, time.Millisecond, "late")(ctx)
	}, ready: func(w *task) bool { return len(w.noticed()) == 1 && w.s.Stats().Requests == 1 }}

	inBeforeSend = kind{name: "BeforeSend", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { held(w, ctx) })
	}, answer: true}

	inBodyRead = kind{name: "Read of a streamed body", on: both, n: 1, set: func(w *task) {
		w.s.StreamRequestBody = true
	}, handle: func(w *task, ctx *gale.RequestCtx) {
		w.run(func() {
			w.watchDone(ctx)
			body := ctx.RequestBodyStream()
			peers.Want(w.t, body, bodyPart)
			w.starts()
			if _, err := io.Copy(io.Discard, body); err != nil {
				w.notice("read")
				<-w.release
			}
		})
	}, ask: (*task).post, more: (*task).rest, answer: true}

	inStreamWriter = kind{name: "StreamWriter", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.watchDone(ctx)
		ctx.SetBodyStreamWriter(func(bw *bufio.Writer) {
			w.run(func() {
				_, _ = bw.WriteString("begun")
				_ = bw.Flush() // the client reads it at the end
				w.hold()
			})
		})
	}, answer: true, begun: true}

	inStreamWrite = kind{name: "Write of a StreamWriter that the client doesn't read", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.watchDone(ctx)
		ctx.SetBodyStreamWriter(func(bw *bufio.Writer) {
			w.run(func() {
				w.starts()
				for b := make([]byte, 64<<10); ; {
					if _, err := bw.Write(b); err != nil {
						w.notice("write")
						<-w.release
					}
					select {
					case <-w.release:
						return
					default:
					}
				}
			})
		})
	}, more: (*task).read}

	inAfterSend = kind{name: "AfterSend", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.AfterSend(func(int64, error) { w.run(w.hold) })
	}}

	inValueClose = kind{name: "Close of a user value", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.SetUserValue("value", peers.CloserFunc(func() error { w.run(w.hold); return nil }))
	}}
)

// held is a handler that watches Done, and waits for finish.
func held(w *task, ctx *gale.RequestCtx) {
	w.run(func() {
		w.watchDone(ctx)
		w.hold()
	})
}

// Contexts that belong to the program.
var (
	inDetached = kind{name: "handler with a detached context", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.run(func() {
			ctx.Detach()
			w.watch("context", ctx.Context().Done())
			w.watchDone(ctx)
			w.hold()
		})
	}, answer: true}

	afterDetached = kind{name: "goroutine with a detached context", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.Detach()
		go w.run(func() {
			<-ctx.Done() // the server doesn't use ctx any more
			w.hold()
		})
	}}
)

// Connections that belong to the program.
var (
	hijacked = kind{name: "Hijack", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		switchStatus(ctx)
		ctx.Hijack(func(nc net.Conn) { w.run(func() { w.echo(nc) }) })
	}, ask: (*task).upgrade}

	hijackedNow = kind{name: "HijackNow", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.echoNow(ctx)
	}, ask: (*task).get}

	hijackedInHandler = kind{name: "handler after HijackNow", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.run(func() {
			w.watchDone(ctx)
			nc, err := ctx.HijackNow()
			if err != nil {
				w.t.Error("HijackNow:", err)
				return
			}
			defer nc.Close()
			w.hold()
		})
	}}

	connectTunnel = kind{name: "CONNECT and Hijack", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.Hijack(func(nc net.Conn) { w.run(func() { w.echo(nc) }) })
	}, ask: (*task).tunnel}

	hijackedCounted = kind{name: "HijackCounted", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		switchStatus(ctx)
		w.counted(ctx)
	}, ask: (*task).upgrade}

	connectCounted = kind{name: "CONNECT and HijackCounted", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.counted(ctx)
	}, ask: (*task).tunnel}

	hijackedStream = kind{name: "Hijack of a stream", on: h2, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		ctx.Hijack(func(nc net.Conn) { w.run(func() { w.echo(nc) }) })
	}, ask: (*task).upgrade}

	hijackedStreamNow = kind{name: "HijackNow of a stream", on: h2, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		w.echoNow(ctx)
	}, ask: (*task).upgrade}

	upgraded = kind{name: "Upgrade", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		switchStatus(ctx)
		ctx.Upgrade(w.upgrader())
	}, ask: (*task).upgrade}

	upgradedByPump = kind{name: "Upgrade by a pump", on: h1, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		switchStatus(ctx)
		door.UpgradeByPump(ctx, w.upgrader())
	}, ask: (*task).upgrade}

	inReceived = kind{name: "Received of an UpgradeHandler", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		switchStatus(ctx)
		ctx.Upgrade(&harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) int {
			w.run(w.hold)
			c.Close()
			return len(in)
		}})
	}, ask: func(w *task) {
		w.upgrade()
		w.put("bytes")
	}}

	inWebSocketAccept = kind{name: "function of ws.Accept", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		peers.Check(w.t, ws.Accept(ctx, func(c *ws.Conn) {
			w.run(func() {
				w.starts()
				_, _, err := c.Read(context.Background())
				w.noticeClose(err)
				<-w.release
			})
		}, nil))
	}, ask: (*task).upgrade, heard: (*task).answerClose}

	inWebSocketOnMessage = kind{name: "OnMessage of ws.Serve", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		peers.Check(w.t, ws.Serve(ctx, &socketFuncs{onMessage: func(s *ws.Socket) {
			w.run(w.hold)
			s.Abort()
		}}, nil))
	}, ask: func(w *task) {
		w.upgrade()
		w.put(string(wsframe.AppendMasked(nil, wsframe.Text, true, false, [4]byte{}, []byte("text"))))
	}}

	inWebSocketOnClose = kind{name: "OnClose of ws.Serve", on: both, n: 1, handle: func(w *task, ctx *gale.RequestCtx) {
		peers.Check(w.t, ws.Serve(ctx, &socketFuncs{onOpen: func() {
			w.count(1)
			w.starts()
		}, onClose: func(err error) {
			defer w.count(-1)
			w.noticeClose(err)
			<-w.release
		}}, nil))
	}, ask: (*task).upgrade, heard: (*task).answerClose}
)

// echoNow takes the connection and serves it on another goroutine.
func (w *task) echoNow(ctx *gale.RequestCtx) {
	nc, err := ctx.HijackNow()
	if err != nil {
		w.t.Error("HijackNow:", err)
		return
	}
	go func() {
		defer nc.Close() // for which Shutdown waits, not for the function
		w.run(func() { w.echo(nc) })
	}()
}

// counted takes the connection by HijackCounted.
func (w *task) counted(ctx *gale.RequestCtx) {
	ctx.HijackCounted(func(nc net.Conn) { w.run(func() { w.echo(nc) }) }, func() { w.notice("leave") })
}

// upgrader echoes. It counts as one function from Opened to Closed.
func (w *task) upgrader() *harness.UpgradeFuncs {
	return &harness.UpgradeFuncs{
		OnOpened: func(c *gale.UpgradedConn) {
			w.count(1)
			w.starts()
			go func() {
				<-w.release
				c.Wake()
			}()
		},
		OnReceived: func(c *gale.UpgradedConn, in []byte) int {
			if c.Stopping() {
				w.notice("stop")
			}
			*c.Out() = append(*c.Out(), in...)
			select {
			case <-w.release:
				c.Close()
			default:
			}
			return len(in)
		},
		OnStalled: func(*gale.UpgradedConn, error) {},
		OnClosed: func(_ *gale.UpgradedConn, err error) {
			defer w.count(-1)
			if errors.Is(err, net.ErrClosed) {
				w.notice("ErrClosed")
			} else {
				w.notice("end")
			}
			<-w.release
		},
	}
}

// noticeClose notices how a WebSocket has ended.
func (w *task) noticeClose(err error) {
	if ws.CloseStatus(err) == ws.StatusGoingAway {
		w.notice("1001")
	}
	w.notice("over")
}

// answerClose answers the close frame of a WebSocket.
func (w *task) answerClose(told string) {
	if !strings.Contains(told, "1001") {
		return
	}
	w.t.Helper()
	frame := ""
	if w.h2 != nil {
		frame = w.h2.Await(w.id, "data").Data
	} else {
		head, _ := w.h1.Br.Peek(2)
		b := make([]byte, 2+head[1])
		_, _ = io.ReadFull(w.h1.Br, b) // the code shows an error
		frame = string(b)
	}
	if !strings.HasPrefix(frame[2:], "\x03\xe9") {
		w.t.Fatalf("got the frame %q, want a close frame with 1001", frame)
	}
	w.put(string(wsframe.AppendMasked(nil, wsframe.Close, true, false, [4]byte{}, []byte(frame[2:]))))
}

// socketFuncs is a ws.Handler made of functions, which may be nil.
type socketFuncs struct {
	ws.Base
	onOpen    func()
	onMessage func(s *ws.Socket)
	onClose   func(err error)
}

func (f *socketFuncs) OnOpen(*ws.Socket) {
	if f.onOpen != nil {
		f.onOpen()
	}
}

func (f *socketFuncs) OnMessage(s *ws.Socket, _ ws.MessageType, _ []byte) {
	if f.onMessage != nil {
		f.onMessage(s)
	}
}

func (f *socketFuncs) OnClose(_ *ws.Socket, err error) {
	if f.onClose != nil {
		f.onClose(err)
	}
}
