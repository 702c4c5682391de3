package adaptor_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/peers"
)

// What a handler reads of a request's body after its response has begun, or a stream of the response
// reads, is the body: nothing is missing, on all servers.
func TestReadAfterHead(t *testing.T) {
	handlers := map[string]gale.RequestHandler{
		"a stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) },
		"a sized stream": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(ctx.RequestBodyStream(), ctx.Request.Header.ContentLength())
		},
		"Flush, then read": func(ctx *gale.RequestCtx) {
			_ = ctx.Flush()
			if _, err := io.Copy(ctx, ctx.RequestBodyStream()); err != nil {
				panic(err)
			}
		},
		"Flush of each read": func(ctx *gale.RequestCtx) {
			b := make([]byte, 10000)
			for err := error(nil); err != io.EOF; {
				n := 0
				if n, err = ctx.RequestBodyStream().Read(b); err != nil && err != io.EOF {
					panic(err)
				}
				ctx.Write(b[:n])
				_ = ctx.Flush()
			}
		},
	}
	for _, out := range outsides {
		for name, h := range handlers {
			t.Run(out.name+"/"+name, func(t *testing.T) {
				url := out.serve(t, out.version, h)
				for _, size := range []int{5, 100000, 300 << 10, 1 << 20} {
					for _, chunked := range []bool{false, true} {
						var body io.Reader = strings.NewReader(strings.Repeat("x", size))
						if chunked {
							body = io.MultiReader(body)
						}
						b, err := io.ReadAll(post(t, url, out.version, body))
						if len(b) != size || err != nil {
							t.Errorf("of %d bytes came %d, %v (chunked: %t)", size, len(b), err, chunked)
						}
					}
				}
			})
		}
	}
}

// Flush doesn't wait for the body of the request: a client may send it when it has got that part.
func TestFlushBeforeBody(t *testing.T) {
	for _, out := range outsides {
		t.Run(out.name, func(t *testing.T) {
			url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
				ctx.WriteString("first ")
				_ = ctx.Flush()
				_, _ = io.Copy(ctx, ctx.RequestBodyStream())
			})
			body, w := io.Pipe()
			defer w.Close()
			from := post(t, url, out.version, body)
			if _, err := io.ReadFull(from, make([]byte, len("first "))); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(w, "second")
			w.Close()
			if b, err := io.ReadAll(from); string(b) != "second" || err != nil {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// A client that waits for a 100 before it sends the body gets it before the head of a success, if the
// handler or a stream of the response may read the body after that. Otherwise reading it fails: no
// side waits for the other. A handler on net/http's HTTP/2 can't know that the client waits.
func TestExpectThenReadAfterHead(t *testing.T) {
	for _, out := range outsides {
		if out.name == "net/http, HTTP/2" {
			continue
		}
		for _, status := range []int{gale.StatusOK, gale.StatusForbidden} {
			for _, kind := range []string{"Flush", "stream"} {
				t.Run(fmt.Sprintf("%s/%d/%s", out.name, status, kind), func(t *testing.T) {
					read := make(chan error, 1)
					url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
						ctx.SetStatusCode(status)
						body := ctx.RequestBodyStream()
						if kind == "stream" {
							ctx.SetBodyStream(body, -1)
							ctx.Response.ImmediateHeaderFlush = true
							ctx.AfterSend(func(_ int64, err error) { read <- err })
							return
						}
						_ = ctx.Flush()
						_, err := io.Copy(ctx, body)
						read <- err
					})
					c := &gale.Client{HTTP2: gale.HTTP2Off, ExpectContinueTimeout: time.Hour, ReadTimeout: time.Minute}
					if out.version == 2 {
						c.HTTP2 = gale.HTTP2Only
					}
					defer c.CloseIdleConnections()
					req, resp := &gale.Request{}, &gale.Response{}
					req.SetRequestURI(url)
					req.Header.SetMethod("POST")
					req.Header.Set("Expect", "100-continue")
					req.SetBodyStream(strings.NewReader("body"), 4)
					err := c.Do(req, resp)
					failed := <-read
					if status == gale.StatusOK && (failed != nil || err != nil || string(resp.Body()) != "body") {
						t.Errorf("%q, %v; reading: %v", resp.Body(), err, failed)
					}
					if status != gale.StatusOK && failed == nil {
						t.Errorf("the body was read; the client: %d, %v", resp.StatusCode(), err)
					}
				})
			}
		}
	}
}

// post sends a body, and returns that of the response.
func post(t *testing.T, url string, version int, body io.Reader) io.Reader {
	t.Helper()
	tr := &http.Transport{Protocols: peers.Protocols(version)}
	t.Cleanup(tr.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a test that hangs
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// A part of a request's body that a handler has left unread is never taken for a request: the response
// is whole, and the connection goes on or ends.
func TestUnreadAfterFlush(t *testing.T) {
	for _, row := range []struct {
		name, fields string
		sent         int // of the body
		goes         bool
	}{
		{"small", "Content-Length: 1000", 1000, true},
		{"large", "Content-Length: 1000000", 1000000, false},
		{"too late", "Content-Length: 1000", 999, false},
		{"not asked for", "Content-Length: 1000\r\nExpect: 100-continue", 0, false},
	} {
		for name, h := range map[string]gale.RequestHandler{
			"Flush":     func(ctx *gale.RequestCtx) { _ = ctx.Flush(); ctx.WriteString("whole") },
			"stream":    func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("whole"), -1) },
			"no stream": func(ctx *gale.RequestCtx) { _ = ctx.Flush(); ctx.SetBodyString("whole") },
			"part": func(ctx *gale.RequestCtx) {
				_ = ctx.Flush()
				if row.sent > 0 && ctx.IsPost() {
					_, _ = ctx.RequestBodyStream().Read(make([]byte, 1))
				}
				ctx.SetBodyString("whole")
			},
			"reader that stays": func(ctx *gale.RequestCtx) {
				_ = ctx.Flush()
				if row.sent > 0 && ctx.IsPost() {
					r, began := ctx.RequestBodyStream(), make(chan struct{})
					go func() {
						_, _ = r.Read(make([]byte, 1))
						close(began)
						_, _ = io.Copy(io.Discard, r)
					}()
					<-began
				}
				ctx.SetBodyString("whole")
			},
		} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				var logged bytes.Buffer
				s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(h))
				s.Config.ErrorLog = log.New(&logged, "", 0)
				s.Start()
				nc, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(time.Minute))
				go func() {
					fmt.Fprintf(nc, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n%s", row.fields, make([]byte, row.sent))
					if row.goes {
						fmt.Fprint(nc, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
					}
				}()
				br := bufio.NewReader(nc)
				for i := range 2 {
					if i == 1 && name == "reader that stays" {
						break // the connection may go on, if the reader was fast
					}
					resp, err := http.ReadResponse(br, nil)
					if err == nil && resp.StatusCode == gale.StatusContinue {
						resp, err = http.ReadResponse(br, nil)
					}
					if i == 1 && !row.goes {
						if err == nil {
							t.Errorf("there is a second response: %v", resp)
						}
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if b, err := io.ReadAll(resp.Body); string(b) != "whole" || err != nil {
						t.Errorf("%q, %v", b, err)
					}
				}
				nc.Close()
				s.Close()
				if logged.Len() > 0 {
					t.Errorf("logged: %s", &logged)
				}
			})
		}
	}
}

