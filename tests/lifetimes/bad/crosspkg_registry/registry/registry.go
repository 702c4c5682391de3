// Package registry lists the requests that are served.
package registry

import (
	"sync"

	"github.com/galehttp/gale"
)

// Registry has requests by number.
type Registry struct {
	mu      sync.Mutex
	entries []*entry
}

type entry struct{ ctx *gale.RequestCtx }

// Default is the registry of the program.
var Default = &Registry{}

// Add adds a request.
func (r *Registry) Add(ctx *gale.RequestCtx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, &entry{ctx: ctx}) // BAD:1
}

// First describes the first request.
func (r *Registry) First() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "serving " + string(r.entries[0].ctx.RequestURI())
}
