// Package gale has the names of the library that the tests use.
package gale

import (
	"bufio"
	"context"
	"io"
	"iter"
	"time"
)

type RequestHandler func(ctx *RequestCtx)

type RequestCtx struct {
	Request  Request
	Response Response
}

func (ctx *RequestCtx) Path() []byte                                 { return nil }
func (ctx *RequestCtx) PostBody() []byte                             { return nil }
func (ctx *RequestCtx) QueryArgs() *Args                             { return nil }
func (ctx *RequestCtx) SetUserValue(key, value any)                  {}
func (ctx *RequestCtx) UserValue(key any) any                        { return nil }
func (ctx *RequestCtx) Value(key any) any                            { return nil }
func (ctx *RequestCtx) Context() context.Context                     { return nil }
func (ctx *RequestCtx) Done() <-chan struct{}                        { return nil }
func (ctx *RequestCtx) Deadline() (t time.Time, ok bool)             { return }
func (ctx *RequestCtx) Err() error                                   { return nil }
func (ctx *RequestCtx) Detach() *RequestCtx                          { return ctx }
func (ctx *RequestCtx) TimeoutError(msg string)                      {}
func (ctx *RequestCtx) SetBodyStreamWriter(sw func(w *bufio.Writer)) {}
func (ctx *RequestCtx) SetBody(b []byte)                             {}

type Request struct{ Header RequestHeader }

func (r *Request) Body() []byte           { return nil }
func (r *Request) SetBodyRaw(b []byte)    {}
func (r *Request) CopyTo(dst *Request)    {}
func (r *Request) BodyStream() io.Reader  { return nil }
func (r *Request) SetRequestURI(s string) {}

type Response struct{}

func (r *Response) Body() []byte        { return nil }
func (r *Response) SetBodyRaw(b []byte) {}

type RequestHeader struct{}

func (h *RequestHeader) Peek(key string) []byte         { return nil }
func (h *RequestHeader) VisitAll(f func(k, v []byte))   {}
func (h *RequestHeader) All() iter.Seq2[[]byte, []byte] { return nil }

type Args struct{}

func (a *Args) Peek(key string) []byte { return nil }

func AcquireRequest() *Request            { return nil }
func ReleaseRequest(r *Request)           {}
func AcquireResponse() *Response          { return nil }
func ReleaseResponse(r *Response)         {}
func Do(r *Request, resp *Response) error { return nil }
