package adaptor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// A HijackHandler runs in a goroutine of the library: if it panics, or ends the
// goroutine, its connection is closed, and the panic is in the log of the net/http
// server. The process goes on.
func TestHijackHandlerThatPanics(t *testing.T) {
	logged := make(chan string, 1)
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		path := string(ctx.Path())
		ctx.Hijack(func(c net.Conn) {
			if path == "/goexit" {
				runtime.Goexit()
			}
			panic("on purpose")
		})
	}))
	s.Config.ErrorLog = log.New(lineWriter(logged), "", 0)
	s.Start()
	defer s.Close()
	for _, path := range []string{"/panic", "/goexit", "/panic"} {
		c := dialServer(t, s)
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: got %q, %v", path, b, err)
		}
		if path == "/goexit" {
			continue
		}
		if line := <-logged; !strings.Contains(line, "panic in a HijackHandler: on purpose") || !strings.Contains(line, "hijack_test.go") {
			t.Errorf("logged: %s", line)
		}
	}
}

// readerFunc is a stream that calls a function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Before the program gets the connection, the response is sent as its head says. A stream of known
// length isn't read any further. If a stream panics or ends the goroutine, the connection is closed,
// and the panic is logged.
func TestHijackSendsResponse(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	known := func() gale.RequestHandler {
		r := io.MultiReader(strings.NewReader("body"), readerFunc(func([]byte) (int, error) { <-stop; return 0, io.EOF }))
		return func(ctx *gale.RequestCtx) { ctx.SetBodyStream(r, 4) }
	}
	flushed := func(size int, f func()) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			ctx.WriteString("part")
			_ = ctx.Flush()
			ctx.SetBodyStream(readerFunc(func([]byte) (int, error) { f(); return 0, io.EOF }), size)
		}
	}
	ends := func(size int, f func()) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(readerFunc(func([]byte) (int, error) { f(); return 0, io.EOF }), size)
		}
	}
	panics := func() { panic("on purpose") }
	for _, tt := range []struct {
		name, method string
		h            gale.RequestHandler
		framing      string // a field of the head
		want         string // after the head
	}{
		{"bytes", "GET", func(ctx *gale.RequestCtx) { ctx.WriteString("body") }, "Content-Length: 4", "bodymine"},
		{"a stream of known length", "GET", known(), "Content-Length: 4", "bodymine"},
		{"a stream of known length", "HEAD", known(), "Content-Length: 4", "mine"},
		{"a stream", "GET", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), -1) }, "Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\nmine"},
		{"nothing", "CONNECT", func(ctx *gale.RequestCtx) {}, "", "mine"},
		{"bytes", "CONNECT", func(ctx *gale.RequestCtx) { ctx.WriteString("body") }, "", "mine"},
		{"a stream of known length", "CONNECT", known(), "", "mine"},
		{"a flushed head", "CONNECT", func(ctx *gale.RequestCtx) { _ = ctx.Flush() }, "", "mine"},
		{"a stream that panics", "GET", ends(-1, panics), "Transfer-Encoding: chunked", ""},
		{"a stream that calls Goexit", "GET", ends(-1, runtime.Goexit), "Transfer-Encoding: chunked", ""},
		{"a stream of known length that panics", "GET", ends(4, panics), "Content-Length: 4", ""},
		{"a stream of known length that calls Goexit", "GET", ends(4, runtime.Goexit), "Content-Length: 4", ""},
		{"a stream that panics after Flush", "GET", flushed(-1, panics), "Transfer-Encoding: chunked", "4\r\npart\r\n"},
		{"a stream that calls Goexit after Flush", "GET", flushed(-1, runtime.Goexit), "Transfer-Encoding: chunked", "4\r\npart\r\n"},
		{"a stream of known length that panics after Flush", "GET", flushed(4, panics), "Transfer-Encoding: chunked", "4\r\npart\r\n"},
	} {
		t.Run(tt.name+"/"+tt.method, func(t *testing.T) {
			logged := make(chan string, 10)
			s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
				tt.h(ctx)
				ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "mine") })
			}))
			s.Config.ErrorLog = log.New(lineWriter(logged), "", 0)
			s.Start()
			defer s.Close()
			c := dialServer(t, s)
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			target := "/"
			if tt.method == "CONNECT" {
				target = "inside:1"
			}
			fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: inside:1\r\n\r\n", tt.method, target)
			b, err := io.ReadAll(c)
			head, rest, whole := strings.Cut(string(b), "\r\n\r\n")
			if rest != tt.want || err != nil {
				t.Errorf("%q, %v, want %q after the head", b, err, tt.want)
			}
			if frames := strings.Contains(head, "Content-Length") || strings.Contains(head, "Transfer-Encoding"); whole && (frames != (tt.framing != "") || !strings.Contains(head, tt.framing)) {
				t.Errorf("%q, want %q", head, tt.framing)
			}
			if strings.Contains(tt.name, "panics") {
				if line := <-logged; !strings.Contains(line, "on purpose") {
					t.Errorf("logged: %s", line)
				}
			}
		})
	}
}

