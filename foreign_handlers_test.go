package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"
)

// foreignKinds are the functions of the handler of TestNothingForeign, by the first
// segment of the path.
var foreignKinds = map[string]func(f *foreignTest, ctx *RequestCtx, own string){
	"nothing": func(*foreignTest, *RequestCtx, string) {},
	"set":     func(f *foreignTest, ctx *RequestCtx, own string) { f.fillResponse(ctx, own) },
	"echo": func(f *foreignTest, ctx *RequestCtx, own string) {
		f.fillResponse(ctx, own)
		ctx.SetBody(ctx.PostBody())
	},
	"values": func(f *foreignTest, ctx *RequestCtx, own string) {
		ctx.SetUserValue("k"+own, own)
		ctx.SetUserValue("closer", closer{f: func() { ctx.SetUserValue("late", own); ctx.Response.Header.Set("X-Late", own) }})
		ctx.Response.Header.SetCookie(foreignCookie(own))
	},
	"panic": func(f *foreignTest, ctx *RequestCtx, own string) { f.fillResponse(ctx, own); panic(own) },
	"abort": func(f *foreignTest, ctx *RequestCtx, own string) { f.fillResponse(ctx, own); panic(ErrAbortHandler) },
	"exit":  func(f *foreignTest, ctx *RequestCtx, own string) { f.fillResponse(ctx, own); runtime.Goexit() },
	"timeout": func(f *foreignTest, ctx *RequestCtx, own string) {
		TimeoutHandler(func(ctx *RequestCtx) {
			<-ctx.Done()
			f.look(ctx, own)
			f.fillResponse(ctx, own)
			_ = ctx.Flush()
		}, time.Millisecond, "late")(ctx)
	},
	"timeouterror": func(f *foreignTest, ctx *RequestCtx, own string) {
		f.fillResponse(ctx, own)
		ctx.TimeoutErrorWithCode("late "+own, 503)
		go f.fillResponse(ctx, own)
	},
	"decline": func(f *foreignTest, ctx *RequestCtx, own string) {
		ctx.HijackSetNoResponse(true)
		ctx.Error("no "+own, 400)
	},
	"hijack": func(f *foreignTest, ctx *RequestCtx, own string) {
		f.fillResponse(ctx, own)
		ctx.HijackSetNoResponse(f.chance(2))
		ctx.Hijack(func(c net.Conn) { fmt.Fprintf(c, "RAW %s", own) })
		if f.chance(4) {
			panic(own)
		}
	},
	"hijacknow": func(f *foreignTest, ctx *RequestCtx, own string) {
		f.fillResponse(ctx, own)
		if c, err := ctx.HijackNow(); err == nil {
			fmt.Fprintf(c, "RAW %s", own)
			c.Close()
		}
	},
	"flush": func(f *foreignTest, ctx *RequestCtx, own string) {
		f.fillResponse(ctx, own)
		for range 2 {
			_ = ctx.Flush()
			ctx.WriteString(own)
		}
		switch f.intn(4) {
		case 0:
			panic(own)
		case 1:
			ctx.SetBodyStream(strings.NewReader(own), -1)
		}
	},
	"writer": func(f *foreignTest, ctx *RequestCtx, own string) {
		fail := f.chance(4)
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			w.WriteString(own)
			w.Flush()
			w.WriteString(strings.Repeat(own, 100))
			if fail {
				panic(own)
			}
		})
	},
	"stream": func(f *foreignTest, ctx *RequestCtx, own string) {
		r := io.MultiReader(strings.NewReader(own), strings.NewReader(own))
		if f.chance(3) {
			r = io.MultiReader(strings.NewReader(own), readerFunc(func([]byte) (int, error) { return 0, errors.New(own) }))
		}
		c := closer{r, func() { ctx.SetUserValue("late", own); ctx.Request.Header.Set("X-Late", own) }}
		ctx.SetBodyStream(c, []int{-1, 2 * len(own), len(own), 3 * len(own)}[f.intn(4)])
		if f.chance(8) {
			_ = ctx.Response.Body()
		}
	},
	"interim": func(f *foreignTest, ctx *RequestCtx, own string) {
		ctx.Response.Header.Add("Link", "<"+own+">")
		_ = ctx.EarlyHints()
		var h ResponseHeader
		h.Set("X-"+own, own)
		_ = ctx.SendInterim(102, &h)
		f.fillResponse(ctx, own)
	},
	"form": func(f *foreignTest, ctx *RequestCtx, own string) {
		form, err := ctx.MultipartForm()
		f.check("a form of "+own, []byte(fmt.Sprint(form, err)), own)
		f.check("a form's value of "+own, ctx.FormValue("v"), own)
	},
	"redirect": func(f *foreignTest, ctx *RequestCtx, own string) { ctx.Redirect("/set/"+own+"#"+own, 302) },
	"unread":   func(f *foreignTest, ctx *RequestCtx, own string) { ctx.Response.Header.Set("X-Canary", own) },
	"compress": func(f *foreignTest, ctx *RequestCtx, own string) {
		CompressHandlerBrotliLevel(func(ctx *RequestCtx) {
			f.fillResponse(ctx, own)
			ctx.SetBodyString(strings.Repeat(own+" ", 100))
			if f.chance(4) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(strings.Repeat(own+" ", 100)) })
			}
		}, 1, 1)(ctx)
	},
	"file":     func(f *foreignTest, ctx *RequestCtx, own string) { ctx.URI().SetPath("/file.txt"); f.files(ctx) },
	"upstream": func(f *foreignTest, ctx *RequestCtx, own string) { f.proxy(ctx, own) },
	"direct":   func(f *foreignTest, ctx *RequestCtx, own string) { f.proxyDirect(ctx, own) },
}

