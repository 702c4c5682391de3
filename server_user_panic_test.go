package gale

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// mischief is a user's function that misbehaves once after it was armed.
type mischief struct {
	armed atomic.Bool
	done  chan struct{}
	how   func()
}

func newMischief(how func()) *mischief { return &mischief{done: make(chan struct{}), how: how} }

func (m *mischief) now() {
	if m.armed.CompareAndSwap(true, false) {
		defer close(m.done)
		m.how()
	}
}

// mischiefs are the ways in which a function doesn't return.
var mischiefs = map[string]func(){
	"panic":  func() { panic("mischief") },
	"Goexit": runtime.Goexit,
}

// badCloser is a user value, and a body stream, that misbehaves.
type badCloser struct {
	m           *mischief
	read, close bool
}

func (b badCloser) Read([]byte) (int, error) {
	if b.read {
		b.m.now()
	}
	return 0, io.EOF
}

func (b badCloser) Close() error {
	if b.close {
		b.m.now()
	}
	return nil
}

// badSelfWriter is a BodyWriterTo that misbehaves.
type badSelfWriter struct {
	badCloser
}

func (b badSelfWriter) WriteTo(w io.Writer) (int64, error) {
	b.m.now()
	return 0, nil
}

func (badSelfWriter) SupportsBodyWriteTo() bool { return true }

// badLogger is a Logger that misbehaves.
type badLogger struct{ m *mischief }

func (l badLogger) Printf(string, ...any) { l.m.now() }

// serverHooks are the user's functions that a Server calls.
var serverHooks = []struct {
	name    string
	set     func(s *Server, m *mischief)
	request string // a GET with Connection: close if empty
}{
	{"Handler", func(s *Server, m *mischief) { s.Handler = func(*RequestCtx) { m.now() } }, ""},
	{"TimeoutHandler", func(s *Server, m *mischief) {
		s.Handler = TimeoutHandler(func(*RequestCtx) { m.now() }, time.Minute, "")
	}, ""},
	{"TimeoutHandler, late", func(s *Server, m *mischief) {
		s.Handler = TimeoutHandler(func(ctx *RequestCtx) {
			if m.armed.Load() {
				<-ctx.Done()
				m.now()
			}
		}, 10*time.Millisecond, "")
	}, ""},
	{"ConnState", func(s *Server, m *mischief) {
		s.ConnState = func(_ net.Conn, st ConnState) {
			if st == StateActive {
				m.now()
			}
		}
	}, ""},
	{"ConnState, new", func(s *Server, m *mischief) {
		s.ConnState = func(_ net.Conn, st ConnState) {
			if st == StateNew {
				m.now()
			}
		}
	}, ""},
	{"ConnState, closed", func(s *Server, m *mischief) {
		s.ConnState = func(_ net.Conn, st ConnState) {
			if st == StateClosed {
				m.now()
			}
		}
	}, ""},
	{"BaseContext", func(s *Server, m *mischief) {
		s.BaseContext = func(net.Listener) context.Context { m.now(); return context.Background() }
	}, ""},
	{"ConnContext", func(s *Server, m *mischief) {
		s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { m.now(); return ctx }
	}, ""},
	{"HeaderReceived", func(s *Server, m *mischief) {
		s.HeaderReceived = func(*RequestHeader) RequestConfig { m.now(); return RequestConfig{} }
	}, ""},
	{"ContinueHandler", func(s *Server, m *mischief) {
		s.ContinueHandler = func(*RequestHeader) bool { m.now(); return true }
	}, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	{"ExpectHandler", func(s *Server, m *mischief) {
		s.ExpectHandler = func(*RequestCtx) int { m.now(); return 100 }
	}, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	{"ErrorHandler", func(s *Server, m *mischief) {
		s.ErrorHandler = func(*RequestCtx, error) { m.now() }
	}, "bad\r\n\r\n"},
	{"PanicHandler", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) {
			if len(ctx.Request.Header.Peek("Connection")) > 0 {
				panic(ErrBodyTooLarge)
			}
		}
		s.PanicHandler = func(*RequestCtx, any) { m.now() }
	}, ""},
	{"Logger", func(s *Server, m *mischief) {
		s.Logger = badLogger{m}
		s.Handler = func(ctx *RequestCtx) {
			if len(ctx.Request.Header.Peek("Connection")) > 0 {
				panic("for the log")
			}
		}
	}, ""},
	{"HijackHandler", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/hijack" {
				ctx.Hijack(func(net.Conn) { m.now() })
			}
		}
	}, get("/hijack")},
	{"body stream, Read", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) { ctx.SetBodyStream(badCloser{m: m, read: true}, -1) }
	}, ""},
	{"body stream, Close", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) { ctx.SetBodyStream(badCloser{m: m, close: true}, -1) }
	}, ""},
	{"body stream, WriteTo", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) { ctx.SetBodyStream(badSelfWriter{badCloser{m: m}}, -1) }
	}, ""},
	{"stream writer", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) { ctx.SetBodyStreamWriter(func(*bufio.Writer) { m.now() }) }
	}, ""},
	{"stream reader", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) {
			ctx.SetBodyStream(NewStreamReader(func(*bufio.Writer) { m.now() }), -1)
		}
	}, ""},
	{"user value", func(s *Server, m *mischief) {
		s.Handler = func(ctx *RequestCtx) { ctx.SetUserValue("v", badCloser{m: m, close: true}) }
	}, ""},
}

