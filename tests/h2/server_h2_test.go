package h2

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

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2Protocol proves that a handler can see by which protocol a request came.
func TestH2Protocol(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "%s %v", ctx.Request.Header.Protocol(), ctx.Request.Header.IsHTTP11())
		}})
		if _, got := hs.Get(hs.Client(2), "/"); got != "HTTP/2.0 true" && got != "HTTP/2.0 false" {
			t.Errorf("got %q", got)
		}
		if _, got := hs.Get(hs.Client(1), "/"); got != "HTTP/1.1 true" {
			t.Errorf("got %q", got)
		}
	})
}

// TestH2Interim proves that informational responses reach the client, and that a 100 is
// sent only to a client that asked for it.
func TestH2Interim(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Add("Link", "</x>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			var h gale.ResponseHeader
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
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), "POST", hs.URL("/"), strings.NewReader("body"))
		req.Header.Set("Expect", "100-continue")
		resp, err := hs.Client(2).Do(req)
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
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		var running, highest atomic.Int32
		all := make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if n := running.Add(1); n == streams {
				close(all)
			}
			highest.Store(max(highest.Load(), running.Load()))
			<-all
			running.Add(-1)
			ctx.SetBody(ctx.Path())
		}})
		c := hs.DialH2()
		ids := map[uint32]string{}
		for i := range streams {
			path := fmt.Sprint("/", i)
			ids[c.Open("GET", path, true)] = path
		}
		for id, path := range ids {
			c.WantAnswer(id, "200", path)
		}
	})
}

// TestH2NotBehind proves that a response is sent even if the goroutine that made it runs
// another handler, which blocks.
func TestH2NotBehind(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		release := make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-release
			}
			ctx.SetBodyString("done")
		}})
		defer close(release)
		c := hs.DialH2()
		for range 100 {
			fast := c.Open("GET", "/fast", true)
			c.Open("GET", "/wait", true)
			more := c.Open("GET", "/fast", true)
			c.WantAnswer(fast, "200", "done")
			c.WantAnswer(more, "200", "done")
			if c.Last > 240 { // each block leaves one stream open
				break
			}
		}
	})
}

