// Package stringslog: a handler of log/slog keeps the records, with unsafe strings in them.
//
// category: log
// level: 3
// run: bytes
package stringslog

import (
	"context"
	"log/slog"
	"sync"
	"unsafe"

	"github.com/galehttp/gale"
)

type buffered struct {
	mu      sync.Mutex
	records []slog.Record
}

func (b *buffered) Enabled(context.Context, slog.Level) bool { return true }
func (b *buffered) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *buffered) WithGroup(string) slog.Handler            { return b }

func (b *buffered) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r.Clone())
	return nil
}

var (
	out    = &buffered{}
	logger = slog.New(out)
)

func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	path := str(ctx.Path())                          // BAD:1
	logger.Info("served", slog.String("path", path)) // BAD:1
}

// Show writes the first record.
func Show() string {
	line := ""
	out.records[0].Attrs(func(a slog.Attr) bool {
		line += a.String()
		return true
	})
	return line
}
