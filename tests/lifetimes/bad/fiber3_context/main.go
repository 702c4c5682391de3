// Package fiber3context: Fiber's context is given to a goroutine as its context.Context.
//
// category: fiber
// level: 2
// after: gofiber/fiber#3718
// run: framework
package fiber3context

import (
	"context"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

var app = fiber.New()

func work(c context.Context, name string) {
	slow.Work()
	_ = c.Value("tenant")
	audit.Log("worked for " + name)
}

func init() {
	app.All("/users/:name", func(c fiber.Ctx) error {
		go work(c, "someone") // BAD
		return c.SendStatus(fiber.StatusAccepted)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
