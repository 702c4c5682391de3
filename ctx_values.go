package gale

import (
	"context"
	"slices"
)

// User values let the functions that work on a request pass values to each other. They
// live as long as the request. At its end, those that are io.Closers are closed, unless
// Detach was called.

// SetUserValue keeps value under key until the end of the request.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// SetUserValueBytes keeps value under string(key) until the end of the request.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValue returns the value kept under key. If there is none and key is a string or []byte, it returns
// what PathValue returns for it, as a string made by this call, if the route has such a wildcard. Otherwise
// it returns nil. Value, Context and the Visit methods know only what was kept.
func (ctx *RequestCtx) UserValue(key any) any {
	used(ctx.loan)
	if own := ctx.ownContext(key); own != nil {
		return own // for types of other packages whose Value asks here
	}
	if v := ctx.Request.UserValue(key); v != nil || ctx.route == nil {
		return v
	}
	return ctx.pathValue(key)
}

// UserValueBytes is UserValue for string(key).
func (ctx *RequestCtx) UserValueBytes(key []byte) any {
	if v := ctx.Request.UserValueBytes(key); v != nil || ctx.route == nil {
		return v
	}
	return ctx.pathValue(key)
}

// RemoveUserValue removes key and its value, without closing the value.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// RemoveUserValueBytes is RemoveUserValue for string(key).
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) { ctx.Request.RemoveUserValueBytes(key) }

// ResetUserValues removes all user values, and closes those that are io.Closers.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

// VisitUserValues calls visitor for each value whose key is a string or []byte, in the
// order in which the keys were set. key is a copy that visitor may keep. visitor must not
// add or remove values.
func (ctx *RequestCtx) VisitUserValues(visitor func(key []byte, value any)) {
	ctx.Request.VisitUserValues(visitor)
}

// VisitUserValuesAll calls visitor for each value, in the order in which the keys were
// set. visitor must not add or remove values.
func (ctx *RequestCtx) VisitUserValuesAll(visitor func(key, value any)) {
	ctx.Request.VisitUserValuesAll(visitor)
}

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
