// Package gofanout: the goroutines of all steps have ended when the handler returns.
//
// category: goroutine
// level: 1
// after: gofiber/fiber#3012
// run: ok
package gofanout

import (
	"strings"
	"sync"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

var steps = []string{"index", "notify"}

func Handler(ctx *gale.RequestCtx) {
	var wg sync.WaitGroup
	results := make([]string, len(steps))
	for i, step := range steps {
		wg.Go(func() {
			results[i] = step + " " + string(ctx.UserAgent())
		})
	}
	wg.Wait()
	audit.Log(strings.Join(results, " "))
}
