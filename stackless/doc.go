// Package stackless runs functions that need a large stack on a few goroutines of its
// own, so that the many goroutines that call them keep small stacks.
//
// A goroutine's stack grows to the size that its deepest call needs, and shrinks only
// when the garbage collector runs. If thousands of goroutines sometimes compress a
// little, their stacks take most of the memory. The price is a switch of goroutines for
// each call, about a microsecond.
//
//	type call struct{ data, out []byte }
//
//	var encode = stackless.NewFunc(func(ctx any) {
//		c := ctx.(*call)
//		c.out = gale.AppendBrotliBytes(nil, c.data)
//	})
//
//	func brotli(data []byte) []byte {
//		c := &call{data: data}
//		if !encode(c) { // too many calls wait
//			c.out = gale.AppendBrotliBytes(nil, data)
//		}
//		return c.out
//	}
package stackless
