package gale

import "errors"

// Errors of clients; see errors.go for their texts.
var (
	// ErrNoFreeConns is returned when all connections that a client may have
	// to the host are in use, and none became free within MaxConnWaitTimeout.
	ErrNoFreeConns = newError("no free connections available to host")
	// ErrConnectionClosed is returned when the server closed the connection
	// before the first byte of a response. It may come wrapped in an
	// [ErrRequestSent].
	ErrConnectionClosed = newError("the server closed connection before returning the first response byte. " +
		"make sure the server returns 'connection: close' response header before closing the connection")
	// ErrConnPoolStrategyNotImpl is returned when ConnPoolStrategy is neither
	// FIFO nor LIFO and a connection would be used again.
	ErrConnPoolStrategyNotImpl = newError("connection pool strategy is not implement")
	// ErrMissingLocation is returned when a redirect names no Location (RFC
	// 9110 section 15.4).
	ErrMissingLocation = newError("missing location header for http redirect")
	// ErrTooManyRedirects is returned when a chain of redirects is longer
	// than allowed.
	ErrTooManyRedirects = newError("too many redirects detected when doing the request")
	// ErrHostClientRedirectToDifferentScheme is returned by a HostClient for
	// a request to http when it is one for https, or the other way round. A
	// [Client] goes to either.
	ErrHostClientRedirectToDifferentScheme = newError("hostclient can't follow redirects to a different protocol," +
		" please use client instead")
	// ErrNoAvailableClients is returned by an LBClient without clients.
	ErrNoAvailableClients = newError("no available clients")
)

// ErrRequestSent wraps the error of a request that isn't idempotent (RFC 9110
// section 9.2.2) and was lost with its connection after bytes of it had been
// written: the server may have acted upon it or not, so it was not repeated.
// Its text is that of the error that it wraps. Not in fasthttp.
//
// To repeat such requests nevertheless, set RetryIfErr.
type ErrRequestSent struct{ err error }

// Error returns the text of the error that it wraps.
func (e *ErrRequestSent) Error() string {
	return errorText(e.err, bareErrorPrefix+"the connection was lost after bytes of the request had been written")
}

// Unwrap returns the error of the connection.
func (e *ErrRequestSent) Unwrap() error { return e.err }

// errNoAddr is the error of a HostClient that doesn't know where to go.
var errNoAddr = errors.New("gale: HostClient.Addr is empty: set it to host:port, or to a list of them separated by commas")
