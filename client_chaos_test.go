package gale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chaosServer answers each request with its method, path and body, or behaves in some
// other way that servers do. A POST that arrives twice is an error.
func chaosServer(t *testing.T) *PipelineClient {
	var acted sync.Map
	return pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		w := bufio.NewWriter(nc)
		for {
			if br.Buffered() == 0 || rand.IntN(4) == 0 {
				w.Flush()
			}
			method, path, body := pipeRequest(br)
			if method == "" {
				return
			}
			dice := rand.IntN(100)
			if dice == 0 { // lost before it was processed
				return
			}
			if n, _ := acted.LoadOrStore(method+path, new(atomic.Int32)); n.(*atomic.Int32).Add(1) > 1 && method == "POST" {
				t.Errorf("%s %s was acted upon twice", method, path)
			}
			answer := method + " " + path + " " + body
			switch {
			case dice == 1: // lost after it was processed
				return
			case dice == 2:
				pipeAnswer(w, "Connection: close\r\n", answer)
				w.Flush()
				nc.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, br)
				return
			case dice == 3:
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n\r\n%s", answer)
				w.Flush()
				nc.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, br)
				return
			case dice == 4:
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
				w.Flush()
				return
			case dice == 5:
				io.WriteString(w, "HTTP/1.1 200 OK\nbad\n\n")
				w.Flush()
				return
			case dice == 6:
				time.Sleep(5 * time.Millisecond)
			case dice < 20:
				io.WriteString(w, "HTTP/1.1 103 Early Hints\r\n\r\n")
			}
			if dice%3 == 0 {
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(answer), answer)
			} else {
				pipeAnswer(w, "", answer)
			}
		}
	})
}

// A server and callers that do everything that servers and callers may do: no caller gets
// the response of another, no request that isn't idempotent is processed twice, every
// call returns, and nothing is left.
func TestPipelineChaos(t *testing.T) {
	withoutEngine(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := chaosServer(t)
		c.MaxConns = 2
		c.MaxPendingRequests = 8
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &Request{}, &Response{}
				for n := range 150 {
					method := []string{"GET", "POST", "PUT"}[rand.IntN(3)]
					path := fmt.Sprintf("/%d/%d", i, n)
					req.Reset()
					req.SetRequestURI("http://example.org" + path)
					req.Header.SetMethod(method)
					body := ""
					if method != "GET" {
						body = string(make([]byte, rand.IntN(20000)))
						req.SetBodyString(body)
					}
					ctx, cancel := context.WithCancel(t.Context())
					var err error
					switch rand.IntN(4) {
					case 0:
						err = c.DoTimeout(req, resp, time.Duration(rand.IntN(5000)+1)*time.Microsecond)
					case 1:
						timer := time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
						err = c.DoContext(ctx, req, resp)
						timer.Stop()
					default:
						err = c.DoTimeout(req, resp, time.Minute)
					}
					cancel()
					var sent *ErrRequestSent
					switch {
					case err == nil:
						served.Add(1)
						if got, want := string(resp.Body()), method+" "+path+" "+body; got != want {
							t.Errorf("%s %s: got %.40q", method, path, got)
						}
					case errors.As(err, &sent) && method != "POST":
						t.Errorf("%s %s: %v", method, path, err)
					default:
						failed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d were served, %d were not", served.Load(), failed.Load())
		wantNonePending(t, c)
		closePipes(c)
	})
	wantGoroutines(t, before)
}

// The same if each call has a connection of its own, with streamed bodies that are read
// to their end or not, and closed by any goroutine.
func TestHostClientChaos(t *testing.T) {
	withoutEngine(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := &HostClient{Addr: chaosServer(t).Addr, MaxConns: 4, MaxConnWaitTimeout: time.Minute}
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &Request{}, &Response{}
				for n := range 150 {
					method := []string{"GET", "POST", "PUT"}[rand.IntN(3)]
					path := fmt.Sprintf("/%d/%d", i, n)
					req.Reset()
					resp.Reset()
					req.SetRequestURI("http://example.org" + path)
					req.Header.SetMethod(method)
					body := ""
					if method != "GET" {
						body = string(make([]byte, rand.IntN(20000)))
						req.SetBodyString(body)
					}
					resp.StreamBody = rand.IntN(2) == 0
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(3) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
					}
					if rand.IntN(3) == 0 {
						req.SetTimeout(time.Duration(rand.IntN(5000)+1) * time.Microsecond)
					}
					err := c.DoContext(ctx, req, resp)
					var got []byte
					stream := resp.BodyStream()
					switch {
					case err != nil:
					case stream == nil:
						got = resp.Body()
					case rand.IntN(3) == 0:
						io.CopyN(io.Discard, stream, int64(rand.IntN(20000)))
						err = io.ErrClosedPipe
					default:
						if rand.IntN(3) == 0 {
							wg.Go(func() {
								time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
								stream.(io.Closer).Close()
							})
						}
						got, err = io.ReadAll(stream)
					}
					if err == nil {
						served.Add(1)
						if want := method + " " + path + " " + body; string(got) != want {
							t.Errorf("%s %s: got %.40q", method, path, got)
						}
					} else {
						failed.Add(1)
					}
					resp.CloseBodyStream()
					cancel()
				}
			})
		}
		wg.Wait()
		t.Logf("%d were served, %d were not", served.Load(), failed.Load())
		c.CloseIdleConnections()
		if s := c.PoolStats(); s.Open != 0 || s.Waiting != 0 || c.PendingRequests() != 0 {
			t.Errorf("%+v and %d requests are left", s, c.PendingRequests())
		}
	})
	wantGoroutines(t, before)
}

// Whatever a server sends, every call returns.
func FuzzPipeline(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\nrest",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := &PipelineClient{Addr: "example.org", Logger: discardLog{}, Dial: func(string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				buf := make([]byte, 4096)
				if _, err := theirs.Read(buf); err == nil {
					go io.Copy(io.Discard, theirs)
					theirs.Write(answer)
				}
			}()
			return ours, nil
		}}
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "HEAD", "POST", "CONNECT"} {
			wg.Go(func() {
				resp := &Response{}
				if err := c.Do(pipeReq(method), resp); err == nil && method == "HEAD" && len(resp.Body()) > 0 {
					t.Errorf("the response to HEAD has the body %q", resp.Body())
				}
			})
		}
		wg.Wait()
		wantNonePending(t, c)
		closePipes(c)
	})
}

// wantNonePending waits until no call is pending: connections for which no call waits may
// still be ending.
func wantNonePending(t *testing.T, c *PipelineClient) {
	t.Helper()
	await(t, "no request to be pending", func() bool { return c.PendingRequests() == 0 })
}
