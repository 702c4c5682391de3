package server

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// plainReader hides the type of a stream, and its method WriteTo.
type plainReader struct{ io.Reader }

// selfWriter is a stream with the method WriteTo.
type selfWriter struct{ io.Reader }

func (w selfWriter) WriteTo(to io.Writer) (int64, error) { return io.Copy(to, w.Reader) }
func (w selfWriter) SupportsBodyWriteTo() bool           { return true }

// A body is never longer than declared: one more byte would begin the next response. A
// stream that is longer is not read further, so the response is complete. A stream that
// is shorter, and a handler that writes more, end the connection.
func TestStreamOfAnotherLength(t *testing.T) {
	const declared = 5
	for _, tt := range []struct {
		name, stream string
		keeps        bool
	}{
		{"exact", "hello", true},
		{"longer", "hello, world", false},
		{"longer by one", "hello,", false},
		{"shorter", "hell", false},
		{"empty", "", false},
	} {
		forms := map[string]func(ctx *gale.RequestCtx){
			"read":    func(ctx *gale.RequestCtx) { ctx.SetBodyStream(plainReader{strings.NewReader(tt.stream)}, declared) },
			"written": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(selfWriter{strings.NewReader(tt.stream)}, declared) },
			"flushed": func(ctx *gale.RequestCtx) {
				ctx.Response.Header.SetContentLength(declared)
				for i := range len(tt.stream) {
					ctx.WriteString(tt.stream[i : i+1])
					ctx.Flush()
				}
				ctx.Flush()
			},
		}
		for form, h := range forms {
			t.Run(tt.name+" "+form, func(t *testing.T) {
				ts := harness.Start(t, nil, h)
				c := ts.Dial()
				c.Send(peers.Get("/"))
				head, err := headOf(c.Br)
				if err != nil || !strings.Contains(head, fmt.Sprintf("Content-Length: %d\r\n", declared)) {
					t.Fatalf("got %q, %v", head, err)
				}
				if tt.keeps || len(tt.stream) > declared && form != "flushed" {
					body := make([]byte, declared)
					if _, err := io.ReadFull(c.Br, body); err != nil || string(body) != tt.stream[:declared] {
						t.Errorf("got %q, %v", body, err)
					}
					c.WantOpen()
					return
				}
				body, _ := io.ReadAll(c.Br)
				if want := tt.stream[:min(declared, len(tt.stream))]; string(body) != want {
					t.Errorf("got %q, want %q and the end", body, want)
				}
			})
		}
	}
}

// headOf reads to the end of a head.
func headOf(br *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := br.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String(), err
		}
	}
}

// A length that doesn't fit into an int of 32 bits is not cut to a shorter one, neither
// for the handler nor in a request that is written.
func TestServerLengthBeyondInt(t *testing.T) {
	const length = int64(math.MaxUint32) + 5
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		want := -1
		if n := length; n <= math.MaxInt {
			want = int(n)
		}
		if n := h.ContentLength(); n != want {
			t.Errorf("the length is %d, want %d", n, want)
		}
		b := make([]byte, 8)
		_, err := io.ReadFull(ctx.RequestBodyStream(), b)
		fmt.Fprintf(ctx, "%s %v", b, err)
		var to strings.Builder
		req := &gale.Request{}
		req.SetHost("h")
		req.SetBodyStream(&io.LimitedReader{R: peers.ErrReader{Err: io.ErrUnexpectedEOF}, N: length}, -1)
		bw := bufio.NewWriter(&to)
		req.Write(bw)
		bw.Flush()
		if want := fmt.Sprintf("Content-Length: %d\r\n", length); !strings.Contains(to.String(), want) {
			t.Errorf("got %q, want %q", to.String(), want)
		}
	})
	c := ts.Dial()
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\nevilgood", length))
	c.Want("POST", 200, "evilgood <nil>")
}

// quietWriter is a stream that writes itself in pieces and hides the errors of that.
type quietWriter struct {
	size, piece int
	stops       bool // at the first error
}

func (quietWriter) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (quietWriter) SupportsBodyWriteTo() bool { return true }
func (q quietWriter) WriteTo(w io.Writer) (sum int64, err error) {
	piece := make([]byte, q.piece)
	for range q.size / q.piece {
		if n, err := w.Write(piece); err == nil {
			sum += int64(n)
		} else if q.stops {
			break
		}
	}
	return sum, nil
}

// A stream that hides the errors of its writes makes no response complete, and the error that
// counts is that of the write: the stream is not too short, its client has left.
func TestStreamHidesErrors(t *testing.T) {
	const size = 16 << 20 // more than the buffers of the system hold
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		for _, form := range []string{"declared", "declared and flushed", "unknown"} {
			for name, stream := range map[string]quietWriter{
				"one write": {size, size, false}, "all pieces": {size, 64 << 10, false}, "up to an error": {size, 64 << 10, true},
			} {
				t.Run(form+", "+name, func(t *testing.T) {
					calls, log := newSentCalls(), &peers.Log{}
					hs := way.Start(t, &gale.Server{Logger: log, Handler: func(ctx *gale.RequestCtx) {
						calls.note(ctx)
						switch form {
						case "unknown":
							ctx.SetBodyStream(stream, -1)
						case "declared and flushed":
							ctx.Response.Header.SetContentLength(size)
							_ = ctx.Flush()
							fallthrough
						default:
							ctx.SetBodyStream(stream, size)
						}
					}})
					resp, err := hs.Client(major).Get(hs.URL("/"))
					if err != nil {
						t.Fatal("asking:", err)
					}
					if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
						t.Error("reading the first bytes:", err)
					}
					resp.Body.Close()
					if got := calls.next(t); got.err == nil || got.sent >= size || strings.Contains(got.err.Error(), "shorter") {
						t.Errorf("AfterSend was told %d bytes, %v; want fewer than %d and the error of the write", got.sent, got.err, size)
					}
					if strings.Contains(log.String(), "shorter") {
						t.Errorf("the log says that the stream is too short: %s", log)
					}
				})
			}
		}
	})
}

