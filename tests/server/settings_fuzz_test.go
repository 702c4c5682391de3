package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// FuzzSettings serves requests, some of them mangled, with any combination of settings of
// Server. It proves that nothing panics, that each whole request gets an answer or the end of
// its connection, that Shutdown and Close return, and that no connection and no goroutine is
// left. A new setting whose type it doesn't know makes it fail.
func FuzzSettings(f *testing.F) {
	f.Add([]byte{})
	r := rand.New(rand.NewPCG(1, 1))
	for range max(60, race.Fewer(240)) {
		seed := make([]byte, 160)
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := &picker{t: t, data: data}
		s := &gale.Server{}
		pick.set("Server", reflect.ValueOf(s).Elem())
		s.Logger = settingsLog{t}
		if s.Slog != nil {
			s.Slog = slog.New(slog.NewTextHandler(settingsLog{t}, nil))
		}
		s.HTTP2.H2C = pick.of(2) > 0
		if s.Engine == gale.EngineAuto {
			s.Engine = pickOf(pick, peers.Engines[gale.Engine]())
		}
		serveSettings(t, pick, s)
	})
}

// settingsLog fails at a panic of the library: those of settingValues and settingsHandler are
// no runtime errors.
type settingsLog struct{ t *testing.T }

func (l settingsLog) Printf(format string, args ...any) { _, _ = fmt.Fprintf(l, format, args...) }

func (l settingsLog) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("runtime error")) {
		l.t.Errorf("%s", b)
	}
	return len(b), nil
}

// picker makes choices from the bytes of a fuzz input.
type picker struct {
	t    *testing.T
	data []byte
}

// pickOf returns one of all.
func pickOf[T any](p *picker, all []T) T { return all[p.of(len(all))] }

// of returns a number below n; 0 at the end of the input.
func (p *picker) of(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % n
}

// set sets the exported fields of v, a struct. About three of four keep their zero value.
func (p *picker) set(name string, v reflect.Value) {
	for i := range v.NumField() {
		sf, f := v.Type().Field(i), v.Field(i)
		if !sf.IsExported() {
			continue
		}
		name := name + "." + sf.Name
		known := true
		changes := p.of(4) == 3
		if !changes && f.Kind() != reflect.Struct {
			p.knows(name, f)
			continue
		}
		switch f.Interface().(type) {
		case gale.Engine:
			f.Set(reflect.ValueOf(pickOf(p, peers.Engines[gale.Engine]())))
		case gale.HTTP2Mode:
			f.Set(reflect.ValueOf(gale.HTTP2Mode(p.of(int(gale.HTTP2Only) + 1))))
		case time.Duration:
			most := int64(math.MaxInt64)
			if waits[name] {
				most = int64(time.Millisecond)
			}
			f.SetInt([]int64{most, 1, -1, math.MinInt64, int64(time.Millisecond)}[p.of(5)])
		case gale.ListenConfig, gale.HTTP2Config, gale.LifetimeGuard:
			p.set(name, f)
		case *gale.LifetimeGuard:
			f.Set(reflect.ValueOf(&gale.LifetimeGuard{Every: 1}))
		default:
			switch f.Kind() {
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int:
				n := []int64{1, -1, math.MaxInt64, math.MinInt64, 2, 16, 4096}[p.of(7)]
				if name == "Server.EventLoops" {
					n = min(n, 16) // there are as many as it says
				}
				f.SetInt(n)
			case reflect.String:
				f.SetString([]string{"a", "a\r\nb: c", strings.Repeat("x", 5000)}[p.of(3)])
			default:
				var value any
				if value, known = settingValues[name]; known && value != nil {
					f.Set(reflect.ValueOf(value))
				}
			}
		}
		if !known {
			p.t.Fatalf("there is no value for %s, a %v", name, f.Type())
		}
	}
}

// knows fails if set couldn't set f.
func (p *picker) knows(name string, f reflect.Value) {
	switch f.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.String:
		return
	}
	if _, ok := f.Interface().(*gale.LifetimeGuard); ok {
		return
	}
	if _, ok := settingValues[name]; !ok {
		p.t.Fatalf("there is no value for %s, a %v", name, f.Type())
	}
}

// waits are the settings for which the server waits as long as they say.
var waits = map[string]bool{"Server.SleepWhenConcurrencyLimitsExceeded": true, "Server.DrainTime": true}

