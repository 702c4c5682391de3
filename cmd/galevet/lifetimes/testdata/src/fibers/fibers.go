package fibers

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

var name string

func routes(app *fiber.App) {
	app.Get("/:name", func(c *fiber.Ctx) error {
		name = c.Params("name") // want `what Params returned`
		return c.Next()
	})
	app.Get("/copy/:name", func(c *fiber.Ctx) error {
		name = strings.Clone(c.Params("name"))
		return c.Next()
	})
	app.Get("/go", func(c *fiber.Ctx) error {
		go func() { _ = c.Params("name") }() // want `c is valid until`
		return nil
	})
}
