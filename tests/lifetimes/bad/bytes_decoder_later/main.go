// Package bytesdecoderlater: a decoder over the body is read by a goroutine.
//
// category: encode
// level: 2
// run: bytes
package bytesdecoderlater

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(ctx.PostBody()))) // BAD:1
	go func() {                                                              // BAD:1
		slow.Work()
		var v struct{ User string }
		err := dec.Decode(&v)
		audit.Log(fmt.Sprint("decoded ", v.User, " ", err))
	}()
}
