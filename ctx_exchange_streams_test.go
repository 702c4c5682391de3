package gale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/peers"
)

// kinds returns the kinds of frames, with the codes of resets.
func kinds(frames []ToyFrame) string {
	var s []string
	for _, f := range frames {
		s = append(s, f.Kind)
		if f.Kind == "reset" {
			s = append(s, map[int]string{ToyCancel: "(cancel)", ToyInternalError: "(internal error)"}[f.Code])
		}
	}
	return strings.Join(s, " ")
}

// toy serves a connection with h until the test ends.
func toy(t *testing.T, h RequestHandler) *ToyConn {
	c := NewToyConn(&Server{Handler: h, StreamRequestBody: true, Logger: &peers.Log{}})
	t.Cleanup(func() {
		c.Close()
		c.Wait()
	})
	return c
}

// The frames of a response arrive in order, and those of one stream don't wait for
// another stream.
func TestToyAnswers(t *testing.T) {
	wait := make(chan struct{})
	c := toy(t, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			<-wait
		}
		if p := string(ctx.Request.Header.Protocol()); p != "HTTP/2.0" {
			t.Errorf("the protocol is %q", p)
		}
		ctx.Response.Header.Set(HeaderLink, "</a.css>")
		if err := ctx.EarlyHints(); err != nil {
			t.Errorf("EarlyHints: %v", err)
		}
		if err := ctx.Response.Header.AddTrailer("X-Sum"); err != nil {
			t.Error(err)
		}
		for _, s := range []string{"one", "two"} {
			ctx.WriteString(s)
			if err := ctx.Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
		}
		if err := ctx.SendInterim(StatusProcessing, nil); err == nil {
			t.Error("an interim response was sent after the head")
		}
		ctx.Response.Header.Set("X-Sum", "6")
		ctx.WriteString("three")
	})
	slow, fast := c.Open("GET", "/slow"), c.Open("GET", "/fast")
	frames := c.Await(fast, "end")
	if got, want := kinds(frames), "interim head data data data trailers end"; got != want {
		t.Errorf("the frames are %q, want %q", got, want)
	}
	if got, want := frames[5].Text, "X-Sum: 6\n"; got != want {
		t.Errorf("the trailer section is %q, want %q", got, want)
	}
	for _, f := range frames {
		if strings.Contains(f.Text, "HTTP/1") || strings.Contains(f.Text, "\r\n") {
			t.Errorf("there is text of HTTP/1 in %q", f.Text)
		}
	}
	close(wait)
	c.Await(slow, "end")
}

// A reset by the client ends one stream: Done is closed with the reason, and reads and
// sends for it fail.
func TestToyResetByClient(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	c := toy(t, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/other" {
			<-ended
			return
		}
		done := ctx.Done()
		close(begun)
		<-done
		var reset *ToyResetError
		if err := context.Cause(ctx.Context()); !errors.As(err, &reset) || reset.Code != ToyCancel || !errors.Is(err, ErrClientGone) {
			t.Errorf("the cause is %v", err)
		}
		if _, err := io.ReadAll(ctx.RequestBodyStream()); !errors.As(err, &reset) {
			t.Errorf("reading the body: %v", err)
		}
		if err := ctx.Flush(); !errors.As(err, &reset) {
			t.Errorf("Flush: %v", err)
		}
		close(ended)
	})
	other, broken := c.Open("GET", "/other"), c.Open("POST", "/broken")
	<-begun
	c.Reset(broken, ToyCancel)
	if got, want := kinds(c.Await(other, "end")), "head end"; got != want {
		t.Errorf("the frames of the other stream are %q, want %q", got, want)
	}
}

// A handler that gives up resets its stream and no other one.
func TestToyResetByHandler(t *testing.T) {
	c := toy(t, func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/abort":
			panic(ErrAbortHandler)
		case "/flushed":
			_ = ctx.Flush()
			panic("a bug")
		}
	})
	for path, want := range map[string]string{"/abort": "reset (internal error)", "/flushed": "head reset (internal error)"} {
		if got := kinds(c.Await(c.Open("GET", path), "reset")); got != want {
			t.Errorf("%s: the frames are %q, want %q", path, got, want)
		}
		if got, want := kinds(c.Await(c.Open("GET", "/"), "end")), "head end"; got != want {
			t.Errorf("after %s: the frames are %q, want %q", path, got, want)
		}
	}
}

