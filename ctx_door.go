package gale

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

func init() { door.Serve = func(ctx any) door.Serving { return servingCtx{ctx.(*RequestCtx)} } }

// servingCtx is a RequestCtx for the other packages of this module, see door.Serving.
type servingCtx struct{ ctx *RequestCtx }

func (v servingCtx) Head() *head.Request {
	used(v.ctx.loan)
	return &v.ctx.Request.Header.s
}

func (v servingCtx) ResponseHead() *head.Response {
	used(v.ctx.loan)
	return &v.ctx.Response.Header.s
}

func (v servingCtx) Parent() context.Context { return v.ctx.bringer().Context() }
func (v servingCtx) Conn() net.Conn          { return v.ctx.bringer().Conn() }

func (v servingCtx) Unhurried() *door.Unhurried {
	used(v.ctx.loan)
	return v.ctx.requestDone().notHurried()
}

func (v servingCtx) Patient() *door.Unhurried {
	used(v.ctx.loan)
	return v.ctx.requestDone().notHalved()
}

func (v servingCtx) Peer() net.Conn {
	if v.ctx.remoteAddr != nil {
		return nil
	}
	return v.ctx.bringer().Conn()
}

func (v servingCtx) WriteStall() (d time.Duration, known bool) {
	ctx := v.ctx
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if x, ok := ctx.bringer().(interface{ stallLimit() time.Duration }); ok && ctx.reaches() {
		return x.stallLimit(), true
	}
	return 0, false
}

func (v servingCtx) Bodiless() { v.ctx.Request.Header.s.ContentLength = msg.LenUnknown }

func (v servingCtx) Lend(handler any) { lendOutside(v.ctx, handler.(RequestHandler)) }

func (v servingCtx) Choose(of door.HijackOf) (any, door.Hijack) {
	if resp, h := v.ctx.choose(of); resp != nil {
		return resp, h
	}
	return nil, door.Hijack{}
}

func (v servingCtx) Final() any {
	if resp, ok := v.ctx.final(); ok {
		return resp
	}
	return nil
}

func (v servingCtx) End(e door.Ending) (free bool) { return v.ctx.endRequest(e) == ctxFree }
