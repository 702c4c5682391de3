// Package stringjoin: strings that are joined or upper-cased are new ones.
//
// category: string
// level: 2
// run: ok
package stringjoin

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/galehttp/gale"
)

var words []string

func unsafely(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func Handler(ctx *gale.RequestCtx) {
	auth := strings.TrimPrefix(unsafely(ctx.Request.Header.Peek("Authorization")), "Bearer ")
	words = append(words, fmt.Sprintf("%s, %d", auth, len(auth)), "bearer "+auth)
}

// Show prints the first word.
func Show() string { return words[0] }