// deadlined is a listener whose connections know their write deadlines.
type deadlined struct{ net.Listener }

func (l deadlined) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &deadlinedConn{Conn: c}, err
}

type deadlinedConn struct {
	net.Conn
	mu sync.Mutex
	at time.Time
}

func (c *deadlinedConn) SetDeadline(t time.Time) error {
	c.set(t)
	return c.Conn.SetDeadline(t)
}

func (c *deadlinedConn) SetWriteDeadline(t time.Time) error {
	c.set(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *deadlinedConn) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// A response before a handover has the write deadline of the net/http server, or of the handler: it
// ends although the client doesn't read. The program gets the connection without a deadline.
func TestHijackWriteDeadline(t *testing.T) {
	large := make([]byte, 64<<20)
	body := func(ctx *gale.RequestCtx) { ctx.Response.SetBodyRaw(large) }
	stream := func(size int) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { ctx.SetBodyStream(struct{ io.Reader }{bytes.NewReader(large)}, size) }
	}
	for _, tt := range []struct {
		name    string
		h       gale.RequestHandler
		timeout time.Duration // of the net/http server
		ends    bool          // the response is too large for a client that doesn't read
	}{
		{"bytes", body, 100 * time.Millisecond, true},
		{"stream", stream(-1), 100 * time.Millisecond, true},
		{"stream of known length", stream(len(large)), 100 * time.Millisecond, true},
		{"bytes after Flush", func(ctx *gale.RequestCtx) { _ = ctx.Flush(); body(ctx) }, 100 * time.Millisecond, true},
		{"the handler's deadline", func(ctx *gale.RequestCtx) {
			_ = ctx.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			body(ctx)
		}, 0, true},
		{"an earlier one of the handler", func(ctx *gale.RequestCtx) {
			_ = ctx.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			body(ctx)
		}, time.Hour, true},
		{"a later one of the handler", func(ctx *gale.RequestCtx) { _ = ctx.SetWriteDeadline(time.Now().Add(time.Hour)) }, time.Nanosecond, false},
		{"none of the handler", func(ctx *gale.RequestCtx) { _ = ctx.SetWriteDeadline(time.Time{}) }, time.Nanosecond, false},
		{"a small response", func(ctx *gale.RequestCtx) { ctx.WriteString("body") }, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			over, took := make(chan struct{}), make(chan net.Conn, 1)
			s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
				ctx.AfterSend(func(int64, error) { close(over) })
				tt.h(ctx)
				ctx.Hijack(func(c net.Conn) { took <- c })
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.Config.WriteTimeout = tt.timeout
			s.Listener = deadlined{s.Listener}
			s.Start()
			defer s.Close()
			c := dialServer(t, s)
			defer c.Close()
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			select {
			case <-over:
			case <-time.After(time.Minute):
				t.Fatal("the response never ends")
			}
			if tt.ends {
				if len(took) > 0 {
					t.Error("the program got the connection")
				}
				return
			}
			d := (<-took).(*deadlinedConn)
			d.mu.Lock()
			defer d.mu.Unlock()
			if !d.at.IsZero() {
				t.Errorf("the program gets the connection with a deadline: %v", d.at)
			}
		})
	}
}

// echoOnce is an UpgradeHandler that sends back the first five bytes, however they come.
type echoOnce struct{}

func (echoOnce) Opened(*gale.UpgradedConn) {}
func (echoOnce) Received(c *gale.UpgradedConn, in []byte) int {
	if len(in) < 5 {
		return 0
	}
	*c.Out() = append(*c.Out(), in...)
	c.Close()
	return len(in)
}
func (echoOnce) Stalled(c *gale.UpgradedConn, _ error) { c.Close() }
func (echoOnce) Closed(*gale.UpgradedConn, error)      {}

