// Package derivedaddresses: addresses and times of the request are values of their own.
//
// category: local
// level: 2
// run: ok
package derivedaddresses

import (
	"net/netip"
	"time"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type visit struct {
	ip netip.Addr
	at time.Time
	id uint64
}

var visits []visit

func Handler(ctx *gale.RequestCtx) {
	visits = append(visits, visit{ctx.ClientIP(), ctx.Time(), ctx.ID()})
	audit.Log(string(ctx.Path()))
}
