// Package fiberchannel: a copy of a string of the request goes through a channel.
//
// category: fiber
// level: 1
// run: ok
package fiberchannel

import (
	"strings"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	app  = fiber.New()
	jobs = make(chan string, 64)
)

func init() {
	go func() {
		for job := range jobs {
			slow.Work()
			audit.Log("job for " + job)
		}
	}()
	app.All("/users/:name", func(c *fiber.Ctx) error {
		jobs <- strings.Clone(c.Query("user"))
		return c.SendStatus(fiber.StatusAccepted)
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }
