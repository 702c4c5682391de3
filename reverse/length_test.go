package reverse_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// arrivals are the whole requests that an upstream has got.
type arrivals struct {
	mu   sync.Mutex
	list []string
}

func (a *arrivals) add(r *http.Request) (answer string) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, r.Method+" "+r.URL.Path+" "+string(b))
	return "to " + r.URL.Path
}

func (a *arrivals) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.list = nil }()
	return a.list
}

// upstream returns the address of a server that adds to a. Over HTTP/1.1 it reads whatever
// follows a request as the next one.
func (a *arrivals) upstream(t *testing.T) string {
	if upstream2 {
		return server(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, a.add(r)) })
	}
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			answer := a.add(r)
			if answer == "" {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		}
	})
	return addr
}

// postTo sends a request with body, if there is one, and returns the status and the answer.
func postTo(t *testing.T, url, kind, body string) (status int, answer string) {
	t.Helper()
	method := "POST"
	if body == "" {
		method = "GET"
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	r.Header.Set("Content-Type", kind)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: wait}
	resp, err := client.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, string(b)
}

// A request has the body that its Content-Length declares, whatever a handler before the proxy
// did with body and header, or it doesn't reach the upstream as a whole request. No byte of it
// becomes a part of the next one.
func TestBodyLength(t *testing.T) { onUpstreams(t, testBodyLength) }

func testBodyLength(t *testing.T) {
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	long := strings.Repeat("l", 20000)
	setBody := func(body string) func(ctx *gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) { ctx.Request.SetBodyString(body) }
	}
	setStream := func(real string, declared int) func(ctx *gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) { ctx.Request.SetBodyStream(strings.NewReader(real), declared) }
	}
	setSlowStream := func(real string, declared int) func(ctx *gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) {
			ctx.Request.SetBodyStream(iotest.HalfReader(strings.NewReader(real)), declared)
		}
	}
	sizeOfFile := func(size int64) func(ctx *gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) {
			form, err := ctx.MultipartForm()
			if err != nil {
				t.Errorf("reading the form: %v", err)
				return
			}
			form.File["f"][0].Size = size
		}
	}
	var form strings.Builder
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("f", "name")
	io.WriteString(part, "hello")
	w.Close()
	formKind := w.FormDataContentType()

	const whole = "" // the upstream gets some whole body
	for _, tt := range []struct {
		name       string
		kind, sent string // by the client
		change     func(ctx *gale.RequestCtx)
		status     int
		got        string // the body that the upstream gets, if the status is 200
	}{
		{"unchanged", "text/plain", long, func(*gale.RequestCtx) {}, 200, long},
		{"short body for a short one", "text/plain", "hello", setBody("hi"), 200, "hi"},
		{"long body for a short one", "text/plain", "hello", setBody(long), 200, long},
		{"longer body", "text/plain", long, setBody(long + smuggled), 200, long + smuggled},
		{"shorter body", "text/plain", long, setBody(long[:15000]), 200, long[:15000]},
		{"short body for a long one", "text/plain", long, setBody("short"), 200, "short"},
		{"no body for a short one", "text/plain", "hello", setBody(""), 200, whole},
		{"no body for a long one", "text/plain", long, setBody(""), 200, whole},
		{"body where there was none", "text/plain", "", setBody("hello"), 200, "hello"},
		{"long body where there was none", "text/plain", "", setBody(long), 200, long},
		{"stream", "text/plain", "x", setStream("0123456789abcdef", 16), 200, "0123456789abcdef"},
		{"long stream", "text/plain", "x", setSlowStream(long, len(long)), 200, long},
		{"stream without a length", "text/plain", "x", setStream(long, -1), 200, long},
		{"stream with more", "text/plain", "x", setStream("0123456789"+smuggled, 10), 400, ""},
		{"stream with one more", "text/plain", "x", setSlowStream("0123456789a", 10), 400, ""},
		{"long stream with more", "text/plain", "x", setStream(long+smuggled, len(long)), 400, ""},
		{"long slow stream with more", "text/plain", "x", setSlowStream(long+smuggled, len(long)), 400, ""},
		{"stream with less", "text/plain", "x", setStream("0123456789abcdef", 20), 400, ""},
		{"empty stream", "text/plain", "x", setStream("", 20), 400, ""},
		{"long slow stream with less", "text/plain", "x", setSlowStream(long, len(long)+1), 400, ""},
		{"form whose file says less", formKind, form.String(), sizeOfFile(2), 400, ""},
		{"form whose file says more", formKind, form.String(), sizeOfFile(50), 400, ""},
	} {
		for _, streams := range []bool{true, false} {
			if tt.kind == formKind && !streams {
				continue // the form is in memory: no size is declared before it is written
			}
			var a arrivals
			p := &reverse.Proxy{Upstreams: []string{a.upstream(t)}, HTTP2: upstreamMode(), Timeout: 10 * time.Second}
			addr := serveOn(t, p, &gale.Server{StreamRequestBody: streams, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/first" {
					tt.change(ctx)
				}
				p.Handler(ctx)
			}})
			name := fmt.Sprintf("%s, streams %v", tt.name, streams)
			if status, answer := postTo(t, "http://"+addr+"/first", tt.kind, tt.sent); status != tt.status || status == 200 && answer != "to /first" {
				t.Errorf("%s: got %d %q, want %d", name, status, answer, tt.status)
			}
			var want []string
			if tt.status == 200 {
				method := "POST"
				if tt.sent == "" {
					method = "GET"
				}
				want = append(want, method+" /first "+tt.got)
			}
			for _, path := range []string{"/next", "/another"} {
				if status, answer := postTo(t, "http://"+addr+path, "text/plain", path); status != 200 || answer != "to "+path {
					t.Errorf("%s: the next request got %d %q", name, status, answer)
				}
				want = append(want, "POST "+path+" "+path)
			}
			if got := a.take(); !slices.Equal(got, want) {
				t.Errorf("%s: the upstream got %.300q, want %.300q", name, got, want)
			}
		}
	}
}

