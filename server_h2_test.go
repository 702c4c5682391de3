package gale

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/galeutil"
)

// TestH2Protocol proves that a handler can see by which protocol a request came.
func TestH2Protocol(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			fmt.Fprintf(ctx, "%s %v", ctx.Request.Header.Protocol(), ctx.Request.Header.IsHTTP11())
		}})
		if _, got := hs.get(hs.client(2), "/"); got != "HTTP/2.0 true" && got != "HTTP/2.0 false" {
			t.Errorf("got %q", got)
		}
		if _, got := hs.get(hs.client(1), "/"); got != "HTTP/1.1 true" {
			t.Errorf("got %q", got)
		}
	})
}

// TestH2Interim proves that informational responses reach the client, and that a 100 is
// sent only to a client that asked for it.
func TestH2Interim(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			ctx.Response.Header.Add("Link", "</x>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			var h ResponseHeader
			h.Set("X-Step", "1")
			if err := ctx.SendInterim(102, &h); err != nil {
				t.Error(err)
			}
			ctx.Write(ctx.PostBody())
		}})
		var mu sync.Mutex
		var got []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(code, h.Get("Link"), h.Get("X-Step")))
			return nil
		}}
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), "POST", hs.url("/"), strings.NewReader("body"))
		req.Header.Set("Expect", "100-continue")
		resp, err := hs.client(2).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		mu.Lock()
		defer mu.Unlock()
		if want := "[100 103</x>; rel=preload 1021]"; string(b) != "body" || fmt.Sprint(got) != want {
			t.Errorf("got %q, interim %v, want %s", b, got, want)
		}
	})
}

// TestH2Overlap proves that handlers of one connection run at the same time.
func TestH2Overlap(t *testing.T) {
	const streams = 100
	eachH2(t, func(t *testing.T, way h2Way) {
		var running, highest atomic.Int32
		all := make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if n := running.Add(1); n == streams {
				close(all)
			}
			highest.Store(max(highest.Load(), running.Load()))
			<-all
			running.Add(-1)
			ctx.SetBody(ctx.Path())
		}})
		c := hs.dialH2()
		ids := map[uint32]string{}
		for i := range streams {
			path := fmt.Sprint("/", i)
			ids[c.open("GET", path, true)] = path
		}
		for id, path := range ids {
			c.wantAnswer(id, "200", path)
		}
	})
}

// TestH2NotBehind proves that a response is sent even if the goroutine that made it runs
// another handler, which blocks.
func TestH2NotBehind(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		release := make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-release
			}
			ctx.SetBodyString("done")
		}})
		defer close(release)
		c := hs.dialH2()
		for range 100 {
			fast := c.open("GET", "/fast", true)
			c.open("GET", "/wait", true)
			more := c.open("GET", "/fast", true)
			c.wantAnswer(fast, "200", "done")
			c.wantAnswer(more, "200", "done")
			if c.last > 240 { // each block leaves one stream open
				break
			}
		}
	})
}

// TestH2ResetStates resets a stream in every state. It proves that the connection goes
// on, and that nothing is left.
func TestH2ResetStates(t *testing.T) {
	usedAgain(t)
	eachH2(t, func(t *testing.T, way h2Way) {
		hooked, unhook := make(chan struct{}, 10), make(chan struct{}, 10)
		in := make(chan error, 10)
		var ran atomic.Int32
		hs := way.start(t, &Server{
			HeaderReceived: func(h *RequestHeader) RequestConfig {
				if string(h.RequestURI()) == "/hook" {
					hooked <- struct{}{}
					<-unhook
				}
				return RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/alive":
				case "/done":
					in <- nil
					<-ctx.Done()
					in <- context.Cause(ctx)
				case "/stream":
					in <- nil
					_, err := io.ReadAll(ctx.RequestBodyStream())
					in <- err
				case "/big":
					ctx.SetBodyString(strings.Repeat("x", 1<<20))
				case "/flush":
					in <- nil
					for {
						ctx.WriteString(strings.Repeat("x", 1000))
						if err := ctx.Flush(); err != nil {
							in <- err
							return
						}
					}
				case "/writer":
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
						for {
							if _, err := w.WriteString(strings.Repeat("x", 1000)); err != nil {
								in <- err
								return
							}
						}
					})
				default:
					ran.Add(1)
				}
			},
		})
		c := hs.dialH2()
		wantReset := func(what string) {
			t.Helper()
			err := <-in
			var re *StreamResetError
			if !errors.As(err, &re) || re.Code != 8 || !errors.Is(err, ErrClientGone) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for range 3 {
			id := c.open("GET", "/hook", true) // in HeaderReceived
			<-hooked
			c.reset(id)
			c.sync()
			unhook <- struct{}{}

			id = c.open("POST", "/collect", false) // collecting
			c.data(id, "some", false)
			c.sync()
			c.reset(id)

			id = c.open("GET", "/done", true) // the handler runs
			<-in
			c.sync()
			c.reset(id)
			wantReset("Done")

			id = c.open("POST", "/stream", false) // the handler reads
			c.data(id, "some", false)
			<-in
			c.reset(id)
			wantReset("reading")

			id = c.open("GET", "/big", true) // the response waits for a window
			c.await(id, "200")
			c.reset(id)

			id = c.open("GET", "/flush", true)
			<-in
			c.await(id, "200")
			c.reset(id)
			wantReset("flushing")

			id = c.open("GET", "/writer", true)
			c.await(id, "200")
			c.reset(id)
			wantReset("writing")
			c.check(c.fr.WriteWindowUpdate(0, 1<<20)) // the part of the window that they have used
			c.wantAlive()
		}
		if n := ran.Load(); n != 0 {
			t.Errorf("%d handlers ran for streams that had been reset", n)
		}
		hs.wantCalm()
	})
}

