package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// badCloser is a user value, and a body stream, that misbehaves.
type badCloser struct {
	m           *harness.Mischief
	read, close bool
}

func (b badCloser) Read([]byte) (int, error) {
	if b.read {
		b.m.Now()
	}
	return 0, io.EOF
}

func (b badCloser) Close() error {
	if b.close {
		b.m.Now()
	}
	return nil
}

// badSelfWriter is a BodyWriterTo that misbehaves.
type badSelfWriter struct {
	badCloser
}

func (b badSelfWriter) WriteTo(w io.Writer) (int64, error) {
	b.m.Now()
	return 0, nil
}

func (badSelfWriter) SupportsBodyWriteTo() bool { return true }

// serverHooks are the user's functions that a Server calls.
var serverHooks = []struct {
	name    string
	set     func(s *gale.Server, m *harness.Mischief)
	request string // a GET with Connection: close if empty
}{
	{"Handler", func(s *gale.Server, m *harness.Mischief) { s.Handler = func(*gale.RequestCtx) { m.Now() } }, ""},
	{"TimeoutHandler", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = gale.TimeoutHandler(func(*gale.RequestCtx) { m.Now() }, time.Minute, "")
	}, ""},
	{"TimeoutHandler, late", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			if m.Armed.Load() {
				<-ctx.Done()
				m.Now()
			}
		}, 10*time.Millisecond, "")
	}, ""},
	{"ConnState", func(s *gale.Server, m *harness.Mischief) {
		s.ConnState = func(_ net.Conn, st gale.ConnState) {
			if st == gale.StateActive {
				m.Now()
			}
		}
	}, ""},
	{"ConnState, new", func(s *gale.Server, m *harness.Mischief) {
		s.ConnState = func(_ net.Conn, st gale.ConnState) {
			if st == gale.StateNew {
				m.Now()
			}
		}
	}, ""},
	{"ConnState, closed", func(s *gale.Server, m *harness.Mischief) {
		s.ConnState = func(_ net.Conn, st gale.ConnState) {
			if st == gale.StateClosed {
				m.Now()
			}
		}
	}, ""},
	{"BaseContext", func(s *gale.Server, m *harness.Mischief) {
		s.BaseContext = func(net.Listener) context.Context { m.Now(); return context.Background() }
	}, ""},
	{"ConnContext", func(s *gale.Server, m *harness.Mischief) {
		s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { m.Now(); return ctx }
	}, ""},
	{"HeaderReceived", func(s *gale.Server, m *harness.Mischief) {
		s.HeaderReceived = func(*gale.RequestHeader) gale.RequestConfig { m.Now(); return gale.RequestConfig{} }
	}, ""},
	{"RequestStarted", func(s *gale.Server, m *harness.Mischief) {
		s.RequestStarted = func(*gale.RequestCtx) gale.RequestConfig { m.Now(); return gale.RequestConfig{} }
	}, ""},
	{"RequestStarted, before a body", func(s *gale.Server, m *harness.Mischief) {
		s.RequestStarted = func(*gale.RequestCtx) gale.RequestConfig { m.Now(); return gale.RequestConfig{} }
	}, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	{"ContinueHandler", func(s *gale.Server, m *harness.Mischief) {
		s.ContinueHandler = func(*gale.RequestHeader) bool { m.Now(); return true }
	}, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	{"ExpectHandler", func(s *gale.Server, m *harness.Mischief) {
		s.ExpectHandler = func(*gale.RequestCtx) int { m.Now(); return 100 }
	}, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	{"ErrorHandler", func(s *gale.Server, m *harness.Mischief) {
		s.ErrorHandler = func(*gale.RequestCtx, error) { m.Now() }
	}, "bad\r\n\r\n"},
	{"PanicHandler", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			if m.Armed.Load() {
				panic(gale.ErrBodyTooLarge)
			}
		}
		s.PanicHandler = func(*gale.RequestCtx, any) { m.Now() }
	}, ""},
	{"Logger", func(s *gale.Server, m *harness.Mischief) {
		s.Logger = harness.BadLogger{M: m}
		s.Handler = func(ctx *gale.RequestCtx) {
			if m.Armed.Load() {
				panic("for the log")
			}
		}
	}, ""},
	{"HijackHandler", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/hijack" {
				ctx.Hijack(func(net.Conn) { m.Now() })
			}
		}
	}, peers.Get("/hijack")},
	{"HijackHandler, ConnState", func(s *gale.Server, m *harness.Mischief) { hijackStates(s, m, false) }, peers.Get("/hijack")},
	{"HijackHandler that keeps it, ConnState", func(s *gale.Server, m *harness.Mischief) { hijackStates(s, m, true) }, peers.Get("/hijack")},
	{"HijackNow, ConnState", func(s *gale.Server, m *harness.Mischief) { hijackStates(s, m, false) }, peers.Get("/now")},
	{"body stream, Read", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBodyStream(badCloser{m: m, read: true}, -1) }
	}, ""},
	{"body stream, Close", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBodyStream(badCloser{m: m, close: true}, -1) }
	}, ""},
	{"body stream, WriteTo", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBodyStream(badSelfWriter{badCloser{m: m}}, -1) }
	}, ""},
	{"stream writer", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(*bufio.Writer) { m.Now() }) }
	}, ""},
	{"stream reader", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(gale.NewStreamReader(func(*bufio.Writer) { m.Now() }), -1)
		}
	}, ""},
	{"user value", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.SetUserValue("v", badCloser{m: m, close: true}); m.Watch(ctx) }
	}, ""},
	{"AfterSend", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) { m.Now() }); m.Watch(ctx) }
	}, ""},
	{"AfterSend of a stream, with Done", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			m.WatchDone(ctx)
			ctx.SetBodyStream(strings.NewReader("x"), 1)
			ctx.AfterSend(func(int64, error) { m.Now() })
			m.Watch(ctx)
		}
	}, ""},
	{"AfterSend of a broken response", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			ctx.AfterSend(func(int64, error) { m.Now() })
			m.Watch(ctx)
			if m.Armed.Load() {
				panic(gale.ErrAbortHandler)
			}
		}
	}, ""},
	{"AfterSend, detached", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			ctx.AfterSend(func(int64, error) { m.Now() })
			m.Watch(ctx)
			m.WatchDone(ctx.Detach())
			m.Told.Add(1) // the value isn't closed
		}
	}, ""},
	{"user value, with Done", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			m.WatchDone(ctx)
			ctx.SetUserValue("v", badCloser{m: m, close: true})
			m.Watch(ctx)
		}
	}, ""},
	{"BeforeSend", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) { ctx.BeforeSend(func(*gale.RequestCtx) { m.Now() }); m.Watch(ctx) }
	}, ""},
	{"Server.BeforeSend", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = m.Watch
		s.BeforeSend = func(*gale.RequestCtx) { m.Now() }
	}, ""},
	{"BeforeSend, detached", func(s *gale.Server, m *harness.Mischief) {
		s.Handler = func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(*gale.RequestCtx) { m.Now() })
			m.Watch(ctx)
			m.WatchDone(ctx.Detach())
			m.Told.Add(1) // the value isn't closed
		}
	}, ""},
}

