// Package stringqueryvalues: url.ParseQuery returns parts of an unsafe string.
//
// category: string
// level: 2
// run: bytes
package stringqueryvalues

import (
	"net/url"
	"unsafe"

	"github.com/galehttp/gale"
)

var searches []url.Values

func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	v, err := url.ParseQuery(unsafeString(ctx.URI().QueryString())) // BAD:1
	if err == nil {
		searches = append(searches, v) // BAD:1
	}
}

// Show prints a value of the first.
func Show() string {
	for _, v := range searches[0] {
		return "searched " + v[0]
	}
	return ""
}
