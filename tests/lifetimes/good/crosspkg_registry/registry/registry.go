// Package registry lists the requests that are served.
package registry

import (
	"sync"

	"github.com/galehttp/gale"
)

// Registry has descriptions of requests by their numbers.
type Registry struct {
	mu      sync.Mutex
	entries map[uint64]string
}

// Default is the registry of the program.
var Default = &Registry{entries: map[uint64]string{}}

// Add adds a request.
func (r *Registry) Add(ctx *gale.RequestCtx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[ctx.ID()] = string(ctx.RequestURI())
}

// Describe describes a request that was added.
func (r *Registry) Describe(ctx *gale.RequestCtx) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[ctx.ID()]
}

// Remove removes a request.
func (r *Registry) Remove(ctx *gale.RequestCtx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, ctx.ID())
}