// hijackStates makes ConnState misbehave when a handler takes over its connection. No function
// of the program gets that then.
func hijackStates(s *gale.Server, m *harness.Mischief, keeps bool) {
	s.KeepHijackedConns = keeps
	s.ConnState = func(_ net.Conn, st gale.ConnState) {
		if st == gale.StateHijacked {
			m.Now()
		}
	}
	s.Handler = func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/hijack":
			ctx.Hijack(func(net.Conn) { panic("the handler got a connection") })
		case "/now":
			_, _ = ctx.HijackNow()
			panic("the handler went on")
		}
	}
}

const closing = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

// If a user's function doesn't return, in whatever way, the process goes on, the next
// connection is served, no goroutine is left, and one line of the log reports it. The request
// ends: Done is closed, other functions of AfterSend and closers are called. The server's
// counters are at zero afterwards, and Shutdown returns.
func TestUserFunctionsThatMisbehave(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, hook := range serverHooks {
			for how, f := range peers.Mischiefs {
				for _, version := range []int{1, 2} {
					if version == 2 && (hook.name == "ErrorHandler" || strings.HasPrefix(hook.name, "Hijack")) {
						continue // these have bytes of HTTP/1.1
					}
					t.Run(fmt.Sprintf("%s/%s/HTTP%d", hook.name, how, version), func(t *testing.T) {
						before := runtime.NumGoroutine()
						m := harness.NewMischief(f)
						log := &peers.Log{}
						t.Run("", func(t *testing.T) {
							s := &gale.Server{Engine: e, Logger: log, MaxConnsPerIP: 10, HTTP2: gale.HTTP2Config{H2C: true}}
							hook.set(s, m)
							ts := harness.Start(t, s, func(*gale.RequestCtx) {})
							m.Armed.Store(true)
							if version == 2 {
								askH2(t, ts.Addr, strings.HasPrefix(hook.request, "POST"))
							} else {
								ask1(ts.Dial(), hook.request)
							}
							<-m.Done
							ts.Dial().WantOpen()
							m.WantEnded(t)
							wantNothingOpen(t, s)
						})
						peers.WantGoroutines(t, before)
						if how == "panic" && hook.name != "Logger" {
							await.Until(t, "a line that tells of it", func() bool { return strings.Contains(log.String(), ": mischief\n") })
						}
						if n := strings.Count(log.String(), ": mischief\n"); how == "panic" && hook.name != "Logger" && n != 1 {
							t.Errorf("%d lines tell of it: %s", n, log)
						}
					})
				}
			}
		}
	})
}

