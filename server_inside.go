package gale

import "github.com/galehttp/gale/internal/door"

func init() {
	door.InsideOf = func(s any) door.Inside { return s.(*Server).inside() }
	door.BodyIsRead = func(ctx any) bool { return ctx.(*RequestCtx).bringer().Reading() }
	door.BodyWaits = func(ctx any) bool {
		ss, ok := ctx.(*RequestCtx).x.(*h1Session)
		return ok && ss.m.stream.waits.Load()
	}
	door.FSAnswersAll = func(on bool) (before bool) {
		before, fsAnswersAll = fsAnswersAll, on
		return before
	}
	door.AutoEngine = func(e int) { autoEngine = Engine(e) }
	door.GuardByDefault = guardsByDefault.Swap
	door.KeepPools = func() (restore func()) {
		before := poolGuard.Load()
		return func() { poolGuard.Store(before) }
	}
	door.LoanOf = func(ctx any) any { return ctx.(*RequestCtx).loan }
	door.GuardOf = func(g any) any { return g.(*LifetimeGuard).guard().Guard }
	door.HeadIn = headIn
	door.UpgradeByPump = func(ctx, f any) {
		c := ctx.(*RequestCtx)
		c.Hijack(upgradeByPump(c, f.(UpgradeHandler)))
		c.handover.counted = true
	}
	door.MaxFormMemory = maxFormMemory
	door.WatchLateUses = func(f func(use string)) {
		onDefaultUse = func(u *LifetimeUse) { f(u.String()) }
		guardPoolsByDefault()
	}
}

func headIn(h any) any {
	if h, ok := h.(*RequestHeader); ok {
		return &h.s
	}
	return &h.(*ResponseHeader).s
}

// inside returns what s holds, for tests.
func (s *Server) inside() door.Inside {
	in := door.Inside{Timed: int(s.run.timed.Load()), Held: int(s.stats.held.Load())}
	s.perIP.mu.Lock()
	in.Addresses = len(s.perIP.n)
	s.perIP.mu.Unlock()
	r := &s.run
	r.mu.Lock()
	in.Waiters, in.Shutdowns = len(r.waiters), r.shutdowns
	in.Handshakes, in.Listeners = len(r.handshakes), len(r.listeners)
	r.mu.Unlock()
	r.h2.inside(&in)
	return in
}

// inside fills in what in says of HTTP/2.
func (l *h2Sessions) inside(in *door.Inside) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.Calm = true
	for ss := l.first; ss != nil; ss = ss.after {
		ss.mu.Lock()
		in.Conns++
		in.Streams += ss.proto.Streams()
		in.Unsent = max(in.Unsent, len(ss.out))
		in.Calm = in.Calm && ss.waiting == 0 && ss.first == nil && ss.last == nil && len(ss.out) == 0 && ss.buf == nil
		ss.mu.Unlock()
	}
}
