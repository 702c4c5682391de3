// Package differential compares Gale with fasthttp and net/http as black boxes:
// the same input, the same calls, the same observations. It has only tests, in
// a module of their own so that Gale's module doesn't depend on fasthttp.
//
// Each domain (arguments, cookies, URIs, heads, messages on the wire) has a
// table of written and generated inputs and a fuzz target. What differs on
// purpose is a [difference]: narrow, with the row of docs/moving/differences.md that
// gives the reason. All else that differs fails.
package differential
