// Package releaseuri: a helper returns bytes of a URI that it has released.
//
// category: release
// level: 2
// run: bytes
package releaseuri

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func absolute(base, ref []byte) []byte {
	u := gale.AcquireURI()
	defer gale.ReleaseURI(u)
	u.UpdateBytes(base)
	u.UpdateBytes(ref)
	return u.FullURI() // BAD:1
}

func Handler(ctx *gale.RequestCtx) {
	uri := absolute([]byte("http://example.com/"), ctx.Path()) // BAD:1
	audit.Log("redirect to " + string(uri))                    // BAD:1
}
