// Package fiberapp is the lab's server on Fiber 2, for fasthttp and for Gale below it.
package fiberapp

import (
	"log"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"

	"github.com/galehttp/gale/lab/servers/work"
)

// Main is the whole program.
func Main() {
	o := work.Parse()
	app := New(o)
	if o.TLS != "" {
		log.Fatal(app.ListenTLS(o.Addr, o.Cert(), o.Key()))
	}
	log.Fatal(app.Listen(o.Addr))
}

// New returns an application that answers as package work says.
func New(o *work.Options) *fiber.App {
	app := fiber.New(fiber.Config{
		ServerHeader: work.Server, DisableStartupMessage: true, Concurrency: 1 << 20,
		BodyLimit: work.MaxBody, StreamRequestBody: o.Stream,
	})
	app.Get("/", greet)
	app.Get("/fields", func(c *fiber.Ctx) error {
		for _, f := range work.Fields {
			c.Set(f[0], f[1])
		}
		return greet(c)
	})
	app.Get("/sleep", func(c *fiber.Ctx) error {
		time.Sleep(work.Pause)
		return greet(c)
	})
	app.Post("/echo", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, work.Binary)
		return c.Send(c.Body())
	})
	app.Post("/upload", func(c *fiber.Ctx) error {
		n, err := work.Count(c.Context().RequestBodyStream())
		if err != nil {
			return err
		}
		return c.Send(n)
	})
	app.Post("/collect", func(c *fiber.Ctx) error {
		return c.SendString(strconv.Itoa(len(c.Body())))
	})
	app.Get("/json", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, work.JSONType)
		return c.Send(work.JSON())
	})
	// Its default level is that of fasthttp's handler, which is work.GzipLevel.
	app.Get("/compress", compress.New(), func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, work.PlainText)
		return c.Send(work.Long)
	})
	if o.Files != "" {
		app.Static("/files", o.Files, fiber.Static{ByteRange: true})
	}
	return app
}

func greet(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, work.PlainText)
	return c.SendString(work.Greeting)
}
