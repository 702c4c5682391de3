// Package gomethodexpression: the go statement calls a method expression.
//
// category: goroutine
// level: 3
// run: object
package gomethodexpression

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type visitor struct{ *gale.RequestCtx }

func (v visitor) log() {
	slow.Work()
	audit.Log("visited " + string(v.Path()))
}

func Handler(ctx *gale.RequestCtx) {
	go visitor.log(visitor{ctx}) // BAD
}
