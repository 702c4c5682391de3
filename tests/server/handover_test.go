package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/ws"
)

// handoverWay is how the requests of TestHandover come to their handler.
type handoverWay string

const (
	wayBlock   handoverWay = "block"
	wayEvent   handoverWay = "event"
	wayNetHTTP handoverWay = "net/http"
	wayConnect handoverWay = "HTTP2 extended CONNECT"
	wayGet     handoverWay = "HTTP2 GET"
)

// The kinds of handovers: which response grants them.
const (
	grants200     = iota // status 200 was set when Hijack was called
	grants101            // only a 101
	grantsSilent         // as grants200, but no response is sent
	grantsAtOnce         // the connection was taken while the handler ran
	grantsWritten        // as grantsAtOnce, but the head of a 200 was sent before
)

// handovers are the ways to ask for a connection. took must be called when the program has
// it.
var handovers = []struct {
	name string
	kind int
	ask  func(ctx *gale.RequestCtx, took func())
}{
	{"Hijack", grants200, func(ctx *gale.RequestCtx, took func()) {
		ctx.Hijack(func(net.Conn) { took() })
	}},
	{"101 and Hijack", grants101, func(ctx *gale.RequestCtx, took func()) {
		switchStatus(ctx)
		ctx.Hijack(func(net.Conn) { took() })
	}},
	{"HijackCounted", grants101, func(ctx *gale.RequestCtx, took func()) {
		switchStatus(ctx)
		ctx.HijackCounted(func(net.Conn) { took() }, took)
		ctx.HijackSetNoResponse(true) // has no effect
	}},
	{"HijackSetNoResponse", grantsSilent, func(ctx *gale.RequestCtx, took func()) {
		ctx.Hijack(func(nc net.Conn) { took(); _, _ = io.WriteString(nc, ownHead) })
		ctx.HijackSetNoResponse(true)
	}},
	{"Upgrade", grants101, func(ctx *gale.RequestCtx, took func()) {
		switchStatus(ctx)
		ctx.Upgrade(upgradeTook(took))
		ctx.HijackSetNoResponse(true) // has no effect
	}},
	{"ws.Accept", grants101, func(ctx *gale.RequestCtx, took func()) {
		_ = ws.Accept(ctx, func(*ws.Conn) { took() }, nil)
		ctx.HijackSetNoResponse(true) // has no effect
	}},
	{"ws.Serve", grants101, func(ctx *gale.RequestCtx, took func()) {
		_ = ws.Serve(ctx, openTook{took: took}, nil)
	}},
	{"HijackNow", grantsAtOnce, func(ctx *gale.RequestCtx, took func()) {
		nc, err := ctx.HijackNow()
		if err != nil {
			return // of a call after the timeout
		}
		took()
		if ctx.ConnectProtocol() == "" {
			_, _ = io.WriteString(nc, ownHead)
		}
		_ = nc.Close()
	}},
	{"http.Hijacker", grantsAtOnce, func(ctx *gale.RequestCtx, took func()) {
		adaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			took()
			_, _ = io.WriteString(nc, ownHead)
			_ = nc.Close()
		}))(ctx)
	}},
	{"http.Hijacker after WriteHeader", grantsWritten, hijackAfter(func(w http.ResponseWriter) { w.WriteHeader(200) })},
	{"http.Hijacker after Write", grantsWritten, hijackAfter(func(w http.ResponseWriter) { _, _ = io.WriteString(w, "first") })},
	{"http.Hijacker after Flush", grantsWritten, hijackAfter(func(w http.ResponseWriter) { w.(http.Flusher).Flush() })},
}

// hijackAfter makes a handler of net/http take the connection, as proxies do that answer a CONNECT,
// after write.
func hijackAfter(write func(w http.ResponseWriter)) func(ctx *gale.RequestCtx, took func()) {
	return func(ctx *gale.RequestCtx, took func()) {
		adaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			write(w)
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				_, _ = io.WriteString(w, "not hijacked") // has no effect
				return
			}
			took()
			_ = nc.Close()
		}))(ctx)
	}
}

// ownHead is the response that a program writes itself.
const ownHead = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n"

// switchStatus sets a 101, except for an extended CONNECT, which a 200 accepts.
func switchStatus(ctx *gale.RequestCtx) {
	if ctx.ConnectProtocol() == "" {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "own")
	}
}

// upgradeTook is an UpgradeHandler that ends at once.
type upgradeTook func()

func (took upgradeTook) Opened(c *gale.UpgradedConn)                 { took(); c.Close() }
func (upgradeTook) Received(_ *gale.UpgradedConn, in []byte) (n int) { return len(in) }
func (upgradeTook) Stalled(c *gale.UpgradedConn, _ error)            { c.Close() }
func (upgradeTook) Closed(*gale.UpgradedConn, error)                 {}

