package gale

import (
	"context"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

// peeks has the method that is inlined into its callers, and so can't report a use without
// the race detector. On pages it faults: see TestLapsedArgsFault.
var peeks = map[string]bool{"Args.Peek": true}

// TestLapsedReport proves that each exported method of an object that was lent is reported
// when it is called after the end, and that it does no harm then. New methods are tested
// as soon as they exist.
func TestLapsedReport(t *testing.T) {
	forLentTypes(t, func(t *testing.T, name string, fill func() lender) {
		o := fill()
		l, reports := newLoan()
		o.lend(l)
		end(o, l)
		if n := reports.Load(); n != 0 {
			t.Fatalf("the end itself made %d reports", n)
		}
		for _, when := range []string{"first", "second"} {
			before := reports.Load()
			callMethod(reflect.ValueOf(o).MethodByName(name), nil)
			silent := peeks[reflect.TypeOf(o).Elem().Name()+"."+name] && !race.Enabled
			if reports.Load() == before && !silent {
				t.Errorf("the %s call after the end is not reported", when)
			}
		}
	})
}

// TestLentIsTheSame proves that a method of a lent object does what it does otherwise.
func TestLentIsTheSame(t *testing.T) {
	forLentTypes(t, func(t *testing.T, name string, fill func() lender) {
		plain, lent := fill(), fill()
		l, reports := newLoan()
		lent.lend(l)
		for range 2 {
			want := callMethod(reflect.ValueOf(plain).MethodByName(name), nil)
			got := callMethod(reflect.ValueOf(lent).MethodByName(name), nil)
			if !sameResults(name) && !reflect.DeepEqual(got, want) {
				t.Errorf("%q, and %q without a loan", got, want)
			}
		}
		if a, b := dump(plain), dump(lent); a != b {
			t.Errorf("afterwards the object is\n%s\nand without a loan\n%s", b, a)
		}
		if reports.Load() != 0 {
			t.Error("a use was reported during the loan")
		}
	})
}

// sameResults reports whether results can't be compared.
func sameResults(name string) bool {
	switch name {
	case "Context", "Done", "Time", "ConnTime", "LastTimeoutErrorResponse", "MultipartForm":
		return true
	}
	return false
}

// dump returns what can be seen of an object.
func dump(o any) string {
	switch o := o.(type) {
	case *RequestCtx:
		return o.Request.String() + o.Response.String()
	case interface{ String() string }:
		return o.String()
	}
	return ""
}

// TestHeldContextIsSilent proves that package context may use a context that it holds
// after the end, and that this context still has its values.
func TestHeldContextIsSilent(t *testing.T) {
	ctx := aliceCtx(aliceForm)
	l, reports := newLoan()
	ctx.lend(l)
	ctx.SetUserValue("key", alice)
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx.done.Load().end(ErrRequestDone)
	end(ctx, l)
	<-derived.Done()
	<-ctx.Done()
	if ctx.Err() == nil || context.Cause(derived) != ErrRequestDone || derived.Value("key") != alice || ctx.Value("none") != nil {
		t.Errorf("%v, %v, %v", ctx.Err(), context.Cause(derived), derived.Value("key"))
	}
	_, _ = ctx.Deadline()
	if n := reports.Load(); n != 0 {
		t.Errorf("%d reports of uses by package context", n)
	}
	ctx.UserValue("key")
	if reports.Load() == 0 {
		t.Error("UserValue is not reported")
	}
}

// TestLapsedArgsFault proves that Peek of kept arguments faults after the end if memory is
// on pages, and that the other methods report.
func TestLapsedArgsFault(t *testing.T) {
	g := lifetime.New(lifetime.Config{Pages: true})
	if !g.HasPages() {
		t.Skip(g.PagesErr())
	}
	ctx := aliceCtx(aliceForm)
	l := g.Begin(lifetime.Origin{Kind: "handler"})
	ctx.lend(l)
	for _, a := range []*Args{ctx.QueryArgs(), ctx.PostArgs()} {
		if string(a.Peek(alice)) != alice {
			t.Fatal("there is no such argument")
		}
	}
	args := []*Args{ctx.QueryArgs(), ctx.PostArgs()}
	end(ctx, l)
	for _, a := range args {
		if !race.Enabled && lateFault(func() { a.Peek(alice) }) == nil {
			t.Error("Peek doesn't fault")
		}
		before := g.Stats().Reports
		a.Add(alice, alice)
		a.GetUintOrZero("none")
		if got := g.Stats().Reports - before; got < 2 {
			t.Errorf("%d reports of two calls", got)
		}
	}
}

// lateFault calls f, and returns the use of unreadable bytes that it ended with.
func lateFault(f func()) (u *lifetime.Use) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { u = lifetime.Fault(recover()) }()
	f()
	return nil
}