// The body of a request never becomes bytes of the other protocol: what the handler has left of it
// is read. If that takes too long, the connection is closed after the response.
func TestSwitchAfterBody(t *testing.T) {
	small, large := strings.Repeat("b", 1000), strings.Repeat("b", 400<<10)
	echo := func(c net.Conn) {
		b := make([]byte, 5)
		n, _ := io.ReadFull(c, b)
		_, _ = c.Write(b[:n])
	}
	for _, tt := range []struct {
		name, fields, body string
		read               gale.RequestHandler
		want               string // after the response
	}{
		{"read", "Content-Length: 1000", small, func(ctx *gale.RequestCtx) { ctx.PostBody() }, "AFTER"},
		{"read from the stream", "Content-Length: 1000", small, func(ctx *gale.RequestCtx) { _, _ = io.Copy(io.Discard, ctx.RequestBodyStream()) }, "AFTER"},
		{"unread", "Content-Length: 1000", small, nil, "AFTER"},
		{"partly read", "Content-Length: 1000", small, func(ctx *gale.RequestCtx) { _, _ = ctx.RequestBodyStream().Read(make([]byte, 10)) }, "AFTER"},
		{"unread chunks", "Transfer-Encoding: chunked", "3e8\r\n" + small + "\r\n0\r\n\r\n", nil, "AFTER"},
		{"closed", "Content-Length: 1000", small, func(ctx *gale.RequestCtx) { ctx.CloseRequestBody() }, "AFTER"},
		{"too large", fmt.Sprintf("Content-Length: %d", len(large)), large, nil, ""},
		{"too late", "Content-Length: 1005", small, nil, ""},
		{"not asked for", "Expect: 100-continue\r\nContent-Length: 5", "", nil, ""},
	} {
		for name, ask := range map[string]gale.RequestHandler{
			"Upgrade":       func(ctx *gale.RequestCtx) { ctx.Upgrade(echoOnce{}) },
			"HijackCounted": func(ctx *gale.RequestCtx) { ctx.HijackCounted(echo, nil) },
			"Hijack":        func(ctx *gale.RequestCtx) { ctx.Hijack(echo) },
		} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
					if tt.read != nil {
						tt.read(ctx)
					}
					ctx.SetStatusCode(gale.StatusSwitchingProtocols)
					ask(ctx)
				}))
				defer s.Close()
				c := dialServer(t, s)
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: own\r\n%s\r\n\r\n%s", tt.fields, tt.body)
				if tt.want != "" {
					_, _ = io.WriteString(c, "AFTER")
				}
				r := bufio.NewReader(c)
				resp, err := http.ReadResponse(r, nil)
				if err != nil || resp.StatusCode != 101 {
					t.Fatal(resp, err)
				}
				if tt.want == "" {
					_, _ = io.WriteString(c, "AFTER")
				}
				if b, err := io.ReadAll(r); string(b) != tt.want || err != nil {
					t.Errorf("after the response came %q, %v, want %q", b, err, tt.want)
				}
			})
		}
	}
}

// closedOnce is an UpgradeHandler that tells that it was told of the end.
type closedOnce struct {
	echoOnce
	closed chan error
}

func (h closedOnce) Closed(_ *gale.UpgradedConn, err error) { h.closed <- err }

// An UpgradeHandler learns of the end of its connection.
func TestUpgradeCloses(t *testing.T) {
	closed := make(chan error, 2)
	s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Upgrade(closedOnce{closed: closed})
	}))
	defer s.Close()
	c := dialServer(t, s)
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\nfirst")
	if b, err := io.ReadAll(c); !strings.HasSuffix(string(b), "\r\n\r\nfirst") || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	c.Close()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("Closed: no call")
	}
}

// enderOnce is an UpgradeHandler that ends the connection when bytes arrive.
type enderOnce struct {
	echoOnce
	end func(c *gale.UpgradedConn)
}

func (h enderOnce) Received(c *gale.UpgradedConn, in []byte) int {
	if len(in) > 0 {
		h.end(c)
	}
	return len(in)
}

// Bytes that a client sends along with its request change nothing in how the program may end the
// connection: it can reset it, or end one side.
func TestHijackedEnds(t *testing.T) {
	for _, along := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			ask  gale.RequestHandler
			want string
			err  error
		}{
			{"Abort", func(ctx *gale.RequestCtx) { ctx.Upgrade(enderOnce{end: (*gale.UpgradedConn).Abort}) }, "", syscall.ECONNRESET},
			{"Close", func(ctx *gale.RequestCtx) { ctx.Upgrade(enderOnce{end: (*gale.UpgradedConn).Close}) }, "", nil},
			{"CloseWrite", func(ctx *gale.RequestCtx) {
				ctx.Hijack(func(c net.Conn) {
					_, _ = io.ReadFull(c, make([]byte, len("first")))
					_, _ = io.WriteString(c, "last")
					if half, ok := c.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
						t.Error("one side can't be ended")
						return
					}
					_, _ = io.Copy(io.Discard, c)
				})
			}, "last", nil},
		} {
			t.Run(fmt.Sprintf("%s/%t", tt.name, along), func(t *testing.T) {
				s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
					ctx.SetStatusCode(gale.StatusSwitchingProtocols)
					tt.ask(ctx)
				}))
				defer s.Close()
				c := dialServer(t, s)
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				request, first := "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n", "first"
				if along {
					request += first
				}
				_, _ = io.WriteString(c, request)
				head := make([]byte, len("HTTP/1.1 101")) // a reset may destroy the rest of the head
				if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 101" {
					t.Fatalf("%s, %v", head, err)
				}
				if !along {
					_, _ = io.WriteString(c, first) // even of no bytes it would take the error of a reset
				}
				b, err := io.ReadAll(c)
				_, rest, _ := strings.Cut(string(b), "\r\n\r\n")
				if rest != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("after the head came %q, %v, want %q, %v", rest, err, tt.want, tt.err)
				}
			})
		}
	}
}

