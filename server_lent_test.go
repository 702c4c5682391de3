package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A keeper keeps the body stream of a request, and reads it late.
var keepers = []struct {
	name string
	keep func(t *testing.T, ctx *RequestCtx) io.Reader
}{
	{"stream", func(_ *testing.T, ctx *RequestCtx) io.Reader { return ctx.RequestBodyStream() }},
	{"request", func(_ *testing.T, ctx *RequestCtx) io.Reader { return ctx.Request.BodyStream() }},
	{"response", func(_ *testing.T, ctx *RequestCtx) io.Reader {
		ctx.SetBodyStream(ctx.RequestBodyStream(), 0)
		return ctx.Response.BodyStream()
	}},
	{"other request", func(_ *testing.T, ctx *RequestCtx) io.Reader {
		req := new(Request)
		req.SetBodyStream(ctx.RequestBodyStream(), -1)
		return req.BodyStream()
	}},
	{"parts", func(t *testing.T, ctx *RequestCtx) io.Reader {
		parts, err := ctx.MultipartReader()
		if err != nil {
			t.Error(err)
			return nil
		}
		part, err := parts.NextPart()
		if err != nil {
			t.Error(err)
		}
		return part
	}},
}

// keptForm is a body for all keepers. All that a part can hold back of it is read early.
var keptForm = "--b\r\nContent-Disposition: form-data; name=f\r\n\r\n" + strings.Repeat("k", 20<<10) + "\r\n--b--\r\n"

// A kept stream reads no byte of a later request, on none of the protocols: neither while
// the connection is idle nor while the next request is being read.
func TestLentBodyIsOver(t *testing.T) {
	for _, k := range keepers {
		t.Run(k.name, func(t *testing.T) {
			peers.EachProtocol(t, func(t *testing.T, way h2Way, major int) {
				peers.UsedAgain(t) // a guard would report the late reads
				var kept io.Reader
				var before *RequestCtx
				same := 0
				begun := make(chan *RequestCtx, 1)
				hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/keep" {
						kept, before = k.keep(t, ctx), ctx
						return
					}
					begun <- ctx
					b, err := io.ReadAll(ctx.RequestBodyStream())
					fmt.Fprint(ctx, len(b), bytes.Count(b, []byte("c")), err)
				}})
				c := hs.Client(major)
				// A pool gives a context to the goroutine that asks on the same processor.
				for round := 0; round < 8 || major == 1 && same == 0 && round < 500; round++ {
					peers.Upload(t, c, hs.URL("/keep"), strings.NewReader(keptForm))
					checkOver(t, kept)
					r, w := io.Pipe()
					answer := make(chan string, 1)
					go func() { answer <- peers.Upload(t, c, hs.URL("/other"), r) }()
					if _, err := io.WriteString(w, strings.Repeat("c", 30_000)); err != nil {
						t.Fatal(err)
					}
					if ctx := <-begun; ctx == before {
						same++
					}
					checkOver(t, kept)
					if _, err := io.WriteString(w, strings.Repeat("c", 30_000)); err != nil {
						t.Fatal(err)
					}
					checkOver(t, kept)
					_ = w.Close()
					if got := <-answer; got != "60000 60000 <nil>" {
						t.Fatalf("the next request read %s", got)
					}
				}
				if major == 1 && same == 0 {
					t.Error("no request got the context of the one before: the test proves nothing")
				}
			})
		})
	}
}

// checkOver checks that r, a part of a body or a stream, has ended with its request.
func checkOver(t *testing.T, r io.Reader) {
	t.Helper()
	b, err := io.ReadAll(r)
	if bytes.Contains(b, []byte("c")) {
		t.Fatalf("a late Read got bytes of the next request")
	}
	if !errors.Is(err, errStreamClosed) || !errors.Is(err, ErrRequestDone) {
		t.Fatalf("a late Read got %d bytes and %v", len(b), err)
	}
	s, ok := r.(*bodyHandle)
	if !ok {
		return
	}
	if n, err := s.WriteTo(io.Discard); n != 0 || err != errStreamClosed {
		t.Fatalf("a late WriteTo got %d bytes and %v", n, err)
	}
	s.Revoke(door.Seal{})
	s.ReadsWhole()
	if s.Buffered() != 0 || s.Taken() != 0 || s.WholeLimit() != DefaultMaxRequestBodySize || s.StreamedFormLimit() != 0 {
		t.Fatal("a late call learned something of the next request")
	}
}