// wantCalm waits until no stream is open on the connections of the server, and checks
// that nothing of them is left.
func (hs *h2Server) wantCalm() {
	hs.t.Helper()
	await(hs.t, "the end of all streams", func() bool {
		l := &hs.s.run.h2
		l.mu.Lock()
		defer l.mu.Unlock()
		for ss := l.first; ss != nil; ss = ss.after {
			ss.mu.Lock()
			calm := ss.proto.Streams() == 0 && ss.waiting == 0 && ss.first == nil && ss.last == nil && len(ss.out) == 0 && ss.buf == nil
			ss.mu.Unlock()
			if !calm {
				return false
			}
		}
		return true
	})
}

// TestH2Lost breaks the connection in every state. It proves that each handler ends, and
// with it the goroutine of its stream.
func TestH2Lost(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		var inside atomic.Int32
		hs := way.start(t, &Server{
			MaxIdleWorkerDuration: time.Millisecond,
			HeaderReceived: func(h *RequestHeader) RequestConfig {
				return RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *RequestCtx) {
				inside.Add(1)
				defer inside.Add(-1)
				switch string(ctx.Path()) {
				case "/done":
					<-ctx.Done()
					if err := context.Cause(ctx); !errors.Is(err, ErrClientGone) {
						t.Errorf("Done: %v", err)
					}
				case "/stream":
					if _, err := io.ReadAll(ctx.RequestBodyStream()); err == nil {
						t.Error("the body was read to its end")
					}
				case "/big":
					ctx.SetBodyString(strings.Repeat("x", 1<<20))
				case "/flush":
					for ctx.Flush() == nil {
						ctx.WriteString(strings.Repeat("x", 1000))
					}
				}
			},
		})
		hs.get(hs.client(2), "/warm")
		for i := range 10 {
			c := hs.dialH2()
			for _, path := range []string{"/done", "/stream", "/big", "/flush", "/collect", "/stream"} {
				method, end := "GET", true
				if path == "/stream" || path == "/collect" {
					method, end = "POST", false
				}
				id := c.open(method, path, end)
				if path == "/flush" {
					c.await(id, "200")
				}
			}
			c.sync()
			if i%2 == 0 {
				if tc, ok := c.Conn.(*net.TCPConn); ok {
					tc.SetLinger(0)
				}
			}
			c.Close()
		}
		await(t, "the end of the connections", func() bool { return hs.s.GetCurrentConcurrency() <= 1 })
		await(t, "the end of the handlers", func() bool {
			return inside.Load() == 0 && !strings.Contains(allStacks(), "gale.(*h2Stream).")
		})
		hs.wantCalm()
	})
}

// TestH2LostCounts proves that a lost connection is counted until its handlers have
// returned, so that Shutdown waits for them. Handlers that got their body as a stream
// before its end are the exception.
func TestH2LostCounts(t *testing.T) {
	for _, stream := range []bool{false, true} {
		eachH2(t, func(t *testing.T, way h2Way) {
			in, out, over := make(chan *h2Session, 1), make(chan struct{}), make(chan struct{})
			hs := way.start(t, &Server{StreamRequestBody: stream, Handler: func(ctx *RequestCtx) {
				defer close(over)
				in <- ctx.x.(*h2Stream).ss
				<-out
			}})
			c := hs.dialH2()
			c.open("POST", "/", !stream)
			ss := <-in
			below := c.Conn
			if tc, ok := below.(*tls.Conn); ok {
				below = tc.NetConn()
			}
			below.(*net.TCPConn).SetLinger(0)
			below.Close() // a reset
			await(t, "the end of the connection", func() bool {
				ss.mu.Lock()
				defer ss.mu.Unlock()
				return ss.gone
			})
			if stream {
				await(t, "the connection not to count", func() bool { return hs.s.GetOpenConnectionsCount() == 0 })
			} else if n := hs.s.GetOpenConnectionsCount(); n != 1 {
				t.Errorf("%d connections count, want that of the handler", n)
			}
			close(out)
			await(t, "the connection not to count", func() bool { return hs.s.GetOpenConnectionsCount() == 0 })
			<-over
		})
	}
}

// TestH2HalfClosed proves that a client that has ended its side gets its answers, and
// that Done is closed.
func TestH2HalfClosed(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		in := make(chan error, 2)
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/before" {
				in <- nil
				<-ctx.Done()
				in <- context.Cause(ctx)
			}
			ctx.SetBodyString("answer")
		}})
		c := hs.dialH2()
		id := c.open("GET", "/before", true)
		half := c.open("POST", "/half", false)
		c.data(half, "some", false)
		<-in
		c.sync()
		c.check(c.Conn.(interface{ CloseWrite() error }).CloseWrite())
		if err := <-in; err != ErrClientGone {
			t.Errorf("Done: %v", err)
		}
		c.wantAnswer(id, "200", "answer")
		if status, _, _ := c.answer(half); status != "400" {
			t.Errorf("a request that is not whole got %s", status)
		}
		c.await(0, "eof")
	})
}

