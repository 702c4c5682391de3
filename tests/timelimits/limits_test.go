package timelimits

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/ws"
)

const (
	// patience limits the wait for what must happen.
	patience = 60 * time.Second
	// short is a time limit that must end a call.
	short = 20 * time.Millisecond
)

// call is a call of a client with a limit: ctx, or short.
type call struct {
	name string
	ctx  bool // ctx is the limit
	do   func(c *client, p *place, ctx context.Context) error
	fits func(p *place) bool // nil: all places
}

// done returns the error of a call, or of reading the body that it has left.
func done(p *place, resp *gale.Response, err error) error {
	if err != nil || !p.streams {
		return err
	}
	return drain(resp)
}

// calls returns all calls of clients that have a limit.
func calls() []call {
	type doer interface {
		DoTimeout(req *gale.Request, resp *gale.Response, d time.Duration) error
		DoDeadline(req *gale.Request, resp *gale.Response, at time.Time) error
		DoContext(ctx context.Context, req *gale.Request, resp *gale.Response) error
		Do(req *gale.Request, resp *gale.Response) error
	}
	type getter interface {
		GetTimeout(dst []byte, url string, d time.Duration) (int, []byte, error)
		GetDeadline(dst []byte, url string, at time.Time) (int, []byte, error)
		GetContext(ctx context.Context, dst []byte, url string) (int, []byte, error)
		PostContext(ctx context.Context, dst []byte, url string, args *gale.Args) (int, []byte, error)
	}
	var all []call
	do := func(kind string, of func(c *client) doer, fits func(p *place) bool) {
		add := func(name string, ctx bool, f func(d doer, req *gale.Request, resp *gale.Response, ctx context.Context) error) {
			all = append(all, call{kind + "." + name, ctx, func(c *client, p *place, ctx context.Context) error {
				var resp gale.Response
				return done(p, &resp, f(of(c), p.request(c), &resp, ctx))
			}, fits})
		}
		add("DoTimeout", false, func(d doer, req *gale.Request, resp *gale.Response, _ context.Context) error {
			return d.DoTimeout(req, resp, short)
		})
		add("DoDeadline", false, func(d doer, req *gale.Request, resp *gale.Response, _ context.Context) error {
			return d.DoDeadline(req, resp, time.Now().Add(short))
		})
		add("Do, SetTimeout", false, func(d doer, req *gale.Request, resp *gale.Response, _ context.Context) error {
			req.SetTimeout(short)
			return d.Do(req, resp)
		})
		add("DoContext", true, func(d doer, req *gale.Request, resp *gale.Response, ctx context.Context) error {
			return d.DoContext(ctx, req, resp)
		})
	}
	get := func(kind string, of func(c *client) getter, fits func(p *place) bool) {
		add := func(name string, ctx bool, f func(g getter, url string, ctx context.Context) error) {
			all = append(all, call{kind + "." + name, ctx, func(c *client, _ *place, ctx context.Context) error {
				return f(of(c), c.url, ctx)
			}, fits})
		}
		add("GetTimeout", false, func(g getter, url string, _ context.Context) error {
			_, _, err := g.GetTimeout(nil, url, short)
			return err
		})
		add("GetDeadline", false, func(g getter, url string, _ context.Context) error {
			_, _, err := g.GetDeadline(nil, url, time.Now().Add(short))
			return err
		})
		add("GetContext", true, func(g getter, url string, ctx context.Context) error {
			_, _, err := g.GetContext(ctx, nil, url)
			return err
		})
		add("PostContext", true, func(g getter, url string, ctx context.Context) error {
			_, _, err := g.PostContext(ctx, nil, url, nil)
			return err
		})
	}
	direct := func(p *place) bool { return !p.proxy }
	plain := func(p *place) bool { return p.body == 0 && !p.reads && !p.streams }
	do("Client", func(c *client) doer { return &c.Client }, nil)
	do("HostClient", func(c *client) doer { return c.host }, direct)
	do("LBClient", func(c *client) doer { return c.lb }, direct)
	do("PipelineClient", func(c *client) doer { return c.pipeline }, func(p *place) bool {
		return direct(p) && p.http2 == 0 && !p.reads && !p.streams && !p.busy && p.name != "a final response" && p.name != "the end of the connection"
	})
	get("Client", func(c *client) getter { return &c.Client }, plain)
	get("HostClient", func(c *client) getter { return c.host }, func(p *place) bool { return direct(p) && plain(p) })

	open := func(p *place) bool { return p.http2 != 0 && plain(p) && !strings.Contains(p.name, "body") }
	stream := func(c *client) *gale.Request {
		req := new(gale.Request)
		req.SetRequestURI(c.url)
		req.SetConnectProtocol("x")
		return req
	}
	all = append(all,
		call{"Client.OpenStream", true, func(c *client, _ *place, ctx context.Context) error {
			_, err := c.OpenStream(ctx, stream(c), new(gale.Response))
			return err
		}, open},
		call{"HostClient.OpenStream", true, func(c *client, _ *place, ctx context.Context) error {
			_, err := c.host.OpenStream(ctx, stream(c), new(gale.Response))
			return err
		}, open},
		call{"adaptor.NewRoundTripper", true, func(c *client, p *place, ctx context.Context) error {
			var body io.Reader
			switch {
			case p.reads:
				body = silence{c.over}
			case p.body > 0:
				body = bytes.NewReader(make([]byte, p.body))
			}
			req, _ := http.NewRequestWithContext(ctx, "POST", c.url, body)
			if p.expects {
				req.Header.Set("Expect", "100-continue")
			}
			resp, err := adaptor.NewRoundTripper(&c.Client).RoundTrip(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}, nil},
		call{"ws.Dial", true, func(c *client, p *place, ctx context.Context) error {
			o := &ws.DialOptions{Dial: c.DialContext, Proxy: c.Proxy, TLSConfig: c.TLSConfig, HTTP2: c.HTTP2}
			_, _, err := ws.Dial(ctx, strings.Replace(c.url, "http", "ws", 1), o)
			return err
		}, func(p *place) bool {
			// Where the head of a refusal has come, Dial doesn't wait for the end of its body.
			return plain(p) && !p.busy && !strings.Contains(p.name, "body") && p.name != "HTTP/2: a stream" && p.name != "the end of the connection"
		}},
	)
	return all
}

// TestClients proves that each call of a client returns when its context is cancelled or has
// passed its deadline, and when its time is up, with the error that says so, whatever it
// waits for, and that nothing of the call is left.
func TestClients(t *testing.T) {
	for _, p := range places() {
		t.Run(p.name, func(t *testing.T) {
			for _, k := range calls() {
				if k.fits != nil && !k.fits(p) {
					continue
				}
				if !k.ctx {
					end(t, p, k, "time-out", gale.ErrTimeout)
					continue
				}
				end(t, p, k, "cancel", context.Canceled)
				end(t, p, k, "deadline", context.DeadlineExceeded)
			}
		})
	}
}

// end makes the call and ends it.
func end(t *testing.T, p *place, k call, how string, want error) {
	t.Run(k.name+", "+how, func(t *testing.T) {
		before := stacks()
		t.Run("", func(t *testing.T) {
			h := p.start(t)
			c := p.client(t, h)
			ctx, cancel := context.WithCancel(context.Background())
			if how == "deadline" {
				cancel()
				ctx, cancel = context.WithTimeout(context.Background(), short)
			}
			defer cancel()
			result := make(chan error, 1)
			go func() { result <- k.do(c, p, ctx) }()
			if how == "cancel" {
				go func() {
					if !p.busy {
						<-h.at
					}
					time.Sleep(time.Millisecond) // it comes to the place in most runs
					cancel()
				}()
			}
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

// wantGone waits until no goroutine of Gale is left that wasn't there before.
func wantGone(t *testing.T, before map[string]string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		var left []string
		for id, stack := range stacks() {
			if before[id] == "" {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("gave up after %v: %d goroutines are left:\n%s", patience, len(left), strings.Join(left, "\n\n"))
		}
		time.Sleep(time.Millisecond) // between two looks
	}
}

// stacks returns the goroutines of Gale, by their numbers.
func stacks() map[string]string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	all := map[string]string{}
	for _, stack := range strings.Split(string(b), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		if strings.Contains(stack, "galehttp/gale") && !strings.Contains(stack, "testing.tRunner") {
			all[id] = stack
		}
	}
	return all
}
