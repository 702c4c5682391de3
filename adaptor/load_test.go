package adaptor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// Requests of all kinds, of which clients break off some: each answer that is
// complete belongs to its request, and nothing leaks. For the race
// detector above all.
func TestUnderLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Id", r.Header.Get("X-Id"))
		ctx := r.Context()
		switch r.URL.Path {
		case "/echo":
			io.Copy(w, r.Body)
		case "/flush":
			for range 3 {
				io.WriteString(w, r.Header.Get("X-Id"))
				if http.NewResponseController(w).Flush() != nil {
					return
				}
			}
		case "/left":
			go func() { // uses what it got beyond the handler
				<-ctx.Done()
				_ = r.Header.Get("X-Id") + r.URL.Path
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "late")
			}()
		case "/wait":
			c, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			<-c.Done()
		case "/hijack":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				defer c.Close()
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX-Id: %s\r\nConnection: close\r\n\r\n", r.Header.Get("X-Id"))
			}
		case "/abort":
			panic(http.ErrAbortHandler)
		}
	})
	s := &gale.Server{Handler: gale.TimeoutHandler(NewFastHTTPHandler(h), time.Minute, "slow"), StreamRequestBody: true, Logger: &quiet{}}
	ln := serveGale(t, s)
	var wg sync.WaitGroup
	var complete atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				return ln.DialContext(ctx, network, addr)
			}}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr}
			for j := range 60 {
				id := fmt.Sprintf("%d-%d", i, j)
				path := []string{"/echo", "/flush", "/left", "/wait", "/hijack", "/abort"}[r.IntN(6)]
				body := strings.Repeat(id, r.IntN(5000))
				ctx, cancel := context.WithCancel(context.Background())
				if r.IntN(4) == 0 {
					time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
				}
				req, _ := http.NewRequestWithContext(ctx, "POST", "http://h"+path, struct{ io.Reader }{strings.NewReader(body)})
				req.Header.Set("X-Id", id)
				resp, err := client.Do(req)
				if err != nil {
					cancel()
					continue
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				cancel()
				if resp.Header.Get("X-Id") != id {
					t.Errorf("%s: the answer is that to %s", id, resp.Header.Get("X-Id"))
				}
				if err == nil {
					complete.Add(1)
				}
				if path == "/echo" && err == nil && !bytes.Equal(got, []byte(body)) {
					t.Errorf("%s: another body came back: %d of %d bytes", id, len(got), len(body))
				}
			}
		})
	}
	wg.Wait()
	if n := complete.Load(); n < 100 {
		t.Errorf("only %d answers were complete", n)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	await.Until(t, fmt.Sprint("no more goroutines than ", before, " before"), func() bool { return runtime.NumGoroutine() <= before+5 })
}