// carrier is a way in which a handler gets a request.
type carrier struct {
	name string
	http int // the version
	// serve starts a server of h, and returns its URL and a client for it.
	serve func(t *testing.T, h gale.RequestHandler) (url string, client *http.Client)
}

func carriers() (all []carrier) {
	for _, major := range []int{1, 2} {
		http := fmt.Sprint(",http", major)
		for _, e := range peers.Engines[gale.Engine]() {
			all = append(all, carrier{e.String() + http, major, carriedByGale(e, major)})
		}
		all = append(all, carrier{"net http" + http, major, carriedByNetHTTP(major)})
	}
	return all
}

func carriedByGale(e gale.Engine, major int) func(*testing.T, gale.RequestHandler) (string, *http.Client) {
	return func(t *testing.T, h gale.RequestHandler) (string, *http.Client) {
		hs := harness.H2Way{Engine: e}.Start(t, &gale.Server{Handler: h})
		return hs.URL("/"), hs.Client(major)
	}
}

func carriedByNetHTTP(major int) func(*testing.T, gale.RequestHandler) (string, *http.Client) {
	return func(t *testing.T, h gale.RequestHandler) (string, *http.Client) {
		s := &http.Server{Handler: adaptor.NewHTTPHandler(h), ErrorLog: silent, Protocols: peers.Protocols(1, 2)}
		client := &http.Client{Transport: &http.Transport{Protocols: peers.Protocols(major)}}
		t.Cleanup(client.CloseIdleConnections)
		return "http://" + serveNetHTTP(t, s) + "/", client
	}
}

// A response that was flushed is broken off on every exchange alike if the parts of its body that
// are in memory aren't as long as its head says: the client sees that, AfterSend gets the
// reason, and nothing of the part that goes too far is sent. A stream that is longer is cut.
func TestFlushedBodyOfAnotherLength(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts []string // each but the last is flushed
		last  io.Reader
		comes string // at most
		err   error  // for AfterSend
		early bool   // Flush returns it, too
	}{
		{name: "exact", parts: []string{"he", "llo"}, comes: "hello"},
		{name: "all flushed", parts: []string{"he", "llo", ""}, comes: "hello"},
		{name: "longer", parts: []string{"he", "llo, world"}, comes: "he", err: door.ErrBodyTooLong},
		{name: "longer by one", parts: []string{"he", "llo,"}, comes: "he", err: door.ErrBodyTooLong},
		{name: "longer, flushed", parts: []string{"he", "llo, world", ""}, comes: "he", err: door.ErrBodyTooLong, early: true},
		{name: "longer, flushed at once", parts: []string{"hello, world", ""}, comes: "", err: door.ErrBodyTooLong, early: true},
		{name: "longer, and more", parts: []string{"he", "llo, world", "llo", "llo"}, comes: "he", err: door.ErrBodyTooLong, early: true},
		{name: "longer, then a stream", parts: []string{"hello, world"}, last: strings.NewReader("hello"), comes: "", err: door.ErrBodyTooLong, early: true},
		{name: "more than all", parts: []string{"hello", ", world"}, comes: "hello", err: door.ErrBodyTooLong},
		{name: "shorter", parts: []string{"he", "l"}, comes: "hel", err: door.ErrBodyTooShort},
		{name: "a longer stream", parts: []string{"he"}, last: strings.NewReader("llo, world"), comes: "hello"},
	} {
		calls := make(sentCalls, 1)
		flushed := make(chan error, len(tt.parts))
		h := func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			ctx.Response.Header.SetContentLength(len("hello"))
			for i, part := range tt.parts {
				ctx.WriteString(part)
				if i < len(tt.parts)-1 || tt.last != nil {
					flushed <- ctx.Flush()
				}
			}
			if s, ok := tt.last.(io.Seeker); ok {
				_, _ = s.Seek(0, io.SeekStart)
				ctx.SetBodyStream(tt.last, -1)
			}
		}
		check := func(t *testing.T, body string, err error) {
			if got := calls.next(t); got.err != tt.err {
				t.Errorf("AfterSend: %v, want %v", got.err, tt.err)
			}
			last := error(nil)
			for len(flushed) > 0 {
				last = <-flushed
			}
			if (last != nil) != tt.early || tt.early && last != tt.err {
				t.Errorf("the last Flush: %v, want %t", last, tt.early)
			}
			if !strings.HasPrefix(tt.comes, body) || tt.err == nil && body != tt.comes {
				t.Errorf("the client got %q, want %q", body, tt.comes)
			}
			if whole := tt.comes == "hello"; whole != (body == "hello") && err == nil || tt.err == nil && err != nil {
				t.Errorf("the client got %q and %v", body, err)
			}
		}
		for _, c := range carriers() {
			t.Run(tt.name+"/"+c.name, func(t *testing.T) {
				url, client := c.serve(t, h)
				resp, err := client.Get(url)
				body := []byte(nil)
				if err == nil {
					body, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if tt.err != nil && err == nil && (c.http == 2 || tt.comes != "hello") {
					t.Errorf("the client got %q, which looks complete", body)
				}
				check(t, string(body), err)
			})
		}
		t.Run(tt.name+"/record", func(t *testing.T) {
			res := galetest.Record(h, galetest.NewContext("GET", "/", nil))
			if res.Err != tt.err {
				t.Errorf("Record: %v, want %v", res.Err, tt.err)
			}
			check(t, string(res.Response.Body()), res.Err)
		})
	}
}