// TestH2ResetStates resets a stream in every state. It proves that the connection goes
// on, and that nothing is left.
func TestH2ResetStates(t *testing.T) {
	peers.UsedAgain(t)
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hooked, unhook := make(chan struct{}, 10), make(chan struct{}, 10)
		in := make(chan error, 10)
		var ran atomic.Int32
		hs := way.Start(t, &gale.Server{
			HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
				if string(h.RequestURI()) == "/hook" {
					hooked <- struct{}{}
					<-unhook
				}
				return gale.RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *gale.RequestCtx) {
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
		c := hs.DialH2()
		wantReset := func(what string) {
			t.Helper()
			err := <-in
			var re *gale.StreamResetError
			if !errors.As(err, &re) || re.Code != 8 || !errors.Is(err, gale.ErrClientGone) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for range 3 {
			id := c.Open("GET", "/hook", true) // in HeaderReceived
			<-hooked
			c.Reset(id)
			c.Sync()
			unhook <- struct{}{}

			id = c.Open("POST", "/collect", false) // collecting
			c.Data(id, "some", false)
			c.Sync()
			c.Reset(id)

			id = c.Open("GET", "/done", true) // the handler runs
			<-in
			c.Sync()
			c.Reset(id)
			wantReset("Done")

			id = c.Open("POST", "/stream", false) // the handler reads
			c.Data(id, "some", false)
			<-in
			c.Reset(id)
			wantReset("reading")

			id = c.Open("GET", "/big", true) // the response waits for a window
			c.Await(id, "200")
			c.Reset(id)

			id = c.Open("GET", "/flush", true)
			<-in
			c.Await(id, "200")
			c.Reset(id)
			wantReset("flushing")

			id = c.Open("GET", "/writer", true)
			c.Await(id, "200")
			c.Reset(id)
			wantReset("writing")
			c.Check(c.Fr.WriteWindowUpdate(0, 1<<20)) // the part of the window that they have used
			c.WantAlive()
		}
		if n := ran.Load(); n != 0 {
			t.Errorf("%d handlers ran for streams that had been reset", n)
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Lost breaks the connection in every state. It proves that each handler ends, and
// with it the goroutine of its stream.
func TestH2Lost(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		var inside atomic.Int32
		hs := way.Start(t, &gale.Server{
			MaxIdleWorkerDuration: time.Millisecond,
			HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
				return gale.RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *gale.RequestCtx) {
				inside.Add(1)
				defer inside.Add(-1)
				switch string(ctx.Path()) {
				case "/done":
					<-ctx.Done()
					if err := context.Cause(ctx); !errors.Is(err, gale.ErrClientGone) {
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
		hs.Get(hs.Client(2), "/warm")
		for i := range 10 {
			c := hs.DialH2()
			for _, path := range []string{"/done", "/stream", "/big", "/flush", "/collect", "/stream"} {
				method, end := "GET", true
				if path == "/stream" || path == "/collect" {
					method, end = "POST", false
				}
				id := c.Open(method, path, end)
				if path == "/flush" {
					c.Await(id, "200")
				}
			}
			c.Sync()
			if i%2 == 0 {
				if tc, ok := c.Conn.(*net.TCPConn); ok {
					tc.SetLinger(0)
				}
			}
			c.Close()
		}
		await.Gone(t, "connections", func() bool { return hs.S.GetCurrentConcurrency() <= 1 })
		await.Gone(t, "handlers", func() bool {
			return inside.Load() == 0 && !strings.Contains(peers.AllStacks(), "gale.(*h2Stream).")
		})
		peers.WantCalm(t, hs.S)
	})
}

// TestH2HalfClosed proves that a client that has ended its side gets its answers, and
// that Done is closed.
func TestH2HalfClosed(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		in := make(chan error, 2)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/before" {
				in <- nil
				<-ctx.Done()
				in <- context.Cause(ctx)
			}
			ctx.SetBodyString("answer")
		}})
		c := hs.DialH2()
		id := c.Open("GET", "/before", true)
		half := c.Open("POST", "/half", false)
		c.Data(half, "some", false)
		<-in
		c.Sync()
		c.Check(c.Conn.(interface{ CloseWrite() error }).CloseWrite())
		if err := <-in; err != gale.ErrClientGone {
			t.Errorf("Done: %v", err)
		}
		c.WantAnswer(id, "200", "answer")
		if status, _, _ := c.Answer(half); status != "400" {
			t.Errorf("a request that is not whole got %s", status)
		}
		c.Await(0, "eof")
	})
}

// TestH2EarlyAnswer proves that a client that is answered before its body has arrived is
// told to stop, and that later data does no harm.
func TestH2EarlyAnswer(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, MaxRequestBodySize: 10, Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("no thanks") }})
		c := hs.DialH2()
		for range 5 {
			id := c.Open("POST", "/", false)
			c.Data(id, "some", false)
			c.WantAnswer(id, "200", "no thanks")
			if f := c.Await(id, "rst"); f.Code != 0 {
				t.Errorf("reset with %d", f.Code)
			}
			for range 20 {
				c.Data(id, strings.Repeat("x", 10000), false)
			}
		}
		c.WantAlive()
		peers.WantCalm(t, hs.S)
	})
}

