// Package releaseuri: a helper appends a URI to a buffer of its caller.
//
// category: release
// level: 2
// run: ok
package releaseuri

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func absolute(dst, base, ref []byte) []byte {
	u := gale.AcquireURI()
	defer gale.ReleaseURI(u)
	u.UpdateBytes(base)
	u.UpdateBytes(ref)
	return u.AppendBytes(dst)
}

func Handler(ctx *gale.RequestCtx) {
	uri := absolute(nil, []byte("http://example.com/"), ctx.Path())
	audit.Log("redirect to " + string(uri))
}
