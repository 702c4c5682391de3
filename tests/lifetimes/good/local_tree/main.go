// Package localtree: a tree of slices of the body dies with the handler.
//
// category: local
// level: 2
// run: ok
package localtree

import (
	"bytes"
	"strconv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type node struct {
	value []byte
	next  *node
}

func parse(b []byte) *node {
	if len(b) == 0 {
		return nil
	}
	head, rest, _ := bytes.Cut(b, []byte(","))
	return &node{value: head, next: parse(rest)}
}

func Handler(ctx *gale.RequestCtx) {
	n := 0
	for x := parse(ctx.PostBody()); x != nil; x = x.next {
		n += len(x.value)
	}
	audit.Log(string(ctx.Path()) + " " + strconv.Itoa(n))
}