// openTook is a Handler of package ws that ends at once.
type openTook struct {
	ws.Base
	took func()
}

func (h openTook) OnOpen(s *ws.Socket) { h.took(); _ = s.Close(ws.StatusNormal, "") }

// handoverChange is what happens after a handler has asked for the connection.
type handoverChange struct {
	name   string
	status int // that refuses the client, 0 if the change does not refuse
	do     func(ctx *gale.RequestCtx)
	server func(s *gale.Server)
	hook   bool // do runs before the handover is asked for, and adds a function of BeforeSend or flushes
	limit  bool // a TimeoutHandler is around the handler
	panics bool
}

var handoverChanges = []handoverChange{
	{name: "none"},
	{name: "SetStatusCode", status: 403, do: func(ctx *gale.RequestCtx) { ctx.SetStatusCode(403) }},
	{name: "Error", status: 403, do: func(ctx *gale.RequestCtx) { ctx.Error("no", 403) }},
	{name: "Fail", status: 403, do: func(ctx *gale.RequestCtx) { ctx.Fail(403, errors.New("no")) }},
	{name: "NotFound", status: 404, do: func(ctx *gale.RequestCtx) { ctx.NotFound() }},
	{name: "Redirect", status: 302, do: func(ctx *gale.RequestCtx) { ctx.Redirect("/login", 302) }},
	{name: "Reset", do: func(ctx *gale.RequestCtx) { ctx.Response.Reset() }},
	{name: "Connection: close", do: func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }},
	{name: "panic", status: 500, panics: true, do: func(*gale.RequestCtx) { panic("on purpose") }},
	{name: "PanicHandler", status: 401, panics: true, do: func(*gale.RequestCtx) { panic("on purpose") },
		server: func(s *gale.Server) {
			s.PanicHandler = func(ctx *gale.RequestCtx, _ any) {
				ctx.SetStatusCode(401)
				ctx.Hijack(func(net.Conn) { panic("a request that panicked was handed over") })
			}
		}},
	{name: "PanicHandler that succeeds", status: 200, panics: true, do: func(*gale.RequestCtx) { panic("on purpose") },
		server: func(s *gale.Server) {
			s.PanicHandler = func(ctx *gale.RequestCtx, _ any) { ctx.SetStatusCode(200) }
		}},
	{name: "TimeoutError", status: 408, do: func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }},
	{name: "TimeoutHandler", status: 408, limit: true},
	{name: "BeforeSend", status: 403, hook: true, do: func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Error("no", 403) })
	}},
	{name: "BeforeSend sets the status", status: 403, hook: true, do: func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(403) })
	}},
	{name: "BeforeSend panics", status: 500, hook: true, do: func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(*gale.RequestCtx) { panic("on purpose") })
	}},
	{name: "BeforeSend of a detached context", status: 403, hook: true, do: func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(403) })
		ctx.Detach()
	}},
	{name: "Flush", status: 403, hook: true, do: func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(403)
		_, _ = ctx.WriteString("no")
		_ = ctx.Flush()
	}},
	{name: "a later Flush", do: func(ctx *gale.RequestCtx) { _ = ctx.Flush() }},
	{name: "Server.BeforeSend", status: 403, hook: true, server: func(s *gale.Server) {
		s.BeforeSend = func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/take" {
				ctx.SetStatusCode(403)
			}
		}
	}},
}

// want returns what the client of a way gets: the status, 0 for the end of the connection,
// and whether the program gets the connection.
func (ch *handoverChange) want(name string, kind int, way handoverWay) (status int, taken bool) {
	status = ch.status
	onStream := way == wayConnect
	switch {
	case ch.name == "Flush":
		return 403, kind >= grantsAtOnce && !onStream
	case ch.name == "a later Flush" && way == wayGet && (kind == grants200 || kind == grantsSilent):
		return 0, false // it has no connection to give, and a 501 comes too late
	case kind == grantsWritten && ch.hook:
		return status, false
	case kind == grantsWritten, ch.name == "a later Flush" && (kind == grants200 || kind == grantsSilent):
		return 200, true
	case kind == grantsAtOnce && !(onStream && ch.hook):
		if onStream {
			return 200, true
		}
		return 101, true
	case kind == grantsSilent && ch.hook && !onStream && way != wayGet:
		return 101, true // no head is sent, so no function of BeforeSend runs
	case ch.name == "Connection: close" && !onStream:
		switch {
		case way == wayGet && kind == grants101:
			return 500, false // a 101 can't be sent
		case kind == grants101:
			return 503, false
		}
		return 200, false
	case ch.name == "Reset" && way == wayGet && name == "Upgrade":
		return 501, false // a 200 would accept an extended CONNECT
	case ch.name == "Reset" && kind == grants101 && !onStream:
		return 200, false
	case status != 0:
		if ch.panics && way == wayNetHTTP {
			return 0, false
		}
		return status, false
	case onStream:
		return 200, true
	case way == wayGet:
		return 501, false
	case kind == grants200:
		return 200, true
	}
	return 101, true
}

