// Package stackless runs functions that need much stack on a few goroutines of
// its own, so that the many goroutines that call them keep small stacks.
//
// A goroutine's stack grows to what its deepest call needs and shrinks only when the
// garbage collector runs. Where thousands of goroutines compress a little now and then,
// their stacks are most of the memory. It costs a switch of goroutines for each call,
// about a microsecond.
package stackless
