package gale

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2Foreign proves that no request sees a token of another one. Two users send
// requests, each full of its own token, with shared pools: with resets at any time,
// panics, timeouts, kept contexts, late handlers, streams and trailers.
func TestH2Foreign(t *testing.T) {
	peers.UsedAgain(t)
	for _, way := range peers.ClearWays[h2Way]() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(way, ",stream=", stream), func(t *testing.T) {
				testH2Foreign(t, way, stream, nil, int64(race.Fewer(gate.Form(6000, 2000))))
			})
		}
	}
}

// testH2Foreign sends total requests to a server with the guard g, which may be nil.
func testH2Foreign(t *testing.T, way h2Way, stream bool, g *LifetimeGuard, total int64) {
	fh := newH2Foreign(t)
	s := fh.server(stream)
	s.GuardLifetimes = g
	hs := way.start(t, s)
	check := fh.check
	var next, answered atomic.Int64
	var wg sync.WaitGroup
	for i := range 2 {
		c := hs.Client(2) // one connection for each user
		for range 8 {
			wg.Go(func() {
				for {
					n := next.Add(1)
					if n > total {
						return
					}
					own := canary("ab"[i], n)
					kind := h2Kinds[gate.Rand.IntN(len(h2Kinds))]
					var body io.Reader
					method := "GET"
					if gate.Rand.IntN(2) == 0 {
						method, body = "POST", io.MultiReader(strings.NewReader(strings.Repeat(own, gate.Rand.IntN(2000))))
					}
					ctx, cancel := context.WithCancel(context.Background())
					if gate.Rand.IntN(6) == 0 {
						time.AfterFunc(time.Duration(gate.Rand.IntN(2000))*time.Microsecond, cancel)
					}
					req, _ := http.NewRequestWithContext(ctx, method, hs.URL("/"+own+"?"+own+"="+own), body)
					req.Header.Set("X-Own", own)
					req.Header.Set("X-Kind", kind)
					req.Header.Set("X-"+own, "1")
					req.Header.Set("Cookie", "a="+own)
					if body != nil {
						req.Trailer = http.Header{"X-Trail": {own}}
					}
					resp, err := c.Do(req)
					if err == nil {
						b, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						check("the answer ("+kind+")", fmt.Append(nil, resp.Status, resp.Header, resp.Trailer, string(b)), own)
						answered.Add(1)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	fh.awaitKept()
	if n := answered.Load(); n < total/3 {
		t.Errorf("of %d requests, %d were answered: the test doesn't do what it should", total, n)
	}
	peers.WantCalm(t, hs.s)
}

// h2Foreign is a handler that looks for tokens of other requests and answers with that of
// its own request.
type h2Foreign struct {
	t    *testing.T
	kept chan context.Context
}

// h2Kinds are the values of X-Kind that the handler understands.
var h2Kinds = []string{"echo", "echo", "panic", "flush", "abort", "stream", "writer", "kept", "late", "error", "trailers"}

func newH2Foreign(t *testing.T) *h2Foreign {
	return &h2Foreign{t, make(chan context.Context, 1<<16)}
}

// awaitKept returns when the contexts that were kept so far have ended. Handlers of requests
// that the client has given up may still run, and keep more of them.
func (fh *h2Foreign) awaitKept() {
	for {
		select {
		case ctx := <-fh.kept:
			<-ctx.Done()
		default:
			return
		}
	}
}

// server returns a server that has the handler.
func (fh *h2Foreign) server(stream bool) *Server {
	bounded := TimeoutHandler(fh.handle, 5*time.Millisecond, "too late")
	return &Server{StreamRequestBody: stream, MaxRequestBodySize: 1 << 20, Logger: &peers.Log{}, Handler: func(ctx *RequestCtx) {
		if string(ctx.Request.Header.Peek("X-Kind")) == "late" {
			bounded(ctx)
		} else {
			fh.handle(ctx)
		}
	}}
}

func (fh *h2Foreign) check(what string, b []byte, own string) {
	if found := peers.Foreign(b, own); found != "" {
		gate.Unforgiven(fh.t, "%s of %s has %s in it: %.500q", what, own, found, b)
	}
}

// look checks everything that can be read from the context.
func (fh *h2Foreign) look(ctx *RequestCtx, own string) {
	var b bytes.Buffer
	showRequest(&b, &ctx.Request)
	showResponse(&b, &ctx.Response)
	fh.check("the context", b.Bytes(), own)
}

func (fh *h2Foreign) handle(ctx *RequestCtx) {
	own := string(ctx.Request.Header.Peek("X-Own"))
	fh.look(ctx, own)
	body := []byte(nil)
	if r := ctx.RequestBodyStream(); r != nil {
		body, _ = io.ReadAll(r)
	} else {
		body = ctx.PostBody()
	}
	fh.look(ctx, own)
	ctx.Response.Header.Set("X-Back", own)
	ctx.SetUserValue(own, own)
	text := strings.Repeat(own, 1+len(body)/len(own))
	switch string(ctx.Request.Header.Peek("X-Kind")) {
	case "panic":
		ctx.SetBodyString(text)
		panic(own)
	case "flush":
		ctx.WriteString(text)
		_ = ctx.Flush()
		ctx.WriteString(text)
	case "abort":
		ctx.WriteString(text)
		_ = ctx.Flush()
		panic(ErrAbortHandler)
	case "stream":
		ctx.SetBodyStream(strings.NewReader(text), len(text))
	case "writer":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(text); w.Flush(); w.WriteString(text) })
	case "kept":
		child, cancel := context.WithCancel(ctx)
		_ = cancel
		fh.kept <- child
		ctx.SetBodyString(text)
	case "late":
		<-ctx.Done()
		ctx.SetBodyString(text)
		ctx.Response.Header.Set("X-Late", own)
		fh.look(ctx, own)
	case "trailers":
		_ = ctx.Response.Header.SetTrailer("X-Sum")
		ctx.Response.Header.Set("X-Sum", own)
		ctx.SetBodyString(text)
	case "error":
		ctx.TimeoutError(own)
	default:
		ctx.Write(body)
		ctx.SetBodyString(text)
	}
}

// TestH2ForeignStreams proves that no answer has a byte that belongs to another one. Up to 16
// connections with 100 streams each send frames: streams are reset in every state,
// connections are broken off, and windows are small.
func TestH2ForeignStreams(t *testing.T) {
	peers.UsedAgain(t)
	conns := gate.Form(16, 5) // the last one is broken off
	for _, way := range peers.Ways[h2Way]() {
		if way == (h2Way{Engine: EngineBlock, TLS: true}) {
			continue
		}
		t.Run(way.String(), func(t *testing.T) {
			fh := newH2Foreign(t)
			hs := way.start(t, fh.server(way.TLS))
			var next, answered atomic.Int64
			t.Run("conns", func(t *testing.T) {
				for i := range conns {
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						mine := &h2Server{&peers.H2Plain{Server: &peers.Server{T: t, Addr: hs.Addr, Log: hs.Log}, TLS: hs.TLS}, hs.s, way}
						u := &h2User{H2Conn: mine.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5000}), fh: fh, streams: map[uint32]*h2Sent{}}
						u.run("ab"[i%2], &next, i%5 == 4)
						answered.Add(u.answered)
					})
				}
			})
			fh.awaitKept()
			if n := answered.Load(); n < int64(conns*25) {
				t.Errorf("of %d requests, %d were answered: the test doesn't do what it should", conns*100, n)
			}
			peers.WantCalm(t, hs.s)
		})
	}
}