const closing = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

// If a user's function doesn't return, in whatever way, the process goes on, the next
// connection is served, no goroutine is left, and one line of the log reports it.
func TestUserFunctionsThatMisbehave(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		for _, hook := range serverHooks {
			for how, f := range mischiefs {
				t.Run(hook.name+"/"+how, func(t *testing.T) {
					before := runtime.NumGoroutine()
					m := newMischief(f)
					log := &testLog{}
					t.Run("", func(t *testing.T) {
						s := &Server{Engine: e, Logger: log}
						hook.set(s, m)
						ts := startServer(t, s, func(*RequestCtx) {})
						m.armed.Store(true)
						c := ts.dial()
						request := hook.request
						if request == "" {
							request = closing
						}
						c.send(request)
						io.Copy(io.Discard, c.br) // ends in any way
						<-m.done
						ts.dial().wantOpen()
					})
					wantGoroutines(t, before)
					if how == "panic" && hook.name != "Logger" {
						await(t, "a line that tells of it", func() bool { return strings.Contains(log.String(), ": mischief\n") })
					}
					if n := strings.Count(log.String(), ": mischief\n"); how == "panic" && hook.name != "Logger" && n != 1 {
						t.Errorf("%d lines tell of it: %s", n, log)
					}
				})
			}
		}
	})
}

// badConn is a connection one of whose methods misbehaves.
type badConn struct {
	net.Conn
	m      *mischief
	method string
}

func (c *badConn) bad(method string) {
	if c.method == method {
		c.m.now()
	}
}

func (c *badConn) Read(p []byte) (int, error)  { c.bad("Read"); return c.Conn.Read(p) }
func (c *badConn) Write(p []byte) (int, error) { c.bad("Write"); return c.Conn.Write(p) }
func (c *badConn) Close() error {
	defer c.Conn.Close()
	c.bad("Close")
	return nil
}
func (c *badConn) RemoteAddr() net.Addr { c.bad("RemoteAddr"); return c.Conn.RemoteAddr() }
func (c *badConn) LocalAddr() net.Addr  { c.bad("LocalAddr"); return c.Conn.LocalAddr() }
func (c *badConn) SetDeadline(t time.Time) error {
	c.bad("SetDeadline")
	return c.Conn.SetDeadline(t)
}
func (c *badConn) SetReadDeadline(t time.Time) error {
	c.bad("SetReadDeadline")
	return c.Conn.SetReadDeadline(t)
}
func (c *badConn) SetWriteDeadline(t time.Time) error {
	c.bad("SetWriteDeadline")
	return c.Conn.SetWriteDeadline(t)
}

var connMethods = []string{"Read", "Write", "Close", "RemoteAddr", "LocalAddr", "SetDeadline", "SetReadDeadline", "SetWriteDeadline"}

// badListener returns badConns.
type badListener struct {
	net.Listener
	m      *mischief
	method string
}

func (l *badListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &badConn{c, l.m, l.method}, nil
}

