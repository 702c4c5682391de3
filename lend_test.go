package gale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ownBytes are the methods that return memory of the caller, or that no one else has.
var ownBytes = map[string]bool{
	"AppendBytes": true, "SwapBody": true, "BodyGunzip": true, "BodyInflate": true, "BodyUnbrotli": true, "BodyUnzstd": true,
	"BodyGunzipWithLimit": true, "BodyInflateWithLimit": true, "BodyUnbrotliWithLimit": true, "BodyUnzstdWithLimit": true,
	"Init": true, "Init2": true, "VisitUserValues": true,
}

// keeper keeps all bytes that methods return.
type keeper struct {
	t    *testing.T
	kept []keptSlice
}

type keptSlice struct {
	of string
	b  []byte
}

// visit keeps what the methods of o return. It calls only those that change nothing, or
// only those that change something.
func (k *keeper) visit(o any, changes bool) {
	typ := reflect.TypeOf(o).Elem().Name()
	methods(o, func(name string) {
		if changesSomething(name) != changes || ownBytes[name] {
			return
		}
		of := typ + "." + name
		callMethod(reflect.ValueOf(o).MethodByName(name), func(b []byte) { k.kept = append(k.kept, keptSlice{of, b}) })
	})
}

func changesSomething(name string) bool {
	for _, p := range []string{"Set", "Add", "Del", "Reset", "Remove", "Release", "Read", "Continue", "Close", "Timeout", "Fail", "Error",
		"Enable", "Disable", "Parse", "Update", "Sort", "CopyTo", "Append", "Success", "Write", "Redirect", "NotFound", "NotModified",
		"JSON", "Hijack", "Flush", "Send", "LimitRequestBody", "Bind", "BodyWriter", "After", "Before", "Early", "Logger"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// TestKeptBytesAreOverwritten proves that no byte that a method returned during a loan is
// intact after its end, also if the object has changed and grown in between.
func TestKeptBytesAreOverwritten(t *testing.T) {
	peers.WithoutEngine(t)
	for name, request := range map[string]func() string{"form": aliceForm, "multipart": aliceMultipart, "chunked": aliceChunked} {
		t.Run(name, func(t *testing.T) {
			ctx := aliceCtx(request)
			l, _ := newLoan()
			ctx.lend(l)
			k := &keeper{t: t}
			all := func(changes bool) {
				for _, o := range []any{ctx.QueryArgs(), ctx.PostArgs(), ctx.URI(), &ctx.Request.Header, &ctx.Response.Header, &ctx.Request, &ctx.Response, ctx} {
					k.visit(o, changes)
				}
			}
			all(false)
			if n := k.intact(); n < 100 {
				t.Fatalf("only %d slices have the text", n)
			}
			for i := range gate.Form(100, 41) {
				key, value := fmt.Sprint(alice, i), strings.Repeat(alice, i)
				ctx.QueryArgs().Add(key, value)
				ctx.PostArgs().Add(key, value)
				ctx.Request.Header.Add(key, value)
				ctx.Request.Header.SetCookie(key, value)
				ctx.Request.AppendBodyString(value)
				ctx.Response.Header.Set(key, value)
				ctx.Response.AppendBodyString(value)
				_ = ctx.Response.Header.AddTrailerValue(key, value)
				ctx.URI().SetPath("/" + value)
				if i%10 == 0 {
					all(false)
				}
			}
			all(true)
			all(false)
			had := k.intact()
			end(ctx, l)
			if left := k.intact(); left > 0 {
				t.Errorf("%d of %d slices are intact", left, had)
				k.show()
			}
		})
	}
}

// TestKeptCookieIsOverwritten proves it for the type that no request has.
func TestKeptCookieIsOverwritten(t *testing.T) {
	c := new(Cookie)
	l, _ := newLoan()
	c.lend(l)
	k := &keeper{t: t}
	for i := range 20 {
		v := strings.Repeat(alice, i+1)
		c.SetKey(v)
		c.SetValue(v)
		c.SetPath(v)
		c.SetDomain(v)
		k.visit(c, false)
	}
	end(c, l)
	if k.intact() > 0 {
		k.show()
		t.Error("slices are intact")
	}
}

func (k *keeper) intact() (n int) {
	for _, s := range k.kept {
		if peers.HasAlice(s.b) {
			n++
		}
	}
	return n
}

func (k *keeper) show() {
	seen := map[string]bool{}
	for _, s := range k.kept {
		if peers.HasAlice(s.b) && !seen[s.of] {
			seen[s.of] = true
			k.t.Logf("%s: %.60q", s.of, s.b)
		}
	}
}

// TestResultsOfCallerStay proves the counterpart of TestKeptBytesAreOverwritten: bytes that
// belong to the caller, as the documentation says, and all strings are the same after the
// end of a loan.
func TestResultsOfCallerStay(t *testing.T) {
	found := 0
	forLentTypes(t, func(t *testing.T, name string, fill func() lender) {
		o := fill()
		m := reflect.ValueOf(o).MethodByName(name)
		if !returns(m.Type(), reflect.TypeFor[string]()) && !(ownBytes[name] && returns(m.Type(), reflect.TypeFor[[]byte]())) {
			return
		}
		l, _ := newLoan()
		o.lend(l)
		var kept, want []reflect.Value
		for _, v := range m.Call(arguments(m.Type())) {
			switch r := v.Interface().(type) {
			case []byte:
				kept, want = append(kept, v), append(want, reflect.ValueOf(bytes.Clone(r)))
			case string:
				kept, want = append(kept, v), append(want, reflect.ValueOf(strings.Clone(r)))
			}
		}
		end(o, l)
		for i := range kept {
			found += kept[i].Len()
			if !reflect.DeepEqual(kept[i].Interface(), want[i].Interface()) {
				t.Errorf("%q was returned, and is %q after the end", want[i], kept[i])
			}
		}
	})
	if found < 1000 {
		t.Errorf("all results have only %d bytes", found)
	}
}

func returns(f, of reflect.Type) bool {
	for i := range f.NumOut() {
		if f.Out(i) == of {
			return true
		}
	}
	return false
}

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
			if !sameResults(name) && !reflect.DeepEqual(got, want) && withoutBoundary(fmt.Sprintf("%q", got)) != withoutBoundary(fmt.Sprintf("%q", want)) {
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

// dump returns what can be seen of an object, apart from the time of the call.
func dump(o any) string {
	switch o := o.(type) {
	case *RequestCtx:
		return o.Request.String() + dump(&o.Response)
	case interface{ String() string }:
		return withoutBoundary(dateLine.ReplaceAllString(o.String(), ""))
	}
	return ""
}

var dateLine = regexp.MustCompile("\nDate: .*")

// withoutBoundary returns s without the random boundaries of forms.
func withoutBoundary(s string) string { return randomBoundary.ReplaceAllString(s, "") }

var randomBoundary = regexp.MustCompile("[0-9a-f]{60}")

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
		if !race.Enabled && peers.LateFault(func() { a.Peek(alice) }) == nil {
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

// A server with a guard guards the pools, unless something else does.
func TestServerGuardsPools(t *testing.T) {
	peers.KeepPools(t)
	poolGuard.Store(nil)
	first, second := &LifetimeGuard{}, &LifetimeGuard{}
	for _, g := range []*LifetimeGuard{first, second} {
		startServer(t, &Server{GuardLifetimes: g}, func(*RequestCtx) {}).Dial()
		await.Until(t, "the server to begin", func() bool { return poolGuard.Load() == first.guard() })
	}
	GuardPools(second)
	if poolGuard.Load() != second.guard() {
		t.Error("GuardPools had no effect")
	}
	if GuardPools(nil); poolGuard.Load() != nil {
		t.Error("GuardPools(nil) had no effect")
	}
	if req := AcquireRequest(); req.loan != nil {
		t.Error("a request is guarded")
	}
}

// A file on disk can't be opened after the end of a request that is guarded without pages.
func TestKeptFileOnDisk(t *testing.T) {
	peers.InTempDir(t)
	req := &Request{}
	req.Header.SetMultipartFormBoundary("foo")
	req.SetBodyString(strings.Replace(peers.TestForm, "file!", strings.Repeat("x", 8<<20), 1))
	l := lifetime.New(lifetime.Config{}).Begin(lifetime.Origin{Kind: "handler"})
	req.lend(l)
	fh, err := req.MultipartForm()
	if err != nil {
		t.Fatal(err)
	}
	req.endForm()
	if _, err := fh.File["f"][0].Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening it gives %v", err)
	}
}

// A release ends the loan even if what it closes panics.
func TestReleaseWithPanic(t *testing.T) {
	for _, pages := range []bool{false, true} {
		peers.KeepPools(t)
		GuardPools(&LifetimeGuard{Pages: pages, OnUse: func(*LifetimeUse) {}})
		before := poolGuard.Load().Stats().Held
		release := func(f func()) {
			defer func() { _ = recover() }()
			f()
		}
		req, resp := AcquireRequest(), AcquireResponse()
		req.SetBodyStream(panickingBody{}, -1)
		resp.SetBodyStream(panickingBody{}, -1)
		release(func() { ReleaseRequest(req) })
		release(func() { ReleaseResponse(resp) })
		if !req.loan.Over() || !resp.loan.Over() {
			t.Error("a loan lasts after the release")
		}
		if n := poolGuard.Load().Stats().Held; !pages && n > before {
			t.Errorf("%d bytes are held", n-before)
		}
	}
}

type panickingBody struct{ io.Reader }

func (panickingBody) Close() error { panic("on purpose") }
