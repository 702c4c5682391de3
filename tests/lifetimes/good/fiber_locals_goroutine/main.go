// Package fiberlocalsgoroutine: a local that is a value of the program is used by a goroutine.
//
// category: fiber
// level: 2
// after: gofiber/fiber#1895
// run: ok
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
		c.Locals("role", "role of "+c.Params("name"))
		role, _ := c.Locals("role").(string)
		go func() {
			slow.Work()
			audit.Log(role)
		}()
		return c.SendStatus(fiber.StatusAccepted)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
