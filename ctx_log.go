package gale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// Logger returns a logger whose lines begin with the ID, addresses, method and URI of the
// request. Records of Server.Slog have the attributes method, path and remote instead.
// The logger is borrowed: it is valid until the handler returns.
func (ctx *RequestCtx) Logger() Logger {
	used(ctx.loan)
	return &ctxLogger{ctx}
}

type ctxLogger struct{ ctx *RequestCtx }

// Printf writes a line that begins with the time since the request arrived, and the
// request.
func (l *ctxLogger) Printf(format string, args ...any) {
	ctx := l.ctx
	out := ctx.logger
	if out == nil {
		if s := ctx.server(); s.slogs() {
			s.logAttrs(fmt.Sprintf(format, args...), ctx.logAttrs())
			return
		}
		out = ctx.server().logger()
	}
	out.Printf("%.3f %s - %s", time.Since(ctx.Time()).Seconds(), ctx, fmt.Sprintf(format, args...))
}

// logger returns the logger that the server writes to.
func (s *Server) logger() Logger {
	switch {
	case s.Logger != nil:
		return calmLogger{s.Logger}
	case s.Slog != nil:
		return calmLogger{slogLogger{s.Slog}}
	}
	return defaultLogger
}

// slogs reports whether records go to Slog.
func (s *Server) slogs() bool { return s.Logger == nil && s.Slog != nil }

// logAttrs writes a record of level Error to Slog.
func (s *Server) logAttrs(text string, attrs []slog.Attr) {
	defer recovered("in Server.Slog")
	s.Slog.LogAttrs(context.Background(), slog.LevelError, text, attrs...)
}

// addrText returns an address of a connection as text. The method of a net.Conn of the program may
// return nil, or panic.
func addrText(method func() net.Addr) (text string) {
	defer func() {
		if recover() != nil {
			text = "unknown"
		}
	}()
	return method().String()
}

// logAttrs returns the attributes that identify the request. The path is that of the
// request-target as the client sent it; handlers of package slog escape it. It doesn't
// change ctx, because a handler that has timed out may still use it.
func (ctx *RequestCtx) logAttrs() []slog.Attr {
	path, _, _ := bytes.Cut(ctx.RequestURI(), []byte{'?'})
	return []slog.Attr{
		slog.String("method", string(ctx.Method())),
		slog.String("path", string(path)),
		slog.String("remote", ctx.RemoteAddr().String()),
	}
}

// slogLogger writes lines as records of level Error.
type slogLogger struct{ l *slog.Logger }

func (l slogLogger) Printf(format string, args ...any) {
	l.l.Log(context.Background(), slog.LevelError, fmt.Sprintf(format, args...))
}

// logError logs an error of a connection (nc may be nil). It doesn't log common errors
// unless Server.LogAllErrors is set.
func (s *Server) logError(nc net.Conn, what string, err error) {
	if err == nil || !s.LogAllErrors && common(err) {
		return
	}
	defer recovered("logging an error")
	line := "" // of a request whose head was refused
	if re := (*RequestError)(nil); errors.As(err, &re) {
		line = re.Line
	}
	if s.SecureErrorLogMessage {
		err, line = errors.New("(left out)"), ""
	}
	if nc == nil {
		s.logger().Printf("gale: %s: %v", what, err)
		return
	}
	if s.slogs() {
		attrs := []slog.Attr{slog.String("while", what), slog.String("remote", addrText(nc.RemoteAddr)), slog.String("local", addrText(nc.LocalAddr)), slog.String("error", err.Error())}
		if line != "" {
			attrs = append(attrs, slog.String("request", line))
		}
		s.Slog.LogAttrs(context.Background(), slog.LevelInfo, "connection ended by an error", attrs...)
		return
	}
	if line != "" {
		line = ", request line " + line
	}
	s.logger().Printf("gale: %s: connection %s<->%s: %v%s", what, addrText(nc.LocalAddr), addrText(nc.RemoteAddr), err, line)
}

// common reports whether err is one of those that clients cause all the time.
func common(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		engine.IsTimeout(err)
}
