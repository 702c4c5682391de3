// Package fiberrawctx: the context of fasthttp, which Fiber has, is used in the handler.
//
// category: fiber
// level: 2
// run: ok
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
		line := "served " + string(ctx.Path())
		go func() {
			slow.Work()
			audit.Log(line)
		}()
		return c.SendString("ok")
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
