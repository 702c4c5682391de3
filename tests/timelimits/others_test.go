package timelimits

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/proxy"
)

// others are the other functions with a limit, which is a context or short. Each calls the
// function once it can't go on.
var others = []struct {
	name  string
	ctx   bool
	call  func(t *testing.T, ctx context.Context) error
	wants []error // instead of the error of the context, or gale.ErrTimeout
}{
	{"TCPDialer.DialContext", true, func(t *testing.T, ctx context.Context) error {
		_, err := busyDialer(t).DialContext(ctx, "tcp", "a.test:80")
		return err
	}, []error{context.Canceled, gale.ErrDialTimeout}},
	{"TCPDialer.DialTimeout", false, func(t *testing.T, _ context.Context) error {
		_, err := busyDialer(t).DialTimeout("a.test:80", short)
		return err
	}, []error{gale.ErrDialTimeout}},
	{"TCPDialer.DialDualStackTimeout", false, func(t *testing.T, _ context.Context) error {
		_, err := busyDialer(t).DialDualStackTimeout("a.test:80", short)
		return err
	}, []error{gale.ErrDialTimeout}},
	{"HostClient.AcquireConn", false, func(t *testing.T, _ context.Context) error {
		for _, p := range places() {
			if p.name == "a place in the pool" {
				_, err := p.client(t, p.start(t)).host.AcquireConn(short, false)
				return err
			}
		}
		return nil
	}, nil},
	{"proxy.FasthttpHTTPDialerTimeout", false, func(t *testing.T, _ context.Context) error {
		p := &place{serve: answers("", endOfHead, "")}
		_, err := proxy.FasthttpHTTPDialerTimeout(p.start(t).addr, short)("a.test:80")
		return err
	}, nil},
	{"proxy.FasthttpHTTPDialerDualStackTimeout", false, func(t *testing.T, _ context.Context) error {
		p := &place{serve: answers("", endOfHead, "")}
		_, err := proxy.FasthttpHTTPDialerDualStackTimeout(p.start(t).addr, short)("a.test:80")
		return err
	}, nil},
	{"galeutil.InmemoryListener.DialContext", true, func(_ *testing.T, ctx context.Context) error {
		ln := galeutil.NewInmemoryListener()
		defer ln.Close()
		for {
			if _, err := ln.DialContext(ctx, "", ""); err != nil {
				return err
			}
		}
	}, nil},
	{"Server.ShutdownWithContext", true, func(t *testing.T, ctx context.Context) error {
		s := hangingServer(t, nil)
		return s.ShutdownWithContext(ctx)
	}, nil},
	{"TimeoutHandler", false, func(t *testing.T, _ context.Context) error {
		return timedOut(t, func(h gale.RequestHandler) gale.RequestHandler { return gale.TimeoutHandler(h, short, "late") })
	}, nil},
	{"TimeoutWithCodeHandler", false, func(t *testing.T, _ context.Context) error {
		return timedOut(t, func(h gale.RequestHandler) gale.RequestHandler {
			return gale.TimeoutWithCodeHandler(h, short, "late", gale.StatusRequestTimeout)
		})
	}, nil},
}

// busyDialer returns a dialer that waits for the address of a name.
func busyDialer(t *testing.T) *gale.TCPDialer {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return &gale.TCPDialer{Resolver: resolver(func() { <-over })}
}

// resolver calls itself for each name, whatever happens to the context.
type resolver func()

func (r resolver) LookupIPAddr(context.Context, string) ([]net.IPAddr, error) {
	r()
	return nil, errors.New("no address")
}

// hangingServer returns a server that serves a request, whose handler waits for the end of
// the test. wrap may be nil.
func hangingServer(t *testing.T, got chan<- string, wrap ...func(gale.RequestHandler) gale.RequestHandler) *gale.Server {
	began, over := make(chan struct{}, 1), make(chan struct{})
	h := gale.RequestHandler(func(*gale.RequestCtx) {
		began <- struct{}{}
		<-over
	})
	for _, w := range wrap {
		h = w(h)
	}
	s := &gale.Server{Handler: h}
	ln := galeutil.NewInmemoryListener()
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(ln) }()
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if got != nil {
		go func() {
			b, _ := io.ReadAll(nc)
			got <- string(b)
		}()
	}
	<-began
	t.Cleanup(func() {
		close(over)
		_ = s.Close()
		nc.Close()
		<-served
	})
	return s
}

// timedOut returns gale.ErrTimeout if the client gets status 408 while the handler runs.
func timedOut(t *testing.T, wrap func(gale.RequestHandler) gale.RequestHandler) error {
	got := make(chan string, 1)
	hangingServer(t, got, wrap)
	if response := <-got; !strings.HasPrefix(response, "HTTP/1.1 408 ") {
		return errors.New(response)
	}
	return gale.ErrTimeout
}

// TestOthers proves that the other functions with a limit end with it.
func TestOthers(t *testing.T) {
	for _, o := range others {
		for _, how := range []string{"cancel", "deadline", "time-out"} {
			want := map[string]error{"cancel": context.Canceled, "deadline": context.DeadlineExceeded, "time-out": gale.ErrTimeout}[how]
			if o.ctx == (how == "time-out") {
				continue
			}
			if o.wants != nil {
				want = o.wants[0]
				if how == "deadline" {
					want = o.wants[1]
				}
			}
			endOne(t, o.name+", "+how, how, want, o.call)
		}
	}
}

// endOne calls f and ends the call.
func endOne(t *testing.T, name, how string, want error, f func(t *testing.T, ctx context.Context) error) {
	t.Run(name, func(t *testing.T) {
		before := stacks()
		t.Run("", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			if how == "deadline" {
				cancel()
				ctx, cancel = context.WithTimeout(context.Background(), short)
			}
			defer cancel()
			if how == "cancel" {
				time.AfterFunc(short, cancel)
			}
			result := make(chan error, 1)
			go func() { result <- f(t, ctx) }()
			select {
			case err := <-result:
				if !errors.Is(err, want) {
					t.Errorf("the error is %v, want %v", err, want)
				}
			case <-time.After(patience):
				t.Fatal("the call hasn't ended")
			}
		})
		wantGone(t, before)
	})
}
