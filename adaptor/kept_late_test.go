package adaptor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// lateUser uses what a net/http handler got when that has returned, as a program must not.
type lateUser struct {
	w http.ResponseWriter
	r *http.Request
}

// use calls all methods. It returns an error if one of them had an effect.
func (u *lateUser) use() error {
	rc := http.NewResponseController(u.w)
	for name, call := range map[string]func() (int64, error){
		"Body.Read":        func() (int64, error) { n, err := u.r.Body.Read(make([]byte, 100)); return int64(n), err },
		"Write":            func() (int64, error) { n, err := u.w.Write([]byte("late")); return int64(n), err },
		"WriteString":      func() (int64, error) { n, err := io.WriteString(u.w, "late"); return int64(n), err },
		"ReadFrom":         func() (int64, error) { return u.w.(io.ReaderFrom).ReadFrom(strings.NewReader("late")) },
		"Flush":            func() (int64, error) { return 0, rc.Flush() },
		"Hijack":           func() (int64, error) { _, _, err := rc.Hijack(); return 0, err },
		"SetReadDeadline":  func() (int64, error) { return 0, rc.SetReadDeadline(time.Unix(1, 0)) },
		"SetWriteDeadline": func() (int64, error) { return 0, rc.SetWriteDeadline(time.Unix(1, 0)) },
		"ParseForm":        func() (int64, error) { u.r.Form, u.r.PostForm = nil, nil; return 0, u.r.ParseForm() },
		"the context":      func() (int64, error) { return 0, u.r.Context().Err() },
	} {
		if n, err := call(); n != 0 || err == nil || err == io.EOF {
			return fmt.Errorf("%s: %d, %v", name, n, err)
		}
	}
	u.w.Header().Set("X-Late", "late")
	u.w.WriteHeader(500)
	u.w.(http.Flusher).Flush()
	return u.r.Body.Close()
}

// What a net/http handler keeps is of no use when it has returned, also while the next request on
// the connection is served: late calls return errors, and neither that request nor its response has
// anything of them. Goroutines that go on reading get bytes of their own request only.
func TestKeptIsOver(t *testing.T) {
	ways := map[string]func(u *lateUser, stop *atomic.Bool) error{
		"unread":      func(*lateUser, *atomic.Bool) error { return nil },
		"a part read": func(u *lateUser, _ *atomic.Bool) error { _, err := io.ReadFull(u.r.Body, make([]byte, 10)); return err },
		"closed": func(u *lateUser, _ *atomic.Bool) error {
			_, err := io.ReadFull(u.r.Body, make([]byte, 10))
			return errors.Join(err, u.r.Body.Close())
		},
		"a goroutine reads and writes": nil,
	}
	for _, stream := range []bool{false, true} {
		for name, way := range ways {
			t.Run(fmt.Sprintf("%s/stream=%v", name, stream), func(t *testing.T) { keptIsOver(t, stream, way) })
		}
	}
}