// A length that a handler makes smaller than that of the client's stream can't bring bytes of
// the stream into the next request.
func TestBodyLengthOfOwnStream(t *testing.T) { onUpstreams(t, testBodyLengthOfOwnStream) }

func testBodyLengthOfOwnStream(t *testing.T) {
	for _, declared := range []int{1, 10, 9000, 19999, 20001} {
		var a arrivals
		p := &reverse.Proxy{Upstreams: []string{a.upstream(t)}, HTTP2: upstreamMode(), Timeout: 10 * time.Second}
		addr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/first" {
				ctx.Request.Header.SetContentLength(declared)
			}
			p.Handler(ctx)
		})
		postTo(t, "http://"+addr+"/first", "text/plain", strings.Repeat("b", 20000))
		for range 2 {
			if status, answer := postTo(t, "http://"+addr+"/next", "text/plain", "next"); status != 200 || answer != "to /next" {
				t.Errorf("%d: the next request got %d %q", declared, status, answer)
			}
		}
		got := a.take()
		if len(got) == 3 {
			if want := "POST /first " + strings.Repeat("b", declared); got[0] != want {
				t.Errorf("%d: the upstream got %.100q", declared, got[0])
			}
			got = got[1:]
		}
		if want := []string{"POST /next next", "POST /next next"}; !slices.Equal(got, want) {
			t.Errorf("%d: the upstream got %.100q", declared, got)
		}
	}
}

// A request whose body could not be read isn't sent on: its body is empty then, and would look
// whole.
func TestBodyUnreadable(t *testing.T) { onUpstreams(t, testBodyUnreadable) }

func testBodyUnreadable(t *testing.T) {
	const part = "--A\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--A--\r\n"
	readForm := func(ctx *gale.RequestCtx) {
		if _, err := ctx.MultipartForm(); err == nil {
			t.Error("there was a form")
		}
	}
	failWith := func(err error) func(ctx *gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) {
			ctx.Request.SetBodyStream(iotest.ErrReader(err), 5)
			ctx.PostBody()
		}
	}
	for _, tt := range []struct {
		name, kind, sent string
		streams          bool
		read             func(ctx *gale.RequestCtx)
		status           int
	}{
		{"two boundaries", "multipart/form-data; boundary=A; boundary=B", part, false, readForm, 400},
		{"two boundaries, streamed", "multipart/form-data; boundary=A; boundary=B", part, true, readForm, 400},
		{"no form, streamed", "multipart/form-data; boundary=A", "garbage", true, readForm, 400},
		{"form too large, streamed", "multipart/form-data; boundary=A", strings.Repeat("-", 2000) + "\r\n" + part, true, readForm, 413},
		{"stream fails", "text/plain", "x", false, failWith(errors.New("no more")), 400},
		{"stream too long", "text/plain", "x", false, failWith(gale.ErrBodyTooLarge), 413},
		{"stream too slow", "text/plain", "x", false, failWith(gale.ErrTimeout), 408},
	} {
		var a arrivals
		p := &reverse.Proxy{Upstreams: []string{a.upstream(t)}, HTTP2: upstreamMode()}
		addr := serveOn(t, p, &gale.Server{StreamRequestBody: tt.streams, MaxStreamedFormSize: 1000, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
			tt.read(ctx)
			p.Handler(ctx)
		}})
		if status, answer := postTo(t, "http://"+addr+"/first", tt.kind, tt.sent); status != tt.status {
			t.Errorf("%s: got %d %q, want %d", tt.name, status, answer, tt.status)
		}
		if got := a.take(); len(got) != 0 {
			t.Errorf("%s: the upstream got %q", tt.name, got)
		}
	}
}
