// Package gorecord: the go statement evaluates a copy in the handler.
//
// category: goroutine
// level: 1
// run: ok
package gorecord

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func record(user, action string) {
	slow.Work()
	audit.Log(action + " by " + user)
}

func Handler(ctx *gale.RequestCtx) {
	go record(string(ctx.QueryArgs().Peek("user")), "update")
	ctx.WriteString("ok")
}
