package client

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

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Streamed bodies are sent completely, with their framing, and closed.
func TestPipelineRequestStream(t *testing.T) {
	c := harness.PipeServer(t, peers.PipeEcho)
	for _, size := range []int{-1, 5} {
		req, resp := harness.PipeReq("POST"), &gale.Response{}
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
	req := harness.PipeReq("POST")
	req.SetBodyStream(&pipeTestStream{Reader: io.MultiReader(strings.NewReader("he"), peers.ErrReader{Err: oh})}, -1)
	if err := c.Do(req, nil); !errors.Is(err, oh) {
		t.Errorf("got %v, want the error of the stream", err)
	}
	req = harness.PipeReq("POST")
	req.SetBodyStream(zeroReader{}, -1)
	if err := c.DoTimeout(req, nil, 10*time.Millisecond); err != gale.ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	req.SetBodyStream(zeroReader{}, -1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.DoContext(ctx, req, nil); err != context.DeadlineExceeded {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	peers.WantPipe(t, harness.PipeDo(c, "GET", "/", ""), "GET / ")
}

type pipeTestStream struct {
	io.Reader
	closed bool
}

func (s *pipeTestStream) Close() error { s.closed = true; return nil }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Large bodies and small ones share batches.
func TestPipelineLargeBodies(t *testing.T) {
	c := harness.PipeServer(t, peers.PipeEcho)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			body := strings.Repeat(string(rune('a'+i)), i*i*1000)
			for range 5 {
				if got := harness.PipeDo(c, "PUT", "/", body); got != "PUT / "+body {
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
	c := harness.PipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" { // the end of a head: the body can wait
				peers.PipeAnswer(nc, "", "early")
				if _, err := io.CopyN(io.Discard, br, 4<<20); err != nil {
					return
				}
			}
		}
	})
	for i := range 20 {
		req, resp := harness.PipeReq("PUT"), &gale.Response{}
		req.SetBody(bytes.Repeat([]byte{byte(i)}, 4<<20))
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "early" {
			t.Fatalf("got %q, %v", resp.Body(), err)
		}
	}
}
