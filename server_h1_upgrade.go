package gale

import "github.com/galehttp/gale/internal/engine"

// mayUpgrade reports whether the response lets an UpgradeHandler have the connection: it is
// a 101, or makes the connection a tunnel.
func (ss *h1Session) mayUpgrade(ctx *RequestCtx) bool {
	status := ctx.Response.StatusCode()
	return !ctx.flush.begun && (status == StatusSwitchingProtocols || ss.tunnels(status))
}

// refuseUpgrade replaces a 101 that the client can't get: HTTP/1.0 has none (RFC 9110
// section 15.2), and a client that asks for the end of the connection after the response
// doesn't go on with another protocol.
func (ss *h1Session) refuseUpgrade(ctx *RequestCtx) {
	if ctx.hijack == nil || ss.req.keepAlive && ss.req.minor > 0 || !ss.mayUpgrade(ctx) || ss.tunnels(ctx.Response.StatusCode()) {
		return
	}
	ctx.hijack, ctx.upgrade, ctx.counted = nil, nil, false
	ctx.Response.dropContent()
	ctx.SetStatusCode(StatusBadRequest)
	ctx.errorBody(StatusBadRequest, "")
}

// upgrade sends the response and lets the UpgradeHandler have the connection. If a part of
// the request's body is left unread, its bytes would be taken for bytes of the protocol:
// then the connection ends.
func (ss *h1Session) upgrade(ctx *RequestCtx, w *engine.Work, next *engine.Next) {
	ss.upgrades = true
	to := newUpgradeSession(ctx.upgrade)
	ss.write(ctx, w, &ctx.Response, false, next)
	if next.Op == engine.Abort {
		return
	}
	whole := !ss.unreadBody() && !ss.isLost()
	ss.finish(ctx, w, false)
	if !whole {
		next.Op, next.Linger = engine.Close, true
		return
	}
	ss.switchTo(to, next)
}
