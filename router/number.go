package router

import (
	"strconv"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
)

// Number returns the value of the wildcard called name as a number. If it is none, or doesn't fit into T,
// Number answers with 404 by RequestCtx.Fail and returns false: the handler returns then.
//
//	r.GET("/items/{id}", func(ctx *gale.RequestCtx) {
//		id, ok := router.Number[int](ctx, "id")
//		if !ok {
//			return
//		}
//		fmt.Fprintf(ctx, "item %d", id)
//	})
//
// A number is decimal digits, with "-" before a negative one, and without zeros in front: 7, and neither 07
// nor +7. So there is one path for each number. Patterns say nothing about numbers: a request for /items/x
// gets this route, and no other one. Number allocates nothing for a number.
func Number[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](ctx *gale.RequestCtx, name string) (n T, ok bool) {
	text := bytesconv.B2S(ctx.PeekPathValue(name))
	var room [20]byte
	var canonical []byte
	if zero := T(0); zero-1 > zero { // without a sign
		u, err := strconv.ParseUint(text, 10, 64)
		n, canonical = T(u), strconv.AppendUint(room[:0], u, 10)
		ok = err == nil && uint64(n) == u
	} else {
		i, err := strconv.ParseInt(text, 10, 64)
		n, canonical = T(i), strconv.AppendInt(room[:0], i, 10)
		ok = err == nil && int64(n) == i
	}
	if !ok || string(canonical) != text {
		ctx.Fail(gale.StatusNotFound, nil)
		return 0, false
	}
	return n, true
}
