package adaptor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/peers"
)

var quiet = log.New(io.Discard, "", 0)

// outsides are the servers that a handler for Gale runs on. serve returns a URL.
var outsides = []struct {
	name    string
	version int // of HTTP
	serve   func(t *testing.T, version int, h gale.RequestHandler) string
}{
	{"block, HTTP/1.1", 1, onGale(gale.EngineBlock)},
	{"event, HTTP/1.1", 1, onGale(gale.EngineEvent)},
	{"block, HTTP/2", 2, onGale(gale.EngineBlock)},
	{"event, HTTP/2", 2, onGale(gale.EngineEvent)},
	{"net/http, HTTP/1.1", 1, onStd},
	{"net/http, HTTP/2", 2, onStd},
}

func onGale(e gale.Engine) func(*testing.T, int, gale.RequestHandler) string {
	return func(t *testing.T, _ int, h gale.RequestHandler) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Engine: e, Handler: h, Logger: quiet, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
		go s.Serve(ln)
		t.Cleanup(func() { s.Close() })
		return "http://" + ln.Addr().String()
	}
}

func onStd(t *testing.T, _ int, h gale.RequestHandler) string {
	s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(h))
	s.Config.Protocols = peers.Protocols(1, 2)
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// upstream is a server that answers each request with these bytes, and then closes the
// connection. It returns its address.
func upstream(t *testing.T, answer string) string {
	return peers.ServeConns(t, func(_ int, c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, answer)
		}
	})
}

// std makes a handler for Gale from one for net/http.
func std(f http.HandlerFunc) gale.RequestHandler { return adaptor.NewFastHTTPHandler(f) }