// TestH2EarlyAnswerAlone: the reset that follows an early answer is written after it, and not
// together with it: curl 7.88 loses the answer then. A read returns one record of TLS at most.
func TestH2EarlyAnswerAlone(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{MaxRequestBodySize: 10, Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/close" {
				ctx.SetConnectionClose()
			}
			ctx.SetBodyString("no thanks")
		}, StreamRequestBody: true})
		for _, path := range []string{"/", "/close"} {
			c := hs.DialH2()
			if _, ok := c.Conn.(*tls.Conn); !ok {
				return // what is written together can't be seen
			}
			c.Sync()
			id := c.Open("POST", path, false)
			var got []http2.FrameType
			b := make([]byte, 1<<14)
			for reset := false; !reset; {
				n, err := c.Conn.Read(b)
				c.Check(err)
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
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		const streams, size = 20, 50_000
		text := func(path string) string { return strings.Repeat(path+" ", size)[:size] }
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
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
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3000})
		paths, bodies := map[uint32]string{}, map[uint32]*strings.Builder{}
		for i := range streams {
			path := fmt.Sprint("/", i, "bwf"[i%3:i%3+1])
			id := c.Open("GET", path, true)
			paths[id], bodies[id] = path, new(strings.Builder)
		}
		for open := streams; open > 0; {
			f := c.Next()
			if f.Kind != "data" {
				if f.Kind == "rst" || f.Kind == "goaway" || f.Kind == "eof" {
					t.Fatalf("got %v", f)
				}
				continue
			}
			bodies[f.Stream].WriteString(f.Data)
			if len(f.Data) > 0 {
				c.Check(c.Fr.WriteWindowUpdate(0, uint32(len(f.Data))))
			}
			if f.End {
				open--
			} else if len(f.Data) > 0 {
				c.Check(c.Fr.WriteWindowUpdate(f.Stream, uint32(len(f.Data))))
			}
		}
		for id, path := range paths {
			if got := bodies[id].String(); got != text(path) {
				t.Errorf("%s: %d bytes, which are not those of the handler", path, len(got))
			}
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2ZeroLength proves that a request with Content-Length 0 and data is malformed,
// however late its data arrives.
func TestH2ZeroLength(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("answer") }})
		c := hs.DialH2()
		id := c.Open("POST", "/", false, "content-length", "0")
		c.Sync() // the head has arrived alone
		c.Data(id, "x", true)
		if f := c.Await(id, "rst", "200"); f.Kind != "rst" || f.Code != uint32(http2.ErrCodeProtocol) {
			t.Errorf("got %v", f)
		}
		id = c.Open("POST", "/", false, "content-length", "0")
		c.Sync()
		c.Data(id, "", true)
		c.WantAnswer(id, "200", "answer")
	})
}

// TestH2HalfClosedAfterReset proves that a connection whose client has reset its streams
// and ended its side closes without waiting for handlers.
func TestH2HalfClosedAfterReset(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		in, out := make(chan struct{}), make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				close(in)
				<-out
			}
		}})
		defer close(out)
		c := hs.DialH2()
		id := c.Open("GET", "/wait", true)
		<-in
		c.Reset(id)
		c.Sync()
		c.Check(c.Conn.(interface{ CloseWrite() error }).CloseWrite())
		c.Await(0, "eof")
	})
}