// TestH2EarlyAnswer proves that a client that is answered before its body has arrived is
// told to stop, and that later data does no harm.
func TestH2EarlyAnswer(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{StreamRequestBody: true, MaxRequestBodySize: 10, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("no thanks") }})
		c := hs.dialH2()
		for range 5 {
			id := c.open("POST", "/", false)
			c.data(id, "some", false)
			c.wantAnswer(id, "200", "no thanks")
			if f := c.await(id, "rst"); f.code != 0 {
				t.Errorf("reset with %d", f.code)
			}
			for range 20 {
				c.data(id, strings.Repeat("x", 10000), false)
			}
		}
		c.wantAlive()
		hs.wantCalm()
	})
}

// TestH2EarlyAnswerAlone: the reset that follows an early answer is written after it, and not
// together with it: curl 7.88 loses the answer then. A read returns one record of TLS at most.
func TestH2EarlyAnswerAlone(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{MaxRequestBodySize: 10, Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/close" {
				ctx.SetConnectionClose()
			}
			ctx.SetBodyString("no thanks")
		}, StreamRequestBody: true})
		for _, path := range []string{"/", "/close"} {
			c := hs.dialH2()
			if _, ok := c.Conn.(*tls.Conn); !ok {
				return // what is written together can't be seen
			}
			c.sync()
			id := c.open("POST", path, false)
			var got []http2.FrameType
			b := make([]byte, 1<<14)
			for reset := false; !reset; {
				n, err := c.Conn.Read(b)
				c.check(err)
				fr := http2.NewFramer(nil, bytes.NewReader(b[:n]))
				ended := false
				for {
					f, err := fr.ReadFrame()
					if err != nil {
						break
					}
					got = append(got, f.Header().Type)
					if f.Header().StreamID != id {
						continue
					}
					ended = ended || f.Header().Flags.Has(http2.FlagDataEndStream)
					if reset = f.Header().Type == http2.FrameRSTStream; reset && ended {
						t.Errorf("%s: the end and the reset came together: %v", path, got)
					}
				}
			}
		}
	})
}

// TestH2Windows proves that many streams can share a small window of the connection.
func TestH2Windows(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		const streams, size = 20, 50_000
		text := func(path string) string { return strings.Repeat(path+" ", size)[:size] }
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			path := string(ctx.Path())
			switch {
			case strings.HasSuffix(path, "w"):
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(text(path)) })
			case strings.HasSuffix(path, "f"):
				for i := range 10 {
					ctx.WriteString(text(path)[i*size/10 : (i+1)*size/10])
					if err := ctx.Flush(); err != nil {
						t.Error(err)
					}
				}
			default:
				ctx.SetBodyString(text(path))
			}
		}})
		c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3000})
		paths, bodies := map[uint32]string{}, map[uint32]*strings.Builder{}
		for i := range streams {
			path := fmt.Sprint("/", i, "bwf"[i%3:i%3+1])
			id := c.open("GET", path, true)
			paths[id], bodies[id] = path, new(strings.Builder)
		}
		for open := streams; open > 0; {
			f := c.next()
			if f.kind != "data" {
				if f.kind == "rst" || f.kind == "goaway" || f.kind == "eof" {
					t.Fatalf("got %v", f)
				}
				continue
			}
			bodies[f.stream].WriteString(f.data)
			if len(f.data) > 0 {
				c.check(c.fr.WriteWindowUpdate(0, uint32(len(f.data))))
			}
			if f.end {
				open--
			} else if len(f.data) > 0 {
				c.check(c.fr.WriteWindowUpdate(f.stream, uint32(len(f.data))))
			}
		}
		for id, path := range paths {
			if got := bodies[id].String(); got != text(path) {
				t.Errorf("%s: %d bytes, which are not those of the handler", path, len(got))
			}
		}
		hs.wantCalm()
	})
}

// TestH2ZeroLength proves that a request with Content-Length 0 and data is malformed,
// however late its data arrives.
func TestH2ZeroLength(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("answer") }})
		c := hs.dialH2()
		id := c.open("POST", "/", false, "content-length", "0")
		c.sync() // the head has arrived alone
		c.data(id, "x", true)
		if f := c.await(id, "rst", "200"); f.kind != "rst" || f.code != uint32(http2.ErrCodeProtocol) {
			t.Errorf("got %v", f)
		}
		id = c.open("POST", "/", false, "content-length", "0")
		c.sync()
		c.data(id, "", true)
		c.wantAnswer(id, "200", "answer")
	})
}

// TestH2HalfClosedAfterReset proves that a connection whose client has reset its streams
// and ended its side closes without waiting for handlers.
func TestH2HalfClosedAfterReset(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		in, out := make(chan struct{}), make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				close(in)
				<-out
			}
		}})
		defer close(out)
		c := hs.dialH2()
		id := c.open("GET", "/wait", true)
		<-in
		c.reset(id)
		c.sync()
		c.check(c.Conn.(interface{ CloseWrite() error }).CloseWrite())
		c.await(0, "eof")
	})
}