// failing is a stream that gives some bytes and then an error.
type failing struct {
	r   io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// unclosable is a stream whose Close fails.
type unclosable struct{ io.Reader }

func (unclosable) Close() error { return errBoom }

var errBoom = errors.New("boom")

// flushed sends the first bytes of a response.
func flushed(ctx *gale.RequestCtx) {
	ctx.WriteString("hello")
	_ = ctx.Flush()
}

// brokenResponses are handlers whose responses end before they are complete.
func brokenResponses(t *testing.T) map[string]gale.RequestHandler {
	rows := map[string]gale.RequestHandler{
		"net/http: ErrAbortHandler": std(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			panic(http.ErrAbortHandler)
		}),
		"net/http: ErrAbortHandler after Flush": std(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}),
		"net/http: panic after Flush": std(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic("boom")
		}),
		"net/http: Goexit": std(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			runtime.Goexit()
		}),
		"net/http: Goexit after Flush": std(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			runtime.Goexit()
		}),
		"net/http: shorter than its length": std(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "hello")
		}),
		"net/http: shorter than its length, after Flush": std(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
		}),
		"net/http: one write longer than its length": std(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			if _, err := io.WriteString(w, "hello world"); err == nil {
				t.Error("a write beyond the length has no error")
			}
		}),
		"net/http: an error of io.Copy": std(func(w http.ResponseWriter, _ *http.Request) {
			if _, err := io.Copy(w, failing{strings.NewReader("hello"), errBoom}); err != nil {
				panic(http.ErrAbortHandler)
			}
		}),
		"net/http: the handler of a TimeoutHandler of Gale, after Flush": gale.TimeoutHandler(std(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), 300*time.Millisecond, "late"),
		"a stream with an error":                 func(ctx *gale.RequestCtx) { ctx.SetBodyStream(failing{strings.NewReader("hello"), errBoom}, -1) },
		"a sized stream and an error":            func(ctx *gale.RequestCtx) { ctx.SetBodyStream(failing{strings.NewReader("hello"), errBoom}, 10) },
		"a short stream":                         func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), 10) },
		"a stream that returns too much":         func(ctx *gale.RequestCtx) { ctx.SetBodyStream(returns(func(n int) int { return n + 1 }), 600) },
		"a stream that returns a negative count": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(returns(func(int) int { return -1 }), 600) },
		"a stream that returns nothing":          func(ctx *gale.RequestCtx) { ctx.SetBodyStream(returns(func(int) int { return 0 }), 600) },
		"a stream that returns nothing, compressed": gale.CompressHandler(func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(returns(func(int) int { return 0 }), 600)
		}),
		"a stream that returns too much, compressed": gale.CompressHandler(func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(returns(func(n int) int { return n + 1000 }), 600)
		}),
		"a stream that returns too much after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(returns(func(n int) int { return n + 1 }), 600)
		},
		"a stream writer that panics": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				w.WriteString("hello")
				w.Flush()
				panic("boom")
			})
		},
		"a stream writer that calls Goexit": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				w.WriteString("hello")
				w.Flush()
				runtime.Goexit()
			})
		},
		"ErrAbortHandler":             func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) },
		"ErrAbortHandler after Flush": func(ctx *gale.RequestCtx) { flushed(ctx); panic(gale.ErrAbortHandler) },
		"panic after Flush":           func(ctx *gale.RequestCtx) { flushed(ctx); panic("boom") },
		"Goexit":                      func(ctx *gale.RequestCtx) { ctx.WriteString("hello"); runtime.Goexit() },
		"Goexit after Flush":          func(ctx *gale.RequestCtx) { flushed(ctx); runtime.Goexit() },
		"TimeoutError after Flush":    func(ctx *gale.RequestCtx) { flushed(ctx); ctx.TimeoutError("late") },
		"TimeoutHandler after Flush": gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			flushed(ctx)
			<-ctx.Done()
		}, 300*time.Millisecond, "late"),
		"a stream with an error after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(failing{strings.NewReader("hello"), errBoom}, -1)
		},
		"a short stream after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(strings.NewReader("world"), 10)
		},
		"a short stream that writes itself, after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(gale.NewBoundedStreamReader(func(w *bufio.Writer) { w.WriteString("world") }), 10)
		},
		"a stream that ends a declared length early, after Flush": func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentLength(10)
			flushed(ctx)
			ctx.SetBodyStream(strings.NewReader("wor and more"), 3)
		},
		"a stream that was read, with an error, after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(failing{strings.NewReader("world"), errBoom}, -1)
			ctx.Response.Body()
		},
		"less than the declared length after Flush": func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentLength(10)
			flushed(ctx)
		},
		"less than the declared length, with a trailer, after Flush": func(ctx *gale.RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.SetContentLength(10)
			flushed(ctx)
		},
		"a stream shorter than the declared length after Flush": func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentLength(10)
			flushed(ctx)
			ctx.SetBodyStream(strings.NewReader("1234"), 4)
		},
		"the Close of a stream fails": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(unclosable{strings.NewReader("hello")}, -1)
		},
		"the Close of a stream fails after Flush": func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.SetBodyStream(unclosable{strings.NewReader("world")}, -1)
		},
		"BeforeSend aborts": func(ctx *gale.RequestCtx) {
			ctx.WriteString("hello")
			ctx.BeforeSend(func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) })
		},
		"BeforeSend calls Goexit": func(ctx *gale.RequestCtx) {
			ctx.WriteString("hello")
			ctx.BeforeSend(func(*gale.RequestCtx) { runtime.Goexit() })
		},
	}
	for name, answer := range map[string]string{
		"in a chunk":               "Transfer-Encoding: chunked\r\n\r\na\r\nhello",
		"between chunks":           "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"before the last line":     "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
		"before its length":        "Content-Length: 10\r\n\r\nhello",
		"before a very large rest": "Content-Length: 1000000\r\n\r\n" + strings.Repeat("hello", 20000),
	} {
		addr := upstream(t, "HTTP/1.1 200 OK\r\n"+answer)
		p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
		p.ErrorLog = quiet
		rows["httputil.ReverseProxy: the upstream breaks off "+name] = adaptor.NewFastHTTPHandler(p)
		rows["reverse.Proxy: the upstream breaks off "+name] = (&reverse.Proxy{Upstreams: []string{addr}}).Handler
	}
	return rows
}

// Whatever breaks a response off, the client sees that it isn't complete, and functions of
// AfterSend get an error: on each engine, over both protocols, and on net/http.
func TestBrokenResponses(t *testing.T) {
	rows := brokenResponses(t)
	for _, out := range outsides {
		for name, h := range rows {
			t.Run(out.name+"/"+name, func(t *testing.T) {
				sent := make(chan error, 2)
				url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
					ctx.AfterSend(func(_ int64, err error) { sent <- err })
					h(ctx)
				})
				got, err := fetch(t, url, out.version)
				if err == nil {
					t.Errorf("the client got a complete response: %.80s", got)
				}
				select {
				case err := <-sent:
					if err == nil {
						t.Error("a function of AfterSend was told that the response was sent")
					}
				case <-time.After(time.Minute):
					t.Error("AfterSend: no call")
				}
			})
		}
	}
}

