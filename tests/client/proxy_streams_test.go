package client

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestProxiedStreams proves that a handler can give its request, whose body is a stream, to a
// client: whether the server answers before it has read the body or after it, no upload that
// others send at that time is short or has a foreign byte, and each gets its own answer.
func TestProxiedStreams(t *testing.T) {
	for _, upstream := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Auto} {
		t.Run(fmt.Sprint("upstream=", upstream), func(t *testing.T) {
			peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) { testProxiedStreams(t, way, major, upstream) })
		})
	}
}

func testProxiedStreams(t *testing.T, way harness.H2Way, major int, mode gale.HTTP2Mode) {
	peers.UsedAgain(t)
	upstream := harness.H2Way{Engine: way.Engine, TLS: true}.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/early" {
			ctx.Error("refused", gale.StatusRequestEntityTooLarge)
			return
		}
		countStream(ctx)
	}})
	client := &gale.Client{HTTP2: mode, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer client.CloseIdleConnections()
	hs := way.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/upload" {
			countStream(ctx)
			return
		}
		ctx.Request.SetRequestURI(upstream.URL(string(ctx.Path())))
		if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
	}})
	var early atomic.Int64
	var users sync.WaitGroup
	each := race.Fewer(gate.Form(120, 40))
	for i := range 12 {
		users.Go(func() {
			c := hs.Client(major)
			own := byte('a' + i)
			path := []string{"/upload", "/early", "/early", "/all"}[i%4]
			for j := range each {
				body := strings.Repeat(string(own), 1000<<(j%9))
				resp, err := c.Post(hs.URL(path), "text/plain", strings.NewReader(body))
				if path == "/early" && err != nil {
					continue // the server has closed the connection while the client was sending
				}
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				switch {
				case path != "/early":
					if want := fmt.Sprintf("%d %c", len(body), own); resp.StatusCode != 200 || string(b) != want || err != nil {
						t.Errorf("%s of %s got %d %q %v", path, want, resp.StatusCode, b, err)
					}
				case resp.StatusCode == gale.StatusRequestEntityTooLarge:
					early.Add(1)
				case resp.StatusCode != gale.StatusBadGateway:
					t.Errorf("%s got %d %q", path, resp.StatusCode, b)
				}
			}
		})
	}
	users.Wait()
	if early.Load() == 0 {
		t.Error("no answer came early: the test proves nothing")
	}
}

// countStream answers with the length of the body and its byte, if all its bytes are the same.
func countStream(ctx *gale.RequestCtx) {
	b, err := io.ReadAll(ctx.RequestBodyStream())
	if err != nil || len(b) == 0 || bytes.Count(b, b[:1]) != len(b) {
		ctx.Error(fmt.Sprintf("%d bytes, of %.3q: %v", len(b), b, err), gale.StatusBadRequest)
		return
	}
	fmt.Fprintf(ctx, "%d %c", len(b), b[0])
}

// TestProxiedTrailers proves that the trailer section of a request follows its body once and whole,
// when a handler passes the request on as it arrives. If the upstream answers before that, the
// handler and the server may already use the request for something else.
func TestProxiedTrailers(t *testing.T) {
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Auto} {
		for _, streams := range []bool{false, true} {
			for _, merge := range []bool{false, true} {
				for how, pass := range passings {
					t.Run(fmt.Sprint("upstream=", mode, ",streams=", streams, ",merge=", merge, ",", how), func(t *testing.T) {
						peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
							testProxiedTrailers(t, way, major, mode, streams, merge, pass, how != "without trailers")
						})
					})
				}
			}
		}
	}
}

// passings are how a handler passes its request on.
var passings = map[string]func(ctx *gale.RequestCtx){
	"as it is": func(ctx *gale.RequestCtx) {},
	"in a stream": func(ctx *gale.RequestCtx) {
		ctx.Request.SetBodyStream(io.TeeReader(ctx.RequestBodyStream(), io.Discard), -1)
	},
	"by a writer": func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.Request.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = io.Copy(w, body) })
	},
	"in a pipe": func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		r, w := io.Pipe()
		go func() {
			_, err := io.Copy(w, body)
			w.CloseWithError(err)
		}()
		ctx.Request.SetBodyStream(r, -1)
	},
	"when it was read": func(ctx *gale.RequestCtx) {
		b, _ := io.ReadAll(ctx.RequestBodyStream())
		ctx.Request.SetBodyStream(bytes.NewReader(b), -1)
	},
	"without trailers": func(ctx *gale.RequestCtx) {
		b, _ := io.ReadAll(ctx.RequestBodyStream())
		ctx.Request.Header.Del("X-Sum")
		ctx.Request.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.Write(b) })
	},
}

func testProxiedTrailers(t *testing.T, way harness.H2Way, major int, mode gale.HTTP2Mode, streams, merge bool, pass func(*gale.RequestCtx), trailers bool) {
	peers.UsedAgain(t)
	type request struct{ path, body, trailers string }
	came := make(chan request, 1)
	upstream := harness.H2Way{Engine: way.Engine, TLS: true}.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		if streams {
			_ = ctx.Flush()
		}
		b, _ := io.ReadAll(ctx.RequestBodyStream())
		r := request{path: string(ctx.Path()), body: string(b)}
		for k, v := range ctx.Trailers() {
			r.trailers += fmt.Sprintf("%s: %s, ", k, v)
		}
		came <- r
	}})
	client := &gale.Client{HTTP2: mode, StreamResponseBody: streams, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer client.CloseIdleConnections()
	hs := way.Start(t, &gale.Server{StreamRequestBody: true, MergeTrailers: merge, Handler: gale.CompressHandler(func(ctx *gale.RequestCtx) {
		ctx.Request.SetRequestURI(upstream.URL(string(ctx.Path())))
		pass(ctx)
		if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
		ctx.Response.Header.ResetConnectionClose() // of the upstream; the client can't send a pipe once more
	})})
	c := hs.Client(major)
	for i := range race.Fewer(30) {
		path := fmt.Sprint("/", i)
		body, w := io.Pipe()
		req, err := http.NewRequest("POST", hs.URL(path), body)
		if err != nil {
			t.Fatal(err)
		}
		req.Trailer = http.Header{"X-Sum": {path}}
		go func() {
			_, _ = io.WriteString(w, "the body")
			if i%2 == 0 {
				time.Sleep(time.Duration(i) * 10 * time.Microsecond) // the head of the response may come first
			}
			w.Close()
		}()
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		want := request{path: path, body: "the body"}
		if trailers {
			want.trailers = "X-Sum: " + path + ", "
		}
		if got := <-came; got != want || resp.StatusCode != 200 {
			t.Fatalf("%d, the upstream got %q, want %q", resp.StatusCode, got, want)
		}
	}
}
