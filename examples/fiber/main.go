// Command fiber is a Fiber application that runs on Gale: nothing but its
// go.mod says so.
//
//	go run . -addr 127.0.0.1:8080
//	curl http://127.0.0.1:8080/api/notes
package main

import (
	"flag"
	"log"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/gofiber/fiber/v2/middleware/requestid"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	log.Fatal(newApp().Listen(*addr))
}

// note is what the application keeps.
type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// newApp returns an application that keeps notes in memory.
func newApp() *fiber.App {
	var (
		mu    sync.Mutex
		notes = []note{}
	)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(recover.New(), requestid.New(), compress.New())
	app.Get("/panic", func(*fiber.Ctx) error { panic("on purpose") })
	api := app.Group("/api")
	api.Get("/notes", func(c *fiber.Ctx) error {
		mu.Lock()
		defer mu.Unlock()
		return c.JSON(notes)
	})
	api.Post("/notes", func(c *fiber.Ctx) error {
		var n note
		if err := c.BodyParser(&n); err != nil {
			return fiber.NewError(fiber.StatusBadRequest, "the body is no note")
		}
		mu.Lock()
		defer mu.Unlock()
		n.ID = len(notes) + 1
		notes = append(notes, n)
		return c.Status(fiber.StatusCreated).JSON(n)
	})
	api.Get("/notes/:id", func(c *fiber.Ctx) error {
		id, err := c.ParamsInt("id")
		mu.Lock()
		defer mu.Unlock()
		if err != nil || id < 1 || id > len(notes) {
			return fiber.ErrNotFound
		}
		return c.JSON(notes[id-1])
	})
	return app
}