// A handler asks for the connection, and then something changes the response. The response
// that the client gets decides: with a refusal no code of the program gets the connection,
// and the connection goes on, or ends, as the response says. Nothing is counted for good.
func TestHandover(t *testing.T) {
	for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP, wayConnect, wayGet} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			for _, h := range handovers {
				switch {
				case strings.HasPrefix(h.name, "http.Hijacker") && (way == wayConnect || way == wayGet):
					continue // a ResponseWriter of HTTP/2 is no Hijacker
				case way == wayGet && (h.kind >= grantsAtOnce || strings.HasPrefix(h.name, "ws")):
					continue // they return an error
				}
				for _, ch := range handoverChanges {
					if way == wayNetHTTP && ch.server != nil {
						continue // there is no Server
					}
					t.Run(h.name+"/"+ch.name, func(t *testing.T) {
						status, taken := ch.want(h.name, h.kind, way)
						testHandover(t, way, h.ask, ch, status, taken)
					})
				}
			}
		})
	}
}

// A request after which the connection ends, or of HTTP/1.0, gets a response of the same kind on all
// servers, and the program gets no connection that ends.
func TestHandoverEndsWithRequest(t *testing.T) {
	for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP} {
		for _, tt := range []struct {
			version, connection string
			status              [grantsAtOnce]int
			taken               [grantsAtOnce]bool
		}{
			{"1.1", "close, Upgrade", [...]int{200, 400, 200}, [...]bool{false, false, false}},
			{"1.0", "Upgrade", [...]int{200, 400, 200}, [...]bool{false, false, false}},
			{"1.0", "keep-alive, Upgrade", [...]int{200, 400, 101}, [...]bool{true, false, true}},
		} {
			for _, h := range handovers {
				if h.kind >= grantsAtOnce || strings.HasPrefix(h.name, "ws") {
					continue
				}
				t.Run(string(way)+"/"+tt.version+" "+tt.connection+"/"+h.name, func(t *testing.T) {
					took := make(chan struct{}, 1)
					addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
						h.ask(ctx, func() { took <- struct{}{} })
					}, handoverChange{})
					nc, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					_ = nc.SetDeadline(time.Now().Add(time.Minute))
					fmt.Fprintf(nc, "GET /take HTTP/%s\r\nHost: a\r\nConnection: %s\r\nUpgrade: own\r\n\r\n", tt.version, tt.connection)
					resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
					if err != nil {
						t.Fatal(err)
					}
					if resp.StatusCode != tt.status[h.kind] {
						t.Errorf("the client got %d, want %d", resp.StatusCode, tt.status[h.kind])
					}
					if tt.taken[h.kind] {
						<-took
					}
					nc.Close()
					ended()
					if len(took) > 0 {
						t.Error("the program got the connection")
					}
				})
			}
		}
	}
}

// The refusal of a handover looks at no request that belongs to the program: its fields may change
// meanwhile. The race detector sees that, too.
func TestHandoverRefusedDetached(t *testing.T) {
	for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP} {
		t.Run(string(way), func(t *testing.T) {
			stop, stopped := make(chan struct{}), make(chan struct{})
			addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
				ctx.Detach()
				switchStatus(ctx)
				ctx.Hijack(func(net.Conn) { t.Error("the program got the connection") })
				ctx.SetConnectionClose()
				begun := make(chan struct{})
				go func() {
					defer close(stopped)
					for once := sync.OnceFunc(func() { close(begun) }); ; once() {
						ctx.Request.Header.Set("Accept", "application/json")
						select {
						case <-stop:
							return
						default:
						}
					}
				}()
				<-begun
			}, handoverChange{})
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprint(nc, "GET /take HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: own\r\nAccept: application/json\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if typ := resp.Header.Get("Content-Type"); resp.StatusCode != 503 || !strings.HasPrefix(typ, "text/plain") || string(b) != "Service Unavailable" || err != nil {
				t.Errorf("the client got %d, %s, %q, %v", resp.StatusCode, typ, b, err)
			}
			close(stop)
			<-stopped
			ended()
		})
	}
}

