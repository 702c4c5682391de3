package server

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/galehttp/gale"
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
