// Package fiberrawctx: the context of fasthttp, which Fiber has, is used by a goroutine.
//
// category: fiber
// level: 2
// run: object
package fiberrawctx

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var app = fiber.New()

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		ctx := c.Context()
		go func() { // BAD:1
			slow.Work()
			audit.Log("served " + string(ctx.Path())) // BAD:1
		}()
		return c.SendString("ok")
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
