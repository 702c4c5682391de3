// Package stringbuilder: a strings.Builder copies what is written to it.
//
// category: string
// level: 1
// run: ok
package stringbuilder

import (
	"strings"

	"github.com/galehttp/gale"
)

var lines []string

func Handler(ctx *gale.RequestCtx) {
	var b strings.Builder
	b.Write(ctx.Method())
	b.WriteByte(' ')
	b.Write(ctx.RequestURI())
	lines = append(lines, b.String())
}

// Show prints the first line.
func Show() string { return lines[0] }