// TestH2Goexit proves that user code that ends its goroutine ends its stream and no
// other, wherever it runs.
func TestH2Goexit(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		release := make(chan struct{})
		began := make(chan struct{}, 3)
		hs := way.Start(t, &gale.Server{
			HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
				if string(h.RequestURI()) == "/hook" {
					runtime.Goexit()
				}
				return gale.RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
			},
			Handler: func(ctx *gale.RequestCtx) {
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
					ctx.SetUserValue("k", peers.CloserFunc(func() error { runtime.Goexit(); return nil }))
				}
				ctx.SetBodyString("answer")
			},
		})
		c := hs.DialH2()
		waits := c.Open("GET", "/wait", true)
		late := c.Open("GET", "/late", true)
		<-began
		<-began
		var ended []uint32
		c.Together(func() {
			for _, path := range []string{"/goexit", "/flushed", "/hook", "/goexit"} {
				ended = append(ended, c.Open("GET", path, true))
			}
		})
		for _, id := range ended {
			if f := c.Await(id, "rst"); f.Code != uint32(http2.ErrCodeInternal) {
				t.Errorf("got %v", f)
			}
		}
		id := c.Open("POST", "/stream", false)
		c.Data(id, "body", true)
		c.Await(id, "rst")
		c.WantAnswer(c.Open("GET", "/closer", true), "200", "answer") // the answer was sent before
		close(release)
		c.Await(late, "rst")
		c.WantAnswer(waits, "200", "answer")
		c.WantAlive()
		c.Close()
		await.Until(t, "the end of the connection", func() bool { return hs.S.GetCurrentConcurrency() == 0 })
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Panics proves that a panic ends its stream and no other.
func TestH2Panics(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		release := make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
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
				panic(gale.ErrAbortHandler)
			case "/closer":
				ctx.SetUserValue("k", peers.CloserFunc(func() error { panic("of the test") }))
			case "/hijack":
				ctx.Hijack(func(net.Conn) { t.Error("a HijackHandler ran") })
			case "/hijacknow":
				_, err := ctx.HijackNow()
				fmt.Fprint(ctx, errors.Is(err, errors.ErrUnsupported))
			}
		}})
		c := hs.DialH2()
		waits := c.Open("GET", "/wait", true)
		for path, want := range map[string]string{
			"/panic": "500", "/flushed": "rst 2", "/abort": "rst 2", "/closer": "200", "/hijack": "501", "/hijacknow": "200",
		} {
			status, _, body := c.Answer(c.Open("GET", path, true))
			if status != want || path == "/hijacknow" && body != "true" {
				t.Errorf("%s: %s %q, want %s", path, status, body, want)
			}
		}
		close(release)
		c.WantAnswer(waits, "200", "")
		await.Until(t, "what the log has to say", func() bool { // the closer's panic may come after its answer
			log := hs.Log.String()
			return strings.Contains(log, "can't be hijacked") && strings.Count(log, "of the test") == 3
		})
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Timeouts proves that what takes too long is ended, and that what only seems to
// take too long is not.
func TestH2Timeouts(t *testing.T) {
	const short = 50 * time.Millisecond
	whole := func(ctx *gale.RequestCtx) { ctx.SetBodyString("read") }
	readStream := func(ctx *gale.RequestCtx) {
		_, err := io.ReadAll(ctx.RequestBodyStream())
		fmt.Fprint(ctx, errors.Is(err, gale.ErrTimeout))
	}
	big := func(ctx *gale.RequestCtx) { ctx.SetBodyString(strings.Repeat("x", 100_000)) }
	for _, tt := range []struct {
		name string
		s    *gale.Server
		want string
	}{
		{"ReadTimeout", &gale.Server{ReadTimeout: 10 * short, Handler: whole}, "408 Request timeout"}, // it limits the preface too
		{"ReadTimeout of a request", &gale.Server{Handler: whole, HeaderReceived: func(*gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{ReadTimeout: short} }}, "408 Request timeout"},
		{"ReadStallTimeout", &gale.Server{ReadStallTimeout: short, Handler: whole}, "408 Request timeout"},
		{"ReadStallTimeout of a stream", &gale.Server{ReadStallTimeout: short, StreamRequestBody: true, Handler: readStream}, "200 true"},
		{"SetReadDeadline", &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			ctx.SetReadDeadline(time.Now().Add(short))
			readStream(ctx)
		}}, "200 true"},
		{"no stall without a reader", &gale.Server{ReadStallTimeout: short, StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			time.Sleep(4 * short) // a slow handler: the body must not stall meanwhile
			var b [4]byte
			n, err := ctx.RequestBodyStream().Read(b[:])
			fmt.Fprint(ctx, n, err)
		}}, "200 4 <nil>"},
		{"WriteStallTimeout", &gale.Server{WriteStallTimeout: short, Handler: big}, "rst 8"},
		{"WriteTimeout", &gale.Server{WriteTimeout: short, WriteStallTimeout: -1, Handler: big}, "rst 8"},
		{"WriteTimeout of a stream", &gale.Server{WriteTimeout: short, WriteStallTimeout: -1, Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(strings.Repeat("x", 100_000)) })
		}}, "rst 8"},
		{"SetWriteDeadline", &gale.Server{WriteStallTimeout: -1, Handler: func(ctx *gale.RequestCtx) {
			ctx.SetWriteDeadline(time.Now().Add(short))
			big(ctx)
		}}, "rst 8"},
		{"WriteTimeout bounds each flush", &gale.Server{WriteTimeout: 20 * short, Handler: func(ctx *gale.RequestCtx) {
			for range 6 {
				ctx.WriteString("x")
				if err := ctx.Flush(); err != nil {
					ctx.WriteString(err.Error())
				}
				time.Sleep(5 * short) // a slow handler: all flushes take longer than the timeout of one
			}
		}}, "200 xxxxxx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []harness.H2Way{{Engine: gale.EngineBlock, TLS: true}, {Engine: gale.EngineEvent, TLS: false}} { // this doesn't depend on the engine
				hs := way.Start(t, tt.s)
				c := hs.DialH2()
				id := c.Open("POST", "/", false)
				c.Data(id, "some", strings.Contains(tt.name, "Write"))
				status, _, body := c.Answer(id)
				if got := strings.TrimSpace(status + " " + body); got != tt.want && !(status == tt.want) {
					t.Errorf("%v: got %.100q, want %q", way, got, tt.want)
				}
				if hs.S.HeaderReceived == nil {
					hs.S.Close()
				}
			}
		})
	}
	for _, tt := range []struct {
		name string
		s    *gale.Server
		raw  string // sent instead of the preface
		head bool   // half a field block is sent
		code uint32
	}{
		{"IdleTimeout", &gale.Server{IdleTimeout: short}, "", false, 0},
		{"hello", &gale.Server{ReadTimeout: 10 * short}, http2.ClientPreface, false, uint32(http2.ErrCodeSettingsTimeout)},
		{"head", &gale.Server{ReadHeaderTimeout: short}, "", true, uint32(http2.ErrCodeEnhanceYourCalm)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.s.Handler = func(*gale.RequestCtx) {}
			for _, way := range []harness.H2Way{{Engine: gale.EngineBlock, TLS: true}, {Engine: gale.EngineEvent, TLS: false}} {
				hs := way.Start(t, tt.s)
				var c *peers.H2Conn
				if tt.raw != "" {
					c = &peers.H2Conn{Conn: hs.DialRaw(), T: t}
					c.Fr = http2.NewFramer(c, c)
					io.WriteString(c, tt.raw)
				} else {
					c = hs.DialH2()
				}
				if tt.head {
					c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.Block("GET", "/")[:3], EndStream: true}))
				} else if tt.raw == "" {
					c.WantAlive()
				}
				if f := c.Await(0, "goaway"); f.Code != tt.code {
					t.Errorf("%v: got %v", way, f)
				}
				c.Await(0, "eof")
				hs.S.Close()
			}
		})
	}
}

