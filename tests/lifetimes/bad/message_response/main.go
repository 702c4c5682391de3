// Package messageresponse: a recorder keeps pointers to the responses.
//
// category: message
// level: 2
// run: object
package messageresponse

import (
	"github.com/galehttp/gale"
)

type recorder struct{ seen []*gale.Response }

func (r *recorder) record(resp *gale.Response) { r.seen = append(r.seen, resp) } // BAD:1

var tape recorder

func Handler(ctx *gale.RequestCtx) {
	ctx.Success("text/plain", ctx.PostBody())
	tape.record(&ctx.Response) // BAD:1
}

// Show plays the first response.
func Show() string { return string(tape.seen[0].Body()) }
