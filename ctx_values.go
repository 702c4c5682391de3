package gale

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