// TestH2ConnEnds proves that settings that close connections of HTTP/1.1 lead to GOAWAY,
// and that requests from before it are answered.
func TestH2ConnEnds(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		for _, tt := range []struct {
			name string
			s    *gale.Server
			last uint32
		}{
			{"MaxRequestsPerConn", &gale.Server{MaxRequestsPerConn: 3}, 5},
			{"DisableKeepalive", &gale.Server{DisableKeepalive: true}, 1},
			{"ConnectionClose", &gale.Server{Handler: func(ctx *gale.RequestCtx) {
				if ctx.ID()&0xffffffff == 2 {
					ctx.SetConnectionClose()
				}
			}}, 3},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if tt.s.Handler == nil {
					tt.s.Handler = func(*gale.RequestCtx) {}
				}
				hs := way.Start(t, tt.s)
				c := hs.DialH2()
				for id := uint32(1); id <= tt.last; id += 2 {
					c.Open("GET", "/", true)
					c.WantAnswer(id, "200", "")
				}
				if f := c.Await(0, "goaway"); f.Stream != tt.last || f.Code != 0 {
					t.Errorf("got %v", f)
				}
				c.Await(0, "eof")
			})
		}
	})
}

// TestH2Shutdown proves that clients are told of a shutdown at once, and that running
// requests are answered.
func TestH2Shutdown(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		in, out := make(chan struct{}), make(chan struct{})
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				in <- struct{}{}
				<-out
			}
			ctx.SetBodyString("answer")
		}})
		idle, busy := hs.DialH2(), hs.DialH2()
		idle.WantAlive()
		id := busy.Open("GET", "/wait", true)
		<-in
		ended := make(chan error, 1)
		go func() { ended <- hs.S.Shutdown() }()
		if f := idle.Await(0, "goaway", "eof"); f.Kind != "goaway" {
			t.Errorf("the idle connection got %v", f)
		}
		idle.Await(0, "eof")
		first, second := busy.Await(0, "goaway"), busy.Await(0, "goaway")
		if first.Stream != 1<<31-1 || second.Stream != id || first.Code|second.Code != 0 {
			t.Errorf("got %v, %v", first, second)
		}
		late := busy.Open("GET", "/late", true) // GOAWAY says that it is not processed
		close(out)
		busy.WantAnswer(id, "200", "answer")
		if f := busy.Await(late, "eof", "200"); f.Kind != "eof" {
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
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{DrainTime: time.Hour, Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("answer") }})
		c := hs.DialH2()
		c.WantAlive()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hs.S.ShutdownWithContext(ctx) }()
		if f := c.Await(0, "goaway"); f.Stream != 1<<31-1 {
			t.Errorf("got %v", f)
		}
		late := hs.DialH2()
		late.Sync()
		for _, f := range late.Got {
			if f.Kind == "goaway" {
				t.Errorf("before its first answer a connection of the drain got %v", f)
			}
		}
		late.WantAlive()
		if f := late.Await(0, "goaway"); f.Stream != 1<<31-1 {
			t.Errorf("a connection of the drain got %v", f)
		}
		id := c.Open("GET", "/", true)
		c.WantAnswer(id, "200", "answer")
		cancel()
		if f := c.Await(0, "goaway"); f.Stream != id {
			t.Errorf("got %v", f)
		}
		c.Await(0, "eof")
		<-ended
	})
}