// A stream that is longer than declared is not read further, also after a Flush, and the response is
// complete.
func TestLongStreamAfterFlush(t *testing.T) {
	for _, out := range outsides {
		t.Run(out.name, func(t *testing.T) {
			url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
				flushed(ctx)
				ctx.SetBodyStream(strings.NewReader("world and more"), 5)
			})
			if got, err := fetch(t, url, out.version); err != nil || !strings.HasSuffix(got, `"helloworld"`) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// endless gives bytes, but its end never comes.
func endless(t *testing.T, bytes string) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return io.MultiReader(strings.NewReader(bytes), r)
}

// What a handler sets after Flush doesn't take from a response that has begun, and a stream of known
// length is not read any further: the client gets all of it.
func TestFlushedIsWhole(t *testing.T) {
	rest := func(set func(ctx *gale.RequestCtx)) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			flushed(ctx)
			ctx.WriteString(", rest")
			set(ctx)
		}
	}
	for _, out := range outsides {
		for name, h := range map[string]gale.RequestHandler{
			"204":      rest(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(204) }),
			"205":      rest(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(205) }),
			"304":      rest(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(304) }),
			"SkipBody": rest(func(ctx *gale.RequestCtx) { ctx.Response.SkipBody = true }),
			"a stream and 304": rest(func(ctx *gale.RequestCtx) {
				ctx.SetBodyStream(strings.NewReader(", rest"), -1)
				ctx.SetStatusCode(304)
			}),
			"204 and a stream": func(ctx *gale.RequestCtx) {
				flushed(ctx)
				ctx.SetStatusCode(204)
				ctx.SetBodyStream(strings.NewReader(", rest"), -1)
			},
			"304 and a writer": func(ctx *gale.RequestCtx) {
				flushed(ctx)
				ctx.SetStatusCode(304)
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(", rest") })
			},
			"101 and a sized stream": func(ctx *gale.RequestCtx) {
				flushed(ctx)
				ctx.SetStatusCode(101)
				ctx.SetBodyStream(strings.NewReader(", rest"), 6)
			},
			"a known length, 204 and a stream": func(ctx *gale.RequestCtx) {
				ctx.Response.Header.SetContentLength(11)
				flushed(ctx)
				ctx.SetStatusCode(204)
				ctx.SetBodyStream(strings.NewReader(", rest"), -1)
			},
			"a known length and 204": func(ctx *gale.RequestCtx) {
				ctx.Response.Header.SetContentLength(11)
				rest(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(204) })(ctx)
			},
			"a stream that doesn't end": func(ctx *gale.RequestCtx) {
				ctx.Response.Header.SetContentLength(11)
				flushed(ctx)
				ctx.SetBodyStream(endless(t, ", rest"), -1)
			},
			"a sized stream that doesn't end": func(ctx *gale.RequestCtx) {
				ctx.Response.Header.SetContentLength(11)
				flushed(ctx)
				ctx.SetBodyStream(endless(t, ", rest"), 6)
			},
		} {
			t.Run(out.name+"/"+name, func(t *testing.T) {
				over := make(chan error, 1)
				url := out.serve(t, out.version, func(ctx *gale.RequestCtx) {
					ctx.AfterSend(func(_ int64, err error) { over <- err })
					h(ctx)
				})
				if got, err := fetch(t, url, out.version); got != `200 OK, 11 bytes "hello, rest"` || err != nil {
					t.Errorf("the client got %s, %v", got, err)
				}
				if err := <-over; err != nil {
					t.Errorf("AfterSend: %v", err)
				}
			})
		}
	}
}

// fetch asks a server without keeping the connection, and returns what it got, and the error of
// the response or of its body.
func fetch(t *testing.T, url string, version int) (string, error) {
	tr := &http.Transport{Protocols: peers.Protocols(version)}
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a test that hangs
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if ctx.Err() != nil {
		t.Error("the response doesn't end")
	}
	return fmt.Sprintf("%s, %d bytes %q", resp.Status, len(b), b), err
}

// The context of a request has a server of net/http and the address, as there.
func TestServerInContext(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
		_, addr := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		fmt.Fprint(w, ok && srv.WriteTimeout == 0, addr)
	})
	for _, out := range outsides {
		if got, err := fetch(t, out.serve(t, out.version, adaptor.NewFastHTTPHandler(handler)), out.version); err != nil || !strings.Contains(got, `"true true"`) {
			t.Errorf("%s: %s, %v", out.name, got, err)
		}
	}
	var ctx gale.RequestCtx // without a connection nothing can be aborted
	ctx.Init(&gale.Request{}, nil, nil)
	adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := r.Context().Value(http.ServerContextKey); v != nil {
			t.Errorf("without a connection there is a server: %v", v)
		}
	})(&ctx)
}

// returns is a stream whose reads return count of the length of the buffer, and write nothing.
type returns func(n int) int

func (r returns) Read(p []byte) (int, error) { return r(len(p)), nil }