// TestH2Goexit proves that user code that ends its goroutine ends its stream and no
// other, wherever it runs.
func TestH2Goexit(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		release := make(chan struct{})
		began := make(chan struct{}, 3)
		hs := way.start(t, &Server{
			HeaderReceived: func(h *RequestHeader) RequestConfig {
				if string(h.RequestURI()) == "/hook" {
					runtime.Goexit()
				}
				return RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/wait":
					began <- struct{}{}
					<-release
				case "/late":
					began <- struct{}{}
					<-release
					runtime.Goexit()
				case "/goexit":
					runtime.Goexit()
				case "/stream":
					io.ReadAll(ctx.RequestBodyStream())
					runtime.Goexit()
				case "/flushed":
					ctx.WriteString("part")
					ctx.Flush()
					runtime.Goexit()
				case "/closer":
					ctx.SetUserValue("k", closerFunc(func() error { runtime.Goexit(); return nil }))
				}
				ctx.SetBodyString("answer")
			},
		})
		c := hs.dialH2()
		waits := c.open("GET", "/wait", true)
		late := c.open("GET", "/late", true)
		<-began
		<-began
		var ended []uint32
		c.together(func() {
			for _, path := range []string{"/goexit", "/flushed", "/hook", "/goexit"} {
				ended = append(ended, c.open("GET", path, true))
			}
		})
		for _, id := range ended {
			if f := c.await(id, "rst"); f.code != uint32(http2.ErrCodeInternal) {
				t.Errorf("got %v", f)
			}
		}
		id := c.open("POST", "/stream", false)
		c.data(id, "body", true)
		c.await(id, "rst")
		c.wantAnswer(c.open("GET", "/closer", true), "200", "answer") // the answer was sent before
		close(release)
		c.await(late, "rst")
		c.wantAnswer(waits, "200", "answer")
		c.wantAlive()
		c.Close()
		await(t, "the end of the connection", func() bool { return hs.s.GetCurrentConcurrency() == 0 })
		hs.wantCalm()
	})
}

// TestH2Panics proves that a panic ends its stream and no other.
func TestH2Panics(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		release := make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/wait":
				<-release
			case "/panic":
				panic("of the test")
			case "/flushed":
				ctx.WriteString("part")
				ctx.Flush()
				panic("of the test")
			case "/abort":
				panic(ErrAbortHandler)
			case "/closer":
				ctx.SetUserValue("k", closerFunc(func() error { panic("of the test") }))
			case "/hijack":
				ctx.Hijack(func(net.Conn) { t.Error("a HijackHandler ran") })
			case "/hijacknow":
				_, err := ctx.HijackNow()
				fmt.Fprint(ctx, errors.Is(err, errors.ErrUnsupported))
			}
		}})
		c := hs.dialH2()
		waits := c.open("GET", "/wait", true)
		for path, want := range map[string]string{
			"/panic": "500", "/flushed": "rst 2", "/abort": "rst 2", "/closer": "200", "/hijack": "501", "/hijacknow": "200",
		} {
			status, _, body := c.answer(c.open("GET", path, true))
			if status != want || path == "/hijacknow" && body != "true" {
				t.Errorf("%s: %s %q, want %s", path, status, body, want)
			}
		}
		close(release)
		c.wantAnswer(waits, "200", "")
		await(t, "what the log has to say", func() bool { // the closer's panic may come after its answer
			log := hs.log.String()
			return strings.Contains(log, "can't be hijacked") && strings.Count(log, "of the test") == 3
		})
		hs.wantCalm()
	})
}

