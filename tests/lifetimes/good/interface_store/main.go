// Package interfacestore: an interface hides that the store copies what it gets.
//
// category: store
// level: 3
// run: ok
package interfacestore

import (
	"bytes"

	"github.com/galehttp/gale"
)

type store interface {
	Save(key string, value []byte)
}

type memory struct{ m map[string][]byte }

func (s *memory) Save(key string, value []byte) { s.m[key] = bytes.Clone(value) }

var (
	ram       = &memory{m: map[string][]byte{}}
	db  store = ram
)

func Handler(ctx *gale.RequestCtx) {
	db.Save(string(ctx.QueryArgs().Peek("user")), ctx.PostBody())
}

// Show loads what was saved first.
func Show() string { return string(ram.m["first-user"]) }
