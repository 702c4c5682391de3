// Package contexterrgroup: an errgroup is derived from the request, and no goroutine waits for it.
//
// category: group
// level: 2
// run: object
package contexterrgroup

import (
	"context"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
	"golang.org/x/sync/errgroup"
)

func Handler(ctx *gale.RequestCtx) {
	g, _ := errgroup.WithContext(context.Background())
	g.Go(func() error { // BAD:1
		slow.Work()
		audit.Log("indexed " + string(ctx.URI().Path())) // BAD:1
		return nil
	})
	ctx.SetStatusCode(gale.StatusAccepted)
}
