// Package fiberstorectx: a map has Fiber's contexts.
//
// category: fiber
// level: 1
// after: gofiber/fiber#4560
// run: framework
package fiberstorectx

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	app    = fiber.New()
	active = map[string]*fiber.Ctx{}
)

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		active[string(c.Context().QueryArgs().Peek("user"))] = c // BAD
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show reads the path of the first.
func Show() string { return "at " + active["first-user"].Path() }
