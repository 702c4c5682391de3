package router_test

import (
	"fmt"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

type id uint16

// TestNumber proves which values are numbers, and that others are answered with 404.
func TestNumber(t *testing.T) {
	r := router.New()
	r.GET("/int8/{n}", number[int8])
	r.GET("/int64/{n}", number[int64])
	r.GET("/id/{n}", number[id])
	r.GET("/uint64/{n}", number[uint64])
	r.GET("/none/{x}", number[int])
	for target, want := range map[string]string{
		"/int8/7": "7", "/int8/127": "127", "/int8/128": "", "/int8/-128": "-128", "/int8/-129": "", "/int8/0": "0", "/int8/-0": "", "/int8/07": "", "/int8/+7": "",
		"/int8/x": "", "/int8/7x": "", "/int8/%37": "7", "/int8/7%20": "", "/int8/0x7": "", "/int8/1_0": "", "/int8/1e1": "", "/int8/%D9%A7": "",
		"/int64/9223372036854775807": "9223372036854775807", "/int64/9223372036854775808": "", "/int64/-9223372036854775808": "-9223372036854775808",
		"/id/65535": "65535", "/id/65536": "", "/id/-1": "", "/uint64/18446744073709551615": "18446744073709551615", "/uint64/18446744073709551616": "", "/none/7": "",
	} {
		if want == "" {
			want = "404 Not Found"
		} else {
			want = "200 " + want
		}
		if got := answer(serve(r, "GET", target)); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func number[T int | int8 | int64 | id | uint64](ctx *gale.RequestCtx) {
	if n, ok := router.Number[T](ctx, "n"); ok {
		fmt.Fprint(ctx, n)
	}
}
