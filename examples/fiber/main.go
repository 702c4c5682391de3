// Command fiber is a Fiber application that runs on Gale: its go.mod says so, and
// the line that lets clients speak HTTP/2, which fasthttp doesn't know.
//
//	go run . -addr 127.0.0.1:8080
//	curl http://127.0.0.1:8080/api/notes
//	curl --http2-prior-knowledge http://127.0.0.1:8080/api/notes
//
//	go run . -addr 127.0.0.1:8443 -cert cert.pem -key key.pem
//	curl -k --http2 https://127.0.0.1:8443/api/notes
package main

import (
	"crypto/tls"
	"flag"
	"log"
	"net"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/gofiber/fiber/v2/middleware/requestid"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	cert := flag.String("cert", "", "speak TLS, with the certificate chain in this PEM `FILE`")
	key := flag.String("key", "", "and the private key in this one")
	flag.Parse()
	app := newApp()
	if *cert == "" {
		// Without TLS this line is all: HTTP/2 for clients that begin with it.
		app.Server().HTTP2.H2C = true
		log.Fatal(app.Listen(*addr))
	}
	ln, err := listenTLS(*addr, *cert, *key)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(app.Listener(ln))
}

// listenTLS listens for app.Listener. (app.ListenTLS makes its listener itself, for
// HTTP/1.1 only.)
func listenTLS(addr, certFile, keyFile string) (net.Listener, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", addr, &tls.Config{
		Certificates: []tls.Certificate{cert},
		// Over TLS this line is all: HTTP/2 for clients that offer it.
		NextProtos: []string{"h2", "http/1.1"},
	})
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