// A function of BeforeSend asks for the connection in vain, on all servers and whatever its context
// is.
func TestHandoverBeforeSend(t *testing.T) {
	for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP, wayConnect, wayGet} {
		for _, ch := range []handoverChange{
			{name: "handler"}, {name: "detached"}, {name: "Server.BeforeSend"}, {name: "TimeoutHandler", limit: true},
		} {
			for _, h := range handovers {
				if h.kind >= grantsAtOnce || strings.HasPrefix(h.name, "ws") || way == wayNetHTTP && ch.name == "Server.BeforeSend" {
					continue
				}
				t.Run(string(way)+"/"+ch.name+"/"+h.name, func(t *testing.T) {
					ask := func(ctx *gale.RequestCtx) {
						h.ask(ctx, func() { t.Error("the program got the connection") })
						if ctx.Hijacked() {
							t.Error("the connection was asked for")
						}
						ctx.SetStatusCode(403)
					}
					if ch.name == "Server.BeforeSend" {
						ch.server = func(s *gale.Server) { s.BeforeSend = ask }
					}
					late := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "late")
					handler := func(ctx *gale.RequestCtx) {
						if ch.server == nil {
							ctx.BeforeSend(ask)
						}
						if ch.name == "detached" {
							ctx.Detach()
						}
						if ch.limit {
							late(ctx)
						}
					}
					addr, ended := serveHandover(t, way, handler, ch)
					got := 0
					if way == wayConnect || way == wayGet {
						got = askHTTP2(t, way, addr)
					} else {
						got = askOnce(t, addr)
					}
					if got != 403 {
						t.Errorf("the client got %d", got)
					}
					ended()
				})
			}
		}
	}
}

// A response that Flush has begun is sent whole, on all servers, before the program gets the
// connection.
func TestHandoverAfterFlush(t *testing.T) {
	chunked := "4\r\npart\r\n4\r\nrest\r\n0\r\n\r\nmine"
	writesRest := func(ctx *gale.RequestCtx) { ctx.WriteString("rest") }
	status := func(status int) func(*gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) { writesRest(ctx); ctx.SetStatusCode(status) }
	}
	length := func(n int) func(*gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentLength(n) }
	}
	endless := func() io.Reader { // its end never comes
		r, w := io.Pipe()
		t.Cleanup(func() { _ = w.Close() })
		return io.MultiReader(strings.NewReader("rest"), r)
	}
	for _, row := range []struct {
		name, method string
		set          func(ctx *gale.RequestCtx) // before Flush
		rest         func(ctx *gale.RequestCtx)
		want         string // after the head
		netHTTP      string // instead of want on net/http, if it isn't empty
	}{
		{"no response", "GET", nil, func(ctx *gale.RequestCtx) { ctx.HijackSetNoResponse(true); ctx.WriteString("rest") }, chunked, ""},
		{"no response, nothing", "GET", nil, func(ctx *gale.RequestCtx) { ctx.HijackSetNoResponse(true) }, "4\r\npart\r\n0\r\n\r\nmine", ""},
		{"bytes", "GET", nil, writesRest, chunked, ""},
		{"nothing", "GET", nil, func(*gale.RequestCtx) {}, "4\r\npart\r\n0\r\n\r\nmine", ""},
		{"stream", "GET", nil, func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("rest"), -1) }, chunked, ""},
		{"known length", "GET", length(8), writesRest, "partrestmine", ""},
		{"too short", "GET", length(9), writesRest, "partrest", ""},
		{"too long", "GET", length(7), writesRest, "part", ""},
		{"stream, too long", "GET", length(7), func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("rest"), -1) }, "partresmine", ""},
		{"writer, too long", "GET", length(7), func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("rest") }) }, "partresmine", ""},
		{"HEAD", "HEAD", nil, writesRest, "mine", ""},
		{"trailer", "GET", func(ctx *gale.RequestCtx) { _ = ctx.Response.Header.SetTrailer("X-Sum") }, func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Sum", "1") },
			"4\r\npart\r\n0\r\nX-Sum: 1\r\n\r\nmine", ""},
		{"a trailer and too short", "GET", func(ctx *gale.RequestCtx) { length(9)(ctx); _ = ctx.Response.Header.SetTrailer("X-Sum") }, writesRest, "partrest", "4\r\npart\r\n4\r\nrest\r\n"},
		{"stream that doesn't end", "GET", length(8), func(ctx *gale.RequestCtx) { ctx.SetBodyStream(endless(), -1) }, "partrestmine", ""},
		{"then SkipBody", "GET", nil, func(ctx *gale.RequestCtx) { writesRest(ctx); ctx.Response.SkipBody = true }, chunked, ""},
		{"then 204", "GET", nil, status(204), chunked, ""},
		{"then 304", "GET", nil, status(304), chunked, ""},
		{"known length, then 204", "GET", length(8), status(204), "partrestmine", ""},
		{"SkipBody", "GET", func(ctx *gale.RequestCtx) { ctx.Response.SkipBody = true }, writesRest, "mine", ""},
		{"204, then 200", "GET", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(204) }, status(200), "mine", ""},
		{"205", "GET", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(205) }, writesRest, "mine", ""},
		{"205, then 200", "GET", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(205) }, status(200), "mine", ""},
		{"HTTP/1.0", "GET", nil, writesRest, "partrest", ""}, // it ends with the connection
		{"HTTP/1.0 and a known length", "GET", length(8), writesRest, "partrestmine", ""},
		{"HTTP/1.0 and a trailer", "GET", func(ctx *gale.RequestCtx) { length(8)(ctx); _ = ctx.Response.Header.SetTrailer("X-Sum") }, writesRest, "partrestmine", ""},
		{"CONNECT", "CONNECT", nil, writesRest, "", "mine"}, // a Server closes the connection after it
	} {
		for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP} {
			t.Run(row.name+"/"+string(way), func(t *testing.T) {
				want := row.want
				if way == wayNetHTTP && row.netHTTP != "" {
					want = row.netHTTP
				}
				version := "1.1"
				if strings.HasPrefix(row.name, "HTTP/1.0") {
					version = "1.0"
				}
				head, rest := mineAfter(t, way, row.method, version, func(ctx *gale.RequestCtx) {
					if row.set != nil {
						row.set(ctx)
					}
					ctx.WriteString("part")
					if err := ctx.Flush(); err != nil {
						t.Error(err)
					}
					row.rest(ctx)
				})
				if rest != want {
					t.Errorf("%q %q, want %q after the head", head, rest, want)
				}
				if row.method != "HEAD" && strings.Contains(head, "Transfer-Encoding") != strings.HasPrefix(want, "4\r\n") {
					t.Errorf("the head has another framing than the body: %q %q", head, rest)
				}
			})
		}
	}
}

