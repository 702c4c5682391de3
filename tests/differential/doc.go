// Package differential compares Gale with fasthttp and net/http as black boxes:
// the same input, the same calls, the same observations. It has only tests, in
// a module of their own so that Gale's module doesn't depend on fasthttp.
//
// Each domain (arguments, cookies, URIs, heads, messages on the wire) has a
// table of written and generated inputs and a fuzz target. An intended difference is a
// [difference]: it is narrow, and names the row of docs/moving/differences.md that gives
// the reason. Any other difference fails the test.
package differential