// The same for methods of a user's connection, which goroutines of the engine call: at
// the beginning, while a handler waits for its client to leave, while the connection is
// idle, and when it is hijacked, refused, evicted, or closed by a shutdown.
func TestServerConnsThatMisbehave(t *testing.T) {
	withoutEngine(t)
	for _, stage := range []string{"accept", "handler", "rest", "hijack", "refuse", "shutdown"} {
		for _, method := range connMethods {
			for how, f := range mischiefs {
				if (stage == "accept" || stage == "refuse") && how == "Goexit" && method == "RemoteAddr" {
					continue // the goroutine is that of the caller of Serve, which ends
				}
				t.Run(stage+"/"+method+"/"+how, func(t *testing.T) {
					before := runtime.NumGoroutine()
					t.Run("", func(t *testing.T) {
						misbehavingConn(t, stage, method, newMischief(f))
					})
					wantGoroutines(t, before)
				})
			}
		}
	}
}

func misbehavingConn(t *testing.T, stage, method string, m *mischief) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Logger: &testLog{}, MaxConnsPerIP: 100, ReduceMemoryUsage: stage == "rest", WriteTimeout: time.Minute}
	switch stage {
	case "refuse":
		s.Concurrency = 1
	case "shutdown":
		s.ReadHeaderTimeout = time.Second // ends the connection if SetReadDeadline panics
	}
	rests, blocks := make(chan struct{}), make(chan struct{})
	s.Handler = func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/handler":
			m.armed.Store(true)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond): // this method isn't called while it waits
			}
		case "/hijack":
			ctx.Hijack(func(net.Conn) { m.armed.Store(true) })
		case "/rests":
			close(rests)
		case "/block":
			close(blocks)
			<-rests
		}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&badListener{ln, m, method}) }()
	ts := &testServer{t: t, s: s, addr: ln.Addr().String()}
	if stage == "accept" {
		m.armed.Store(true)
	}
	c := ts.dial()
	switch stage {
	case "accept":
		c.send(closing)
		io.Copy(io.Discard, c.br)
	case "handler", "hijack":
		c.send(strings.Replace(closing, "/ ", "/"+stage+" ", 1))
		if stage == "hijack" {
			io.Copy(io.Discard, c.br)
			m.armed.Store(false) // the goroutine that accepts the next one is that of Serve
			c = ts.dial()
			c.send(get("/hijack"))
		}
		io.Copy(io.Discard, c.br)
	case "rest":
		c.wantOpen()
		m.armed.Store(true)
		c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // longer than the time after which it is parked
		io.Copy(io.Discard, c.br)
	case "refuse":
		c.send(get("/block"))
		<-blocks // this connection was read from
		m.armed.Store(true)
		other := ts.dial()
		io.Copy(io.Discard, other.br)
		m.armed.Store(false)
		close(rests)
		c.read("GET")
		c.Close()
		for s.GetOpenConnectionsCount() > 0 {
			time.Sleep(time.Millisecond)
		}
	case "shutdown":
		c.wantOpen()
		m.armed.Store(true)
	}
	if stage != "shutdown" {
		m.armed.Store(false)
		ts.dial().wantOpen()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	inGoroutine(func() { err = s.ShutdownWithContext(ctx) }) // which it may end
	if err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	s.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// clientHooks are the user's functions that a client calls.
var clientHooks = []struct {
	name string
	set  func(c *HostClient, req *Request, m *mischief)
}{
	{"Dial", func(c *HostClient, _ *Request, m *mischief) {
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) { m.now(); return dial(addr) }
	}},
	{"DialTimeout", func(c *HostClient, _ *Request, m *mischief) {
		dial := c.Dial
		c.DialTimeout = func(addr string, _ time.Duration) (net.Conn, error) { m.now(); return dial(addr) }
	}},
	{"DialContext", func(c *HostClient, _ *Request, m *mischief) {
		dial := c.Dial
		c.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) { m.now(); return dial(addr) }
	}},
	{"MaxDialDuration", func(c *HostClient, _ *Request, m *mischief) {
		c.MaxDialDuration = time.Minute
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) { m.now(); return dial(addr) }
	}},
	{"RetryIfErr", func(c *HostClient, req *Request, m *mischief) {
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) {
			if m.armed.Load() {
				return nil, errors.New("to be repeated")
			}
			return dial(addr)
		}
		c.Transport = repeats{}
		c.RetryIfErr = func(*Request, int, error) (bool, bool) { m.now(); return false, false }
	}},
	{"Transport", func(c *HostClient, _ *Request, m *mischief) { c.Transport = badTransport{m} }},
	{"Trace.GotConn", func(c *HostClient, _ *Request, m *mischief) {
		c.Trace = &ClientTrace{GotConn: func(*Request, net.Conn, bool, time.Duration) { m.now() }}
	}},
	{"Trace.Dialed", func(c *HostClient, _ *Request, m *mischief) {
		c.Trace = &ClientTrace{Dialed: func(string, net.Conn, time.Duration, error) { m.now() }}
	}},
	{"Trace.Wrote", func(c *HostClient, _ *Request, m *mischief) {
		c.Trace = &ClientTrace{Wrote: func(*Request, error) { m.now() }}
	}},
	{"Trace.FirstByte", func(c *HostClient, _ *Request, m *mischief) {
		c.Trace = &ClientTrace{FirstByte: func(*Request) { m.now() }}
	}},
	{"Trace.Done", func(c *HostClient, _ *Request, m *mischief) {
		c.Trace = &ClientTrace{Done: func(*Request, *Response, int, error) { m.now() }}
	}},
	{"body stream, Read", func(_ *HostClient, req *Request, m *mischief) {
		req.SetBodyStream(badCloser{m: m, read: true}, -1)
	}},
	{"body stream, Close", func(_ *HostClient, req *Request, m *mischief) {
		req.SetBodyStream(badCloser{m: m, close: true}, -1)
	}},
	{"stream writer", func(_ *HostClient, req *Request, m *mischief) {
		req.SetBodyStreamWriter(func(*bufio.Writer) { m.now() })
	}},
}

