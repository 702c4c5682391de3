// Package fiber3context: a goroutine gets a context that doesn't belong to the request.
//
// category: fiber
// level: 2
// after: gofiber/fiber#3718
// run: ok
package fiber3context

import (
	"context"
	"strings"

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
		go work(context.Background(), strings.Clone(c.Params("name")))
		return c.SendStatus(fiber.StatusAccepted)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
