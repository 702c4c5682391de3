package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// countedReads is a connection that records the largest buffer of a Read.
type countedReads struct {
	net.Conn
	largest *int
}

func (c countedReads) Read(p []byte) (int, error) {
	*c.largest = max(*c.largest, len(p))
	return c.Conn.Read(p)
}

// A large buffer is filled without the workspace, with as few system calls as a read of
// the connection itself needs. io.Copy brings a large buffer too.
func TestStreamReadIsDirect(t *testing.T) {
	const length = 1 << 20
	for _, path := range []string{"/read", "/copy"} {
		s := &gale.Server{StreamRequestBody: true, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			body := ctx.RequestBodyStream()
			if string(ctx.Path()) == "/copy" {
				n, err := io.Copy(io.Discard, body)
				fmt.Fprint(ctx, n, err)
				return
			}
			n, p := 0, make([]byte, 64<<10)
			for {
				k, err := body.Read(p)
				if n += k; err != nil {
					fmt.Fprint(ctx, n, err)
					return
				}
			}
		}}
		server, client := net.Pipe()
		largest := 0
		done := make(chan error, 1)
		go func() { done <- s.ServeConn(countedReads{server, &largest}) }()
		c := peers.NewConn(t, client)
		go io.WriteString(c, "POST "+path+fmt.Sprintf(" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", length)+peers.BodyText(length))
		want := fmt.Sprint(length, io.EOF)
		if path == "/copy" {
			want = fmt.Sprint(length, nil)
		}
		c.Want("POST", 200, want)
		<-done
		if largest != 64<<10 {
			t.Errorf("%s: the largest read has %d bytes, want %d", path, largest, 64<<10)
		}
	}
}

// A body that is cut, that stalls or that has a limit ends a direct read with its error.
// The bytes before it are right, and the next Read returns the error again.
func TestStreamReadDirectErrors(t *testing.T) {
	const sent = 100_000
	body := peers.BodyText(sent)
	for _, tt := range []struct {
		name  string
		stall time.Duration
		limit int64
		cut   bool
		want  error
		n     int
	}{
		{"cut", 0, 0, true, io.ErrUnexpectedEOF, sent},
		{"stall", 20 * time.Millisecond, 0, false, gale.ErrTimeout, 0},
		{"limit", 0, 50_000, false, gale.ErrBodyTooLarge, 0},
	} {
		for _, copies := range []bool{false, true} {
			for _, framing := range []string{"Content-Length: 200000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n30d40\r\n"} {
				type result struct {
					text       string
					err, again error
				}
				results := make(chan result, 1)
				s := &gale.Server{StreamRequestBody: true, ReadStallTimeout: tt.stall, Handler: func(ctx *gale.RequestCtx) {
					var r result
					var b bytes.Buffer
					if tt.limit > 0 {
						ctx.LimitRequestBody(tt.limit)
					}
					p := make([]byte, 64<<10)
					if copies {
						_, r.err = io.Copy(&b, ctx.RequestBodyStream())
					} else {
						_, r.err = io.CopyBuffer(&b, struct{ io.Reader }{ctx.RequestBodyStream()}, p)
					}
					_, r.again = ctx.RequestBodyStream().Read(p)
					r.text = b.String()
					results <- r
				}}
				ts := harness.Start(t, s, nil)
				c := ts.Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\n" + framing + body)
				if tt.cut {
					c.Conn.(*net.TCPConn).CloseWrite()
				}
				r := <-results
				if !errors.Is(r.err, tt.want) || r.again != r.err {
					t.Errorf("%s: got %v, then %v; want %v", tt.name, r.err, r.again, tt.want)
				}
				if tt.limit > 0 && len(r.text) > int(tt.limit) || tt.n > 0 && len(r.text) != tt.n || !strings.HasPrefix(body, r.text) {
					t.Errorf("%s: got %d bytes, or other bytes", tt.name, len(r.text))
				}
				c.Close()
			}
		}
	}
}

// A handler that times out in a direct read is answered for, and its Read ends.
func TestStreamReadDirectTimeout(t *testing.T) {
	ended := make(chan error, 1)
	s := &gale.Server{StreamRequestBody: true}
	s.Handler = gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		ended <- err
	}, 20*time.Millisecond, "late")
	c := harness.Start(t, s, nil).Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + peers.BodyText(100_000))
	c.Want("POST", 408, "late")
	if err := <-ended; err == nil {
		t.Error("the body looks complete")
	}
	c.WantClosed()
}

// failingWriter takes left bytes. Then it returns err, or nothing if err is nil.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

// WriteTo stops at an error of the writer, and counts what the writer took. The rest of
// the body can be read by Read. So can a body of which Read has taken a part.
func TestStreamWriteTo(t *testing.T) {
	body := peers.BodyText(300_000)
	broken := errors.New("broken")
	s := &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		r := ctx.RequestBodyStream()
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Error(err)
		}
		for want, w := range map[error]*failingWriter{broken: {left: 20_000, err: broken}, io.ErrShortWrite: {left: 20_000}} {
			if n, err := io.Copy(w, r); n != 20_000 || err != want {
				t.Errorf("got %d, %v; want %v", n, err, want)
			}
		}
		rest, err := io.ReadAll(r)
		if err != nil || !strings.HasSuffix(body, string(rest)) || len(rest) < 100_000 {
			t.Errorf("the rest has %d bytes, %v", len(rest), err)
		}
		if n, err := io.Copy(io.Discard, r); n != 0 || err != nil {
			t.Errorf("after the end: %d, %v", n, err)
		}
	}}
	c := harness.Start(t, s, nil).Dial()
	for range 2 {
		go io.WriteString(c, peers.Post("/", body))
		c.Want("POST", 200, "")
	}
}