// h2User sends the streams of a connection, and checks what it gets.
type h2User struct {
	*peers.H2Conn
	fh       *h2Foreign
	streams  map[uint32]*h2Sent // those that have not ended
	answered int64
}

// h2Sent is a request of h2User.
type h2Sent struct {
	own, kind string
	resetAt   int // the step after which it is reset: the head, two pieces of the body, the trailers, the response's head, some of its body
	status    string
	body      strings.Builder
}

func (u *h2User) run(user byte, next *atomic.Int64, breaks bool) {
	u.Check(u.Fr.WriteWindowUpdate(0, 1<<30))
	var ids []uint32
	u.Together(func() {
		for range 100 {
			s := &h2Sent{own: canary(user, next.Add(1)), kind: h2Kinds[gate.Rand.IntN(len(h2Kinds))], resetAt: gate.Rand.IntN(15)}
			id := u.Open("POST", "/"+s.own+"?"+s.own+"="+s.own, false, "x-own", s.own, "x-kind", s.kind, "x-"+s.own, "1", "cookie", "a="+s.own, "trailer", "x-trail")
			u.streams[id] = s
			ids = append(ids, id)
			u.step(id, 0)
		}
	})
	for step := 1; step <= 3; step++ {
		u.Together(func() {
			for _, id := range ids {
				s := u.streams[id]
				switch {
				case s == nil:
					continue
				case step < 3:
					u.H2Conn.Data(id, strings.Repeat(s.own, gate.Rand.IntN(500)), false)
				default:
					u.Check(u.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: u.trailers(s.own), EndStream: true, EndHeaders: true}))
				}
				u.step(id, step)
			}
		})
	}
	for len(u.streams) > 0 {
		f := u.Next()
		if f.Kind == "eof" || f.Kind == "goaway" {
			u.T.Fatalf("got %v", f)
		}
		if s := u.streams[f.Stream]; s != nil {
			u.take(f, s)
		}
		if breaks && len(u.streams) < 50 {
			break
		}
	}
	u.Close()
}