// TestH2OwnPanic proves that a panic of the library itself, while it changes the state of
// a connection, ends the connection and its handlers, and that nothing hangs.
func TestH2OwnPanic(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		streams := make(chan *h2Stream, 3)
		release := make(chan struct{})
		ended := make(chan error, 2)
		hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			streams <- ctx.x.(*h2Stream)
			switch string(ctx.Path()) {
			case "/read":
				_, err := io.ReadAll(ctx.RequestBodyStream())
				ended <- err
			case "/done":
				<-ctx.Done()
				ended <- context.Cause(ctx)
			case "/broken":
				<-release
			}
		}})
		defer close(release)
		c := hs.dialH2()
		c.open("POST", "/read", false)
		c.open("GET", "/done", true)
		<-streams
		<-streams
		id := c.open("POST", "/broken", false)
		s := <-streams
		c.sync()
		s.ss.mu.Lock()
		s.st.Owner = "of the test"
		s.ss.mu.Unlock()
		c.data(id, "x", false)
		c.await(0, "eof")
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrClientGone) {
				t.Errorf("a handler ended with %v", err)
			}
		}
		await(t, "the end of the connection", func() bool { return hs.s.GetCurrentConcurrency() == 0 })
		await(t, "the panic in the log", func() bool { return strings.Contains(hs.log.String(), "interface conversion") })
		hs.dialH2().await(0, "settings")
		hs.s.Close()
	})
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// TestH2Timeouts proves that what takes too long is ended, and that what only seems to
// take too long is not.
func TestH2Timeouts(t *testing.T) {
	const short = 50 * time.Millisecond
	whole := func(ctx *RequestCtx) { ctx.SetBodyString("read") }
	readStream := func(ctx *RequestCtx) {
		_, err := io.ReadAll(ctx.RequestBodyStream())
		fmt.Fprint(ctx, errors.Is(err, ErrTimeout))
	}
	big := func(ctx *RequestCtx) { ctx.SetBodyString(strings.Repeat("x", 100_000)) }
	for _, tt := range []struct {
		name string
		s    *Server
		want string
	}{
		{"ReadTimeout", &Server{ReadTimeout: 10 * short, Handler: whole}, "408 Request timeout"}, // it limits the preface too
		{"ReadTimeout of a request", &Server{Handler: whole, HeaderReceived: func(*RequestHeader) RequestConfig { return RequestConfig{ReadTimeout: short} }}, "408 Request timeout"},
		{"ReadStallTimeout", &Server{ReadStallTimeout: short, Handler: whole}, "408 Request timeout"},
		{"ReadStallTimeout of a stream", &Server{ReadStallTimeout: short, StreamRequestBody: true, Handler: readStream}, "200 true"},
		{"SetReadDeadline", &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			ctx.SetReadDeadline(time.Now().Add(short))
			readStream(ctx)
		}}, "200 true"},
		{"no stall without a reader", &Server{ReadStallTimeout: short, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			time.Sleep(4 * short)
			var b [4]byte
			n, err := ctx.RequestBodyStream().Read(b[:])
			fmt.Fprint(ctx, n, err)
		}}, "200 4 <nil>"},
		{"WriteStallTimeout", &Server{WriteStallTimeout: short, Handler: big}, "rst 8"},
		{"WriteTimeout", &Server{WriteTimeout: short, WriteStallTimeout: -1, Handler: big}, "rst 8"},
		{"WriteTimeout of a stream", &Server{WriteTimeout: short, WriteStallTimeout: -1, Handler: func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(strings.Repeat("x", 100_000)) })
		}}, "rst 8"},
		{"SetWriteDeadline", &Server{WriteStallTimeout: -1, Handler: func(ctx *RequestCtx) {
			ctx.SetWriteDeadline(time.Now().Add(short))
			big(ctx)
		}}, "rst 8"},
		{"WriteTimeout bounds each flush", &Server{WriteTimeout: 20 * short, Handler: func(ctx *RequestCtx) {
			for range 6 {
				ctx.WriteString("x")
				if err := ctx.Flush(); err != nil {
					ctx.WriteString(err.Error())
				}
				time.Sleep(5 * short)
			}
		}}, "200 xxxxxx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []h2Way{{EngineBlock, true}, {EngineEvent, false}} { // this doesn't depend on the engine
				hs := way.start(t, tt.s)
				c := hs.dialH2()
				id := c.open("POST", "/", false)
				c.data(id, "some", strings.Contains(tt.name, "Write"))
				status, _, body := c.answer(id)
				if got := strings.TrimSpace(status + " " + body); got != tt.want && !(status == tt.want) {
					t.Errorf("%v: got %.100q, want %q", way, got, tt.want)
				}
				if hs.s.HeaderReceived == nil {
					hs.s.Close()
				}
			}
		})
	}
	for _, tt := range []struct {
		name string
		s    *Server
		raw  string // sent instead of the preface
		head bool   // half a field block is sent
		code uint32
	}{
		{"IdleTimeout", &Server{IdleTimeout: short}, "", false, 0},
		{"hello", &Server{ReadTimeout: short}, http2.ClientPreface, false, uint32(http2.ErrCodeSettingsTimeout)},
		{"head", &Server{ReadHeaderTimeout: short}, "", true, uint32(http2.ErrCodeEnhanceYourCalm)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.s.Handler = func(*RequestCtx) {}
			for _, way := range []h2Way{{EngineBlock, true}, {EngineEvent, false}} {
				hs := way.start(t, tt.s)
				var c *h2Conn
				if tt.raw != "" {
					c = &h2Conn{Conn: hs.dialRaw(), t: t}
					c.fr = http2.NewFramer(c, c)
					io.WriteString(c, tt.raw)
				} else {
					c = hs.dialH2()
				}
				if tt.head {
					c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.block("GET", "/")[:3], EndStream: true}))
				} else if tt.raw == "" {
					c.wantAlive()
				}
				if f := c.await(0, "goaway"); f.code != tt.code {
					t.Errorf("%v: got %v", way, f)
				}
				c.await(0, "eof")
				hs.s.Close()
			}
		})
	}
}

// TestH2ConnEnds proves that settings that close connections of HTTP/1.1 lead to GOAWAY,
// and that requests from before it are answered.
func TestH2ConnEnds(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		for _, tt := range []struct {
			name string
			s    *Server
			last uint32
		}{
			{"MaxRequestsPerConn", &Server{MaxRequestsPerConn: 3}, 5},
			{"DisableKeepalive", &Server{DisableKeepalive: true}, 1},
			{"ConnectionClose", &Server{Handler: func(ctx *RequestCtx) {
				if ctx.ID()&0xffffffff == 2 {
					ctx.SetConnectionClose()
				}
			}}, 3},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if tt.s.Handler == nil {
					tt.s.Handler = func(*RequestCtx) {}
				}
				hs := way.start(t, tt.s)
				c := hs.dialH2()
				for id := uint32(1); id <= tt.last; id += 2 {
					c.open("GET", "/", true)
					c.wantAnswer(id, "200", "")
				}
				if f := c.await(0, "goaway"); f.stream != tt.last || f.code != 0 {
					t.Errorf("got %v", f)
				}
				c.await(0, "eof")
			})
		}
	})
}

