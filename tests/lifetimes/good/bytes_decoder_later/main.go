// Package bytesdecoderlater: a decoder over a copy of the body is read by a goroutine.
//
// category: encode
// level: 2
// run: ok
package bytesdecoderlater

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	dec := json.NewDecoder(strings.NewReader(string(ctx.PostBody())))
	go func() {
		slow.Work()
		var v struct{ User string }
		err := dec.Decode(&v)
		audit.Log(fmt.Sprint("decoded ", v.User, " ", err))
	}()
}