// ask1 sends a request over HTTP/1.1 and reads until the connection ends, in any way.
func ask1(c *peers.Conn, request string) {
	if request == "" {
		request = closing
	}
	c.Send(request)
	if _, err := io.Copy(io.Discard, c.Br); errors.Is(err, os.ErrDeadlineExceeded) {
		c.T.Error("the connection stays open")
	}
}

// askH2 sends a request over HTTP/2 and reads the response, which may be broken.
func askH2(t *testing.T, addr string, expects bool) {
	tr := &http.Transport{Protocols: peers.Protocols(2)}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr, nil)
	if expects {
		req, err = http.NewRequestWithContext(t.Context(), "POST", "http://"+addr, strings.NewReader("a"))
		req.Header.Set("Expect", "100-continue")
	}
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := tr.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// wantNothingOpen shuts s down and checks its counters.
func wantNothingOpen(t *testing.T, s *gale.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	peers.InGoroutine(func() {
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	peers.WantNoWaiters(t, s)
	await.Gone(t, "a counter above zero", func() bool {
		in := door.InsideOf(s)
		return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0 && in.Addresses == 0 && in.Timed == 0
	})
}

// badListener returns badConns.
type badListener struct {
	net.Listener
	m      *harness.Mischief
	method string
}

func (l *badListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &harness.BadConn{Conn: c, M: l.m, Method: l.method}, nil
}

// The same for methods of a user's connection, which goroutines of the engine call: at
// the beginning, while a handler waits for its client to leave, while the connection is
// idle, and when it is hijacked, refused, evicted, or closed by a shutdown.
func TestServerConnsThatMisbehave(t *testing.T) {
	peers.WithoutEngine(t)
	before := runtime.NumGoroutine()
	t.Run("rows", func(t *testing.T) {
		for _, stage := range []string{"accept", "handler", "rest", "hijack", "refuse", "shutdown"} {
			for _, method := range peers.ConnMethods {
				for how, f := range peers.Mischiefs {
					if (stage == "accept" || stage == "refuse") && how == "Goexit" && method == "RemoteAddr" {
						continue // the goroutine is that of the caller of Serve, which ends
					}
					t.Run(stage+"/"+method+"/"+how, func(t *testing.T) {
						t.Parallel()
						misbehavingConn(t, stage, method, harness.NewMischief(f))
					})
				}
			}
		}
	})
	peers.WantGoroutines(t, before)
}

func misbehavingConn(t *testing.T, stage, method string, m *harness.Mischief) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Logger: &peers.Log{}, MaxConnsPerIP: 100, ReduceMemoryUsage: stage == "rest", WriteTimeout: time.Minute}
	switch stage {
	case "refuse":
		s.Concurrency = 1
	case "shutdown":
		s.ReadHeaderTimeout = time.Second // ends the connection if SetReadDeadline panics
	}
	rests, blocks := make(chan struct{}), make(chan struct{})
	s.Handler = func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/handler":
			m.Armed.Store(true)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond): // this method isn't called while it waits
			}
		case "/hijack":
			ctx.Hijack(func(net.Conn) { m.Armed.Store(true) })
		case "/rests":
			close(rests)
		case "/block":
			close(blocks)
			<-rests
		}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&badListener{ln, m, method}) }()
	ts := &harness.Server{Server: &peers.Server{T: t, Addr: ln.Addr().String()}, S: s}
	if stage == "accept" {
		m.Armed.Store(true)
	}
	c := ts.Dial()
	switch stage {
	case "accept":
		c.Send(closing)
		io.Copy(io.Discard, c.Br)
	case "handler", "hijack":
		c.Send(strings.Replace(closing, "/ ", "/"+stage+" ", 1))
		if stage == "hijack" {
			io.Copy(io.Discard, c.Br)
			m.Armed.Store(false) // the goroutine that accepts the next one is that of Serve
			c = ts.Dial()
			c.Send(peers.Get("/hijack"))
		}
		io.Copy(io.Discard, c.Br)
	case "rest":
		c.WantOpen()
		m.Armed.Store(true)
		c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // longer than the time after which it is parked
		io.Copy(io.Discard, c.Br)
	case "refuse":
		c.Send(peers.Get("/block"))
		<-blocks // this connection was read from
		m.Armed.Store(true)
		other := ts.Dial()
		io.Copy(io.Discard, other.Br)
		m.Armed.Store(false)
		close(rests)
		c.Answer("GET")
		c.Close()
		peers.WaitClosed(t, s, "the blocked one")
	case "shutdown":
		c.WantOpen()
		m.Armed.Store(true)
	}
	if stage != "shutdown" {
		m.Armed.Store(false)
		ts.Dial().WantOpen()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	peers.InGoroutine(func() { err = s.ShutdownWithContext(ctx) }) // which it may end
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
	set  func(c *gale.HostClient, req *gale.Request, m *harness.Mischief)
}{
	{"Dial", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) { m.Now(); return dial(addr) }
	}},
	{"DialTimeout", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		dial := c.Dial
		c.DialTimeout = func(addr string, _ time.Duration) (net.Conn, error) { m.Now(); return dial(addr) }
	}},
	{"DialContext", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		dial := c.Dial
		c.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) { m.Now(); return dial(addr) }
	}},
	{"MaxDialDuration", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.MaxDialDuration = time.Minute
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) { m.Now(); return dial(addr) }
	}},
	{"RetryIfErr", func(c *gale.HostClient, req *gale.Request, m *harness.Mischief) {
		dial := c.Dial
		c.Dial = func(addr string) (net.Conn, error) {
			if m.Armed.Load() {
				return nil, errors.New("to be repeated")
			}
			return dial(addr)
		}
		c.Transport = repeats{}
		c.RetryIfErr = func(*gale.Request, int, error) (bool, bool) { m.Now(); return false, false }
	}},
	{"Transport", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) { c.Transport = badTransport{m} }},
	{"Trace.GotConn", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.Trace = &gale.ClientTrace{GotConn: func(*gale.Request, net.Conn, bool, time.Duration) { m.Now() }}
	}},
	{"Trace.Dialed", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.Trace = &gale.ClientTrace{Dialed: func(string, net.Conn, time.Duration, error) { m.Now() }}
	}},
	{"Trace.Wrote", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.Trace = &gale.ClientTrace{Wrote: func(*gale.Request, error) { m.Now() }}
	}},
	{"Trace.FirstByte", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.Trace = &gale.ClientTrace{FirstByte: func(*gale.Request) { m.Now() }}
	}},
	{"Trace.Done", func(c *gale.HostClient, _ *gale.Request, m *harness.Mischief) {
		c.Trace = &gale.ClientTrace{Done: func(*gale.Request, *gale.Response, int, error) { m.Now() }}
	}},
	{"body stream, Read", func(_ *gale.HostClient, req *gale.Request, m *harness.Mischief) {
		req.SetBodyStream(badCloser{m: m, read: true}, -1)
	}},
	{"body stream, Close", func(_ *gale.HostClient, req *gale.Request, m *harness.Mischief) {
		req.SetBodyStream(badCloser{m: m, close: true}, -1)
	}},
	{"stream writer", func(_ *gale.HostClient, req *gale.Request, m *harness.Mischief) {
		req.SetBodyStreamWriter(func(*bufio.Writer) { m.Now() })
	}},
}

