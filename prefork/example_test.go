package prefork_test

import (
	"log"
	"os"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/prefork"
)

// The same program is the master and, started again, each of the children.
func Example() {
	server := &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello") }}
	p := prefork.New(server)
	p.OnMasterDeath = func() { os.Exit(1) }
	if err := p.ListenAndServe("127.0.0.1:8080"); err != nil {
		log.Fatal(err)
	}
}