func keptIsOver(t *testing.T, stream bool, way func(*lateUser, *atomic.Bool) error) {
	var u *lateUser
	var others sync.WaitGroup
	var late, stop atomic.Bool
	begun, goOn := make(chan bool), make(chan bool)
	// goOnUsing reads and writes until the test stops it.
	goOnUsing := func(u *lateUser, once func()) {
		b := make([]byte, 10)
		for ; !stop.Load(); once() {
			isLate := late.Load()
			n, err := u.r.Body.Read(b)
			if bytes.Contains(b[:n], []byte("c")) || isLate && (n != 0 || err == nil) {
				t.Errorf("a goroutine read %q, %v", b[:n], err)
			}
			if n, err := io.WriteString(u.w, "k"); isLate && (n != 0 || err == nil) {
				t.Errorf("a goroutine wrote %d, %v", n, err)
			}
			runtime.Gosched()
		}
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keep" {
			u = &lateUser{w, r}
			if way != nil {
				if err := way(u, &stop); err != nil {
					t.Error(err)
				}
				return
			}
			wrote := make(chan bool)
			own := u
			others.Go(func() { goOnUsing(own, sync.OnceFunc(func() { close(wrote) })) })
			<-wrote
			return
		}
		first := make([]byte, 10_000)
		_, err := io.ReadFull(r.Body, first)
		begun <- true
		<-goOn
		rest, restErr := io.ReadAll(r.Body)
		w.Header().Set("X-Own", "own")
		fmt.Fprint(w, bytes.Count(append(first, rest...), []byte("c")), errors.Join(err, restErr))
	})
	server := func() *gale.Server {
		return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: stream, HTTP2: gale.HTTP2Config{H2C: true}}
	}
	onEngines(t, server, func(t *testing.T, addr string) {
		for _, major := range []int{1, 2} {
			tr := &http.Transport{Protocols: peers.Protocols(major)}
			defer tr.CloseIdleConnections()
			c := &http.Client{Transport: tr, Timeout: time.Minute} // for a test that hangs
			post := func(path, body string) (http.Header, string) {
				resp, err := c.Post("http://"+addr+path, "application/x-www-form-urlencoded", strings.NewReader(body))
				if err != nil {
					return nil, err.Error()
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				return resp.Header, fmt.Sprintf("%d %s, %v", resp.StatusCode, b, err)
			}
			for range 3 {
				late.Store(false)
				stop.Store(false)
				post("/keep", strings.Repeat("k", 20_000))
				late.Store(true)
				answer := make(chan bool)
				go func() {
					defer close(answer)
					switch h, got := post("/next", strings.Repeat("c", 20_000)); {
					case got != "200 20000 <nil>, <nil>":
						t.Errorf("HTTP/%d: the next response is %q", major, got)
					case h.Get("X-Own") != "own" || h.Get("X-Late") != "":
						t.Errorf("HTTP/%d: the header of the next response is %v", major, h)
					}
				}()
				<-begun
				for range 3 {
					if err := u.use(); err != nil {
						t.Errorf("HTTP/%d: %v", major, err)
					}
				}
				goOn <- true
				<-answer
				stop.Store(true)
				others.Wait()
			}
		}
	})
}

// A stream of a request's body that is kept on a net/http server returns gale.ErrRequestDone when the
// request is over, whatever ended it.
func TestKeptStreamIsOver(t *testing.T) {
	for name, read := range map[string]func(ctx *gale.RequestCtx, r io.Reader){
		"unread":     func(*gale.RequestCtx, io.Reader) {},
		"partly":     func(_ *gale.RequestCtx, r io.Reader) { _, _ = io.ReadFull(r, make([]byte, 10)) },
		"whole":      func(_ *gale.RequestCtx, r io.Reader) { _, _ = io.Copy(io.Discard, r) },
		"detached":   func(ctx *gale.RequestCtx, _ io.Reader) { ctx.Detach() },
		"timed out":  func(ctx *gale.RequestCtx, _ io.Reader) { ctx.TimeoutError("late") },
		"taken":      func(ctx *gale.RequestCtx, _ io.Reader) { ctx.Hijack(func(net.Conn) {}) },
		"that panic": func(*gale.RequestCtx, io.Reader) { panic(gale.ErrAbortHandler) },
	} {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, h2), func(t *testing.T) {
				var kept io.Reader
				over := make(chan struct{})
				h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
					kept = ctx.RequestBodyStream()
					read(ctx, kept)
				})
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(over)
					h.ServeHTTP(w, r)
				}))
				s.EnableHTTP2 = h2
				s.StartTLS()
				defer s.Close()
				resp, err := s.Client().Post(s.URL, "text/plain", strings.NewReader(strings.Repeat("b", 100000)))
				if err == nil {
					resp.Body.Close()
				}
				<-over
				if n, err := kept.Read(make([]byte, 10)); n != 0 || !errors.Is(err, gale.ErrRequestDone) {
					t.Errorf("a late Read returned %d, %v", n, err)
				}
			})
		}
	}
}
