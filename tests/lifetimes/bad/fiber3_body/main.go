// Package fiber3body: the body of the request is kept.
//
// category: fiber
// level: 1
// run: framework
package fiber3body

import (
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

var (
	app    = fiber.New()
	bodies [][]byte
)

func init() {
	app.All("/users/:name", func(c fiber.Ctx) error {
		bodies = append(bodies, c.Body()) // BAD
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string { return string(bodies[0]) }
