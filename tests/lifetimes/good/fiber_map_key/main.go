// Package fibermapkey: a map is searched by a parameter of the route, and a copy is stored.
//
// category: fiber
// level: 1
// run: ok
package fibermapkey

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"
)

var (
	app   = fiber.New()
	users = map[string]bool{}
)

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		if name := c.Params("name"); !users[name] {
			users[utils.CopyString(name)] = true
		}
		return c.JSON(len(users))
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the keys.
func Show() string { return fmt.Sprint(users) }