// TestH2DrainLosesNothing proves that net/http's client, which sends requests again that
// GOAWAY excludes, sees no error while the server drains.
func TestH2DrainLosesNothing(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{DrainTime: time.Hour, Handler: func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.Path()) }})
		c := hs.Client(2)
		var answered atomic.Int32
		var enough atomic.Bool
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for !enough.Load() {
					resp, err := c.Get(hs.URL("/x"))
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
		await.Until(t, "some answers", func() bool { return answered.Load() > 50 })
		ctx, end := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hs.S.ShutdownWithContext(ctx) }()
		await.Until(t, "the drain", hs.S.Draining)
		before := answered.Load()
		await.Until(t, "answers in the drain", func() bool { return answered.Load() > before+gate.Form[int32](100, 30) })
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
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		const size = 1 << 20
		in, out := make(chan struct{}), make(chan struct{})
		old := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				in <- struct{}{}
				<-out
			}
			ctx.Response.Header.Set("X-From", "old")
			ctx.SetBodyString(strings.Repeat("x", size))
		}})
		now := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-From", "new") }})
		c := old.Client(2)
		var addr atomic.Value // where the client finds the server
		addr.Store(old.Addr)
		var d net.Dialer
		c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr.Load().(string))
		}
		get := func(path string) (from string, length int, err error) {
			resp, err := c.Get(old.URL(path))
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
		addr.Store(now.Addr)
		go func() { ended <- old.S.Shutdown() }()
		await.Until(t, "the shutdown", func() bool {
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
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		in, cause := make(chan struct{}), make(chan error)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			done := ctx.Done()
			in <- struct{}{}
			<-done
			cause <- ctx.Err()
		}})
		c := hs.DialH2()
		c.Open("GET", "/", true)
		<-in
		hs.S.Close()
		if err := <-cause; err != context.Canceled {
			t.Errorf("Done: %v", err)
		}
		c.Await(0, "eof")
	})
}