type readerFunc func(p []byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

func foreignCookie(own string) *Cookie {
	c := AcquireCookie()
	defer ReleaseCookie(c)
	c.SetKey("sid")
	c.SetValue(own)
	c.SetDomain(own + ".example")
	d := &Cookie{}
	d.CopyTo(c)
	return d
}

// handle serves all kinds.
func (f *foreignTest) handle(ctx *RequestCtx) {
	kind, own, _ := strings.Cut(strings.TrimPrefix(string(ctx.Request.Header.RequestURI()), "/"), "/")
	if i := strings.Index(kind, "://"); i >= 0 || kind == "http:" {
		kind, own, _ = strings.Cut(strings.TrimPrefix(string(ctx.Path()), "/"), "/")
	}
	own = string(canaries.FindString(own))
	f.handled.Add(1)
	if ctx.hijack != nil || ctx.hijackNoResponse || ctx.flush.begun || len(ctx.Request.userValues) > 0 || ctx.timedOut.Load() != nil {
		f.failf("%s of %s begins with the state of another request", kind, own)
	}
	f.look(ctx, own)
	if do := foreignKinds[kind]; do != nil {
		do(f, ctx, own)
	}
}

// look checks everything that can be read from the context. It calls some methods only
// now and then, since that decides what is reset.
func (f *foreignTest) look(ctx *RequestCtx, own string) {
	var b bytes.Buffer
	if f.chance(3) {
		show(&b, ctx)
		showRequest(&b, &ctx.Request)
		for k, v := range ctx.Trailers() {
			fmt.Fprintf(&b, "%s: %s\n", k, v)
		}
		f.check("what the request of "+own+" shows", b.Bytes(), own)
	}
	if f.chance(2) {
		b.Reset()
		showResponse(&b, &ctx.Response)
		f.check("what the response to "+own+" shows", b.Bytes(), own)
	}
}

// fillResponse sets all parts of the response, or some of them.
func (f *foreignTest) fillResponse(ctx *RequestCtx, own string) {
	resp, h := &ctx.Response, &ctx.Response.Header
	sets := []func(){
		func() { h.Set("X-Canary", own) },
		func() { h.Set("X-"+own, "1") },
		func() { h.SetContentType("text/" + own) },
		func() { h.SetServer(own) },
		func() { h.SetCookie(foreignCookie(own)) },
		func() { h.SetStatusMessage([]byte(own)) },
		func() { h.Add("Via", own); h.Add("Via", own) },
		func() { resp.SetBodyString(own) },
		func() { resp.AppendBodyString(strings.Repeat(own, 1000)) },
		func() { resp.SetBodyRaw([]byte(own)) },
		func() { _ = h.SetTrailer("X-Trail"); h.Set("X-Trail", own) },
		func() { resp.SetStatusCode(299) },
		func() { h.SetContentEncoding(own) },
		func() { ctx.SetUserValue("v", own) },
		func() { h.Del("X-Canary") },
		func() { resp.SkipBody = true; resp.SetBodyString(own); resp.SkipBody = false },
	}
	for range f.intn(8) {
		sets[f.intn(len(sets))]()
	}
}

// proxy asks the upstream with messages from the pools.
func (f *foreignTest) proxy(ctx *RequestCtx, own string) {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	var b bytes.Buffer
	showRequest(&b, req)
	showResponse(&b, resp)
	f.check("what fresh messages for "+own+" show", b.Bytes())
	ctx.Request.Header.CopyTo(&req.Header)
	req.Header.Del("Transfer-Encoding")
	req.Header.Del("Trailer")
	req.Header.Del("Expect")
	req.Header.Del("Connection")
	req.Header.SetMethod([]string{"GET", "HEAD", "POST", "PUT"}[f.intn(4)])
	req.SetRequestURI("http://" + f.upstream + "/" + own + "?up=" + f.upstreamMode())
	if f.chance(2) {
		req.SetBodyString(own)
	} else {
		req.Header.SetContentLength(0)
	}
	resp.StreamBody = f.chance(4)
	var err error
	switch f.intn(4) {
	case 0:
		err = f.host.DoTimeout(req, resp, foreignTimeout)
	case 1:
		req.SetRequestURI("/" + own + "?up=" + f.upstreamMode())
		req.Header.SetHost(own)
		err = f.pipe.DoTimeout(req, resp, foreignTimeout)
	case 2:
		err = f.client.DoTimeout(req, resp, foreignTimeout)
	default:
		err = f.client.DoRedirects(req, resp, 2)
	}
	f.check("the error of a client for "+own, []byte(fmt.Sprint(err)), own)
	b.Reset()
	if resp.IsBodyStream() {
		_, rerr := io.Copy(&b, resp.BodyStream())
		fmt.Fprint(&b, rerr)
	}
	showResponse(&b, resp)
	f.check("what the upstream's response to "+own+" shows", b.Bytes(), own)
	if err != nil {
		resp.SetStatusCode(StatusBadGateway)
		resp.SetBodyString(own)
	}
	resp.CopyTo(&ctx.Response)
	ctx.Response.Header.Del("Connection")
}

// proxyDirect gives the context's own messages to a client, as frameworks do.
func (f *foreignTest) proxyDirect(ctx *RequestCtx, own string) {
	h := &ctx.Request.Header
	h.Del("Connection")
	h.Del("Expect")
	h.Del("Trailer")
	ctx.Request.SetBody(ctx.PostBody())
	ctx.Request.SetRequestURI("http://" + f.upstream + "/" + own + "?up=" + f.upstreamMode())
	if err := f.host.DoTimeout(&ctx.Request, &ctx.Response, foreignTimeout); err != nil {
		f.check("the error of a client for "+own, []byte(err.Error()), own)
		ctx.Response.SetStatusCode(StatusBadGateway)
		ctx.Response.SetBodyString(own)
	}
	ctx.Response.Header.Del("Connection")
}

// foreignTimeout is short, since upstreams sometimes don't answer.
const foreignTimeout = 40 * time.Millisecond

func (f *foreignTest) upstreamMode() string {
	mode := upstreamModes[f.intn(len(upstreamModes))]
	if f.chance(3) {
		mode += fmt.Sprintf("%%3A%d", f.intn(100))
	}
	return mode
}

// chance returns true once in n times. Goroutines share the random numbers.
func (f *foreignTest) chance(n int) bool { return f.intn(n) == 0 }

func (f *foreignTest) intn(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}
