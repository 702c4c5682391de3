// Package fiber3localsstore: a formatted string is kept in a sync.Map.
//
// category: fiber
// level: 2
// run: ok
package fiber3localsstore

import (
	"fmt"
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
		tokens.LoadOrStore("first", fmt.Sprintf("token %s", c.Get("X-Token")))
		return c.SendStatus(fiber.StatusOK)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string {
	token, _ := tokens.Load("first")
	return token.(string)
}
