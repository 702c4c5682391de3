// Package crosspkgregistry: a registry in another package lists requests until they are done.
//
// category: crosspkg
// level: 2
// run: ok
package crosspkgregistry

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/good/crosspkg_registry/registry"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	registry.Default.Add(ctx)
	defer registry.Default.Remove(ctx)
	audit.Log("served " + registry.Default.Describe(ctx))
}
