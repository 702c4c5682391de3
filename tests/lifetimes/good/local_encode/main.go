// Package localencode: values are encoded before the handler returns.
//
// category: encode
// level: 1
// run: ok
package localencode

import (
	"encoding/json"
	"strconv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type view struct {
	Path  []byte            `json:"path"`
	Names map[string][]byte `json:"names"`
}

func Handler(ctx *gale.RequestCtx) {
	v := view{Path: ctx.Path(), Names: map[string][]byte{"user": ctx.QueryArgs().Peek("user")}}
	b, err := json.Marshal(v)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusInternalServerError)
		return
	}
	ctx.SetBody(b)
	audit.Log("first-user " + strconv.Itoa(len(b)))
}
