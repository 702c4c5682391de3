// Package storejsonvalue: a string of the program aliases the body, and a map that is kept has it.
//
// category: encode
// level: 2
// run: bytes
package storejsonvalue

import (
	"unsafe"

	"github.com/galehttp/gale"
)

type event map[string]any

var events []event

func Handler(ctx *gale.RequestCtx) {
	e := event{"kind": "post"}
	body := ctx.PostBody()
	e["text"] = unsafe.String(unsafe.SliceData(body), len(body)) // BAD:1
	events = append(events, e)                                   // BAD:1
}

// Show prints the text.
func Show() string { return "text " + events[0]["text"].(string) }
