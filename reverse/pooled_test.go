package reverse

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool/pooltest"
)

// TestPooledForgets: what is used again is like new, field by field.
func TestPooledForgets(t *testing.T) {
	c := &pooltest.Check{
		Stubs: []any{ErrIdle},
		Keep:  map[string]string{"reverse.life.stop": "the method of the same hook"},
	}
	pooltest.Run(t, c, pooltest.Object[exchange]{
		New: func() *exchange { return exchanges.New().(*exchange) },
		Ready: func(x *exchange) {
			x.over, x.whole, x.shared, x.late, x.idle, x.unwatch = true, true, false, nil, nil, nil
			x.cause, x.done, x.hooks = nil, nil, nil
		},
		Forget: func(x *exchange) { x.forget(); pooltest.TakeBack(&exchanges, x) },
	})
	c.Unused(t)
}

// An exchange to which other code may refer isn't used again.
func TestKnownExchange(t *testing.T) {
	for name, know := range map[string]func(x *exchange){
		"not closed":        func(x *exchange) { x.over = false },
		"broken off":        func(x *exchange) { x.whole = false },
		"shared":            func(x *exchange) { x.shared = true },
		"time limit":        func(x *exchange) { x.late = time.NewTimer(0) },
		"idle limit":        func(x *exchange) { x.idle = time.NewTimer(0) },
		"client is watched": func(x *exchange) { x.unwatch = func() bool { return true } },
		"ended":             func(x *exchange) { x.cancel(ErrIdle) },
		"waited for":        func(x *exchange) { x.Done() },
		"hooked":            func(x *exchange) { x.AfterFunc(func() {}) },
	} {
		x := &exchange{over: true, whole: true, named: [][]byte{[]byte("X-A")}}
		know(x)
		if x.forget(); x.named == nil {
			t.Errorf("%s: the exchange is used again", name)
		}
	}
}

// Hooks are called once at the end, in whichever order they are added and stopped.
func TestHooks(t *testing.T) {
	var x exchange
	called := make(chan int, 10)
	hook := func(n int) func() bool { return x.AfterFunc(func() { called <- n }) }
	stop1 := hook(1)
	stop2 := hook(2)
	if !stop1() || stop1() {
		t.Error("the first hook was stopped twice, or not at all")
	}
	hook(3)
	if !stop2() {
		t.Error("the second hook wasn't stopped")
	}
	stop4 := hook(4)
	if !stop4() {
		t.Error("the fourth hook wasn't stopped")
	}
	x.cancel(ErrIdle)
	if n := <-called; n != 3 {
		t.Errorf("hook %d was called", n)
	}
	if hook(5)() {
		t.Error("a hook was stopped after the end")
	}
	if n := <-called; n != 5 {
		t.Errorf("hook %d was called", n)
	}
}

// Contexts that are derived from an exchange may be cancelled any number of times, also late:
// that stops only what they have added themselves.
func TestLateCancel(t *testing.T) {
	type derive = func(x *exchange) (ctx context.Context, cancel func())
	for name, derived := range map[string]derive{
		"time-out":    func(x *exchange) (context.Context, func()) { return context.WithTimeout(x, time.Hour) },
		"has expired": func(x *exchange) (context.Context, func()) { return context.WithTimeout(x, 0) },
		"cancel":      func(x *exchange) (context.Context, func()) { return context.WithCancel(x) },
		"time-out of a cancel": func(x *exchange) (context.Context, func()) {
			parent, stop := context.WithCancel(x)
			ctx, cancel := context.WithTimeout(parent, time.Hour)
			return ctx, func() { cancel(); stop() }
		},
		"function": func(x *exchange) (context.Context, func()) {
			stop := context.AfterFunc(x, func() {})
			return nil, func() { stop() }
		},
	} {
		x := new(exchange)
		_, cancel := derived(x)
		cancel()
		told := make(chan struct{})
		x.AfterFunc(func() { close(told) }) // as clients do
		cancel()
		x.cancel(ErrIdle)
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Errorf("%s: the end of the exchange isn't told", name)
		}
	}
}

// A response that was closed gives nothing any more: what it was read from may be another
// exchange's.
func TestReadAfterClose(t *testing.T) {
	x := &exchange{p: new(Proxy), req: gale.AcquireRequest(), resp: gale.AcquireResponse()}
	x.p.flights.add(x)
	x.resp.SetBodyStream(strings.NewReader("body"), 4)
	x.Close()
	if n, err := x.Read(make([]byte, 10)); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