// TestH2ConnState proves which states and counts an HTTP/2 connection has.
func TestH2ConnState(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		var mu sync.Mutex
		var states []gale.ConnState
		hs := way.Start(t, &gale.Server{Handler: func(*gale.RequestCtx) {}, ConnState: func(_ net.Conn, st gale.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, st)
		}})
		c := hs.DialH2()
		c.WantAlive()
		seen := func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(states)
		}
		await.Until(t, "the idle state", func() bool { return seen() == "[new active idle]" })
		c.WantAlive()
		c.Close()
		await.Until(t, "the end", func() bool { return seen() == "[new active idle active idle closed]" })
		if st := hs.S.Stats(); st.Requests != 2 || st.Panics != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// TestH2ServeConn proves that ServeConn serves HTTP/2 on a connection in memory.
func TestH2ServeConn(t *testing.T) {
	ln := galeutil.NewInmemoryListener()
	s := &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("answer") }}
	served := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			err = s.ServeConn(c)
		}
		served <- err
	}()
	tr := &http.Transport{Protocols: peers.Protocols(2), DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
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
		case <-time.After(10 * time.Millisecond): // between two tries
		}
	}
}

// TestH2BadPreface proves that if clients may begin with HTTP/2, bytes that are neither
// HTTP/2 nor HTTP/1.1 get no answer in HTTP/1.1.
func TestH2BadPreface(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		if way.TLS {
			return
		}
		hs := way.Start(t, &gale.Server{Handler: func(*gale.RequestCtx) {}})
		for _, first := range []string{"INVALID CONNECTION PREFACE\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"} {
			c := hs.DialRaw()
			io.WriteString(c, first)
			if b, err := io.ReadAll(c); strings.HasPrefix(first, "INV") && (err != nil || len(b) > 0) {
				t.Errorf("%q: got %q, %v", first, b, err)
			}
		}
		if _, got := hs.Get(hs.Client(1), "/"); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// TestH2Duplex proves that a handler may read and write at the same time.
func TestH2Duplex(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
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
		c := hs.DialH2()
		id := c.Open("POST", "/", false)
		c.Await(id, "200")
		for i := range 10 {
			word := fmt.Sprint("word ", i)
			c.Data(id, word, false)
			if f := c.Await(id, "data"); f.Data != word {
				t.Fatalf("got %v", f)
			}
		}
		c.Data(id, "", true)
		c.Await(id, "end")
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Kept proves that contexts that a program keeps end with their requests, and don't
// change while other requests are served.
func TestH2Kept(t *testing.T) {
	peers.UsedAgain(t)
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		kept := make(chan context.Context, 100)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
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
		c := hs.DialH2()
		for range 60 {
			if status, _, _ := c.Answer(c.Open("GET", "/kept", true)); status != "200" {
				t.Fatal(status)
			}
		}
		close(kept)
		for ctx := range kept {
			<-ctx.Done()
			if err := context.Cause(ctx); err != gale.ErrRequestDone {
				t.Errorf("a kept context ended with %v", err)
			}
			if v := ctx.Value("path"); v != nil && v != "/kept" {
				t.Errorf("a kept context has %v", v)
			}
		}
		peers.WantCalm(t, hs.S)
	})
}

