package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The same for the methods of a user's connection. With a HostClient: with a streamed
// body or not, with a context that ends, and with an idle connection that becomes too
// old. And with a PipelineClient.
func TestClientConnsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", clientConnsThatMisbehave)
	peers.WantGoroutines(t, before)
}

func clientConnsThatMisbehave(t *testing.T) {
	ts := harness.Start(t, &gale.Server{Logger: &peers.Log{}}, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			<-ctx.Done()
		}
		harness.Echo(ctx)
	})
	for _, method := range peers.ConnMethods {
		for how, f := range peers.Mischiefs {
			dialer := func(m *harness.Mischief) gale.DialFunc {
				return func(addr string) (net.Conn, error) {
					c, err := net.Dial("tcp", ts.Addr)
					return &harness.BadConn{Conn: c, M: m, Method: method}, err
				}
			}
			run := func(name string, use func(c *gale.HostClient, req *gale.Request, m *harness.Mischief)) {
				t.Run(fmt.Sprintf("%s/%s/%s", name, method, how), func(t *testing.T) {
					m := harness.NewMischief(f)
					c := &gale.HostClient{Addr: ts.Addr, MaxConns: 1, Dial: dialer(m), ReadTimeout: time.Minute, WriteTimeout: time.Minute}
					var req gale.Request
					req.SetRequestURI("http://h/")
					peers.InGoroutine(func() { use(c, &req, m) })
					m.Armed.Store(false)
					harness.AfterMischief(t, c)
				})
			}
			run("Do", func(c *gale.HostClient, req *gale.Request, m *harness.Mischief) {
				m.Armed.Store(true)
				_ = c.Do(req, &gale.Response{})
			})
			run("stream", func(c *gale.HostClient, req *gale.Request, m *harness.Mischief) {
				resp := &gale.Response{StreamBody: true}
				if c.Do(req, resp) == nil {
					m.Armed.Store(true)
					defer resp.CloseBodyStream()
					_, _ = io.ReadAll(resp.BodyStream())
				}
			})
			run("context", func(c *gale.HostClient, req *gale.Request, m *harness.Mischief) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				req.SetRequestURI("http://h/slow")
				c.Trace = &gale.ClientTrace{Wrote: func(*gale.Request, error) {
					m.Armed.Store(true)
					time.AfterFunc(20*time.Millisecond, cancel) // while the response is waited for
				}}
				_ = c.DoContext(ctx, req, &gale.Response{})
			})
			run("idle", func(c *gale.HostClient, req *gale.Request, m *harness.Mischief) {
				c.MaxIdleConnDuration = 5 * time.Millisecond
				_ = c.Do(req, &gale.Response{})
				m.Armed.Store(true)
				for deadline := time.Now().Add(time.Minute); c.ConnsCount() > 0 && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond) // between two looks
				}
			})
			t.Run(fmt.Sprintf("pipeline/%s/%s", method, how), func(t *testing.T) {
				m := harness.NewMischief(f)
				c := &gale.PipelineClient{Addr: ts.Addr, Dial: dialer(m), Logger: peers.DiscardLog{}, ReadTimeout: time.Minute}
				m.Armed.Store(true)
				peers.InGoroutine(func() { _ = c.DoTimeout(harness.PipeReq("GET"), &gale.Response{}, time.Minute) })
				m.Armed.Store(false)
				var resp gale.Response
				if err := c.DoTimeout(harness.PipeReq("GET"), &resp, time.Minute); err != nil || !strings.HasPrefix(string(resp.Body()), "GET /") {
					t.Errorf("the next call: %q, %v", resp.Body(), err)
				}
				harness.WantNonePending(t, c)
				door.ClosePipes(c)
			})
		}
	}
}

// A PipelineClient goes on working if its Dial or its Logger doesn't return.
func TestPipelineFunctionsThatMisbehave(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", pipelineFunctionsThatMisbehave)
	peers.WantGoroutines(t, before)
}

func pipelineFunctionsThatMisbehave(t *testing.T) {
	ts := harness.Start(t, nil, harness.Echo)
	for how, f := range peers.Mischiefs {
		for _, hook := range []string{"Dial", "Logger", "VerifyConnection"} {
			m := harness.NewMischief(f)
			c := &gale.PipelineClient{Addr: ts.Addr, Logger: peers.DiscardLog{}}
			switch hook {
			case "Dial":
				c.Dial = func(string) (net.Conn, error) { m.Now(); return net.Dial("tcp", ts.Addr) }
			case "Logger":
				c.Logger = harness.BadLogger{M: m}
				c.Dial = func(string) (net.Conn, error) {
					nc, err := net.Dial("tcp", ts.Addr)
					if m.Armed.Load() {
						nc.Close()
					}
					return nc, err
				}
			case "VerifyConnection":
				addr := harness.StartTLS(t, &gale.Server{Handler: harness.Echo})
				c.Addr, c.IsTLS = addr, true
				c.TLSConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error { m.Now(); return nil }}
			}
			m.Armed.Store(true)
			if err := c.DoTimeout(harness.PipeReq("GET"), nil, time.Minute); err == nil && hook != "Logger" || err == gale.ErrTimeout {
				t.Errorf("%s, %s: %v", hook, how, err)
			}
			<-m.Done
			if err := c.DoTimeout(harness.PipeReq("GET"), nil, time.Minute); err != nil {
				t.Errorf("%s, %s: the next call: %v", hook, how, err)
			}
			door.ClosePipes(c)
		}
	}
}