// TestH2Shutdown proves that clients are told of a shutdown at once, and that running
// requests are answered.
func TestH2Shutdown(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		in, out := make(chan struct{}), make(chan struct{})
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				in <- struct{}{}
				<-out
			}
			ctx.SetBodyString("answer")
		}})
		idle, busy := hs.dialH2(), hs.dialH2()
		idle.wantAlive()
		id := busy.open("GET", "/wait", true)
		<-in
		ended := make(chan error, 1)
		go func() { ended <- hs.s.Shutdown() }()
		if f := idle.await(0, "goaway", "eof"); f.kind != "goaway" {
			t.Errorf("the idle connection got %v", f)
		}
		idle.await(0, "eof")
		first, second := busy.await(0, "goaway"), busy.await(0, "goaway")
		if first.stream != 1<<31-1 || second.stream != id || first.code|second.code != 0 {
			t.Errorf("got %v, %v", first, second)
		}
		late := busy.open("GET", "/late", true) // GOAWAY says that it is not processed
		close(out)
		busy.wantAnswer(id, "200", "answer")
		if f := busy.await(late, "eof", "200"); f.kind != "eof" {
			t.Errorf("got %v", f)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestH2Drain proves that while the server drains, clients are told, and are still
// served.
func TestH2Drain(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{DrainTime: time.Hour, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("answer") }})
		c := hs.dialH2()
		c.wantAlive()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hs.s.ShutdownWithContext(ctx) }()
		if f := c.await(0, "goaway"); f.stream != 1<<31-1 {
			t.Errorf("got %v", f)
		}
		late := hs.dialH2()
		late.sync()
		for _, f := range late.got {
			if f.kind == "goaway" {
				t.Errorf("before its first answer a connection of the drain got %v", f)
			}
		}
		late.wantAlive()
		if f := late.await(0, "goaway"); f.stream != 1<<31-1 {
			t.Errorf("a connection of the drain got %v", f)
		}
		id := c.open("GET", "/", true)
		c.wantAnswer(id, "200", "answer")
		cancel()
		if f := c.await(0, "goaway"); f.stream != id {
			t.Errorf("got %v", f)
		}
		c.await(0, "eof")
		<-ended
	})
}

// TestH2DrainLosesNothing proves that net/http's client, which sends requests again that
// GOAWAY excludes, sees no error while the server drains.
func TestH2DrainLosesNothing(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{DrainTime: time.Hour, Handler: func(ctx *RequestCtx) { ctx.SetBody(ctx.Path()) }})
		c := hs.client(2)
		var answered atomic.Int32
		var enough atomic.Bool
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for !enough.Load() {
					resp, err := c.Get(hs.url("/x"))
					if err != nil {
						t.Errorf("after %d answers: %v", answered.Load(), err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					answered.Add(1)
				}
			})
		}
		await(t, "some answers", func() bool { return answered.Load() > 50 })
		ctx, end := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hs.s.ShutdownWithContext(ctx) }()
		await(t, "the drain", hs.s.Draining)
		before := answered.Load()
		await(t, "answers in the drain", func() bool { return answered.Load() > before+100 })
		enough.Store(true)
		wg.Wait()
		c.CloseIdleConnections()
		end()
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
	})
}

// TestH2ShutdownWithClient proves that a request of net/http's client that runs when
// Shutdown begins gets its complete answer, and that the client opens another connection
// for later requests.
func TestH2ShutdownWithClient(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		const size = 1 << 20
		in, out := make(chan struct{}), make(chan struct{})
		old := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				in <- struct{}{}
				<-out
			}
			ctx.Response.Header.Set("X-From", "old")
			ctx.SetBodyString(strings.Repeat("x", size))
		}})
		now := way.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.Response.Header.Set("X-From", "new") }})
		c := old.client(2)
		var addr atomic.Value // where the client finds the server
		addr.Store(old.addr)
		var d net.Dialer
		c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr.Load().(string))
		}
		get := func(path string) (from string, length int, err error) {
			resp, err := c.Get(old.url(path))
			if err != nil {
				return "", 0, err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			return resp.Header.Get("X-From"), len(b), err
		}
		if from, n, err := get("/"); from != "old" || n != size || err != nil {
			t.Fatalf("before: %q, %d, %v", from, n, err)
		}
		answered, ended := make(chan error, 1), make(chan error, 1)
		go func() {
			from, n, err := get("/wait")
			if from != "old" || n != size {
				err = fmt.Errorf("got %d bytes of %q, %v", n, from, err)
			}
			answered <- err
		}()
		<-in
		addr.Store(now.addr)
		go func() { ended <- old.s.Shutdown() }()
		await(t, "the shutdown", func() bool {
			from, _, err := get("/")
			if err != nil {
				t.Fatalf("a new request: %v", err)
			}
			return from == "new"
		})
		close(out)
		if err := <-answered; err != nil {
			t.Errorf("the request that ran: %v", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestH2Close proves that Close ends everything at once.
func TestH2Close(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		in, cause := make(chan struct{}), make(chan error)
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			done := ctx.Done()
			in <- struct{}{}
			<-done
			cause <- ctx.Err()
		}})
		c := hs.dialH2()
		c.open("GET", "/", true)
		<-in
		hs.s.Close()
		if err := <-cause; err != context.Canceled {
			t.Errorf("Done: %v", err)
		}
		c.await(0, "eof")
	})
}

