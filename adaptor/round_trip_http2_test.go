package adaptor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// onHTTP2 serves h on both engines and calls f with a client that speaks HTTP/2 only.
func onHTTP2(t *testing.T, h http.HandlerFunc, f func(t *testing.T, c *http.Client, url string)) {
	server := func() *gale.Server {
		return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
	}
	onEngines(t, server, func(t *testing.T, addr string) {
		c := &http.Client{Transport: NewRoundTripper(&gale.Client{HTTP2: gale.HTTP2Only}), Timeout: time.Minute}
		defer c.CloseIdleConnections()
		f(t, c, "http://"+addr+"/")
	})
}

// One request sends and receives at the same time, with trailers at both ends, and so do
// many on one connection.
func TestRoundTripBothWays(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Out")
		w.(http.Flusher).Flush()
		b := make([]byte, 100)
		for {
			n, err := r.Body.Read(b)
			w.Write(b[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				break
			}
		}
		w.Header().Set("X-Out", r.Trailer.Get("X-In"))
	}
	onHTTP2(t, h, func(t *testing.T, c *http.Client, url string) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := pingPong(c, url, fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func pingPong(c *http.Client, url, own string) error {
	body, w := io.Pipe()
	req, err := http.NewRequest("POST", url, body)
	if err != nil {
		return err
	}
	req.Trailer = http.Header{"X-In": {own}}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.ContentLength != -1 {
		return fmt.Errorf("got %s, length %d", resp.Proto, resp.ContentLength)
	}
	for n := range 20 {
		sent := fmt.Sprintf("%s,%d;", own, n)
		if _, err := io.WriteString(w, sent); err != nil {
			return err
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != sent {
			return fmt.Errorf("got %q, %w, want %q", got, err, sent)
		}
	}
	w.Close()
	if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
		return fmt.Errorf("the rest: %q, %w", rest, err)
	}
	if got := resp.Trailer.Get("X-Out"); got != own {
		return fmt.Errorf("trailer %q, want %q", got, own)
	}
	return nil
}

// The context of a request that still sends, and Close of the response's body, reset the
// stream and close the body of the request. The connection serves others.
func TestRoundTripLeaves(t *testing.T) {
	gone := make(chan error, 1)
	h := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, err := io.Copy(io.Discard, r.Body)
		gone <- err
	}
	onHTTP2(t, h, func(t *testing.T, c *http.Client, url string) {
		for _, end := range []string{"context", "close", "context"} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r, w := io.Pipe()
			body := &countedBody{Reader: r}
			req, _ := http.NewRequestWithContext(ctx, "POST", url, body)
			resp, err := c.Transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if end == "context" {
				cancel()
				if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
					t.Errorf("Read: %v", err)
				}
			}
			resp.Body.Close()
			if err := <-gone; !errors.Is(err, gale.ErrClientGone) {
				t.Errorf("%s: the handler got %v", end, err)
			}
			w.CloseWithError(io.ErrClosedPipe) // a Read of the body may still wait
			await.Until(t, "the body to be closed", func() bool { return body.closed.Load() == 1 })
		}
	})
}