// mineAfter asks for a response of respond, after which the program gets the connection and writes
// "mine". It returns the head of the response and what comes after it. HTTP/1.0 asks for keep-alive.
func mineAfter(t *testing.T, way handoverWay, method, version string, respond gale.RequestHandler) (head, rest string) {
	t.Helper()
	addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
		respond(ctx)
		ctx.Hijack(func(nc net.Conn) { _, _ = io.WriteString(nc, "mine") })
	}, handoverChange{})
	defer ended()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	target, connection := "/take", ""
	if version == "1.0" {
		connection = "Connection: keep-alive\r\n"
	}
	if method == "CONNECT" {
		target = "a:1"
	}
	fmt.Fprintf(nc, "%s %s HTTP/%s\r\nHost: a\r\n%s\r\n", method, target, version, connection)
	b, err := io.ReadAll(nc)
	if err != nil {
		t.Errorf("%q, %v", b, err)
	}
	head, rest, _ = strings.Cut(string(b), "\r\n\r\n")
	return head, rest
}

// A response is sent whole, in a framing that the client knows, before the program gets the
// connection, and functions of AfterSend learn that. If its body ends with the connection, the
// program doesn't get it.
func TestHandoverAfterResponse(t *testing.T) {
	bytes := func(ctx *gale.RequestCtx) { ctx.WriteString("body") }
	stream := func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), -1) }
	sized := func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), 4) }
	writer := func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("body") })
	}
	status := func(status int, h gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { h(ctx); ctx.SetStatusCode(status) }
	}
	skips := func(h gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { h(ctx); ctx.Response.SkipBody = true }
	}
	trailer := func(h gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			h(ctx)
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.Set("X-Sum", "1")
		}
	}
	type response struct {
		framing string // the field that frames the body
		rest    string // after the head
	}
	four, none, bare := response{"Content-Length: 4", "bodymine"}, response{"Content-Length: 0", "mine"}, response{"", "mine"}
	chunks := response{"Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\nmine"}
	summed := response{"Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\nmine"}
	untilClose := response{"", "body"}
	for _, row := range []struct {
		name, method string
		respond      gale.RequestHandler
		want, old    response // old is for HTTP/1.0
	}{
		{"bytes", "GET", bytes, four, four},
		{"a stream", "GET", stream, chunks, untilClose},
		{"a stream", "HEAD", stream, response{"Transfer-Encoding: chunked", "mine"}, bare},
		{"a sized stream", "GET", sized, four, four},
		{"a writer", "GET", writer, chunks, untilClose},
		{"a stream, SkipBody", "GET", skips(stream), none, none},
		{"bytes, a trailer", "GET", trailer(bytes), summed, four},
		{"a stream, a trailer", "GET", trailer(stream), summed, untilClose},
		{"bytes, 204", "GET", status(204, bytes), bare, bare},
		{"a stream, 204", "GET", status(204, stream), bare, bare},
		{"bytes, 205", "GET", status(205, bytes), none, none},
		{"bytes, 205", "HEAD", status(205, bytes), none, none},
		{"a stream, 205", "GET", status(205, stream), none, none},
		{"a sized stream, 205", "GET", status(205, sized), none, none},
		{"a stream, 205, a trailer", "GET", status(205, trailer(stream)), none, none},
		{"a stream, 304", "GET", status(304, stream), bare, bare},
		{"bytes", "CONNECT", bytes, bare, bare},
		{"a stream", "CONNECT", stream, bare, bare},
	} {
		for version, want := range map[string]response{"1.1": row.want, "1.0": row.old} {
			for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP} {
				t.Run(row.name+"/"+row.method+"/"+version+"/"+string(way), func(t *testing.T) {
					type after struct {
						sent int64
						err  error
					}
					told := make(chan after, 2)
					head, rest := mineAfter(t, way, row.method, version, func(ctx *gale.RequestCtx) {
						ctx.AfterSend(func(sent int64, err error) { told <- after{sent, err} })
						row.respond(ctx)
					})
					sent := int64(0)
					if strings.Contains(want.rest, "body") {
						sent = 4
					}
					if got := <-told; got.sent != sent || got.err != nil || len(told) > 0 {
						t.Errorf("AfterSend: %+v, want %d bytes", got, sent)
					}
					if rest != want.rest {
						t.Errorf("%q %q, want %q after the head", head, rest, want.rest)
					}
					got := ""
					for line := range strings.SplitSeq(head, "\r\n") {
						if strings.HasPrefix(line, "Content-Length:") || strings.HasPrefix(line, "Transfer-Encoding:") {
							got += line
						}
					}
					if got != want.framing {
						t.Errorf("%q frames the body by %q, want %q", head, got, want.framing)
					}
				})
			}
		}
	}
}

