package lifetimes

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestFuelPaysForCopies proves that the analyzer bounds its work for a function with many branches,
// whatever these do. It counts the bytes that are allocated.
func TestFuelPaysForCopies(t *testing.T) {
	const branches = 400
	for _, tt := range []struct {
		name   string
		before string
		branch string // of the number %[1]d
	}{
		{"one object is released in each", "r := gale.AcquireRequest()", "if n == %[1]d { gale.ReleaseRequest(r) }"},
		{"it is used in each, too", "r := gale.AcquireRequest()", "if n == %[1]d { r.SetBodyRaw(nil); gale.ReleaseRequest(r) }"},
		{"it is kept in each", "r := gale.AcquireRequest()", "if n == %[1]d { kept[%[1]d] = r }"},
		{"each has its own", "", "if n == %[1]d { r := gale.AcquireRequest(); kept[%[1]d] = r; gale.ReleaseRequest(r) }"},
		{"deferred", "r := gale.AcquireRequest()", "if n == %[1]d { defer gale.ReleaseRequest(r) }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			fmt.Fprintf(&text, "package hostile\n\nimport \"github.com/galehttp/gale\"\n\nvar kept [%d]*gale.Request\n\nfunc F(n int) {\n%s\n", branches, tt.before)
			for i := range branches {
				fmt.Fprintf(&text, tt.branch+"\n", i)
			}
			text.WriteString("_ = kept\n}\n")
			mb := megabytes(t, text.String())
			t.Logf("%d MB", mb)
			if mb > 500 {
				t.Errorf("%d MB were allocated for %d branches", mb, branches)
			}
		})
	}
}

// megabytes returns how many were allocated to analyze a file.
func megabytes(t *testing.T, text string) uint64 {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src", "hostile"), 0o755); err != nil {
		t.Fatal("making a folder:", err)
	}
	if err := os.CopyFS(filepath.Join(dir, "src", "github.com"), os.DirFS(filepath.Join(analysistest.TestData(), "src", "github.com"))); err != nil {
		t.Fatal("copying the package:", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "hostile", "f.go"), []byte(text), 0o600); err != nil {
		t.Fatal("writing the file:", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	analysistest.Run(noReports{t}, dir, Analyzer, "hostile")
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// TestPartsOfFunctions proves that a function that is given to another one, such as that of a fuzz
// test, isn't analyzed again for each part of its arguments that could be the function itself.
func TestPartsOfFunctions(t *testing.T) {
	const text = `package hostile

import "testing"

type router struct{ routes []*route }

type route struct{ r *router }

func (r *router) handle(f func()) *route {
	f()
	x := &route{r}
	r.routes = append(r.routes, x)
	return x
}

func message(f func()) string {
	f()
	return ""
}

func F(f *testing.F) {
	f.Fuzz(func(t *testing.T, a, b string) {
		r := &router{}
		var x *route
		if got := message(func() { x = r.handle(func() {}) }); got != "" {
			t.Fatalf("%q: %s", a, got)
		}
		var values []string
		for range len(a) {
			values = append(values, b)
		}
		if x.r != r {
			t.Fatalf("%q with %q: %v", a, b, x)
		}
		if x.r == nil {
			t.Errorf("%v", r)
		}
		if message(func() { x = r.handle(func() { t.Log(a) }) }) != a {
			t.Errorf("%v", values)
		}
		if message(func() { x = r.handle(func() { t.Log(b) }) }) != b {
			t.Errorf("%v", x)
		}
	})
}
`
	mb := megabytes(t, text)
	t.Logf("%d MB", mb)
	if mb > 450 {
		t.Errorf("%d MB were allocated", mb)
	}
}

// noReports leaves out what analysistest says about reports.
type noReports struct{ t *testing.T }

func (n noReports) Errorf(format string, args ...any) {}

// TestFuelPaysForCalls proves that the analyzer bounds its work for functions that call each other by variables,
// each of which may be any of them.
func TestFuelPaysForCalls(t *testing.T) {
	var text strings.Builder
	text.WriteString("package hostile\n\nimport \"github.com/galehttp/gale\"\n\nfunc F(ctx *gale.RequestCtx, n int) {\n\th := func(*gale.RequestCtx) {}\n\tfor i := range n {\n\t\tnext := h\n\t\tswitch i {\n")
	for i := range 12 {
		fmt.Fprintf(&text, "\t\tcase %d:\n\t\t\th = func(c *gale.RequestCtx) { _ = %[1]d; next(c) }\n", i)
	}
	text.WriteString("\t\t}\n\t}\n\th(ctx)\n}\n")
	mb := megabytes(t, text.String())
	t.Logf("%d MB", mb)
	if mb > 500 {
		t.Errorf("%d MB were allocated", mb)
	}
}
