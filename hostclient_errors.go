package gale

import "errors"

// Errors of clients; see errors.go for their texts.
var (
	// ErrNoFreeConns is returned when the largest allowed number of connections to
	// the host is in use, and none became free within MaxConnWaitTimeout.
	ErrNoFreeConns = newError("no free connections available to host")
	// ErrConnectionClosed is returned when the server closed the connection before
	// the first byte of a response. It may be wrapped in an [ErrRequestSent].
	ErrConnectionClosed = newError("the server closed connection before returning the first response byte. " +
		"make sure the server returns 'connection: close' response header before closing the connection")
	// ErrConnPoolStrategyNotImpl is returned when ConnPoolStrategy is neither FIFO
	// nor LIFO and there is an idle connection to choose.
	ErrConnPoolStrategyNotImpl = newError("connection pool strategy is not implement")
	// ErrMissingLocation is returned when a redirect has no Location (RFC 9110
	// section 15.4).
	ErrMissingLocation = newError("missing location header for http redirect")
	// ErrTooManyRedirects is returned when a chain of redirects is longer than the
	// limit.
	ErrTooManyRedirects = newError("too many redirects detected when doing the request")
	// ErrHostClientRedirectToDifferentScheme is returned by a HostClient when a
	// redirect leads from https to http or the other way round. A [Client] follows
	// both.
	ErrHostClientRedirectToDifferentScheme = newError("hostclient can't follow redirects to a different protocol," +
		" please use client instead")
	// ErrNoAvailableClients is returned by an LBClient without clients.
	ErrNoAvailableClients = newError("no available clients")
)

// ErrRequestSent wraps the error of a request that isn't idempotent (RFC 9110
// section 9.2.2) and whose connection was lost after bytes of it had been written.
// The server may or may not have acted on the request, so it was not sent again.
// The text is that of the wrapped error.
//
// To send such requests again anyway, set RetryIfErr.
type ErrRequestSent struct{ err error }

// Error returns the text of the error that it wraps.
func (e *ErrRequestSent) Error() string {
	return errorText(e.err, bareErrorPrefix+"the connection was lost after bytes of the request had been written")
}

// Unwrap returns the error of the connection.
func (e *ErrRequestSent) Unwrap() error { return e.err }

// errNoAddr is the error of a HostClient that has no address.
var errNoAddr = errors.New("gale: HostClient.Addr is empty: set it to host:port, or to a list of them separated by commas")
