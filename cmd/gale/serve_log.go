package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
)

// logFlag is the format of the log.
type logFlag string

const (
	logText     logFlag = "text"
	logJSON     logFlag = "json"
	logCombined logFlag = "combined"
	logOff      logFlag = "off"
)

func (f *logFlag) String() string { return string(*f) }

func (f *logFlag) Set(s string) error {
	switch v := logFlag(s); v {
	case logText, logJSON, logCombined, logOff:
		*f = v
		return nil
	}
	return errors.New("use text, json, combined or off")
}

// logFlags are about the log of requests.
func (cfg *serveConfig) logFlags(fs *flag.FlagSet) {
	fs.Var(&cfg.log, "log", "log in this `format`: text, json, combined (the Combined Log Format, and warnings and errors as text) or off (warnings and errors only)")
}

// serveLog is the log of requests, warnings and errors.
type serveLog struct {
	logger  *slog.Logger // for messages and, in text and JSON, for requests
	lines   *lineWriter
	format  logFlag
	entries sync.Pool // of *accessEntry
	pipe    chan os.Signal
}

// openLog returns a log that writes to w. The caller must close it.
func (cfg *serveConfig) openLog(w io.Writer) *serveLog {
	l := &serveLog{lines: newLineWriter(w), format: cfg.log, pipe: make(chan os.Signal, 1)}
	l.entries.New = func() any {
		e := &accessEntry{log: l}
		e.sent = e.write // made once: a method value allocates
		return e
	}
	// Without this, the process would end when the reader of the log has ended.
	signal.Notify(l.pipe, syscall.SIGPIPE)
	switch cfg.log {
	case logJSON:
		l.logger = slog.New(slog.NewJSONHandler(visibleLines{l.lines}, nil))
	case logText:
		l.logger = slog.New(slog.NewTextHandler(l.lines, nil))
	default:
		l.logger = slog.New(slog.NewTextHandler(l.lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	l.lines.lost = func(n int) {
		l.logger.Warn("log lines were dropped, because they could not be written in time", "lines", n)
	}
	return l
}

// visibleLines escapes in lines of JSON what encoding/json leaves: it may change how a terminal
// shows the line.
type visibleLines struct{ lines *lineWriter }

func (v visibleLines) Write(p []byte) (int, error) {
	line := bytes.TrimSuffix(p, []byte("\n"))
	if s := bytesconv.B2S(line); !bytesconv.IsASCIIText(s) {
		_, err := v.lines.Write(append(bytesconv.AppendVisible(nil, s), '\n'))
		return len(p), err
	}
	return v.lines.Write(p)
}

// close waits until everything is written, at most for closeLog.
func (l *serveLog) close() {
	l.lines.flush(closeLog)
	signal.Stop(l.pipe)
}

// closeLog is how long the end of the process waits for a log that takes no more lines.
const closeLog = time.Second

// requests returns the function that logs requests, for Server.BeforeSend, or nil if they
// aren't logged.
func (l *serveLog) requests() func(*gale.RequestCtx) {
	if l.format == logOff {
		return nil
	}
	return func(ctx *gale.RequestCtx) {
		e := l.entries.Get().(*accessEntry)
		e.note(ctx, l.format)
		ctx.AfterSend(e.sent)
	}
}

// write logs the request and releases e. size bytes of the response's body were sent. err
// is why the response isn't complete.
func (e *accessEntry) write(size int64, err error) {
	l := e.log
	if l.format == logCombined {
		e.appendSize(size)
		_, _ = l.lines.Write(e.line)
	} else {
		l.logger.LogAttrs(context.Background(), slog.LevelInfo, "request", e.attrs(size, err)...)
	}
	e.reset()
	l.entries.Put(e)
}

// accessEntry is what is logged of a request. It holds copies, so it may be used after the
// handler has returned.
type accessEntry struct {
	log  *serveLog
	sent func(int64, error) // write

	began time.Time
	ready time.Duration // from began until the response was ready

	// In the Combined Log Format:
	line   []byte // without the size at first
	sizeAt int    // where it belongs in line
	size   [20]byte

	// In other formats:
	remote, method, target, proto, user, agent, referer string
	status                                              int
	list                                                []slog.Attr
}

// maxEntry is the largest line whose memory is kept for the next one.
const maxEntry = 4 << 10

func (e *accessEntry) reset() {
	line, list := e.line, e.list
	*e = accessEntry{log: e.log, sent: e.sent}
	if cap(line) <= maxEntry {
		e.line = line[:0]
	}
	clear(list)
	e.list = list[:0]
}

// note takes what is logged from a request whose response is ready.
func (e *accessEntry) note(ctx *gale.RequestCtx, format logFlag) {
	e.began = ctx.Time()
	e.ready = max(time.Since(e.began), 0)
	req := &ctx.Request.Header
	noHead := isHeadless(ctx)
	if format == logCombined {
		e.noteCombined(ctx, noHead)
		return
	}
	e.remote = ctx.RemoteAddr().String()
	if !noHead {
		e.method, e.target, e.proto = string(req.Method()), string(req.RequestURI()), string(req.Protocol())
	}
	e.status = ctx.Response.StatusCode()
	e.user, e.agent, e.referer = requestUser(ctx), string(req.UserAgent()), string(req.Referer())
}

// attrs returns the attributes for a record of package slog. What the client didn't send
// is left out. The slice is valid until reset.
func (e *accessEntry) attrs(size int64, err error) []slog.Attr {
	list := append(e.list[:0], slog.String("remote", e.remote))
	if e.method != "" {
		list = append(list, slog.String("method", e.method), slog.String("target", e.target), slog.String("proto", e.proto))
	}
	list = append(list, slog.Int("status", e.status), slog.Int64("size", size),
		slog.Duration("duration", max(time.Since(e.began), 0)), slog.Duration("ready", e.ready))
	for _, a := range [...]struct{ name, value string }{{"user", e.user}, {"agent", e.agent}, {"referer", e.referer}} {
		if a.value != "" {
			list = append(list, slog.String(a.name, a.value))
		}
	}
	if err != nil {
		list = append(list, slog.String("error", err.Error()))
	}
	e.list = list
	return list
}

// isHeadless reports whether the response is the server's own to a request whose head it
// could not read. Then the request in ctx is empty, which means GET and "/".
func isHeadless(ctx *gale.RequestCtx) bool {
	switch ctx.Response.StatusCode() {
	case gale.StatusBadRequest, gale.StatusRequestTimeout, gale.StatusRequestURITooLong,
		gale.StatusRequestHeaderFieldsTooLarge, gale.StatusNotImplemented, gale.StatusHTTPVersionNotSupported:
		req := &ctx.Request.Header
		return req.Len() == 0 && string(req.RequestURI()) == "/"
	}
	return false
}

// combinedTime is the time in the Combined Log Format, such as 10/Oct/2000:13:55:36 -0700.
const combinedTime = "02/Jan/2006:15:04:05 -0700"

// noteCombined writes the line in the Combined Log Format of Apache's documentation,
//
//	host ident user [time] "request" status size "referer" "agent"
//
// without the size. Unknown parts are "-".
func (e *accessEntry) noteCombined(ctx *gale.RequestCtx, noHead bool) {
	req := &ctx.Request.Header
	b := e.line[:0]
	if ip := ctx.ClientIP(); ip.IsValid() {
		b = ip.AppendTo(b)
	} else {
		b = append(b, '-')
	}
	b = append(b, " - "...)
	if user := requestUser(ctx); user != "" {
		b = appendEscaped(b, user)
	} else {
		b = append(b, '-')
	}
	b = append(b, " ["...)
	b = e.began.AppendFormat(b, combinedTime)
	b = append(b, `] "`...)
	if noHead {
		b = append(b, '-')
	} else {
		b = appendEscaped(b, req.Method())
		b = append(b, ' ')
		b = appendEscaped(b, req.RequestURI())
		b = append(b, ' ')
		b = appendEscaped(b, req.Protocol())
	}
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(ctx.Response.StatusCode()), 10)
	b = append(b, ' ')
	e.sizeAt = len(b)
	b = append(b, ' ')
	b = appendQuoted(b, req.Referer())
	b = append(b, ' ')
	b = appendQuoted(b, req.UserAgent())
	e.line = append(b, '\n')
}

// appendSize puts the size into the line. As in Apache's %b, "-" means that no bytes of a
// body were sent.
func (e *accessEntry) appendSize(size int64) {
	digits := append(e.size[:0], '-')
	if size > 0 {
		digits = strconv.AppendInt(e.size[:0], size, 10)
	}
	n := len(e.line)
	e.line = append(e.line, digits...)
	copy(e.line[e.sizeAt+len(digits):], e.line[e.sizeAt:n])
	copy(e.line[e.sizeAt:], digits)
}

// appendQuoted appends the value of a field in quotes, "-" if it is empty.
func appendQuoted(b, v []byte) []byte {
	b = append(b, '"')
	if len(v) == 0 {
		b = append(b, '-')
	}
	b = appendText(b, v, ' ')
	return append(b, '"')
}

// appendEscaped appends a part of a line that contains no spaces.
func appendEscaped[T []byte | string](b []byte, v T) []byte { return appendText(b, v, '!') }

// appendText appends v. Control characters, quotes, backslashes, characters beyond ASCII
// and those below least become \xhh, so that no client can forge parts of a line.
func appendText[T []byte | string](b []byte, v T, least byte) []byte {
	const hex = "0123456789abcdef"
	for i := range len(v) {
		c := v[i]
		if c < least || c == '"' || c == '\\' || c >= 0x7f {
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
			continue
		}
		b = append(b, c)
	}
	return b
}
