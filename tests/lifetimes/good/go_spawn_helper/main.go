// Package gospawnhelper: a helper that looks like a spawner runs the function at once.
//
// category: helper
// level: 2
// run: ok
package gospawnhelper

import (
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func guarded(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("guarded: %v", v)
		}
	}()
	f()
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	err := guarded(func() {
		audit.Log(string(ctx.RequestURI()))
	})
	if err != nil {
		ctx.Error(err.Error(), gale.StatusInternalServerError)
	}
}
