// Package fiberimmutable: an application with Immutable returns real strings.
//
// category: fiber
// level: 3
// after: gofiber/fiber#3236
// run: ok
package fiberimmutable

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	app   = fiber.New(fiber.Config{Immutable: true})
	names []string
)

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		names = append(names, c.Params("name"))
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string { return names[0] }
