package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
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
			r = io.MultiReader(strings.NewReader(own), peers.ReaderFunc(func([]byte) (int, error) { return 0, errors.New(own) }))
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
	own = string(peers.Canaries.FindString(own))
	f.handled.Add(1)
	if ctx.handover.to != nil || ctx.handover.silent || ctx.flush.begun || len(ctx.Request.userValues) > 0 || ctx.timedOut.Load() != nil {
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

func canary(user byte, n int64) string { return fmt.Sprintf("u%cx%07d", user, n) }

// skipped are methods without arguments that change something, wait, or remove something.
var skipped = regexp.MustCompile(`^(Close|Reset|Release|Remove|Set|Enable|Disable|Hijack|Flush|Done|Err$|Context$|Swap|NotFound|NotModified|EarlyHints|` +
	`Conn$|Logger$|BodyStream|RequestBodyStream|MultipartReader|BodyWriter|CloseRequestBody|Init|LocalAddr|TLS|CloseBody)`)

// show appends to b the results of all exported methods of v that need no arguments.
func show(b *bytes.Buffer, v any) {
	rv := reflect.ValueOf(v)
	for _, m := range getters(rv.Type()) {
		for _, out := range rv.Method(m).Call(nil) {
			showValue(b, out)
		}
	}
}

var gettersOf sync.Map // of type: the numbers of its methods

func getters(t reflect.Type) []int {
	if g, ok := gettersOf.Load(t); ok {
		return g.([]int)
	}
	var g []int
	for i := range t.NumMethod() {
		if m := t.Method(i); m.Type.NumIn() == 1 && m.Type.NumOut() > 0 && !skipped.MatchString(m.Name) {
			g = append(g, i)
		}
	}
	gettersOf.Store(t, g)
	return g
}

func showValue(b *bytes.Buffer, v reflect.Value) {
	if !v.IsValid() || !v.CanInterface() {
		return
	}
	switch x := v.Interface().(type) {
	case []byte:
		b.Write(x)
	case [][]byte:
		for _, p := range x {
			b.Write(p)
			b.WriteByte('\n')
		}
	case iter.Seq2[[]byte, []byte]:
		for k, val := range x {
			fmt.Fprintf(b, "%s: %s\n", k, val)
		}
	case iter.Seq[[]byte]:
		for k := range x {
			fmt.Fprintf(b, "%s\n", k)
		}
	case *URI, *Args, *RequestCtx, *Response:
	default:
		fmt.Fprintf(b, "%v", x)
	}
	b.WriteByte('\n')
}

// peeked are the names that are looked up in headers.
var peeked = []string{
	"Host", "Cookie", "Set-Cookie", "Content-Type", "Content-Length", "Server", "Trailer", "Connection", "Location", "X-Canary",
	"X-Trail", "Link", "Authorization", "Transfer-Encoding", "Content-Encoding", "Via",
}

// showHeader is show for methods that take the name of a header.
func showHeader(b *bytes.Buffer, peek func(string) []byte, all func(string) [][]byte) {
	for _, name := range peeked {
		b.Write(peek(name))
		b.WriteByte('\n')
		for _, v := range all(name) {
			b.Write(v)
			b.WriteByte('\n')
		}
	}
}

func showRequest(b *bytes.Buffer, req *Request) {
	show(b, &req.Header)
	showHeader(b, req.Header.Peek, req.Header.PeekAll)
	b.Write(req.Header.Cookie("a"))
	show(b, req.URI())
	show(b, req.URI().QueryArgs())
	if !req.IsBodyStream() {
		show(b, req)
		show(b, req.PostArgs())
	}
	for k, v := range req.userValues {
		fmt.Fprintf(b, "%v %v\n", k, v)
	}
}

func showResponse(b *bytes.Buffer, resp *Response) {
	show(b, &resp.Header)
	showHeader(b, resp.Header.Peek, resp.Header.PeekAll)
	for _, name := range []string{"a", "sid"} {
		c := AcquireCookie()
		c.SetKey(name)
		if resp.Header.Cookie(c) {
			show(b, c)
		}
		ReleaseCookie(c)
	}
	if !resp.IsBodyStream() {
		show(b, resp)
	}
}

// foreignUpstream is the upstream server of the proxies of TestNothingForeign. It answers
// as the query says, with the canary of the target everywhere, and looks for other
// canaries in its requests.
func foreignUpstream(t *testing.T, f *foreignTest) string {
	return peers.ServeConns(t, func(_ int, c net.Conn) { f.serveUpstream(c) })
}

func (f *foreignTest) serveUpstream(c net.Conn) {
	br := bufio.NewReader(c)
	for {
		var head []byte
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			line, err := br.ReadSlice('\n')
			head = append(head, line...)
			if err != nil {
				return
			}
		}
		own := string(peers.Canaries.Find(head))
		if found := peers.Foreign(head, own); found != "" {
			f.failf(gate.Mark+"the upstream of %s was sent %s in %q", own, found, head)
		}
		if n := requestLength(head); n > 0 {
			body := make([]byte, n)
			for i := range body {
				b, err := br.ReadByte()
				if err != nil {
					return
				}
				body[i] = b
			}
			if found := peers.Foreign(body, own); found != "" {
				f.failf(gate.Mark+"the upstream of %s was sent %s in the body %q", own, found, body)
			}
		}
		mode, cut, _ := strings.Cut(modeOf(head), ":")
		answer, content, last := upstreamAnswer(mode, own)
		if !bytes.HasPrefix(head, []byte("HEAD ")) { // no answer to HEAD has content (RFC 9110 section 9.3.2)
			answer += content
		}
		if cut != "" {
			n := 0
			fmt.Sscan(cut, &n)
			answer, last = answer[:n*len(answer)/100], true
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
		if mode == "silent" {
			_, _ = br.ReadByte() // waits until the client gives up
			return
		}
		if mode == "reset" {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		if last {
			return
		}
	}
}

func requestLength(head []byte) (n int) {
	if _, v, ok := bytes.Cut(head, []byte("\r\nContent-Length: ")); ok {
		fmt.Sscan(string(v[:bytes.IndexByte(v, '\r')]), &n)
	}
	return n
}

// modeOf returns the value of the argument up.
func modeOf(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	_, v, _ := bytes.Cut(line, []byte("up="))
	v, _, _ = bytes.Cut(v, []byte(" "))
	v, _, _ = bytes.Cut(v, []byte("&"))
	return string(bytes.Replace(v, []byte("%3A"), []byte(":"), 1))
}

// upstreamModes are the kinds of answers.
var upstreamModes = []string{"plain", "plain", "chunked", "trailers", "interim", "early", "cookies", "close", "malformed", "garbage", "redirect", "empty", "reset", "silent"}

// upstreamAnswer returns an answer full of the canary own: what an answer to HEAD has of it,
// and the content. last says that the connection ends with it.
func upstreamAnswer(mode, own string) (head, content string, last bool) {
	fields := fmt.Sprintf("Set-Cookie: sid=%s\r\nSet-Cookie: a=%s; Path=/%s\r\nX-Canary: %s\r\nX-%s: 1\r\nContent-Type: text/%s\r\nServer: %s\r\n", own, own, own, own, own, own, own)
	body := strings.Repeat(own, 20)
	sized := fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n", fields, len(body))
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(body), body)
	switch mode {
	case "chunked":
		return fmt.Sprintf("HTTP/1.1 201 Made %s\r\n%sTransfer-Encoding: chunked\r\n\r\n", own, fields), chunk + "\r\n", false
	case "trailers":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sTrailer: X-Trail\r\nTransfer-Encoding: chunked\r\n\r\n", fields),
			chunk + fmt.Sprintf("X-Trail: %s\r\nX-More: %s\r\n\r\n", own, own), false
	case "interim":
		return "HTTP/1.1 103 Early Hints\r\nLink: <" + own + ">\r\n\r\n" + sized, body, false
	case "early":
		return "HTTP/1.1 102 " + own + "\r\nX-" + own + ": " + own + "\r\n\r\nHTTP/1.1 103 E\r\n" + fields + "\r\n" + sized, body, false
	case "cookies":
		return fmt.Sprintf("HTTP/1.1 404 Not Found\r\n%sContent-Length: 0\r\n\r\n", strings.Repeat(fields, 8)), "", false
	case "close":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sConnection: close\r\n\r\n", fields), body, true
	case "malformed":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: 1, 2\r\nno field %s\r\n\r\n", fields, own), "", true
	case "garbage":
		return own + " " + fields, "", true
	case "redirect":
		return fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: /again/%s\r\n%sContent-Length: 0\r\n\r\n", own, fields), "", false
	case "empty":
		return "", "", true
	case "reset":
		return sized, body, true
	case "silent":
		return "HTTP/1.1 200 OK\r\n" + fields, "", true
	}
	return sized, body, false
}
