// Package fibermapkey: a parameter of the route is the key of a map.
//
// category: fiber
// level: 1
// after: gofiber/fiber#2446 gofiber/fiber#426
// run: framework
package fibermapkey

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	app   = fiber.New()
	users = map[string]int{}
)

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		users[c.Params("name")]++ // BAD
		return c.JSON(len(users))
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the keys.
func Show() string { return fmt.Sprint(users) }