// step resets a stream if it is time.
func (u *h2User) step(id uint32, step int) {
	if s := u.streams[id]; s.resetAt == step {
		u.Reset(id)
		delete(u.streams, id)
	}
}

func (u *h2User) trailers(own string) []byte {
	u.Head.Reset()
	_ = u.Enc.WriteField(hpack.HeaderField{Name: "x-trail", Value: own})
	return bytes.Clone(u.Head.Bytes())
}

// take checks a frame of a response.
func (u *h2User) take(f peers.H2Frame, s *h2Sent) {
	u.fh.check("a frame ("+s.kind+")", fmt.Append(nil, f.Fields), s.own)
	switch f.Kind {
	case "rst":
		if f.Code == 0 {
			return // after the answer
		}
		delete(u.streams, f.Stream)
		return
	case "data":
		s.body.WriteString(f.Data)
		if !f.End && len(f.Data) > 0 {
			u.Check(u.Fr.WriteWindowUpdate(f.Stream, uint32(len(f.Data))))
		}
		if s.resetAt == 5 {
			u.step(f.Stream, 5)
			return
		}
	case "trailers":
		if f.Fields["x-sum"] != s.own {
			u.T.Errorf("%s has the trailers %v", s.own, f.Fields)
		}
	default:
		if s.status = f.Kind; s.status == "200" && f.Fields["x-back"] != s.own {
			u.T.Errorf("%s (%s) got %v", s.own, s.kind, f.Fields)
		}
		if s.resetAt == 4 && !f.End {
			u.step(f.Stream, 4)
			return
		}
	}
	if !f.End {
		return
	}
	u.answered++
	delete(u.streams, f.Stream)
	if body := s.body.String(); s.status == "200" && (len(body) == 0 || strings.ReplaceAll(body, s.own, "") != "") {
		u.T.Errorf("the body for %s (%s) is %.500q", s.own, s.kind, body)
	}
}

// TestH2GuardIsSilent proves that nothing is reported where nothing is used too late: the
// requests of TestH2Foreign, all guarded, with pages if the system has them.
// GALE_LEAK_REQUESTS says how many requests each test sends.
func TestH2GuardIsSilent(t *testing.T) {
	peers.KeepPools(t)
	total := peers.GuardedRequests()
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		var late atomic.Pointer[LifetimeUse]
		g := &LifetimeGuard{Pages: true, OnUse: func(u *LifetimeUse) { late.Store(u) }}
		for _, stream := range []bool{false, true} {
			testH2Foreign(t, h2Way{Engine: e}, stream, g, total/2)
		}
		if u := late.Load(); u != nil {
			gate.Unforgiven(t, "a report: %v", u)
		}
		peers.WantGuarded(t, g.guard().Guard, total)
	})
}