// The rest of a request's body that the handler has not read is never taken for bytes of the
// protocol: the server drops it, or the connection ends after the response.
func TestHandoverUnreadBody(t *testing.T) {
	for _, row := range []struct {
		name, fields, body string
		taken              bool
	}{
		{"short", "Content-Length: 4\r\n", "body", true},
		{"short, chunked", "Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n", true},
		{"long", "Content-Length: 1000000\r\n", "body", false},
		{"long, chunked", "Transfer-Encoding: chunked\r\n", "f4240\r\nbody", false},
		{"not asked for", "Content-Length: 4\r\nExpect: 100-continue\r\n", "", false},
	} {
		for _, status := range []int{200, 101} {
			for _, method := range []string{"GET", "CONNECT"} {
				for _, kind := range []string{"Hijack", "HijackCounted", "Upgrade"} {
					if kind == "Upgrade" && status == 200 && method == "GET" {
						continue // it isn't granted
					}
					for _, way := range []handoverWay{wayBlock, wayEvent} {
						t.Run(fmt.Sprint(row.name, "/", kind, "/", status, "/", method, "/", way), func(t *testing.T) {
							got := make(chan string, 10)
							read := func(nc net.Conn) {
								b := make([]byte, 5)
								_, _ = io.ReadFull(nc, b)
								got <- string(b)
							}
							addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
								ctx.SetStatusCode(status)
								switch kind {
								case "Hijack":
									ctx.Hijack(read)
								case "HijackCounted":
									ctx.HijackCounted(read, nil)
								default:
									ctx.Upgrade(upgradeReads(got))
								}
							}, handoverChange{server: func(s *gale.Server) { s.StreamRequestBody = true }})
							nc, err := net.Dial("tcp", addr)
							if err != nil {
								t.Fatal(err)
							}
							defer nc.Close()
							_ = nc.SetDeadline(time.Now().Add(time.Minute))
							target := map[string]string{"GET": "/", "CONNECT": "a:1"}[method]
							fmt.Fprintf(nc, "%s %s HTTP/1.1\r\nHost: a:1\r\n%s\r\n%s", method, target, row.fields, row.body)
							br := bufio.NewReader(nc)
							resp, err := http.ReadResponse(br, &http.Request{Method: method})
							if err != nil || resp.StatusCode != status {
								t.Fatalf("%v, %v", resp, err)
							}
							fmt.Fprint(nc, "after")
							if row.taken {
								if s := <-got; s != "after" {
									t.Errorf("the program read %q", s)
								}
							} else if _, err := io.Copy(io.Discard, br); err != nil {
								t.Error(err)
							}
							nc.Close()
							ended()
							if len(got) > 0 {
								t.Errorf("the program got the connection, and read %q", <-got)
							}
						})
					}
				}
			}
		}
	}
}

