// Package fiber3body: a copy of the body is kept.
//
// category: fiber
// level: 1
// run: ok
package fiber3body

import (
	"bytes"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

var (
	app    = fiber.New()
	bodies [][]byte
)

func init() {
	app.All("/users/:name", func(c fiber.Ctx) error {
		bodies = append(bodies, bytes.Clone(c.Body()))
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string { return string(bodies[0]) }
