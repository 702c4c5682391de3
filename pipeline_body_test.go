package gale

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Streamed bodies are sent completely, with their framing, and closed.
func TestPipelineRequestStream(t *testing.T) {
	c := pipeServer(t, pipeEcho)
	for _, size := range []int{-1, 5} {
		req, resp := pipeReq("POST"), &Response{}
		body := &pipeTestStream{Reader: strings.NewReader("hello")}
		req.SetBodyStream(body, size)
		if err := c.DoTimeout(req, resp, time.Minute); err != nil || string(resp.Body()) != "POST / hello" {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
		if !body.closed {
			t.Error("the stream was not closed")
		}
	}
	oh := errors.New("oh")
	req := pipeReq("POST")
	req.SetBodyStream(&pipeTestStream{Reader: io.MultiReader(strings.NewReader("he"), errReader{oh})}, -1)
	if err := c.Do(req, nil); !errors.Is(err, oh) {
		t.Errorf("got %v, want the error of the stream", err)
	}
	req = pipeReq("POST")
	req.SetBodyStream(zeroReader{}, -1)
	if err := c.DoTimeout(req, nil, 10*time.Millisecond); err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	req.SetBodyStream(zeroReader{}, -1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.DoContext(ctx, req, nil); err != context.DeadlineExceeded {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	wantPipe(t, pipeDo(c, "GET", "/", ""), "GET / ")
}

type pipeTestStream struct {
	io.Reader
	closed bool
}

func (s *pipeTestStream) Close() error { s.closed = true; return nil }

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Large bodies and small ones share batches.
func TestPipelineLargeBodies(t *testing.T) {
	c := pipeServer(t, pipeEcho)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			body := strings.Repeat(string(rune('a'+i)), i*i*1000)
			for range 5 {
				if got := pipeDo(c, "PUT", "/", body); got != "PUT / "+body {
					t.Errorf("got %d bytes %.20q, want %d", len(got), got, len(body))
				}
			}
		})
	}
	wg.Wait()
}

// A response that arrives before its request was completely written is accepted. The
// memory of the request isn't used again while it is being written.
func TestPipelineEarlyAnswer(t *testing.T) {
	c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" { // the end of a head: the body can wait
				pipeAnswer(nc, "", "early")
				if _, err := io.CopyN(io.Discard, br, 4<<20); err != nil {
					return
				}
			}
		}
	})
	for i := range 20 {
		req, resp := pipeReq("PUT"), &Response{}
		req.SetBody(bytes.Repeat([]byte{byte(i)}, 4<<20))
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "early" {
			t.Fatalf("got %q, %v", resp.Body(), err)
		}
	}
}
