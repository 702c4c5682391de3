// Package fiberlocalsgoroutine: a local that a middleware took from the query is used by a goroutine.
//
// category: fiber
// level: 2
// after: gofiber/fiber#1895
// run: framework
package fiberlocalsgoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var app = fiber.New()

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		token := c.Get("X-Token")
		c.Locals("token", token)
		go func() { // BAD:1
			slow.Work()
			audit.Log("token " + token) // BAD:1
		}()
		return c.SendStatus(fiber.StatusAccepted)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
