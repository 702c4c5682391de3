// Package stringsingleflight: the key of a call that outlives the handler is an unsafe string.
//
// category: string
// level: 3
// run: bytes
package stringsingleflight

import (
	"time"
	"unsafe"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
	"golang.org/x/sync/singleflight"
)

var calls singleflight.Group

func key(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	k := key(ctx.Path())                        // BAD:1
	ch := calls.DoChan(k, func() (any, error) { // BAD:1
		slow.Work()
		audit.Log("loaded " + k) // BAD:1
		return nil, nil
	})
	select {
	case <-ch:
	case <-time.After(time.Millisecond):
		ctx.SetStatusCode(gale.StatusAccepted)
	}
}