// settingValues are the values of settings that are neither numbers, strings nor bools.
var settingValues = map[string]any{
	"Server.Handler": func(ctx *gale.RequestCtx) { settingsHandler(ctx) },
	"Server.ErrorHandler": func(ctx *gale.RequestCtx, err error) {
		ctx.Error(err.Error(), 400)
	},
	"Server.HeaderReceived": func(h *gale.RequestHeader) gale.RequestConfig {
		switch n := h.ContentLength(); n {
		case 3:
			return gale.RequestConfig{ReadTimeout: 1, WriteTimeout: 1, MaxRequestBodySize: 1}
		case 4:
			return gale.RequestConfig{ReadStallTimeout: math.MaxInt64, WriteStallTimeout: math.MinInt64, StreamRequestBody: true}
		}
		return gale.RequestConfig{}
	},
	"Server.RequestStarted": func(ctx *gale.RequestCtx) (c gale.RequestConfig) {
		switch n := ctx.Request.Header.ContentLength(); n {
		case 3:
			return gale.RequestConfig{ReadTimeout: 1, WriteTimeout: 1, MaxRequestBodySize: 1}
		case 4:
			return gale.RequestConfig{MaxRequestBodySize: 2, StreamRequestBody: true}
		}
		switch path := ctx.Path(); {
		case bytes.Contains(path, []byte("refuse")):
			c.RefuseStatus = 503
		case bytes.Contains(path, []byte("done")):
			_ = ctx.Done()
		}
		return c
	},
	"Server.ContinueHandler": func(h *gale.RequestHeader) bool { return !bytes.Contains(h.RequestURI(), []byte("no")) },
	"Server.ExpectHandler": func(ctx *gale.RequestCtx) int {
		if bytes.Contains(ctx.Path(), []byte("no")) {
			return 417
		}
		return 100
	},
	"Server.ConnState": func(net.Conn, gale.ConnState) {},
	"Server.BeforeSend": func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Before", "1")
		if string(ctx.Path()) == "/panic" {
			panic("BeforeSend")
		}
	},
	"Server.PanicHandler": func(ctx *gale.RequestCtx, _ any) { ctx.SetStatusCode(503) },
	"Server.BaseContext":  func(net.Listener) context.Context { return context.Background() },
	"Server.ConnContext": func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, settingsKey{}, 1)
	},
	"Server.TrustedProxies": []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	"Server.TLSConfig":      &tls.Config{},
	"Server.FormValueFunc":  func(*gale.RequestCtx, string) []byte { return nil },
	"Server.Logger":         peers.DiscardLog{},
	"Server.Slog":           slog.New(slog.DiscardHandler),
}

type settingsKey struct{}

// settingsHandler answers in ways that depend on the path.
func settingsHandler(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/panic":
		panic("handler")
	case "/goexit":
		runtime.Goexit()
	case "/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for range 3 {
				fmt.Fprint(w, "part")
				_ = w.Flush()
			}
		})
	case "/large":
		ctx.Write(make([]byte, 100_000))
	case "/read":
		if r := ctx.RequestBodyStream(); r != nil { // there is one with StreamRequestBody
			_, _ = io.Copy(io.Discard, r)
		}
	case "/timeout":
		ctx.TimeoutError("late")
	case "/hijack":
		ctx.Hijack(func(c net.Conn) {
			_, _ = io.Copy(c, c)
			_ = c.Close() // KeepHijackedConns leaves that to the program
		})
	case "/done":
		_ = ctx.Done()
		_ = ctx.Context()
		ctx.AfterSend(func(int64, error) {})
	default:
		ctx.Write(ctx.PostBody())
		_ = ctx.FormValue("a")
		_, _ = ctx.MultipartForm()
	}
}

