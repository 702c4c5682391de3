// Package crosspkgregistry: a registry in another package keeps the context.
//
// category: crosspkg
// level: 2
// run: object
package crosspkgregistry

import (
	"example.com/lifetimes/bad/crosspkg_registry/registry"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	registry.Default.Add(ctx) // BAD:1
}

// Show lists what is registered.
func Show() string { return registry.Default.First() }
