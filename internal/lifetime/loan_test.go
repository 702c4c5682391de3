package lifetime

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// thing stands for a type of the library: its methods call Use where they find nothing.
type thing struct{ loan *Loan }

func (t *thing) Peek()                       { t.inner() }
func (t *thing) inner()                      { t.loan.Use() }
func (t *thing) Each(f func())               { f() }
func (t *thing) Write(p []byte) (int, error) { t.loan.Use(); return len(p), nil }

// record is a guard that stores its reports.
type record struct {
	mu   sync.Mutex
	uses []*Use
}

func (r *record) add(u *Use) {
	r.mu.Lock()
	r.uses = append(r.uses, u)
	r.mu.Unlock()
}

// TestUse proves that each use after the end is reported, with what was used and where, and
// that none is before.
func TestUse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		use    func(*thing)
		caller string
	}{
		{"method", func(x *thing) { x.Peek() }, "TestUse.func1"},
		{"within fmt", func(x *thing) { fmt.Fprint(x, "a") }, "TestUse.func2"},
		{"in a callback", func(x *thing) { x.Each(func() { x.Peek() }) }, "TestUse.func3.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r record
			g := New(Config{Report: r.add, Each: true, Library: "elsewhere"})
			l := g.Begin(Origin{Kind: "handler", Handler: "main.h", Method: "GET", Path: "/a\n", Peer: "1.2.3.4:5", ID: 7})
			x := &thing{l}
			tt.use(x)
			if len(r.uses) != 0 {
				t.Fatalf("reported while the loan lasts: %v", r.uses[0].Text())
			}
			if !l.End() || l.End() {
				t.Error("End must return true once")
			}
			for i := range 3 {
				tt.use(x)
				if len(r.uses) != i+1 {
					t.Fatalf("%d reports after %d uses", len(r.uses), i+1)
				}
			}
			u := r.uses[0]
			if !u.Log || r.uses[1].Log || !strings.Contains(string(u.Stack), tt.caller) || u.After <= 0 {
				t.Errorf("Log %v and %v, After %v, stack:\n%s", u.Log, r.uses[1].Log, u.After, u.Stack)
			}
			if !strings.Contains(u.Text(), "used after the handler returned") ||
				!strings.Contains(u.Text(), "lent by handler main.h for GET /a? (request 7, from 1.2.3.4:5), which ended ") {
				t.Error(u.Text())
			}
			if s := g.Stats(); s.Reports != 3 || s.Guarded != 1 || s.Held != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestFindFrames proves which frames of a stack are named.
func TestFindFrames(t *testing.T) {
	const gale, std = "github.com/galehttp/gale", "/go/src/"
	for _, tt := range []struct{ function, file, kind, name string }{
		{gale + ".(*RequestHeader).Peek", "/x/header.go", "library", "RequestHeader.Peek"},
		{gale + ".(*Args).All.func1", "/x/args.go", "library", "Args.All"},
		{gale + ".(*Args).VisitAll-fm", "/x/args.go", "library", "Args.VisitAll"},
		{gale + ".(*Args).All-range1", "/x/args.go", "library", "Args.All"},
		{gale + ".Args.Len", "/x/args.go", "library", "Args.Len"},
		{gale + ".ReleaseRequest", "/x/pools.go", "library", "ReleaseRequest"},
		{gale + ".(*list[...]).Add", "/x/a.go", "library", "internal list.Add"},
		{gale + ".(*RequestCtx).reset", "/x/ctx.go", "library", ""},
		{gale + ".release", "/x/ctx.go", "library", ""},
		{gale + "/internal/kv.(*List).Peek", "/x/kv.go", "library", "internal List.Peek"},
		{gale + "/adaptor.NewHandler.func1", "/x/a.go", "library", "NewHandler"},
		{gale + ".TestX", "/x/a_test.go", "program", "TestX"},
		{gale + "_test.TestX", "/x/a_test.go", "program", "TestX"},
		{gale + "/examples/hello.Use", "/x/a.go", "program", "Use"},
		{"github.com/galehttp/galeplus.F", "/x/a.go", "program", "F"},
		{"main.(*server).handle", "/x/main.go", "program", ""},
		{"main.main.func1", "./main.go", "program", ""},
		{"shop/cart.Add", "shop/cart/cart.go", "program", "Add"},
		{"github.com/user/fmt.Print", "/x/fmt.go", "program", "Print"},
		{"fmt.Fprintf", std + "fmt/print.go", "standard", "Fprintf"},
		{"aeshashbody", std + "runtime/asm_amd64.s", "standard", ""},
		{"net/http.(*Server).Serve", std + "net/http/server.go", "standard", "Server.Serve"},
		{"internal/poll.(*FD).Write", std + "internal/poll/fd.go", "standard", "FD.Write"},
	} {
		kind := map[ownerKind]string{ofLibrary: "library", ofProgram: "program", ofStandard: "standard"}[kindOf(tt.function, tt.file, gale)]
		if kind != tt.kind {
			t.Errorf("%s in %s is of the %s, want %s", tt.function, tt.file, kind, tt.kind)
		}
		name, public := exportedName(tt.function, gale)
		if name != "" && !public {
			name = "internal " + name
		}
		if kind == "library" && name != tt.name {
			t.Errorf("%s is called %q, want %q", tt.function, name, tt.name)
		}
	}
}

// TestLent proves that a report shows a stack of the handler, taken while the loan lasted,
// and that few stacks are kept.
func TestLent(t *testing.T) {
	var r record
	g := New(Config{Report: r.add})
	l := g.Begin(Origin{Kind: "handler", Handler: "github.com/galehttp/gale/internal/lifetime.aHandler"})
	x := &thing{l}
	x.Peek()
	for range 3 * maxTries {
		aHandler(x)
	}
	if n := len(l.notes.stacks); n == 0 || n > maxNotes {
		t.Errorf("%d stacks", n)
	}
	l.End()
	x.Peek()
	if u := r.uses[0]; !bytes.Contains(u.Lent, []byte("lifetime.aHandler(...)\n\t")) {
		t.Errorf("lent:\n%s", u.Lent)
	}
}

//go:noinline
func aHandler(x *thing) { x.Peek() }

// TestTwice proves that a second release has its own report.
func TestTwice(t *testing.T) {
	var r record
	l := New(Config{Report: r.add}).Begin(Origin{Kind: "ReleaseRequest"})
	l.End()
	(&thing{l}).Peek()
	l.Twice()
	if len(r.uses) != 2 || r.uses[1].Kind != Twice || !strings.HasPrefix(r.uses[1].Text(), "object released twice by ReleaseRequest, by ") {
		t.Fatal(r.uses[len(r.uses)-1].Text())
	}
	if text := r.uses[0].Text(); !strings.Contains(text, " used after ReleaseRequest, by ") || !strings.HasSuffix(text, " after that") {
		t.Error(text)
	}
}

// TestPanicking proves that a report may panic: no lock is left held.
func TestPanicking(t *testing.T) {
	l := New(Config{Report: func(u *Use) { panic(u) }, Each: true}).Begin(Origin{})
	l.End()
	for range 3 {
		func() {
			defer func() {
				if u, ok := recover().(*Use); !ok || len(u.Stack) == 0 {
					t.Error("no use, or no stack")
				}
			}()
			(&thing{l}).Peek()
		}()
	}
}

// TestUseAndEnd proves that any goroutines may call Use while the owner ends the loan, and
// that each call after that is reported.
func TestUseAndEnd(t *testing.T) {
	var r record
	g := New(Config{Report: r.add})
	l := g.Begin(Origin{Kind: "handler"})
	l.Alloc(100)
	var ready, done sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		ready.Add(1)
		done.Go(func() {
			(&thing{l}).Peek()
			ready.Done()
			<-stop
			(&thing{l}).Peek()
		})
	}
	ready.Wait()
	go func() { (&thing{l}).Peek() }() // at any time
	l.End()
	close(stop)
	done.Wait()
	if n := g.Stats().Reports; n < 4 || n > 5 {
		t.Errorf("%d reports", n)
	}
}

// TestPlaces proves that the log is bounded, by place, and that it says what it left out.
func TestPlaces(t *testing.T) {
	var p places
	now := startTime
	if log, _ := p.note(1, now); !log {
		t.Error("the first isn't logged")
	}
	for range 5 {
		if log, _ := p.note(1, now.Add(logEvery-1)); log {
			t.Error("logged again at once")
		}
	}
	if log, left := p.note(1, now.Add(logEvery)); !log || left != 5 {
		t.Errorf("log %v, left out %d", log, left)
	}
	for pc := range uintptr(10 * maxPlaces) {
		p.note(pc+1, now)
	}
	if len(p.all) > maxPlaces+1 {
		t.Errorf("%d places", len(p.all))
	}
}
