// Package typesalias: an alias of the context's type changes nothing.
//
// category: types
// level: 1
// run: object
package typesalias

import (
	"github.com/galehttp/gale"
)

type Context = gale.RequestCtx

type audience struct{ members []*Context }

var everyone audience

func (a *audience) join(c *Context) { a.members = append(a.members, c) } // BAD:1

func Handler(c *Context) {
	everyone.join(c) // BAD:1
}

// Show greets the first.
func Show() string { return "hello, " + string(everyone.members[0].QueryArgs().Peek("user")) }
