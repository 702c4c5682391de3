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

	"github.com/galehttp/gale/internal/race"
)

// TestH2Foreign lets two users send requests, each full of a token of its own, over shared
// pools: with resets at any time, panics, time-outs, kept contexts, late handlers, streams and
// trailers. No request may see a token of another one.
func TestH2Foreign(t *testing.T) {
	usedAgain(t)
	for _, way := range []h2Way{{EngineBlock, false}, {EngineEvent, false}} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(way, ",stream=", stream), func(t *testing.T) { testH2Foreign(t, way, stream) })
		}
	}
}

func testH2Foreign(t *testing.T, way h2Way, stream bool) {
	total := int64(race.Fewer(6000))
	kept := make(chan context.Context, 1<<16)
	check := func(what string, b []byte, own string) {
		if found := foreign(b, own); found != "" {
			t.Errorf("%s of %s has %s in it: %.500q", what, own, found, b)
		}
	}
	look := func(ctx *RequestCtx, own string) {
		var b bytes.Buffer
		showRequest(&b, &ctx.Request)
		showResponse(&b, &ctx.Response)
		check("the context", b.Bytes(), own)
	}
	inner := func(ctx *RequestCtx) {
		own := string(ctx.Request.Header.Peek("X-Own"))
		look(ctx, own)
		body := []byte(nil)
		if r := ctx.RequestBodyStream(); r != nil {
			body, _ = io.ReadAll(r)
		} else {
			body = ctx.PostBody()
		}
		look(ctx, own)
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
			kept <- child
			ctx.SetBodyString(text)
		case "late":
			<-ctx.Done()
			ctx.SetBodyString(text)
			ctx.Response.Header.Set("X-Late", own)
			look(ctx, own)
		case "error":
			ctx.TimeoutError(own)
		default:
			ctx.Write(body)
			ctx.SetBodyString(text)
		}
	}
	bounded := TimeoutHandler(inner, 5*time.Millisecond, "too late")
	hs := way.start(t, &Server{StreamRequestBody: stream, MaxRequestBodySize: 1 << 20, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
		if string(ctx.Request.Header.Peek("X-Kind")) == "late" {
			bounded(ctx)
		} else {
			inner(ctx)
		}
	}})
	kinds := []string{"echo", "echo", "panic", "flush", "abort", "stream", "writer", "kept", "late", "error"}
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
					kind := kinds[rand.IntN(len(kinds))]
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
