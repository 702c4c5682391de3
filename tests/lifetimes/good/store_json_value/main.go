// Package storejsonvalue: a map with slices of the request is encoded and dropped.
//
// category: encode
// level: 2
// run: ok
package storejsonvalue

import (
	"encoding/json"
	"unsafe"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type event map[string]any

func Handler(ctx *gale.RequestCtx) {
	e := event{"kind": "post"}
	body := ctx.PostBody()
	e["text"] = unsafe.String(unsafe.SliceData(body), len(body))
	b, err := json.Marshal(e)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusInternalServerError)
		return
	}
	audit.Log(string(b))
}