// repeats is a RoundTripper that asks for a retry every time.
type repeats struct{}

func (repeats) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	_, err := DefaultTransport.RoundTrip(hc, req, resp)
	return err != nil, err
}

type badTransport struct{ m *mischief }

func (b badTransport) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	b.m.now()
	return DefaultTransport.RoundTrip(hc, req, resp)
}

// A client goes on working if a user's function doesn't return. The caller gets the panic
// or an error, and the next call can use the place of the connection.
func TestClientFunctionsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", clientFunctionsThatMisbehave)
	wantGoroutines(t, before)
}

func clientFunctionsThatMisbehave(t *testing.T) {
	ts := startServer(t, &Server{Logger: &testLog{}}, echo)
	for _, hook := range clientHooks {
		for how, f := range mischiefs {
			t.Run(hook.name+"/"+how, func(t *testing.T) {
				m := newMischief(f)
				c := &HostClient{Addr: ts.addr, MaxConns: 1, Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }}
				req := &Request{}
				req.SetRequestURI("http://h/")
				req.Header.SetMethod("POST")
				hook.set(c, req, m)
				m.armed.Store(true)
				inGoroutine(func() { _ = c.Do(req, &Response{}) })
				<-m.done
				afterMischief(t, c)
			})
		}
	}
}

// inGoroutine runs f on a goroutine and waits for it. f may end the goroutine or panic.
func inGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

// afterMischief checks that the client can still be used, and leaves nothing.
func afterMischief(t *testing.T, c *HostClient) {
	t.Helper()
	var resp Response
	var req Request
	req.SetRequestURI("http://h/next")
	c.Transport, c.Trace = nil, nil
	if err := c.DoTimeout(&req, &resp, time.Minute); err != nil || string(resp.Body()) != "GET /next " {
		t.Errorf("the next call: %q, %v", resp.Body(), err)
	}
	if n := c.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
	c.CloseIdleConnections()
	if st := c.PoolStats(); st.Open != 0 {
		t.Errorf("%d connections are left over", st.Open)
	}
}

// The same for the methods of a user's connection. With a HostClient: with a streamed
// body or not, with a context that ends, and with an idle connection that becomes too
// old. And with a PipelineClient.
func TestClientConnsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", clientConnsThatMisbehave)
	wantGoroutines(t, before)
}