// TestH2ConnState proves which states and counts an HTTP/2 connection has.
func TestH2ConnState(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		var mu sync.Mutex
		var states []ConnState
		hs := way.start(t, &Server{Handler: func(*RequestCtx) {}, ConnState: func(_ net.Conn, st ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, st)
		}})
		c := hs.dialH2()
		c.wantAlive()
		seen := func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(states)
		}
		await(t, "the idle state", func() bool { return seen() == "[new active idle]" })
		c.wantAlive()
		c.Close()
		await(t, "the end", func() bool { return seen() == "[new active idle active idle closed]" })
		if st := hs.s.Stats(); st.Requests != 2 || st.Panics != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// TestH2ServeConn proves that ServeConn serves HTTP/2 on a connection in memory.
func TestH2ServeConn(t *testing.T) {
	ln := galeutil.NewInmemoryListener()
	s := &Server{HTTP2: HTTP2Config{H2C: true}, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("answer") }}
	served := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			err = s.ServeConn(c)
		}
		served <- err
	}()
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p, DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	resp, err := (&http.Client{Transport: tr}).Get("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	if string(b) != "answer" || resp.ProtoMajor != 2 {
		t.Errorf("got %s %q", resp.Proto, b)
	}
	for {
		tr.CloseIdleConnections() // again, since the connection may become idle a moment after the body has ended
		select {
		case err := <-served:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestH2BadPreface proves that if clients may begin with HTTP/2, bytes that are neither
// HTTP/2 nor HTTP/1.1 get no answer in HTTP/1.1.
func TestH2BadPreface(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		if way.tls {
			return
		}
		hs := way.start(t, &Server{Handler: func(*RequestCtx) {}})
		for _, first := range []string{"INVALID CONNECTION PREFACE\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"} {
			c := hs.dialRaw()
			io.WriteString(c, first)
			if b, err := io.ReadAll(c); strings.HasPrefix(first, "INV") && (err != nil || len(b) > 0) {
				t.Errorf("%q: got %q, %v", first, b, err)
			}
		}
		if _, got := hs.get(hs.client(1), "/"); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// TestH2Duplex proves that a handler may read and write at the same time.
func TestH2Duplex(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			body := ctx.RequestBodyStream()
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				var b [100]byte
				for {
					n, err := body.Read(b[:])
					w.Write(b[:n])
					w.Flush()
					if err != nil {
						return
					}
				}
			})
		}})
		c := hs.dialH2()
		id := c.open("POST", "/", false)
		c.await(id, "200")
		for i := range 10 {
			word := fmt.Sprint("word ", i)
			c.data(id, word, false)
			if f := c.await(id, "data"); f.data != word {
				t.Fatalf("got %v", f)
			}
		}
		c.data(id, "", true)
		c.await(id, "end")
		hs.wantCalm()
	})
}

// TestH2Kept proves that contexts that a program keeps end with their requests, and don't
// change while other requests are served.
func TestH2Kept(t *testing.T) {
	usedAgain(t)
	eachH2(t, func(t *testing.T, way h2Way) {
		kept := make(chan context.Context, 100)
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			ctx.SetUserValue("path", string(ctx.Path()))
			switch n := ctx.ID() & 3; n {
			case 0:
				child, cancel := context.WithCancel(ctx)
				_ = cancel
				kept <- child
			case 1:
				kept <- ctx.Context()
			case 2:
				ctx.Done()
				kept <- ctx
			}
		}})
		c := hs.dialH2()
		for range 60 {
			if status, _, _ := c.answer(c.open("GET", "/kept", true)); status != "200" {
				t.Fatal(status)
			}
		}
		close(kept)
		for ctx := range kept {
			<-ctx.Done()
			if err := context.Cause(ctx); err != ErrRequestDone {
				t.Errorf("a kept context ended with %v", err)
			}
			if v := ctx.Value("path"); v != nil && v != "/kept" {
				t.Errorf("a kept context has %v", v)
			}
		}
		hs.wantCalm()
	})
}

