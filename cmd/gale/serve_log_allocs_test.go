//go:build !race

package main

import (
	"io"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// A line in the Combined Log Format costs no allocation.
func TestLogCombinedAllocs(t *testing.T) {
	cfg := &serveConfig{log: logCombined}
	l := cfg.openLog(io.Discard)
	defer l.close()
	ctx := galetest.NewContext("GET", "/a/b.txt?c=d", nil)
	ctx.Request.Header.Set(gale.HeaderUserAgent, "test/1")
	ctx.SetBodyString("hello")
	if n := testing.AllocsPerRun(1000, func() { logOne(l, ctx) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

// logOne does what a server does for a response.
func logOne(l *serveLog, ctx *gale.RequestCtx) {
	e := l.entries.Get().(*accessEntry)
	e.note(ctx, l.format)
	e.sent(5, nil)
}

func BenchmarkLogLine(b *testing.B) {
	for _, format := range []logFlag{logText, logJSON, logCombined} {
		b.Run(string(format), func(b *testing.B) {
			cfg := &serveConfig{log: format}
			l := cfg.openLog(io.Discard)
			defer l.close()
			ctx := galetest.NewContext("GET", "/a/b.txt?c=d", nil)
			ctx.Request.Header.Set(gale.HeaderUserAgent, "test/1")
			ctx.SetBodyString("hello")
			b.ReportAllocs()
			for b.Loop() {
				logOne(l, ctx)
			}
		})
	}
}
