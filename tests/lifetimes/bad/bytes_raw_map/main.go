// Package bytesrawmap: values of a map of json.RawMessage are slices of the body.
//
// category: encode
// level: 2
// run: bytes
package bytesrawmap

import (
	"encoding/json"

	"github.com/galehttp/gale"
)

var documents []map[string]json.RawMessage

func Handler(ctx *gale.RequestCtx) {
	doc := map[string]json.RawMessage{}
	doc["source"] = json.RawMessage(`"api"`)
	doc["body"] = ctx.PostBody()       // BAD:1
	documents = append(documents, doc) // BAD:1
}

// Show prints the first.
func Show() string {
	b, _ := json.Marshal(documents[0])
	return string(b)
}