// A reader of the parts of a body that was read whole ends with its request, too, also if a
// goroutine goes on reading.
func TestLentPartsAreOver(t *testing.T) {
	for _, coding := range []string{"", "gzip"} {
		t.Run(coding, func(t *testing.T) {
			peers.EachProtocol(t, func(t *testing.T, way h2Way, major int) {
				peers.UsedAgain(t)
				body := func(own string) []byte {
					b := []byte(strings.ReplaceAll(keptForm, "k", own))
					if coding != "" {
						b = AppendGzipBytesLevel(nil, b, CompressNoCompression)
					}
					return b
				}
				var kept *multipart.Part
				var parts *multipart.Reader
				var readers sync.WaitGroup
				begun, goOn, over := make(chan bool), make(chan bool), make(chan bool, 1)
				hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/next" {
						begun <- true
						<-goOn
						fmt.Fprint(ctx, bytes.Equal(ctx.PostBody(), body("c")))
						return
					}
					ctx.SetUserValue("end", peers.CloserFunc(func() error { over <- true; return nil }))
					var err error
					if parts, err = ctx.MultipartReader(); err != nil {
						t.Error(err)
					}
					if kept, err = parts.NextPart(); err != nil {
						t.Error(err)
					}
					if string(ctx.Path()) == "/keep" {
						return
					}
					part, first := kept, make(chan bool)
					readers.Go(func() {
						b := make([]byte, 10)
						for once := sync.OnceFunc(func() { close(first) }); ; once() {
							n, err := part.Read(b)
							if bytes.Contains(b[:n], []byte("c")) {
								t.Error("a late Read got bytes of the next request")
							}
							if err != nil {
								once()
								return
							}
						}
					})
					<-first
				}})
				c := hs.Client(major)
				send := func(path, own string) string {
					req, err := http.NewRequest("POST", hs.URL(path), bytes.NewReader(body(own)))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
					if coding != "" {
						req.Header.Set("Content-Encoding", coding)
					}
					resp, err := c.Do(req)
					if err != nil {
						t.Error(err)
						return ""
					}
					defer resp.Body.Close()
					b, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Error(err)
					}
					return string(b)
				}
				for _, path := range []string{"/keep", "/keep", "/goes-on", "/goes-on"} {
					send(path, "k")
					<-over // over HTTP/2 the client may know the response before that
					answer := make(chan string, 1)
					go func() { answer <- send("/next", "c") }()
					<-begun
					readers.Wait()
					if path == "/keep" {
						checkOver(t, kept)
					}
					if _, err := parts.NextPart(); !errors.Is(err, errStreamClosed) && path == "/keep" {
						t.Errorf("a late NextPart: %v", err)
					}
					goOn <- true
					if got := <-answer; got != "true" {
						t.Errorf("the next request has its body: %s", got)
					}
				}
			})
		})
	}
}

