// Package gospawnhelper: a helper starts whatever it is given in a goroutine.
//
// category: helper
// level: 2
// run: object
package gospawnhelper

import (
	"fmt"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func spawn(f func()) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				panic(fmt.Sprint("spawn: ", v))
			}
		}()
		f()
	}()
}

func Handler(ctx *gale.RequestCtx) {
	spawn(func() { // BAD:1
		slow.Work()
		audit.Log(string(ctx.RequestURI())) // BAD:1
	})
}