// TestH2LateHandlers proves that a handler that has timed out keeps its context, and that
// no other request gets that.
func TestH2LateHandlers(t *testing.T) {
	usedAgain(t)
	eachH2(t, func(t *testing.T, way h2Way) {
		release := make(chan struct{})
		var late sync.WaitGroup
		h := TimeoutHandler(func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			late.Add(1)
			defer late.Done()
			<-ctx.Done()
			<-release
			path := string(ctx.Path())
			ctx.Request.Header.SetMethod("PUT")
			ctx.SetBodyString(path)
			ctx.Response.Header.Set("X-Late", path)
			if err := ctx.Flush(); err == nil {
				t.Error("a late handler could flush")
			}
			if b := ctx.RequestBodyStream(); b != nil {
				if _, err := io.ReadAll(b); err == nil {
					t.Error("a late handler could read")
				}
			}
			if got := string(ctx.Path()); got != path {
				t.Errorf("the path is %s, was %s", got, path)
			}
		}, 20*time.Millisecond, "too late")
		hs := way.start(t, &Server{Handler: h, StreamRequestBody: true})
		c := hs.dialH2()
		for i := range 20 {
			id := c.open("POST", fmt.Sprint("/late", i), false)
			c.data(id, "some", false)
			c.wantAnswer(id, "408", "too late")
		}
		close(release)
		for range 20 {
			c.wantAlive()
		}
		late.Wait()
		hs.wantCalm()
	})
}

// TestH2Refused proves which requests are refused because of their head, and with which
// code.
func TestH2Refused(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		var told sync.Map
		hs := way.start(t, &Server{
			Handler: func(*RequestCtx) {}, BeforeSend: func(ctx *RequestCtx) { ctx.Response.Header.Set("X-Hook", "1") },
			ErrorHandler: func(ctx *RequestCtx, err error) {
				var re *RequestError
				told.Store(ErrorStatus(err), errors.As(err, &re) && re.RemoteAddr != nil)
				ctx.Error("refused", ErrorStatus(err))
			},
			MaxHeaderFields: 20, ReadBufferSize: 32 << 10,
		})
		c := hs.dialH2()
		var many []string
		for i := range 30 {
			many = append(many, fmt.Sprint("x-", i), "v")
		}
		for want, id := range map[string]uint32{
			"431": c.open("GET", "/", true, many...),
			"414": c.open("GET", "/"+strings.Repeat("x", 9<<10), true),
			"417": c.open("GET", "/", true, "expect", "more"),
		} {
			if fields := c.wantAnswer(id, want, "refused"); fields["x-hook"] != "1" {
				t.Errorf("%s: %v", want, fields)
			}
		}
		for want, id := range map[string]uint32{
			"431": c.open("HEAD", "/", true, many...),
			"414": c.open("HEAD", "/"+strings.Repeat("x", 9<<10), true),
			"417": c.open("HEAD", "/", true, "expect", "more"),
		} {
			if fields := c.wantAnswer(id, want, ""); fields["content-length"] != "7" {
				t.Errorf("HEAD, %s: %v", want, fields)
			}
		}
		for _, status := range []int{431, 414} {
			if v, _ := told.Load(status); v != true {
				t.Errorf("ErrorHandler was not told of the client for %d", status)
			}
		}
		c.wantAlive()
	})
}

// TestH2SlowReader proves that bytes of a body that were read are not kept while more of
// it arrives.
func TestH2SlowReader(t *testing.T) {
	const total, ahead = 8 << 20, 16 << 10
	eachH2(t, func(t *testing.T, way h2Way) {
		most := make(chan int, 1)
		hs := way.start(t, &Server{StreamRequestBody: true, MaxRequestBodySize: 2 * total, Handler: func(ctx *RequestCtx) {
			s := ctx.x.(*h2Stream)
			r := ctx.RequestBodyStream()
			p := make([]byte, ahead)
			highest := 0
			for n := 0; n < total; {
				// It always leaves some bytes, so that the body isn't read to its end.
				s.ss.mu.Lock()
				for n+len(p) < total && s.in.n < ahead+1 {
					s.awaitBody()
				}
				s.ss.mu.Unlock()
				m, err := r.Read(p)
				if n += m; err != nil {
					t.Error(err)
					break
				}
				s.ss.mu.Lock()
				size := 0
				for _, b := range append(s.in.more, s.in.first) {
					if b != nil {
						size += cap(b.B)
					}
				}
				highest = max(highest, size)
				s.ss.mu.Unlock()
			}
			most <- highest
		}})
		resp, err := hs.client(2).Post(hs.url("/"), "text/plain", io.LimitReader(zeros{}, total))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := <-most; n > 4<<20 {
			t.Errorf("the buffers grew to %d bytes", n)
		}
	})
}

// TestH2NoTrailers proves that responses without content have no trailers (RFC 9110
// sections 15.3.5 and 15.4.5).
func TestH2NoTrailers(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/204":
				ctx.SetStatusCode(StatusNoContent)
			case "/stream":
				ctx.SetStatusCode(StatusNoContent)
				ctx.SetBodyStream(strings.NewReader("x"), -1)
			case "/flush":
				ctx.SetStatusCode(StatusNoContent)
				if err := ctx.Flush(); err != nil {
					t.Error(err)
				}
			}
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.Set("X-Sum", "1")
		}})
		c := hs.dialH2()
		for _, path := range []string{"/204", "/stream", "/flush"} {
			id := c.open("GET", path, true)
			for f := c.await(id, "204", "data", "trailers"); ; f = c.await(id, "data", "trailers", "end") {
				if f.kind == "trailers" || f.data != "" {
					t.Errorf("%s: got %v", path, f)
				}
				if f.end {
					break
				}
			}
		}
	})
}
