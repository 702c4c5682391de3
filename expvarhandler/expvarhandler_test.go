package expvarhandler_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/expvarhandler"
)

var greeting = expvar.NewString("greeting")

func call(target string) *gale.RequestCtx {
	var req gale.Request
	req.SetRequestURI("http://example.com" + target)
	ctx := new(gale.RequestCtx)
	ctx.Init(&req, nil, nil)
	expvarhandler.ExpvarHandler(ctx)
	return ctx
}

// names returns the names of the JSON object in the answer.
func names(t *testing.T, ctx *gale.RequestCtx) []string {
	t.Helper()
	if status, kind := ctx.Response.StatusCode(), string(ctx.Response.Header.ContentType()); status != 200 || kind != "application/json; charset=utf-8" {
		t.Errorf("got %d %q", status, kind)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(ctx.Response.Body(), &all); err != nil {
		t.Fatalf("%v\n%s", err, ctx.Response.Body())
	}
	return slices.Sorted(maps.Keys(all))
}

func TestExpvarHandler(t *testing.T) {
	greeting.Set("hello, \"you\"")
	all := names(t, call("/expvars"))
	for _, want := range []string{"cmdline", "memstats", "greeting", "expvarHandlerCalls", "expvarRegexpErrors"} {
		if !slices.Contains(all, want) {
			t.Errorf("there is no %s among %v", want, all)
		}
	}
	for _, tt := range []struct {
		target string
		want   string
	}{
		{"/?r=greeting", "greeting"},
		{"/?r=^gr.*g$", "greeting"},
		{"/?r=cmd%7Cgreet", "cmdline greeting"},
		{"/?r=^none$", ""},
		{"/?r=cmd&r=greeting", "cmdline"},
	} {
		if got := strings.Join(names(t, call(tt.target)), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.target, got, tt.want)
		}
	}
	if got := len(names(t, call("/?r="))); got != len(all) {
		t.Errorf("an empty expression: %d variables, want all %d", got, len(all))
	}
}

// A broken expression is answered with 400, says what is wrong and is counted.
func TestBadExpression(t *testing.T) {
	count := expvar.Get("expvarRegexpErrors").(*expvar.Int)
	before := count.Value()
	ctx := call("/?r=(")
	if status, body := ctx.Response.StatusCode(), string(ctx.Response.Body()); status != 400 || !strings.Contains(body, `"("`) {
		t.Errorf("got %d %q", status, body)
	}
	if count.Value() != before+1 {
		t.Error("it isn't counted")
	}
}

// The length of an expression is bounded: a long one with repetitions costs hundreds of MiB.
func TestLongExpression(t *testing.T) {
	for n, want := range map[int]int{256: 200, 257: 400, 14_000: 400} {
		ctx := call("/?r=" + strings.Repeat(".", n))
		if status, body := ctx.Response.StatusCode(), string(ctx.Response.Body()); status != want || status == 400 && !strings.Contains(body, "at most 256") {
			t.Errorf("%d bytes: got %d %q, want %d", n, status, body, want)
		}
	}
}

func ExampleExpvarHandler() {
	requests := expvar.NewInt("requests")
	handler := func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/stats" {
			expvarhandler.ExpvarHandler(ctx)
			return
		}
		requests.Add(1)
	}
	for _, target := range []string{"/", "/", "/stats?r=requests"} {
		var ctx gale.RequestCtx
		ctx.Init(new(gale.Request), nil, nil)
		ctx.Request.SetRequestURI(target)
		handler(&ctx)
		fmt.Printf("%s", ctx.Response.Body())
	}
	// Output:
	// {
	// 	"requests": 2
	// }
}
