package gale

import (
	"context"
	"slices"
)

// Context returns a context that may be kept after the handler has returned, for calls of
// databases, other services and loggers. It ends when Done is closed, with the same
// cause: when the client leaves, when the server shuts down, when the connection's context
// ends, for example by its deadline, and when the request was answered (see Done).
// Contexts that are derived from it have the same context.Cause, and need no goroutine.
//
// It has the user values of the request as they are at the call, under keys of any type;
// as for UserValue, a []byte key is the same as the string of its bytes. Other values are
// those of the connection's context. Later changes of user values don't change it: the
// next call of Context returns another one. Calls between which no user value was set or
// removed return the same context. User values that implement io.Closer are closed at the
// end of the request, although the context still returns them.
//
// Derive contexts that outlive the handler from it, not from ctx. It may be called from any
// goroutine while the handler runs, as long as no goroutine sets user values at the same
// time. A request without user values pays only for the context itself, and not for values.
func (ctx *RequestCtx) Context() context.Context {
	used(ctx.loan)
	return ctx.requestDone().withValues(&ctx.Request)
}

// valuesContext is the context of a request with the user values of one moment. It never
// changes.
type valuesContext struct {
	context.Context // of requestDone
	values          userValues
}

// withValues returns the context of the request, with the user values that req has.
func (d *requestDone) withValues(req *Request) context.Context {
	ctx := d.context()
	if len(req.userValues) == 0 {
		return ctx
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.view == nil || d.viewOf != req.valueChanges {
		d.view, d.viewOf = &valuesContext{ctx, slices.Clone(req.userValues)}, req.valueChanges
	}
	return d.view
}

// Value returns the user value of key or, if there is none, that of the connection's
// context. Package context looks for the context that it made itself by a key of its own,
// and adds derived contexts to that one, without a goroutine for each.
func (c *valuesContext) Value(key any) any {
	if v := c.values.get(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// String is for package context, which prints the parents of a context. Printing the
// values could read what other goroutines change.
func (c *valuesContext) String() string { return "gale.RequestCtx.Context" }
