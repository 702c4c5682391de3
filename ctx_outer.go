package gale

import (
	"context"
	"net"
)

// outerConn is what the connection given to Init2 can be more than a net.Conn:
// the way to another server that has the request and waits for the response, as
// package adaptor makes it for net/http. What a context does with the session of
// a Server, it does with this one then.
type outerConn interface {
	net.Conn
	// Context returns the context of the request, for Done, Err, Value and
	// Context.
	Context() context.Context
	// LimitBody is LimitRequestBody.
	LimitBody(n int64)
	// Flush sends what resp holds and empties its body.
	Flush(resp *Response) error
	// SendInterim sends an informational response.
	SendInterim(statusCode int, h *ResponseHeader) error
	// Hijack is called by RequestCtx.Hijack, and HijackSetNoResponse by its
	// namesake.
	Hijack(h HijackHandler)
	HijackSetNoResponse(noResponse bool)
	// HijackNow takes the connection over.
	HijackNow() (net.Conn, error)
}

// outer returns the way to another server, nil if there is none.
func (ctx *RequestCtx) outer() outerConn {
	if ctx.ss != nil {
		return nil
	}
	o, _ := ctx.conn.(outerConn)
	return o
}

// wholeReader is a body stream that wants to know when all of it is to be read
// into memory, to bound that.
type wholeReader interface{ ReadsWhole() }