// TestH2LateHandlers proves that a handler that has timed out keeps its context, and that
// no other request gets that.
func TestH2LateHandlers(t *testing.T) {
	peers.UsedAgain(t)
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		release := make(chan struct{})
		var late sync.WaitGroup
		slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
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
		h := func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) != "/alive" { // a busy machine may need 20 ms for that
				slow(ctx)
			}
		}
		hs := way.Start(t, &gale.Server{Handler: h, StreamRequestBody: true})
		c := hs.DialH2()
		for i := range 20 {
			id := c.Open("POST", fmt.Sprint("/late", i), false)
			c.Data(id, "some", false)
			c.WantAnswer(id, "408", "too late")
		}
		close(release)
		for range 20 {
			c.WantAlive()
		}
		late.Wait()
		peers.WantCalm(t, hs.S)
	})
}

// TestH2Refused proves which requests are refused because of their head, and with which
// code.
func TestH2Refused(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		var told sync.Map
		hs := way.Start(t, &gale.Server{
			Handler: func(*gale.RequestCtx) {}, BeforeSend: func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", "1") },
			ErrorHandler: func(ctx *gale.RequestCtx, err error) {
				var re *gale.RequestError
				told.Store(gale.ErrorStatus(err), errors.As(err, &re) && re.RemoteAddr != nil)
				ctx.Error("refused", gale.ErrorStatus(err))
			},
			MaxHeaderFields: 20, ReadBufferSize: 32 << 10,
		})
		c := hs.DialH2()
		var many []string
		for i := range 30 {
			many = append(many, fmt.Sprint("x-", i), "v")
		}
		for want, id := range map[string]uint32{
			"431": c.Open("GET", "/", true, many...),
			"414": c.Open("GET", "/"+strings.Repeat("x", 9<<10), true),
			"417": c.Open("GET", "/", true, "expect", "more"),
		} {
			if fields := c.WantAnswer(id, want, "refused"); fields["x-hook"] != "1" {
				t.Errorf("%s: %v", want, fields)
			}
		}
		for want, id := range map[string]uint32{
			"431": c.Open("HEAD", "/", true, many...),
			"414": c.Open("HEAD", "/"+strings.Repeat("x", 9<<10), true),
			"417": c.Open("HEAD", "/", true, "expect", "more"),
		} {
			if fields := c.WantAnswer(id, want, ""); fields["content-length"] != "7" {
				t.Errorf("HEAD, %s: %v", want, fields)
			}
		}
		for _, status := range []int{431, 414} {
			if v, _ := told.Load(status); v != true {
				t.Errorf("ErrorHandler was not told of the client for %d", status)
			}
		}
		c.WantAlive()
	})
}

// TestH2NoTrailers proves that responses without content have no trailers (RFC 9110
// sections 15.3.5 and 15.4.5).
func TestH2NoTrailers(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/204":
				ctx.SetStatusCode(gale.StatusNoContent)
			case "/stream":
				ctx.SetStatusCode(gale.StatusNoContent)
				ctx.SetBodyStream(strings.NewReader("x"), -1)
			case "/flush":
				ctx.SetStatusCode(gale.StatusNoContent)
				if err := ctx.Flush(); err != nil {
					t.Error(err)
				}
			}
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.Set("X-Sum", "1")
		}})
		c := hs.DialH2()
		for _, path := range []string{"/204", "/stream", "/flush"} {
			id := c.Open("GET", path, true)
			for f := c.Await(id, "204", "data", "trailers"); ; f = c.Await(id, "data", "trailers", "end") {
				if f.Kind == "trailers" || f.Data != "" {
					t.Errorf("%s: got %v", path, f)
				}
				if f.End {
					break
				}
			}
		}
	})
}