// After a Flush, too, the rest of a request's body is never taken for bytes of the protocol. A Server
// has said that the connection ends if a part was unread at the first Flush; net/http reads it later.
func TestHandoverUnreadAfterFlush(t *testing.T) {
	flush := func(ctx *gale.RequestCtx) { _ = ctx.Flush() }
	read := func(ctx *gale.RequestCtx) { _, _ = io.Copy(io.Discard, ctx.RequestBodyStream()) }
	refuse := func(ctx *gale.RequestCtx) { ctx.SetStatusCode(gale.StatusForbidden) } // or Flush asks for the body
	for _, row := range []struct {
		name          string
		do            []gale.RequestHandler
		fields, body  string
		server, other bool // whether the program gets the connection: of a Server, of net/http
	}{
		{"read", []gale.RequestHandler{read, flush}, "Content-Length: 4", "body", true, true},
		{"read after Flush", []gale.RequestHandler{flush, read}, "Content-Length: 4", "body", false, true},
		{"unread", []gale.RequestHandler{flush}, "Content-Length: 4", "body", false, true},
		{"unread, chunked", []gale.RequestHandler{flush}, "Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n", false, true},
		{"long", []gale.RequestHandler{flush}, "Content-Length: 1000000", "body", false, false},
		{"not asked for", []gale.RequestHandler{refuse, flush}, "Content-Length: 4\r\nExpect: 100-continue", "", false, false},
	} {
		for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP} {
			t.Run(row.name+"/"+string(way), func(t *testing.T) {
				addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
					for _, do := range row.do {
						do(ctx)
					}
					ctx.Hijack(func(nc net.Conn) {
						b := make([]byte, 5)
						_, _ = io.ReadFull(nc, b)
						fmt.Fprintf(nc, "got %s", b)
					})
				}, handoverChange{server: func(s *gale.Server) { s.StreamRequestBody = true }})
				defer ended()
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(time.Minute))
				fmt.Fprintf(nc, "POST /take HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n%s", row.fields, row.body)
				br := bufio.NewReader(nc)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); len(b) > 0 || err != nil {
					t.Errorf("%q, %v", b, err)
				}
				_, _ = io.WriteString(nc, "after")
				want, taken := "", row.server
				if way == wayNetHTTP {
					taken = row.other
				}
				if taken {
					want = "got after"
				}
				b, err := io.ReadAll(br)
				if !taken && errors.Is(err, syscall.ECONNRESET) {
					err = nil // the server, which has said that it closes, did so before "after" came
				}
				if string(b) != want || err != nil {
					t.Errorf("after the response came %q, %v, want %q", b, err, want)
				}
				if way != wayNetHTTP && resp.Close == taken {
					t.Errorf("Connection: close: %t", resp.Close)
				}
			})
		}
	}
}

// upgradeReads is an UpgradeHandler that ends when it has got five bytes, which it tells.
type upgradeReads chan<- string

func (upgradeReads) Opened(*gale.UpgradedConn) {}
func (got upgradeReads) Received(c *gale.UpgradedConn, in []byte) int {
	if len(in) < 5 {
		return 0
	}
	got <- string(in)
	c.Close()
	return len(in)
}
func (upgradeReads) Stalled(c *gale.UpgradedConn, _ error) { c.Close() }
func (upgradeReads) Closed(*gale.UpgradedConn, error)      {}

// askOnce asks for the connection and returns the status of the response.
func askOnce(t *testing.T, addr string) int {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(nc, "GET /take HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func testHandover(t *testing.T, way handoverWay, ask func(*gale.RequestCtx, func()), ch handoverChange, status int, taken bool) {
	took, times, late := make(chan struct{}, 10), atomic.Int32{}, make(chan struct{})
	inner := func(ctx *gale.RequestCtx) {
		if ch.hook && ch.do != nil {
			ch.do(ctx)
		}
		ask(ctx, func() { times.Add(1); took <- struct{}{} })
		switch {
		case ch.limit:
			defer close(late)
			<-ctx.Done()
			for range 100 { // the server answers meanwhile
				ask(ctx, func() { t.Error("a handler that was late got the connection") })
			}
		case !ch.hook && ch.do != nil:
			ch.do(ctx)
		}
	}
	if ch.limit {
		limit := 10 * time.Millisecond
		if taken {
			limit = 500 * time.Millisecond // the handler must have asked before it ends
		}
		inner = gale.TimeoutHandler(inner, limit, "late")
	}
	handler := func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/take" {
			inner(ctx)
			return
		}
		ctx.SetBodyString("pong")
	}
	addr, ended := serveHandover(t, way, handler, ch)
	got := 0
	if way == wayConnect || way == wayGet {
		got = askHTTP2(t, way, addr)
	} else {
		got = askHTTP1(t, addr, status, taken)
	}
	if got != status {
		t.Errorf("the client got %d, want %d", got, status)
	}
	if taken {
		<-took
	}
	if ch.limit {
		<-late
	}
	ended()
	if n := times.Load(); n > 0 != taken {
		t.Errorf("the program got the connection %d times, want %t", n, taken)
	}
}

