package gale

import (
	"bytes"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// serverGuard begins the loans of a server's guarded requests.
type serverGuard struct {
	*guard
	set     *LifetimeGuard // that guard belongs to; nil for the default
	handler string         // name of Server.Handler
	secret  bool           // reports must not say what clients sent
	count   atomic.Uint64  // guarded requests
}

// lender returns what guards the requests of s, or nil. It returns the same one for the
// same settings.
func (s *Server) lender() *serverGuard {
	set := s.GuardLifetimes
	if set == nil && !guardsByDefault.Load() {
		return nil
	}
	l := s.lenderOf(set)
	l.logMissing()
	return l
}

// lenderOf is lender for these settings. It logs nothing.
func (s *Server) lenderOf(set *LifetimeGuard) *serverGuard {
	s.run.lenderMu.Lock()
	defer s.run.lenderMu.Unlock()
	if l := s.run.lender; l != nil && l.set == set {
		return l
	}
	l := &serverGuard{set: set, secret: s.SecureErrorLogMessage, handler: handlerName(s.Handler)}
	if set == nil {
		l.guard = newDefaultGuard().guard()
		l.logTo(&standardLog) // as the race detector does: a framework's server may log nothing
	} else {
		l.guard = set.guard()
		l.guardPoolsToo()
		l.logTo(&lifetimeLog{use: s.logLateUse, line: s.logLine})
	}
	s.run.lender = l
	return l
}

// handlerName returns the name of the function h, "" if h is nil.
func handlerName(h RequestHandler) string {
	if h == nil {
		return ""
	}
	if f := runtime.FuncForPC(reflect.ValueOf(h).Pointer()); f != nil {
		return f.Name()
	}
	return ""
}

// logLateUse logs what a guard has found.
func (s *Server) logLateUse(u *LifetimeUse) {
	if !s.slogs() {
		s.logLine(u.String())
		return
	}
	attrs := []slog.Attr{slog.String("error", u.Line()), slog.String("stack", u.Stack)}
	if u.Lent != "" {
		attrs = append(attrs, slog.String("lent", u.Lent))
	}
	s.logAttrs("late use", attrs)
}

func (s *Server) logLine(text string) { s.logger().Printf("%s", text) }

// maxOriginPath is how many bytes of the path a report says.
const maxOriginPath = 256

// lend begins a loan for the request whose head is in ctx, a new context.
func (l *serverGuard) lend(ctx *RequestCtx, peer net.Addr, id uint64) {
	from := lifetime.Origin{Kind: "handler", Handler: l.handler, ID: id}
	if !l.secret {
		h := &ctx.Request.Header.s
		from.Method, from.Path = string(h.Part(msg.Method)), originPath(h)
		if peer != nil {
			from.Peer = peer.String()
		}
	}
	l.count.Add(1)
	ctx.lend(l.Begin(from))
}

func originPath(h *head.Request) string {
	path, _, _ := bytes.Cut(h.Part(msg.Target), []byte{'?'})
	return string(path[:min(len(path), maxOriginPath)])
}

// lendOutside guards the request in ctx, for a server of another package, with the guard of
// the pools, if there is one.
func lendOutside(ctx *RequestCtx, h RequestHandler) {
	if g := poolGuard.Load(); g != nil && g.Sample() {
		(&serverGuard{guard: g, handler: handlerName(h)}).lend(ctx, ctx.RemoteAddr(), 0)
	}
}

// faults reports whether handlers may read memory that a guard has made unreadable.
func (l *serverGuard) faults() bool { return l != nil && l.HasPages() }

// touch reads a byte of b, a part of a response, if b may be memory that a guard has made
// unreadable. The fault then comes before anything was promised to the client: HTTP/2
// counts bytes, and ends streams, before it copies them.
func (ss *h2Session) touch(b []byte) {
	if ss.l.fixed.faults && len(b) > 0 {
		firstByte(b)
	}
}

//go:noinline so that the byte is read
func firstByte(b []byte) byte { return b[0] }

// lifetimes returns the counters of the guard of s.
func (s *Server) lifetimes() LifetimeStats {
	l := s.startedLender()
	if l == nil {
		return LifetimeStats{}
	}
	c := l.Stats()
	return LifetimeStats{
		Requests: l.count.Load(),
		Reports:  uint64(c.Reports),
		Held:     c.Held,
		Unpaged:  uint64(c.Unpaged),
		Early:    uint64(c.Early),
	}
}

// startedLender returns the lender of s if s has begun to serve, else nil.
func (s *Server) startedLender() *serverGuard {
	s.run.lenderMu.Lock()
	defer s.run.lenderMu.Unlock()
	return s.run.lender
}

// lateUse is guard.lateUse for panics in goroutines of s.
func (s *Server) lateUse(r any, trace []byte) any {
	if !faulting.Load() {
		return r
	}
	var g *guard
	if l := s.startedLender(); l != nil {
		g = l.guard
	}
	return g.lateUse(r, trace)
}

// expire ends a guarded request, whose context no other request gets. It does what reset
// does; then everything that the context lent has lapsed.
func (ctx *RequestCtx) expire() {
	defer ctx.endLoan() // even if closers panic
	ctx.mu.Lock()
	ctx.reach = over
	ctx.mu.Unlock()
	defer func() {
		ctx.Request.endForm()
		if d := ctx.done.Load(); d != nil {
			d.end(ErrRequestDone)
		}
	}()
	if ctx.Request.hasClosers() || ctx.Response.hasStream() {
		ctx.closeAfter()
		ctx.runClosers()
	}
}

// endLoan ends the loan of a guarded request that is over.
func (ctx *RequestCtx) endLoan() {
	ctx.lapse()
	ctx.loan.End()
}

// lend moves the head of a request, if there is one, from the context in the session to a
// new one that is lent, and gives the old one back.
func (ss *h1Session) lend(l *serverGuard, w *engine.Work) *RequestCtx {
	old := ss.m
	ss.m = newH1Message()
	ctx := &ss.m.ctx
	from, to := &old.ctx.Request.Header.s, &ctx.Request.Header.s
	if from.Suspended() {
		from.Abandon()
	}
	*from, *to = *to, *from
	giveBack(old, w)
	l.lend(ctx, ss.nc.RemoteAddr(), ss.id<<32|ss.num&0xffffffff)
	return ctx
}
