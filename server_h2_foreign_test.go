package gale

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/internal/race"
)

// TestH2Foreign proves that no request sees a token of another one. Two users send
// requests, each full of its own token, with shared pools: with resets at any time,
// panics, timeouts, kept contexts, late handlers, streams and trailers.
func TestH2Foreign(t *testing.T) {
	usedAgain(t)
	for _, way := range clearWays() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(way, ",stream=", stream), func(t *testing.T) {
				testH2Foreign(t, way, stream, nil, int64(race.Fewer(6000)))
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
	check, kept := fh.check, fh.kept
	var next, answered atomic.Int64
	var wg sync.WaitGroup
	for i := range 2 {
		c := hs.client(2) // one connection for each user
		for range 8 {
			wg.Go(func() {
				for {
					n := next.Add(1)
					if n > total {
						return
					}
					own := canary("ab"[i], n)
					kind := h2Kinds[rand.IntN(len(h2Kinds))]
					var body io.Reader
					method := "GET"
					if rand.IntN(2) == 0 {
						method, body = "POST", io.MultiReader(strings.NewReader(strings.Repeat(own, rand.IntN(2000))))
					}
					ctx, cancel := context.WithCancel(context.Background())
					if rand.IntN(6) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, cancel)
					}
					req, _ := http.NewRequestWithContext(ctx, method, hs.url("/"+own+"?"+own+"="+own), body)
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
	close(kept)
	for ctx := range kept {
		<-ctx.Done()
	}
	if n := answered.Load(); n < total/3 {
		t.Errorf("of %d requests, %d were answered: the test doesn't do what it should", total, n)
	}
	hs.wantCalm()
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

// server returns a server that has the handler.
func (fh *h2Foreign) server(stream bool) *Server {
	bounded := TimeoutHandler(fh.handle, 5*time.Millisecond, "too late")
	return &Server{StreamRequestBody: stream, MaxRequestBodySize: 1 << 20, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
		if string(ctx.Request.Header.Peek("X-Kind")) == "late" {
			bounded(ctx)
		} else {
			fh.handle(ctx)
		}
	}}
}

func (fh *h2Foreign) check(what string, b []byte, own string) {
	if found := foreign(b, own); found != "" {
		fh.t.Errorf("%s of %s has %s in it: %.500q", what, own, found, b)
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

// TestH2ForeignStreams proves that no answer has a byte that belongs to another one. 16
// connections with 100 streams each send frames: streams are reset in every state,
// connections are broken off, and windows are small.
func TestH2ForeignStreams(t *testing.T) {
	usedAgain(t)
	for _, way := range h2Ways {
		if way == (h2Way{EngineBlock, true}) {
			continue
		}
		t.Run(way.String(), func(t *testing.T) {
			fh := newH2Foreign(t)
			hs := way.start(t, fh.server(way.tls))
			var next, answered atomic.Int64
			t.Run("conns", func(t *testing.T) {
				for i := range 16 {
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						mine := &h2Server{&testServer{t: t, s: hs.s, addr: hs.addr, log: hs.log}, way}
						u := &h2User{h2Conn: mine.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5000}), fh: fh, streams: map[uint32]*h2Sent{}}
						u.run("ab"[i%2], &next, i%5 == 4)
						answered.Add(u.answered)
					})
				}
			})
			close(fh.kept)
			for ctx := range fh.kept {
				<-ctx.Done()
			}
			if n := answered.Load(); n < 400 {
				t.Errorf("of 1600 requests, %d were answered: the test doesn't do what it should", n)
			}
			hs.wantCalm()
		})
	}
}

// h2User sends the streams of a connection, and checks what it gets.
type h2User struct {
	*h2Conn
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
	u.check(u.fr.WriteWindowUpdate(0, 1<<30))
	var ids []uint32
	u.together(func() {
		for range 100 {
			s := &h2Sent{own: canary(user, next.Add(1)), kind: h2Kinds[rand.IntN(len(h2Kinds))], resetAt: rand.IntN(15)}
			id := u.open("POST", "/"+s.own+"?"+s.own+"="+s.own, false, "x-own", s.own, "x-kind", s.kind, "x-"+s.own, "1", "cookie", "a="+s.own, "trailer", "x-trail")
			u.streams[id] = s
			ids = append(ids, id)
			u.step(id, 0)
		}
	})
	for step := 1; step <= 3; step++ {
		u.together(func() {
			for _, id := range ids {
				s := u.streams[id]
				switch {
				case s == nil:
					continue
				case step < 3:
					u.h2Conn.data(id, strings.Repeat(s.own, rand.IntN(500)), false)
				default:
					u.check(u.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: u.trailers(s.own), EndStream: true, EndHeaders: true}))
				}
				u.step(id, step)
			}
		})
	}
	for len(u.streams) > 0 {
		f := u.next()
		if f.kind == "eof" || f.kind == "goaway" {
			u.t.Fatalf("got %v", f)
		}
		if s := u.streams[f.stream]; s != nil {
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
		u.reset(id)
		delete(u.streams, id)
	}
}

func (u *h2User) trailers(own string) []byte {
	u.head.Reset()
	_ = u.enc.WriteField(hpack.HeaderField{Name: "x-trail", Value: own})
	return bytes.Clone(u.head.Bytes())
}

// take checks a frame of a response.
func (u *h2User) take(f h2Frame, s *h2Sent) {
	u.fh.check("a frame ("+s.kind+")", fmt.Append(nil, f.fields), s.own)
	switch f.kind {
	case "rst":
		if f.code == 0 {
			return // after the answer
		}
		delete(u.streams, f.stream)
		return
	case "data":
		s.body.WriteString(f.data)
		if !f.end && len(f.data) > 0 {
			u.check(u.fr.WriteWindowUpdate(f.stream, uint32(len(f.data))))
		}
		if s.resetAt == 5 {
			u.step(f.stream, 5)
			return
		}
	case "trailers":
		if f.fields["x-sum"] != s.own {
			u.t.Errorf("%s has the trailers %v", s.own, f.fields)
		}
	default:
		if s.status = f.kind; s.status == "200" && f.fields["x-back"] != s.own {
			u.t.Errorf("%s (%s) got %v", s.own, s.kind, f.fields)
		}
		if s.resetAt == 4 && !f.end {
			u.step(f.stream, 4)
			return
		}
	}
	if !f.end {
		return
	}
	u.answered++
	delete(u.streams, f.stream)
	if body := s.body.String(); s.status == "200" && (len(body) == 0 || strings.ReplaceAll(body, s.own, "") != "") {
		u.t.Errorf("the body for %s (%s) is %.500q", s.own, s.kind, body)
	}
}