func clientConnsThatMisbehave(t *testing.T) {
	ts := startServer(t, &Server{Logger: &testLog{}}, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			<-ctx.Done()
		}
		echo(ctx)
	})
	for _, method := range connMethods {
		for how, f := range mischiefs {
			dialer := func(m *mischief) DialFunc {
				return func(addr string) (net.Conn, error) {
					c, err := net.Dial("tcp", ts.addr)
					return &badConn{c, m, method}, err
				}
			}
			run := func(name string, use func(c *HostClient, req *Request, m *mischief)) {
				t.Run(fmt.Sprintf("%s/%s/%s", name, method, how), func(t *testing.T) {
					m := newMischief(f)
					c := &HostClient{Addr: ts.addr, MaxConns: 1, Dial: dialer(m), ReadTimeout: time.Minute, WriteTimeout: time.Minute}
					var req Request
					req.SetRequestURI("http://h/")
					inGoroutine(func() { use(c, &req, m) })
					m.armed.Store(false)
					afterMischief(t, c)
				})
			}
			run("Do", func(c *HostClient, req *Request, m *mischief) {
				m.armed.Store(true)
				_ = c.Do(req, &Response{})
			})
			run("stream", func(c *HostClient, req *Request, m *mischief) {
				resp := &Response{StreamBody: true}
				if c.Do(req, resp) == nil {
					m.armed.Store(true)
					defer resp.CloseBodyStream()
					_, _ = io.ReadAll(resp.BodyStream())
				}
			})
			run("context", func(c *HostClient, req *Request, m *mischief) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				req.SetRequestURI("http://h/slow")
				c.Trace = &ClientTrace{Wrote: func(*Request, error) {
					m.armed.Store(true)
					time.AfterFunc(20*time.Millisecond, cancel) // while the response is waited for
				}}
				_ = c.DoContext(ctx, req, &Response{})
			})
			run("idle", func(c *HostClient, req *Request, m *mischief) {
				c.MaxIdleConnDuration = 5 * time.Millisecond
				_ = c.Do(req, &Response{})
				m.armed.Store(true)
				for deadline := time.Now().Add(time.Minute); c.ConnsCount() > 0 && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
			})
			t.Run(fmt.Sprintf("pipeline/%s/%s", method, how), func(t *testing.T) {
				m := newMischief(f)
				c := &PipelineClient{Addr: ts.addr, Dial: dialer(m), Logger: discardLog{}, ReadTimeout: time.Minute}
				m.armed.Store(true)
				inGoroutine(func() { _ = c.DoTimeout(pipeReq("GET"), &Response{}, time.Minute) })
				m.armed.Store(false)
				var resp Response
				if err := c.DoTimeout(pipeReq("GET"), &resp, time.Minute); err != nil || !strings.HasPrefix(string(resp.Body()), "GET /") {
					t.Errorf("the next call: %q, %v", resp.Body(), err)
				}
				wantNonePending(t, c)
				closePipes(c)
			})
		}
	}
}

// A PipelineClient goes on working if its Dial or its Logger doesn't return.
func TestPipelineFunctionsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", pipelineFunctionsThatMisbehave)
	wantGoroutines(t, before)
}

func pipelineFunctionsThatMisbehave(t *testing.T) {
	ts := startServer(t, nil, echo)
	for how, f := range mischiefs {
		for _, hook := range []string{"Dial", "Logger", "VerifyConnection"} {
			m := newMischief(f)
			c := &PipelineClient{Addr: ts.addr, Logger: discardLog{}}
			switch hook {
			case "Dial":
				c.Dial = func(string) (net.Conn, error) { m.now(); return net.Dial("tcp", ts.addr) }
			case "Logger":
				c.Logger = badLogger{m}
				c.Dial = func(string) (net.Conn, error) {
					nc, err := net.Dial("tcp", ts.addr)
					if m.armed.Load() {
						nc.Close()
					}
					return nc, err
				}
			case "VerifyConnection":
				addr := startTLS(t, &Server{Handler: echo})
				c.Addr, c.IsTLS = addr, true
				c.TLSConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error { m.now(); return nil }}
			}
			m.armed.Store(true)
			if err := c.DoTimeout(pipeReq("GET"), nil, time.Minute); err == nil && hook != "Logger" || err == ErrTimeout {
				t.Errorf("%s, %s: %v", hook, how, err)
			}
			<-m.done
			if err := c.DoTimeout(pipeReq("GET"), nil, time.Minute); err != nil {
				t.Errorf("%s, %s: the next call: %v", hook, how, err)
			}
			closePipes(c)
		}
	}
}