// Revoke ends a Read that runs, and the handle. The handler can still answer.
func TestLentBodyRevoke(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way h2Way, major int) {
		hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			s := ctx.RequestBodyStream().(door.Lent)
			if _, err := io.ReadFull(s, make([]byte, 2)); err != nil {
				t.Error(err)
			}
			read := make(chan error, 1)
			if string(ctx.Path()) == "/reads" {
				go func() {
					n, err := s.Read(make([]byte, 10))
					if n > 0 {
						t.Errorf("read %d bytes", n)
					}
					read <- err
				}()
				await.Until(t, "the Read", func() bool { return ctx.x.Reading() })
			} else {
				read <- io.ErrNoProgress
			}
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { s.Revoke(door.Seal{}) })
			}
			all.Wait()
			if err := <-read; err == nil || err == io.EOF {
				t.Errorf("the Read that ran got %v", err)
			}
			if n, err := s.Read(make([]byte, 10)); n != 0 || err != errStreamClosed {
				t.Errorf("read %d bytes and %v", n, err)
			}
			fmt.Fprint(ctx, "answered")
		}})
		c := hs.Client(major)
		r, w := io.Pipe()
		go io.WriteString(w, "ab")
		if got := peers.Upload(t, c, hs.URL("/reads"), r); got != "answered" {
			t.Errorf("got %q", got)
		}
		_ = w.Close()
		// If no Read runs, the server drains the rest of the body, and keeps the connection.
		resp, err := c.Post(hs.URL("/idle"), "", strings.NewReader("abc"))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); string(b) != "answered" || resp.Close {
			t.Errorf("got %q, and the connection closes: %v", b, resp.Close)
		}
		resp.Body.Close()
	})
}

// HijackNow ends the handle: a late Read gets no byte of the program's connection.
func TestLentBodyHijackNow(t *testing.T) {
	peers.UsedAgain(t)
	for _, way := range peers.ClearWays[h2Way]() {
		hs := way.start(t, &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			kept := ctx.RequestBodyStream()
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			checkOver(t, kept)
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			_, _ = io.CopyN(io.Discard, nc, 30_000)
		}})
		if got := peers.Upload(t, hs.Client(1), hs.URL("/"), strings.NewReader(strings.Repeat("c", 30_000))); got != "ok" {
			t.Errorf("got %q", got)
		}
	}
}

// Revoke ends a Read that writes to a client that doesn't read, also if the server has no limit for
// writes.
func TestLentBodyRevokeStalled(t *testing.T) {
	client, end := net.Pipe()
	defer client.Close()
	server := &beginsConn{Conn: end, began: make(chan struct{})}
	s := &Server{StreamRequestBody: true, WriteStallTimeout: -1, Logger: peers.DiscardLog{}, Handler: func(ctx *RequestCtx) {
		body := ctx.RequestBodyStream().(door.Lent)
		read := make(chan error, 1)
		go func() {
			_, err := body.Read(make([]byte, 10)) // writes a 100
			read <- err
		}()
		<-server.began
		peers.Within(t, "Revoke", func() { body.Revoke(door.Seal{}) })
		if err := <-read; err == nil || err == io.EOF {
			t.Errorf("the Read got %v", err)
		}
	}}
	served := make(chan error)
	go func() { served <- s.ServeConn(server) }()
	if _, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	peers.Within(t, "the end of the connection", func() { <-served })
}

// beginsConn tells when the first Write to it has begun.
type beginsConn struct {
	net.Conn
	began chan struct{}
	once  sync.Once
}

func (c *beginsConn) Write(b []byte) (int, error) {
	c.once.Do(func() { close(c.began) })
	return c.Conn.Write(b)
}

// keepsWriter is a stream that keeps the writer that its WriteTo gets.
type keepsWriter struct{ to io.Writer }

func (k *keepsWriter) Read([]byte) (int, error)  { panic("WriteTo is to be used") }
func (k *keepsWriter) SupportsBodyWriteTo() bool { return true }

func (k *keepsWriter) WriteTo(w io.Writer) (int64, error) {
	k.to = w
	n, err := io.WriteString(w, strings.Repeat("k", 100))
	return int64(n), err
}

