// Package stringerror: an error with an unsafe string in it is kept.
//
// category: string
// level: 3
// run: bytes
package stringerror

import (
	"unsafe"

	"github.com/galehttp/gale"
)

type notFound struct{ name string }

func (e *notFound) Error() string { return "not found: " + e.name }

var failures []error

func find(name string) error {
	if name != "" {
		return &notFound{name: name}
	}
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	user := ctx.QueryArgs().Peek("user")
	err := find(unsafe.String(unsafe.SliceData(user), len(user))) // BAD:1
	if err != nil {
		failures = append(failures, err) // BAD:1
	}
}

// Show prints the first failure.
func Show() string { return failures[0].Error() }
