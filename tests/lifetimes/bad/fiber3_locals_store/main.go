// Package fiber3localsstore: a string of a header is kept in a sync.Map.
//
// category: fiber
// level: 2
// run: framework
package fiber3localsstore

import (
	"sync"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

var (
	app    = fiber.New()
	tokens sync.Map
)

func init() {
	app.All("/users/:name", func(c fiber.Ctx) error {
		tokens.LoadOrStore("first", c.Get("X-Token")) // BAD
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string {
	token, _ := tokens.Load("first")
	return "token " + token.(string)
}