// repeats is a RoundTripper that asks for a retry every time.
type repeats struct{}

func (repeats) RoundTrip(hc *gale.HostClient, req *gale.Request, resp *gale.Response) (bool, error) {
	_, err := gale.DefaultTransport.RoundTrip(hc, req, resp)
	return err != nil, err
}

type badTransport struct{ m *harness.Mischief }

func (b badTransport) RoundTrip(hc *gale.HostClient, req *gale.Request, resp *gale.Response) (bool, error) {
	b.m.Now()
	return gale.DefaultTransport.RoundTrip(hc, req, resp)
}

// A client goes on working if a user's function doesn't return. The caller gets the panic
// or an error, and the next call can use the place of the connection.
func TestClientFunctionsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", clientFunctionsThatMisbehave)
	peers.WantGoroutines(t, before)
}

func clientFunctionsThatMisbehave(t *testing.T) {
	ts := harness.Start(t, &gale.Server{Logger: &peers.Log{}}, harness.Echo)
	for _, hook := range clientHooks {
		for how, f := range peers.Mischiefs {
			t.Run(hook.name+"/"+how, func(t *testing.T) {
				m := harness.NewMischief(f)
				c := &gale.HostClient{Addr: ts.Addr, MaxConns: 1, Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }}
				req := &gale.Request{}
				req.SetRequestURI("http://h/")
				req.Header.SetMethod("POST")
				hook.set(c, req, m)
				m.Armed.Store(true)
				peers.InGoroutine(func() { _ = c.Do(req, &gale.Response{}) })
				<-m.Done
				harness.AfterMischief(t, c)
			})
		}
	}
}