// A timeout sends an answer instead of the handler, or ends a send that waits for the
// client.
func TestToyTimeout(t *testing.T) {
	late := make(chan error, 1)
	c := toy(t, TimeoutHandler(func(ctx *RequestCtx) {
		<-ctx.Done()
		late <- ctx.Flush()
	}, time.Millisecond, "too late"))
	frames := c.Await(c.Open("GET", "/"), "end", "reset")
	if got, want := kinds(frames), "head data end"; got != want || frames[0].Code != StatusRequestTimeout {
		t.Errorf("the frames are %q, want %q", got, want)
	}
	if err := <-late; err != ErrNilConnection {
		t.Errorf("Flush of the late handler: %v, want %v", err, ErrNilConnection)
	}
	peers.WithMoreTime(t, time.Millisecond, func(limit time.Duration) error {
		c := toy(t, TimeoutHandler(func(ctx *RequestCtx) {
			ctx.WriteString("more than the client takes")
			err := ctx.Flush()
			<-ctx.Done()
			late <- err
		}, limit, "too late"))
		c.Window(10) // room for the answer in place of a late handler's
		got := kinds(c.Await(c.Open("GET", "/"), "end", "reset"))
		if err := <-late; err != ErrTimeout || got != "head reset (cancel)" { // even if it was too late to flush
			return fmt.Errorf("Flush of the late handler: %v; the frames are %q", err, got)
		}
		return nil
	})
}

// Done is closed by the end of the connection, by a shutdown, even one that has begun before the
// call of Done, and by Close.
func TestToyEnds(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		end   func(*ToyConn)
		cause error
	}{
		"connection":     {(*ToyConn).Close, ErrClientGone},
		"shutdown":       {func(c *ToyConn) { _ = c.s.ShutdownWithContext(over) }, context.Canceled},
		"shutdown first": {func(c *ToyConn) { _ = c.s.ShutdownWithContext(over) }, context.Canceled},
		"Close":          {func(c *ToyConn) { c.s.Close() }, net.ErrClosed},
	} {
		asked, ended, cause := make(chan struct{}), make(chan struct{}), make(chan error)
		c := toy(t, func(ctx *RequestCtx) {
			if name != "shutdown first" {
				ctx.Done()
			}
			close(asked)
			<-ended
			<-ctx.Done()
			cause <- context.Cause(ctx.Context())
		})
		c.Open("GET", "/")
		<-asked
		test.end(c)
		close(ended)
		if err := <-cause; err != test.cause {
			t.Errorf("%s: the cause is %v, want %v", name, err, test.cause)
		}
		c.Wait()
		if n := len(c.s.run.waiters); n > 0 {
			t.Errorf("%s: %d contexts still wait for a shutdown", name, n)
		}
	}
}

// Contexts serve one stream after another, except those that package context may hold:
// these don't change any more.
func TestToyContexts(t *testing.T) {
	var held *RequestCtx
	c := toy(t, func(ctx *RequestCtx) {
		if ctx == held {
			t.Error("a context that is held was used again")
		}
		if ctx.UserValue("u") != nil || len(ctx.Response.Body()) > 0 || ctx.flush.begun {
			t.Error("a context isn't as new")
		}
		ctx.SetUserValue("u", "v")
		_ = ctx.Flush()
		ctx.WriteString("body")
		if string(ctx.Path()) == "/hold" {
			held = ctx
			ctx.Done()
		}
	})
	c.Await(c.Open("GET", "/hold"), "end")
	c.Wait()
	for range 20 {
		c.Await(c.Open("GET", "/"), "end")
		c.Wait()
	}
	if held.Err() == nil || held.Value("u") != "v" {
		t.Error("the context that is held has changed")
	}
	if err := held.SetWriteDeadline(time.Now()); err != ErrDeadlineUpdatesDisabled {
		t.Errorf("SetWriteDeadline of a context whose request is over: %v, want ErrDeadlineUpdatesDisabled", err)
	}
	if err := held.Flush(); err != ErrNilConnection {
		t.Errorf("Flush of a context whose request is over: %v, want ErrNilConnection", err)
	}
}

// Another protocol runs the functions of BeforeSend before its heads, too.
func TestToyBeforeSend(t *testing.T) {
	end := make(chan struct{})
	slow := TimeoutHandler(func(*RequestCtx) { <-end }, time.Millisecond, "slow")
	c := toy(t, func(ctx *RequestCtx) {
		ctx.BeforeSend(func(ctx *RequestCtx) { ctx.Response.Header.Set("X-Hook", string(ctx.Path())) })
		switch string(ctx.Path()) {
		case "/flush":
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
		case "/timeout":
			slow(ctx)
		case "/cut":
			_ = ctx.Flush()
			ctx.Fail(500, nil)
		case "/abort":
			ctx.BeforeSend(func(*RequestCtx) { panic(ErrAbortHandler) })
		}
	})
	defer close(end)
	for path, want := range map[string]string{
		"/": "head end", "/flush": "head end", "/timeout": "head data end", "/cut": "head reset(internal error)", "/abort": "reset(internal error)",
	} {
		last := "end"
		if strings.Contains(want, "reset") {
			last = "reset"
		}
		frames := c.Await(c.Open("GET", path), last)
		if got := strings.ReplaceAll(kinds(frames), " (", "("); got != want {
			t.Errorf("%s: the frames are %q, want %q", path, got, want)
		}
		if strings.HasPrefix(want, "head") && !strings.Contains(frames[0].Text, "X-Hook: "+path+"\n") {
			t.Errorf("%s: the head is %q", path, frames[0].Text)
		}
	}
}
