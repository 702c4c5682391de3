// Package stringsingleflight: the handler waits for the call whose key is an unsafe string.
//
// category: string
// level: 3
// run: ok
package stringsingleflight

import (
	"unsafe"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
	"golang.org/x/sync/singleflight"
)

var calls singleflight.Group

func key(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	k := key(ctx.Path())
	v, err, _ := calls.Do(k, func() (any, error) {
		return "loaded " + k, nil
	})
	if err == nil {
		audit.Log(v.(string))
	}
}
