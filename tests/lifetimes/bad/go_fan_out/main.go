// Package gofanout: a goroutine for each step reads the request, and the handler waits for none.
//
// category: goroutine
// level: 1
// after: gofiber/fiber#3012
// run: object
package gofanout

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

var steps = []string{"index"}

func Handler(ctx *gale.RequestCtx) {
	for _, step := range steps {
		go func() { // BAD:1
			slow.Work()
			audit.Log(step + " " + string(ctx.UserAgent())) // BAD:1
		}()
	}
}
