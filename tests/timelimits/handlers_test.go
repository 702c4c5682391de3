package timelimits

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// handlerCalls are what a handler calls, or leaves to the server, that waits for the client.
var handlerCalls = []struct {
	name     string
	receives bool // it waits for the request's body; else for room for a response
	// after says that it waits after the handler has returned. do calls done then.
	after bool
	do    func(ctx *gale.RequestCtx, done func(error)) error
}{
	{"RequestBodyStream, Read", true, false, func(ctx *gale.RequestCtx, _ func(error)) error {
		_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		return err
	}},
	{"PostBody", true, false, func(ctx *gale.RequestCtx, _ func(error)) error {
		if n := len(ctx.PostBody()); n != 0 { // it has no error to return
			return fmt.Errorf("PostBody returned %d bytes", n)
		}
		return io.ErrUnexpectedEOF
	}},
	{"BindJSON", true, false, func(ctx *gale.RequestCtx, _ func(error)) error { return ctx.BindJSON(new(any)) }},
	{"MultipartForm", true, false, func(ctx *gale.RequestCtx, _ func(error)) error {
		_, err := ctx.MultipartForm()
		return err
	}},
	{"FormFile", true, false, func(ctx *gale.RequestCtx, _ func(error)) error {
		_, err := ctx.FormFile("b")
		return err
	}},
	{"MultipartReader", true, false, func(ctx *gale.RequestCtx, _ func(error)) error {
		r, err := ctx.MultipartReader()
		if err != nil {
			return err
		}
		for err == nil {
			_, err = r.NextPart()
		}
		return err
	}},
	{"the body that is collected", true, true, func(_ *gale.RequestCtx, done func(error)) error { return nil }},

	{"Flush", false, false, func(ctx *gale.RequestCtx, _ func(error)) (err error) {
		for err == nil {
			_, _ = ctx.Write(make([]byte, 1<<20))
			err = ctx.Flush()
		}
		return err
	}},
	{"SendInterim", false, false, func(ctx *gale.RequestCtx, _ func(error)) (err error) {
		var h gale.ResponseHeader
		h.Set("A", string(bytes.Repeat([]byte("a"), 16<<10)))
		for err == nil {
			err = ctx.SendInterim(gale.StatusEarlyHints, &h)
		}
		return err
	}},
	{"SetBodyStream", false, true, func(ctx *gale.RequestCtx, done func(error)) error {
		ctx.SetBodyStream(endless{done}, -1)
		return nil
	}},
	{"SetBodyStreamWriter", false, true, func(ctx *gale.RequestCtx, done func(error)) error {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			var err error
			for b := make([]byte, 64<<10); err == nil; {
				_, err = w.Write(b)
			}
			done(err)
		})
		return nil
	}},
	{"SetBody", false, true, func(ctx *gale.RequestCtx, done func(error)) error {
		ctx.SetBody(make([]byte, 16<<20))
		ctx.AfterSend(func(_ int64, err error) { done(err) })
		return nil
	}},
}

// endless is a body that never ends. Its done gets the error with which it is closed.
type endless struct{ done func(error) }

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func (e endless) CloseWithError(err error) error {
	e.done(err)
	return nil
}

// handlerEnds are what ends the calls of handlerCalls.
var handlerEnds = []struct {
	name     string
	receives bool // it ends receiving
	sends    bool // it ends sending
	set      func(s *gale.Server)
	before   func(ctx *gale.RequestCtx)                // the handler calls it first
	during   func(s *gale.Server, client *net.TCPConn) // the test calls it
}{
	{name: "ReadTimeout", receives: true, set: func(s *gale.Server) { s.ReadTimeout = short }},
	{name: "ReadTimeout of a route", receives: true, set: func(s *gale.Server) { limitRoute(s, router.Limits{ReadTimeout: short}) }},
	{name: "WriteTimeout of a route", sends: true, set: func(s *gale.Server) { limitRoute(s, router.Limits{WriteTimeout: short}) }},
	{name: "ReadStallTimeout", receives: true, set: func(s *gale.Server) { s.ReadStallTimeout = short }},
	{name: "SetReadDeadline", receives: true, before: func(ctx *gale.RequestCtx) { _ = ctx.SetReadDeadline(time.Now().Add(short)) }},
	{name: "Conn, SetReadDeadline", receives: true, before: func(ctx *gale.RequestCtx) { _ = ctx.Conn().SetReadDeadline(time.Now().Add(short)) }},
	{name: "WriteTimeout", sends: true, set: func(s *gale.Server) { s.WriteTimeout = short }},
	{name: "WriteStallTimeout", sends: true, set: func(s *gale.Server) { s.WriteStallTimeout = short }},
	{name: "SetWriteDeadline", sends: true, before: func(ctx *gale.RequestCtx) { _ = ctx.SetWriteDeadline(time.Now().Add(short)) }},
	{name: "Conn, SetWriteDeadline", sends: true, before: func(ctx *gale.RequestCtx) { _ = ctx.Conn().SetWriteDeadline(time.Now().Add(short)) }},
	{name: "Server.Close", receives: true, sends: true, during: func(s *gale.Server, _ *net.TCPConn) { _ = s.Close() }},
	{name: "the client leaves", receives: true, sends: true, during: func(_ *gale.Server, client *net.TCPConn) {
		_ = client.SetLinger(0)
		client.Close()
	}},
}

