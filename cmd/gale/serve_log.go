package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/galehttp/gale"
)

// newLogger returns the log for requests and errors. If it is off, only warnings
// and errors are logged.
func (cfg *serveConfig) newLogger(w io.Writer) *slog.Logger {
	switch cfg.log {
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil))
	case "off":
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// withAccessLog logs a line for each request when its answer is ready. The size is
// the length of the body that is sent, or -1 if it isn't known in advance. The
// duration is that of the handler, without the transfer.
func withAccessLog(h gale.RequestHandler, logger *slog.Logger) gale.RequestHandler {
	if !logger.Enabled(context.Background(), slog.LevelInfo) {
		return h
	}
	return func(ctx *gale.RequestCtx) {
		start := time.Now()
		h(ctx)
		resp := &ctx.Response
		logger.LogAttrs(context.Background(), slog.LevelInfo, "request",
			slog.String("remote", ctx.RemoteAddr().String()),
			slog.String("method", string(ctx.Method())),
			slog.String("target", string(ctx.Request.Header.RequestURI())),
			slog.Int("status", resp.StatusCode()),
			slog.Int("size", responseSize(ctx)),
			slog.Duration("duration", time.Since(start)),
		)
	}
}

// responseSize returns the length of the body that will be sent.
func responseSize(ctx *gale.RequestCtx) int {
	resp := &ctx.Response
	switch {
	case ctx.IsHead() || resp.SkipBody:
		return 0
	case resp.IsBodyStream():
		return max(resp.Header.ContentLength(), -1)
	}
	return len(resp.Body())
}
