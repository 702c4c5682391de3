//go:build !race

package requests

import (
	"testing"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/head"
)

// A request that was filled before is filled again without an allocation, and a response
// is checked without one.
func TestAllocations(t *testing.T) {
	for _, random := range []bool{false, true} {
		src, err := New(&Spec{
			Method: "POST", Host: "h", Target: "/{{user}}?q={{user}}", UserAgent: "test", Data: readData(t, users, random),
			Fields: []string{"X-Token: {{token}}", "X-Other: a"}, Cookies: []string{"a={{user}}"}, Body: Body{Text: "hello {{user}}"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var r load.Request
		var n int64
		for ; n < 10; n++ {
			src.Fill(&r, n)
		}
		if got := testing.AllocsPerRun(100, func() {
			src.Fill(&r, n)
			n++
		}); got != 0 {
			t.Errorf("Fill: %v allocations", got)
		}
	}
	e, err := ParseExpectations([]string{"status=200", "body~^o", "header:X=1"})
	if err != nil {
		t.Fatal(err)
	}
	var good, bad head.Response
	good.Put(0, []byte("X"), []byte("1"), 0)
	bad.Status = 404
	body := []byte("ok")
	if got := testing.AllocsPerRun(100, func() {
		if kind, _ := e.Check(&good, body, 2); kind != "" {
			t.Error(kind)
		}
		if kind, _ := e.Check(&bad, body, 2); kind != KindStatus {
			t.Error(kind)
		}
	}); got != 0 {
		t.Errorf("Check: %v allocations", got)
	}
}

func BenchmarkFill(b *testing.B) {
	src, err := New(&Spec{
		Method: "POST", Host: "h", Target: "/{{user}}", UserAgent: "test", Data: readData(b, users, false),
		Fields: []string{"X-Token: {{token}}"}, Body: Body{Text: "hello {{user}}"},
	})
	if err != nil {
		b.Fatal(err)
	}
	var r load.Request
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		src.Fill(&r, n)
	}
}
