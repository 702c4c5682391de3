// Package bytesunmarshaler: a type keeps the bytes that json.Unmarshal lends to its UnmarshalJSON.
//
// category: encode
// level: 3
// run: bytes
package bytesunmarshaler

import (
	"encoding/json"

	"github.com/galehttp/gale"
)

type raw struct{ b []byte }

func (r *raw) UnmarshalJSON(b []byte) error {
	r.b = b // BAD:1
	return nil
}

type message struct {
	User string
	Data raw
}

var inbox []message

func Handler(ctx *gale.RequestCtx) {
	var m message
	if err := json.Unmarshal(ctx.PostBody(), &m); err != nil { // BAD:1
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	inbox = append(inbox, m) // BAD:1
}

// Show prints the first.
func Show() string { return string(inbox[0].Data.b) }