// serveHandover starts a server. ended ends it, and checks that it counts nothing any more.
func serveHandover(t *testing.T, way handoverWay, handler gale.RequestHandler, ch handoverChange) (addr string, ended func()) {
	if way == wayNetHTTP {
		s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(handler))
		s.Config.ErrorLog = discardLog
		s.Start()
		return s.Listener.Addr().String(), s.Close
	}
	s := &gale.Server{Handler: handler, Engine: gale.EngineEvent, Logger: discardLog}
	if way == wayBlock {
		s.Engine = gale.EngineBlock
	}
	s.HTTP2 = gale.HTTP2Config{H2C: true, WebSocket: true}
	if ch.server != nil {
		ch.server(s)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	return ln.Addr().String(), func() {
		if err := s.Shutdown(); err != nil { // it waits for all that is counted
			t.Error(err)
		}
		<-served
		end := time.Now().Add(time.Minute)
		for st := s.Stats(); st.OpenConnections != 0 || st.UpgradedConnections != 0; st = s.Stats() {
			if time.Now().After(end) {
				t.Fatalf("still counted: %+v", st)
			}
			time.Sleep(time.Millisecond) // between two looks
		}
	}
}

// askHTTP1 asks for the connection and returns the status of the response, 0 if there is
// none. After a response that refuses it and keeps the connection, it asks once more: the
// server must have the connection.
func askHTTP1(t *testing.T, addr string, status int, taken bool) int {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	br := bufio.NewReader(nc)
	fmt.Fprint(nc, "GET /take HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		if status != 0 {
			t.Error(err)
		}
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body) // a client that leaves before gets no connection
	if taken {
		return resp.StatusCode
	}
	if resp.Close {
		if b, err := io.ReadAll(br); len(b) > 0 || err != nil {
			t.Errorf("after the response came %q, %v", b, err)
		}
		return resp.StatusCode
	}
	fmt.Fprint(nc, "GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	ping, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatalf("after %d the connection can't be used: %v", resp.StatusCode, err)
	}
	if b, err := io.ReadAll(ping.Body); string(b) != "pong" || err != nil {
		t.Errorf("after %d the connection is used for %q, %v", resp.StatusCode, b, err)
	}
	return resp.StatusCode
}

// askHTTP2 is askHTTP1 for a stream of HTTP/2.
func askHTTP2(t *testing.T, way handoverWay, addr string) int {
	c := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, resp := new(gale.Request), new(gale.Response)
	req.SetRequestURI("/take")
	req.Header.SetHost("a")
	if way == wayGet {
		err := c.DoContext(ctx, req, resp)
		if reset := (*gale.StreamResetError)(nil); errors.As(err, &reset) {
			return 0
		}
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode()
	}
	req.SetConnectProtocol("websocket")
	req.Header.Set("Sec-WebSocket-Version", "13")
	nc, err := c.OpenStream(ctx, req, resp)
	if err != nil {
		if !errors.Is(err, gale.ErrStreamRefused) {
			t.Error(err)
		}
		return resp.StatusCode()
	}
	_ = nc.Close()
	return resp.StatusCode()
}

var discardLog = log.New(io.Discard, "", 0)

// An informational status isn't that of a final response: without a handover the client gets
// 500, and the connection can be used again.
func TestInformationalStatus(t *testing.T) {
	for _, way := range []handoverWay{wayBlock, wayEvent, wayNetHTTP, wayGet} {
		for _, status := range []int{100, 101, 103, 199} {
			for _, timesOut := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%t", way, status, timesOut), func(t *testing.T) {
					addr, ended := serveHandover(t, way, func(ctx *gale.RequestCtx) {
						switch {
						case string(ctx.Path()) != "/take":
							ctx.SetBodyString("pong")
						case timesOut:
							ctx.TimeoutErrorWithCode("late", status)
						default:
							ctx.SetStatusCode(status)
						}
					}, handoverChange{})
					defer ended()
					got := 0
					if way == wayGet {
						got = askHTTP2(t, way, addr)
					} else {
						got = askHTTP1(t, addr, 500, false)
					}
					if got != 500 {
						t.Errorf("the client got %d", got)
					}
				})
			}
		}
	}
}
