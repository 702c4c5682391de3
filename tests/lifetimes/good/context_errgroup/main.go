// Package contexterrgroup: an errgroup that is derived from the request is waited for.
//
// category: group
// level: 2
// run: ok
package contexterrgroup

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
	"golang.org/x/sync/errgroup"
)

func Handler(ctx *gale.RequestCtx) {
	g, c := errgroup.WithContext(ctx)
	var path string
	g.Go(func() error {
		path = string(ctx.URI().Path())
		return c.Err()
	})
	if err := g.Wait(); err != nil {
		ctx.Error(err.Error(), gale.StatusInternalServerError)
	}
	audit.Log("indexed " + path)
}
