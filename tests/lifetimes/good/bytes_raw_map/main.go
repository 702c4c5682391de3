// Package bytesrawmap: values of a map of json.RawMessage are encoded before the handler returns.
//
// category: encode
// level: 2
// run: ok
package bytesrawmap

import (
	"encoding/json"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	doc := map[string]json.RawMessage{}
	doc["source"] = json.RawMessage(`"api"`)
	doc["body"] = ctx.PostBody()
	b, err := json.Marshal(doc)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
	}
	audit.Log(string(b))
}
