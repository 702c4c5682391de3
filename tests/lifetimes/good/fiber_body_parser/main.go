// Package fiberbodyparser: strings that BodyParser puts into a struct are copied before they are kept.
//
// category: fiber
// level: 2
// run: ok form
package fiberbodyparser

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"
)

type record struct {
	Mail string `form:"mail"`
	User string `form:"user"`
}

var (
	app     = fiber.New()
	records []record
)

func init() {
	app.All("/users/:name", func(c *fiber.Ctx) error {
		var r record
		if err := c.BodyParser(&r); err != nil {
			return err
		}
		records = append(records, record{Mail: utils.CopyString(r.Mail), User: utils.CopyString(r.User)})
		return c.SendStatus(fiber.StatusCreated)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show prints the first.
func Show() string { return records[0].Mail + " " + records[0].User }
