// Package messageresponse: a recorder keeps copies of the responses.
//
// category: message
// level: 2
// run: ok
package messageresponse

import (
	"github.com/galehttp/gale"
)

type recorder struct{ seen []*gale.Response }

func (r *recorder) record(resp *gale.Response) {
	c := gale.AcquireResponse()
	resp.CopyTo(c)
	r.seen = append(r.seen, c)
}

var tape recorder

func Handler(ctx *gale.RequestCtx) {
	ctx.Success("text/plain", ctx.PostBody())
	tape.record(&ctx.Response)
}

// Show plays the first response.
func Show() string { return string(tape.seen[0].Body()) }