// holding is a ResponseWriter of a middleware that sends the body when the handler has returned.
type holding struct {
	http.ResponseWriter
	held bytes.Buffer
}

func (w *holding) Write(b []byte) (int, error) { return w.held.Write(b) }
func (w *holding) FlushError() error           { return nil }
func (w *holding) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *holding) hand()                       { _, _ = w.ResponseWriter.Write(w.held.Bytes()) }
func hold(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &holding{ResponseWriter: w}
		h.ServeHTTP(held, r)
		held.hand()
	})
}

// What a middleware holds of a response when the handler has returned isn't lost, or the client
// sees that it is, also if the handler leaves a part of the request's body.
func TestUnreadBehindMiddleware(t *testing.T) {
	for name, h := range map[string]gale.RequestHandler{
		"Flush":  func(ctx *gale.RequestCtx) { _ = ctx.Flush(); ctx.WriteString("whole") },
		"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("whole"), -1) },
		"a part was read": func(ctx *gale.RequestCtx) {
			if body := ctx.RequestBodyStream(); body != nil {
				_, _ = body.Read(make([]byte, 1))
			}
			_ = ctx.Flush()
			ctx.WriteString("whole")
		},
	} {
		for _, size := range []int{0, 1000, 600 << 10} {
			s := httptest.NewUnstartedServer(hold(adaptor.NewHTTPHandler(h)))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.Start()
			resp, err := http.Post(s.URL, "text/plain", bytes.NewReader(make([]byte, size)))
			if err == nil {
				var b []byte
				if b, err = io.ReadAll(resp.Body); err == nil && string(b) != "whole" {
					t.Errorf("%s, %d bytes: %q looks whole", name, size, b)
				}
				resp.Body.Close()
			}
			if err != nil && (size <= 1000 || name != "a part was read") {
				t.Errorf("%s, %d bytes: %v", name, size, err)
			}
			s.Close()
		}
	}
}

// A Read that a handler has left doesn't hold back the answer of its time-out.
func TestTimeoutDuringRead(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(adaptor.NewHTTPHandler(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 2))
	}, time.Second, "answered")))
	defer s.Close()
	nc, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(nc, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); resp.StatusCode != gale.StatusRequestTimeout || string(b) != "answered" || err != nil {
		t.Errorf("%d %q, %v", resp.StatusCode, b, err)
	}
}
