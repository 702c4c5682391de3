// Package stringjoin: strings.TrimPrefix and strings.Fields return parts of an unsafe string.
//
// category: string
// level: 2
// run: bytes
package stringjoin

import (
	"strings"
	"unsafe"

	"github.com/galehttp/gale"
)

var words []string

func unsafely(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func Handler(ctx *gale.RequestCtx) {
	auth := strings.TrimPrefix(unsafely(ctx.Request.Header.Peek("Authorization")), "Bearer ") // BAD:1
	words = append(words, strings.Fields(auth)...)                                            // BAD:1
}

// Show prints the first word.
func Show() string { return "word " + words[0] }