// Writers of bodies that are kept write nothing into a later response, or request.
func TestLentWriterIsOver(t *testing.T) {
	sws := map[string]func(ctx *RequestCtx, sw StreamWriter){
		"chunked": func(ctx *RequestCtx, sw StreamWriter) { ctx.SetBodyStreamWriter(sw) },
		"gzip": func(ctx *RequestCtx, sw StreamWriter) {
			CompressHandler(func(ctx *RequestCtx) {
				ctx.SetContentType("text/plain")
				ctx.SetBodyStreamWriter(sw)
			})(ctx)
		},
		"flushed": func(ctx *RequestCtx, sw StreamWriter) {
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
			ctx.SetBodyStreamWriter(sw)
		},
	}
	rows := map[string]func(ctx *RequestCtx) (late func() io.Writer){
		"Request.BodyWriter": func(ctx *RequestCtx) func() io.Writer {
			w := ctx.Request.BodyWriter()
			return func() io.Writer { return w }
		},
		"Response.BodyWriter": func(ctx *RequestCtx) func() io.Writer {
			w := ctx.Response.BodyWriter()
			return func() io.Writer { return w }
		},
	}
	for name, size := range map[string]int{"BodyWriterTo": -1, "BodyWriterTo of a known length": 100} {
		rows[name] = func(ctx *RequestCtx) func() io.Writer {
			k := &keepsWriter{}
			ctx.SetBodyStream(k, size)
			return func() io.Writer { return k.to }
		}
	}
	rows["BodyWriterTo, flushed"] = func(ctx *RequestCtx) func() io.Writer {
		k := &keepsWriter{}
		if err := ctx.Flush(); err != nil {
			t.Error(err)
		}
		ctx.SetBodyStream(k, -1)
		return func() io.Writer { return k.to }
	}
	for name, set := range sws {
		rows[name] = func(ctx *RequestCtx) func() io.Writer {
			var bw *bufio.Writer
			set(ctx, func(w *bufio.Writer) {
				bw = w
				_, _ = w.WriteString(strings.Repeat("k", 100))
			})
			return func() io.Writer { return bw }
		}
	}
	for name, keep := range rows {
		t.Run(name, func(t *testing.T) {
			peers.EachProtocol(t, func(t *testing.T, way h2Way, major int) {
				peers.UsedAgain(t)
				var kept func() io.Writer
				begun, goOn := make(chan bool), make(chan bool)
				hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
					switch string(ctx.Path()) {
					case "/keep":
						kept = keep(ctx)
					case "/writer":
						ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
							_, _ = w.WriteString("own")
							begun <- true
							<-goOn
						})
					default:
						_, _ = ctx.WriteString("own")
						begun <- true
						<-goOn
						if b := ctx.Request.Body(); string(b) != "body" {
							t.Errorf("the request's body is %q", b)
						}
					}
				}})
				c := hs.Client(major)
				c.Transport.(*http.Transport).DisableCompression = name != "gzip"
				for _, path := range []string{"/", "/writer"} {
					peers.Upload(t, c, hs.URL("/keep"), nil)
					answer := make(chan string, 1)
					go func() { answer <- peers.Upload(t, c, hs.URL(path), strings.NewReader("body")) }()
					<-begun
					// Over HTTP/2 this request may begin before the kept one has ended.
					await.Until(t, "the end of the kept writer", func() bool {
						_, err := io.WriteString(kept(), "late")
						return err != nil
					})
					for range 3 {
						if n, err := io.WriteString(kept(), "late"); n != 0 || err != errWriterEnded {
							t.Errorf("a late write: %d, %v", n, err)
						}
						if bw, ok := kept().(*bufio.Writer); ok && bw.Flush() != errWriterEnded {
							t.Error("a late Flush")
						}
					}
					goOn <- true
					if got := <-answer; got != "own" {
						t.Errorf("the next response is %q", got)
					}
				}
			})
		})
	}
	for _, c := range []struct {
		name    string
		message func() (w io.Writer, release func())
	}{
		{"request", func() (io.Writer, func()) {
			req := acquireRequest()
			return req.BodyWriter(), func() { ReleaseRequest(req) }
		}},
		{"response", func() (io.Writer, func()) {
			resp := acquireResponse()
			return resp.BodyWriter(), func() { ReleaseResponse(resp) }
		}},
	} {
		w, release := c.message()
		if n, err := io.WriteString(w, "early"); n != 5 || err != nil {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		release()
		if n, err := w.Write([]byte("late")); n != 0 || err != errWriterEnded {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
	}
}
