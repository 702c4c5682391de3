package gale

import "github.com/galehttp/gale/internal/engine"

// upgrade sends the response and lets the UpgradeHandler have the connection.
func (ss *h1Session) upgrade(ctx *RequestCtx, w *engine.Work, next *engine.Next) {
	ss.upgrades = true
	to := newUpgradeSession(ctx.handover.upgrade)
	if ss.writeGrant(ctx, w, next) {
		ss.switchTo(to, next)
	}
}

// writeGrant sends the response after which the program gets the connection, and ends the
// message in flight. If a part of the request's body is left unread, its bytes would be
// taken for bytes of the protocol: then writeGrant returns false, and the connection ends,
// as it does if the response can't be sent, or if its end is that of the connection.
func (ss *h1Session) writeGrant(ctx *RequestCtx, w *engine.Work, next *engine.Next) (granted bool) {
	ss.write(ctx, w, &ctx.Response, false, next)
	if next.Op == engine.Abort {
		return false
	}
	ends := next.Op == engine.Close && !ss.tunnels(ctx.Response.StatusCode())
	whole := !ends && !ss.unreadBody() && !ss.isLost()
	ss.finish(ctx, w, false)
	if !whole {
		next.Op, next.Linger = engine.Close, true
	}
	return whole
}
