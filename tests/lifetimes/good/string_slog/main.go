// Package stringslog: records of log/slog are written at once by a standard handler.
//
// category: log
// level: 2
// run: ok
package stringslog

import (
	"log/slog"
	"strings"
	"unsafe"

	"github.com/galehttp/gale"
)

var (
	out    strings.Builder
	logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
)

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	logger.Info("served", slog.String("path", str(ctx.Path())), slog.Any("agent", ctx.UserAgent()))
}

// Show prints the log.
func Show() string { return out.String() }