// lineWriter sends what is logged.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// badWriter is a ResponseWriter that panics.
type badWriter struct{ http.ResponseWriter }

func (badWriter) WriteHeader(int) { panic(http.ErrAbortHandler) }

// A ResponseWriter that panics ends the request, and no goroutine waits for a lock.
func TestResponseWriterThatPanics(t *testing.T) {
	for name, h := range map[string]gale.RequestHandler{
		"bytes":   func(ctx *gale.RequestCtx) { ctx.SetBodyString("x") },
		"stream":  func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("x"), 1) },
		"flush":   func(ctx *gale.RequestCtx) { ctx.Flush() },
		"interim": func(ctx *gale.RequestCtx) { _ = ctx.SendInterim(gale.StatusProcessing, nil) },
		"timeout": func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") },
	} {
		over := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			NewHTTPHandler(h).ServeHTTP(badWriter{w}, r)
		}))
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		select {
		case <-over:
			s.Close()
		case <-time.After(time.Minute):
			t.Errorf("%s: the request never ends", name)
		}
		c.Close()
	}
}

// A handler that panics leaks nothing: what the request holds is closed.
func TestPanicReleases(t *testing.T) {
	closed := make(chan bool, 1)
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("v", closer(closed))
		panic(gale.ErrAbortHandler)
	}))
	s.Start()
	defer s.Close()
	if resp, err := http.Get(s.URL); err == nil {
		resp.Body.Close()
		t.Error("there is a response")
	}
	<-closed
}

type closer chan bool

func (c closer) Close() error {
	c <- true
	return nil
}

// dialServer returns a connection to s.
func dialServer(t *testing.T, s *httptest.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A stream of the response can't take the connection over on net/http: a part of it would be lost.
func TestHijackNowInStream(t *testing.T) {
	s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			_, _ = w.WriteString("first ")
			_ = w.Flush()
			if c, err := ctx.HijackNow(); err == nil {
				t.Error("no error")
				c.Close()
			}
			_, _ = w.WriteString("second")
		})
	}))
	defer s.Close()
	resp, err := http.Post(s.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "first second" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// A connection that was taken over belongs to the program: what ends the reading of the request's body,
// by the program or at the end of the request, sets no deadline there.
func TestHijackNowAndBody(t *testing.T) {
	for name, after := range map[string]func(*gale.RequestCtx){
		"returns":             func(*gale.RequestCtx) {},
		"CloseRequestBody":    func(ctx *gale.RequestCtx) { ctx.CloseRequestBody() },
		"Detach":              func(ctx *gale.RequestCtx) { ctx.Detach() },
		"Done":                func(ctx *gale.RequestCtx) { ctx.Done() },
		"panics":              func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) },
		"Detach and panics":   func(ctx *gale.RequestCtx) { ctx.Detach(); panic(gale.ErrAbortHandler) },
		"times out by itself": func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") },
	} {
		t.Run(name, func(t *testing.T) {
			taken := make(chan net.Conn, 1)
			ended := make(chan struct{})
			h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
				c, err := ctx.HijackNow()
				if err != nil {
					t.Errorf("HijackNow: %v", err)
					close(taken)
					return
				}
				taken <- c
				after(ctx)
			})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				h.ServeHTTP(w, r)
			}))
			defer s.Close()
			c := dialServer(t, s)
			defer c.Close()
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n")
			own, ok := <-taken
			if !ok {
				return
			}
			defer own.Close()
			<-ended
			fmt.Fprint(c, "the body")
			got := make([]byte, 8)
			if n, err := io.ReadFull(own, got); err != nil {
				t.Errorf("the connection gave %q, then %v; want all of the body", got[:n], err)
			}
		})
	}
}