// serveSettings serves connections with s until it is closed.
func serveSettings(t *testing.T, pick *picker, s *gale.Server) {
	if s.Handler == nil {
		s.Handler = settingsHandler
	}
	before := runtime.NumGoroutine()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	// Until then, Close has nothing to end.
	await.Until(t, "Serve to begin", func() bool { return door.InsideOf(s).Listeners > 0 })
	var open []net.Conn
	for range 1 + pick.of(3) {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
		http2 := pick.of(3) == 2
		sent := pick.http1()
		if http2 {
			sent = pick.http2()
		}
		mangled := pick.of(3) == 2
		for range pick.of(4) {
			if mangled && len(sent) > 0 {
				sent[(pick.of(256)<<8|pick.of(256))%len(sent)] = byte(pick.of(256))
			}
		}
		received := make(chan []byte, 1)
		go func() {
			b, err := io.ReadAll(c)
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				t.Errorf("the connection doesn't end after %q", sent)
			}
			received <- b
		}()
		_, err = c.Write(sent) // the server may have closed it
		if pick.of(4) == 3 && err == nil {
			defer func() { <-received }() // it ends with the server
			open = append(open, c)
			continue
		}
		_ = c.(*net.TCPConn).CloseWrite()
		if b := <-received; !mangled && !http2 && len(b) > 0 {
			checkSettingsAnswers(t, sent, b)
		}
	}
	if pick.of(2) == 1 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_ = s.ShutdownWithContext(ctx)
		cancel()
	}
	_ = s.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	for _, c := range open {
		_ = c.(*net.TCPConn).CloseWrite() // for what is hijacked
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) { // between two looks
		left, conns := runtime.NumGoroutine()-before, s.GetOpenConnectionsCount()
		if left-len(open) <= 0 && conns == 0 && s.GetCurrentConcurrency() == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d connections are left, %d current\n%s", left, conns, s.GetCurrentConcurrency(), peers.AllStacks())
		}
	}
}

// checkSettingsAnswers reads b, which a server has sent for whole requests.
func checkSettingsAnswers(t *testing.T, sent, b []byte) {
	br := bufio.NewReader(bytes.NewReader(b))
	req := &http.Request{Method: "GET"}
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%q was answered with %q: %v", sent, b[:min(len(b), 500)], err)
		}
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

var settingsPaths = []string{"/", "/a?b=c", "/panic", "/goexit", "/stream", "/large", "/read", "/timeout", "/hijack", "/done", "/no"}

// http1 returns requests of HTTP/1.1.
func (p *picker) http1() []byte {
	var b bytes.Buffer
	for range 1 + p.of(3) {
		path := settingsPaths[p.of(len(settingsPaths))]
		extra := []string{"", "Expect: 100-continue\r\n", "Connection: close\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
			"Content-Type: multipart/form-data; boundary=b\r\n", "Accept-Encoding: gzip\r\n", "X-Long: " + strings.Repeat("y", 5000) + "\r\n"}[p.of(7)]
		switch p.of(5) {
		case 0:
			fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, extra)
		case 1:
			fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: 3\r\n\r\na=b", path, extra)
		case 2:
			fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: h\r\n%sTransfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\nX-T: 1\r\n\r\n", path, extra)
		case 3:
			fmt.Fprintf(&b, "PUT %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: 20000\r\n\r\n%s", path, extra, strings.Repeat("z", 20000))
		case 4:
			fmt.Fprintf(&b, "GET %s HTTP/1.0\r\n%s\r\n", path, extra)
		}
	}
	return b.Bytes()
}

// http2 returns a connection of HTTP/2 with requests.
func (p *picker) http2() []byte {
	var b, block bytes.Buffer
	b.WriteString(http2.ClientPreface)
	fr, enc := http2.NewFramer(&b, nil), hpack.NewEncoder(&block)
	_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: []uint32{65535, 0, 10, math.MaxInt32}[p.of(4)]})
	for i := range 1 + p.of(3) {
		block.Reset()
		body := p.of(2) == 1
		fields := []string{":method", "GET", ":scheme", "http", ":authority", "h", ":path", settingsPaths[p.of(len(settingsPaths))]}
		if body {
			fields[1] = "POST"
		}
		if p.of(4) == 3 {
			fields = append(fields, "expect", "100-continue")
		}
		for j := 0; j < len(fields); j += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: fields[j], Value: fields[j+1]})
		}
		id := uint32(2*i + 1)
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: !body})
		if body {
			_ = fr.WriteData(id, p.of(2) == 0, []byte("a=b"))
		}
		if p.of(5) == 4 {
			_ = fr.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	if p.of(4) == 3 {
		_ = fr.WritePing(false, [8]byte(binary.BigEndian.AppendUint64(nil, 1)))
	}
	return b.Bytes()
}