// limitRoute makes s serve what it serves as a route with limits.
func limitRoute(s *gale.Server, l router.Limits) {
	r, received := router.New(), s.HeaderReceived
	r.Any("/", s.Handler).Limit(l)
	s.Handler, s.HeaderReceived = nil, nil
	if err := r.Attach(s); err != nil {
		panic(err)
	}
	if started := s.RequestStarted; received != nil {
		s.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
			received(&ctx.Request.Header)
			return started(ctx)
		}
	}
}

const multipartType = "multipart/form-data; boundary=b"

// handlerClients are clients that send a request with a part of its body, and read nothing.
var handlerClients = []struct {
	name string
	send func(nc net.Conn)
}{
	{"HTTP/1.1", func(nc net.Conn) {
		_, _ = io.WriteString(nc, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nContent-Type: "+multipartType+"\r\n\r\n--b\r\n")
	}},
	{"HTTP/1.1, chunked", func(nc net.Conn) {
		_, _ = io.WriteString(nc, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: "+multipartType+"\r\n\r\n5\r\n--b\r\n\r\n5")
	}},
	{"HTTP/2, no window", func(nc net.Conn) { sendHTTP2(nc, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) }},
	{"HTTP/2, no room", func(nc net.Conn) {
		sendHTTP2(nc, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	}},
}

func sendHTTP2(nc net.Conn, settings ...http2.Setting) {
	_, _ = io.WriteString(nc, http2.ClientPreface)
	fr := http2.NewFramer(nc, nil)
	_ = fr.WriteSettings(settings...)
	_ = fr.WriteWindowUpdate(0, 1<<30)
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"content-type", multipartType}} {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = fr.WriteData(1, false, []byte("--b\r\n"))
}

// engines are the engines of this system.
func engines() []gale.Engine {
	if runtime.GOOS != "linux" {
		return []gale.Engine{gale.EngineBlock}
	}
	return []gale.Engine{gale.EngineBlock, gale.EngineEvent}
}

// TestHandlers proves that what a handler waits for ends with each limit of the server and of
// the request, with the server, and when the client leaves, and that nothing of the request is
// left.
func TestHandlers(t *testing.T) {
	for _, e := range engines() {
		for _, client := range handlerClients {
			for _, k := range handlerCalls {
				for _, end := range handlerEnds {
					if k.receives && !end.receives || !k.receives && !end.sends || k.name == "the body that is collected" && end.before != nil {
						continue
					}
					if strings.HasPrefix(client.name, "HTTP/2") && strings.HasPrefix(end.name, "Conn") {
						continue // they would apply to all streams
					}
					if client.name == "HTTP/2, no room" && k.name == "SetBody" && (end.before != nil || strings.HasSuffix(end.name, "of a route")) {
						continue // the engine writes for all streams: the limits of the server end that
					}
					t.Run(fmt.Sprintf("%v/%s/%s/%s", e, client.name, k.name, end.name), func(t *testing.T) {
						before := stacks()
						s := &gale.Server{Engine: e, StreamRequestBody: k.name != "the body that is collected", HTTP2: gale.HTTP2Config{H2C: true},
							ReadHeaderTimeout: -1, ReadStallTimeout: -1, WriteStallTimeout: -1, Logger: log.New(io.Discard, "", 0)}
						began, ended := make(chan struct{}, 1), make(chan error, 1)
						tell := func(err error) {
							select {
							case ended <- err:
							default:
							}
						}
						s.Handler = func(ctx *gale.RequestCtx) {
							if end.before != nil {
								end.before(ctx)
							}
							began <- struct{}{}
							if err := k.do(ctx, tell); !k.after {
								tell(err)
							}
						}
						if k.name == "the body that is collected" {
							s.HeaderReceived = func(*gale.RequestHeader) gale.RequestConfig {
								began <- struct{}{}
								return gale.RequestConfig{}
							}
							s.BeforeSend = func(ctx *gale.RequestCtx) {
								if ctx.Response.StatusCode() == gale.StatusRequestTimeout {
									tell(gale.ErrTimeout)
								}
							}
							s.ConnState = func(_ net.Conn, state gale.ConnState) {
								if state == gale.StateClosed {
									tell(io.ErrUnexpectedEOF)
								}
							}
						}
						if end.set != nil {
							end.set(s)
						}
						ln, err := net.Listen("tcp", "127.0.0.1:0")
						if err != nil {
							t.Fatal(err)
						}
						served := make(chan error, 1)
						go func() { served <- s.Serve(ln) }()
						nc, err := net.Dial("tcp", ln.Addr().String())
						if err != nil {
							t.Fatal(err)
						}
						defer nc.Close()
						client.send(nc)
						receive(t, "the request", began)
						if end.during != nil {
							time.Sleep(time.Millisecond) // it waits in most runs
							end.during(s, nc.(*net.TCPConn))
						}
						if err := receive(t, "the end of the call", ended); err == nil {
							t.Error("the call has no error")
						}
						nc.Close()
						_ = s.Close()
						if err := receive(t, "the end of Serve", served); err != nil {
							t.Errorf("Serve: %v", err)
						}
						wantGone(t, before)
					})
				}
			}
		}
	}
}

// receive returns what c gives.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		b := make([]byte, 1<<20)
		t.Fatalf("gave up after %v: %s\n%s", patience, what, b[:runtime.Stack(b, true)])
		panic("not reached")
	}
}