// A client of HTTP/1.0 gets a response of unknown length to the end of the connection. If user
// code ends in the middle of it, by a panic or by Goexit, the connection is reset: an orderly end
// would make the response look complete.
func TestEndsWithinUnknownLength(t *testing.T) {
	for how, end := range map[string]func(){
		"panic":           func() { panic("on purpose") },
		"ErrAbortHandler": func() { panic(gale.ErrAbortHandler) },
		"Goexit":          runtime.Goexit,
	} {
		ends := peers.ReaderFunc(func([]byte) (int, error) { end(); return 0, nil })
		for where, h := range map[string]gale.RequestHandler{
			"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(io.MultiReader(strings.NewReader("part"), ends), -1) },
			"stream writer": func(ctx *gale.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("part"); w.Flush(); end() })
			},
			"handler after Flush": func(ctx *gale.RequestCtx) { ctx.WriteString("part"); ctx.Flush(); end() },
			"stream after Flush":  func(ctx *gale.RequestCtx) { ctx.WriteString("part"); ctx.Flush(); ctx.SetBodyStream(ends, -1) },
		} {
			for _, isTLS := range []bool{false, true} {
				t.Run(fmt.Sprint(how, "/", where, "/TLS ", isTLS), func(t *testing.T) {
					peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
						s := &gale.Server{Engine: e, Handler: h, Logger: &peers.Log{}}
						c := (*peers.Conn)(nil)
						if isTLS {
							nc, err := tls.Dial("tcp", harness.StartTLS(t, s), &tls.Config{InsecureSkipVerify: true})
							if err != nil {
								t.Fatal(err)
							}
							c = peers.NewConn(t, nc)
						} else {
							c = harness.Start(t, s, nil).Dial()
						}
						c.Send("GET / HTTP/1.0\r\n\r\n")
						b, err := io.ReadAll(c)
						if ne := net.Error(nil); err == nil || errors.As(err, &ne) && ne.Timeout() {
							t.Errorf("got %q, %v", b, err)
						}
					})
				})
			}
		}
	}
}

