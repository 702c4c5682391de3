// Package stringerror: an error whose text is formatted shares no bytes.
//
// category: string
// level: 3
// run: ok
package stringerror

import (
	"fmt"

	"github.com/galehttp/gale"
)

var failures []error

func find(name []byte) error {
	if len(name) > 0 {
		return fmt.Errorf("not found: %s", name)
	}
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	if err := find(ctx.QueryArgs().Peek("user")); err != nil {
		failures = append(failures, err)
	}
}

// Show prints the first failure.
func Show() string { return failures[0].Error() }
