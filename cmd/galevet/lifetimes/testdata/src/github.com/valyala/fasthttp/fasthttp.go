// Package fasthttp has the names of the library that the tests use.
package fasthttp

type RequestCtx struct{}

func (ctx *RequestCtx) Path() []byte { return nil }