// A response that is whole doesn't become broken for a client of HTTP/1.0 because what runs after it
// ends its goroutine.
func TestGoexitAfterUnknownLength(t *testing.T) {
	for where, h := range map[string]gale.RequestHandler{
		"AfterSend": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("whole"), -1)
			ctx.AfterSend(func(int64, error) { runtime.Goexit() })
		},
		"AfterSend, after Flush": func(ctx *gale.RequestCtx) {
			ctx.WriteString("who")
			ctx.Flush()
			ctx.SetBodyStream(strings.NewReader("le"), -1)
			ctx.AfterSend(func(int64, error) { runtime.Goexit() })
		},
		"a closer": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("whole"), -1)
			ctx.SetUserValue("closer", peers.CloserFunc(func() error { runtime.Goexit(); return nil }))
		},
	} {
		t.Run(where, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				c := harness.Start(t, &gale.Server{Engine: e, Handler: h, Logger: &peers.Log{}}, nil).Dial()
				c.Send("GET / HTTP/1.0\r\n\r\n")
				if b, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(b), "\r\n\r\nwhole") {
					t.Errorf("got %q, %v", b, err)
				}
			})
		})
	}
}

// nowhereConn is a connection without addresses.
type nowhereConn struct{ net.Conn }

func (nowhereConn) RemoteAddr() net.Addr { return nil }
func (nowhereConn) LocalAddr() net.Addr  { return nil }

type nowhereListener struct{ net.Listener }

func (l nowhereListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return nowhereConn{c}, nil
}

// A panic of the program's code on a connection that has no addresses is logged, and the server
// goes on.
func TestPanicWithoutAddress(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for _, slogs := range []bool{false, true} {
			t.Run(fmt.Sprintf("HTTP/2=%t,Slog=%t", h2, slogs), func(t *testing.T) {
				logged := &peers.Log{}
				s := &gale.Server{StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Logger: logged, Handler: func(ctx *gale.RequestCtx) {
					ctx.SetUserValue("a", peers.CloserFunc(func() error { panic("on purpose") }))
				}}
				if slogs {
					s.Logger, s.Slog = nil, slog.New(slog.NewTextHandler(logged, nil))
				}
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				go s.Serve(nowhereListener{ln})
				defer s.Close()
				p := new(http.Protocols)
				p.SetHTTP1(!h2)
				p.SetUnencryptedHTTP2(h2)
				for range 3 {
					tr := &http.Transport{Protocols: p}
					defer tr.CloseIdleConnections()
					req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+ln.Addr().String(), io.MultiReader(strings.NewReader("body")))
					if err != nil {
						t.Fatal(err)
					}
					if resp, err := tr.RoundTrip(req); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				}
				await.Until(t, "the log", func() bool { return strings.Count(logged.String(), "on purpose") == 3 })
			})
		}
	}
}
