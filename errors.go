package gale

import (
	"errors"
	"fmt"
	"strconv"
)

// Programs match on the texts of these errors. So after the prefix, which is errorPrefix
// or bareErrorPrefix (defaults.go), they are exactly fasthttp's.
//
// Sentinels may come wrapped: test for them with errors.Is, and for the types
// with errors.As.

// newError returns an error whose text begins with errorPrefix.
func newError(text string) error { return &namedError{text} }

// namedError adds the prefix to its text when Error is called, because the variables
// below are initialized before the prefix is known.
type namedError struct{ text string }

func (e *namedError) Error() string { return errorPrefix + e.text }

// newBareError returns an error whose text begins with bareErrorPrefix.
func newBareError(text string) error { return &bareError{text} }

type bareError struct{ text string }

func (e *bareError) Error() string { return bareErrorPrefix + e.text }

// errorf is fmt.Errorf for a text that begins with bareErrorPrefix.
func errorf(format string, args ...any) error { return fmt.Errorf(bareErrorPrefix+format, args...) }

// Errors of message heads.
var (
	// ErrMissingRequestMethod says that a request line has no method.
	ErrMissingRequestMethod = newError("cannot find http request method")
	// ErrUnsupportedRequestMethod says that a method is not a token (RFC 9110 section
	// 9.1).
	ErrUnsupportedRequestMethod = newError("unsupported http request method")
	// ErrExtraWhitespaceInRequestLine says that the parts of a request line
	// are separated by more than one space (RFC 9112 section 3).
	ErrExtraWhitespaceInRequestLine = newError("extra whitespace in request line")
	// ErrEmptyRequestURI says that a request line has no target.
	ErrEmptyRequestURI = newError("requesturi cannot be empty")
	// ErrDuplicateContentLength says that a head has more than one
	// Content-Length (RFC 9112 section 6.3).
	ErrDuplicateContentLength = newError("duplicate content-length header")
	// ErrUnsupportedTransferEncoding says that a head names a transfer coding
	// other than chunked (RFC 9112 section 6.1).
	ErrUnsupportedTransferEncoding = newError("unsupported transfer-encoding")
	// ErrNonNumericChars says that a number in a head has characters other than digits.
	ErrNonNumericChars = newError("non-numeric chars found")
	// ErrNeedMore says that a head or trailer section ends too early.
	ErrNeedMore = newError("need more data: cannot find trailing lf")
	// ErrSmallReadBuffer says that a head is larger than its limit; see [ErrSmallBuffer].
	ErrSmallReadBuffer = newError("small read buffer. increase readbuffersize")
	// ErrResponseFirstLineMissingSpace says that a status line has no space
	// (RFC 9112 section 4).
	ErrResponseFirstLineMissingSpace = newError("cannot find whitespace in the first line of response")
	// ErrUnexpectedStatusCodeChar says that a status code isn't followed by a
	// space.
	ErrUnexpectedStatusCodeChar = newError("unexpected char at the end of status code")
	// ErrReadingResponseHeaders says that a response's head couldn't be read.
	ErrReadingResponseHeaders = newError("error when reading response headers")
	// ErrReadingResponseTrailer says that a trailer section couldn't be read.
	ErrReadingResponseTrailer = newError("error when reading response trailer")
	// ErrBadTrailer is returned for a field name that must not be in a trailer
	// section, such as those that frame the message or route it (RFC 9110
	// section 6.5.1).
	ErrBadTrailer = newError("contain forbidden trailer")
)

// errRequestHostRequired is returned when a request without a host is written
// or read (RFC 9112 section 3.2).
var errRequestHostRequired = newBareError("missing required host header in request")

// Errors of bodies and forms.
var (
	// ErrBodyTooLarge is returned when a body is longer than the limit that
	// the caller or the server set for it, before or after decompression.
	ErrBodyTooLarge = newError("body size exceeds the given limit")
	// ErrContentEncodingUnsupported is returned by the BodyUncompressed
	// methods for a content coding that they don't know (RFC 9110 section
	// 8.4). Known are gzip, deflate, br, zstd and identity.
	ErrContentEncodingUnsupported = newError("unsupported content-encoding")
	// ErrNoMultipartForm is returned by the methods that read a multipart form if the
	// Content-Type isn't multipart/form-data with a usable boundary.
	ErrNoMultipartForm = newError("request content-type has bad boundary or is not multipart/form-data")
	// ErrMissingFile is returned by RequestCtx.FormFile when the form holds no
	// file under the key.
	ErrMissingFile = newError("there is no uploaded file associated with the given key")
	// ErrRedirectBodyStream is returned by clients when a redirect needs the body again
	// and the body was a stream, which can be read only once.
	ErrRedirectBodyStream = newError("cannot follow a body-preserving redirect for a request with a body stream")
)

// Errors of arguments, cookies and URIs.
var (
	// ErrNoArgValue is returned by the typed getters of [Args] when there is
	// no argument of that name.
	ErrNoArgValue = newError("no args value for the given key")
	// ErrNoCookies is returned when a Set-Cookie value holds no cookie.
	ErrNoCookies = newError("no cookies found")
	// ErrInvalidCookieValue is returned when a cookie's value has characters
	// that can't be in one (RFC 6265 section 4.1.1).
	ErrInvalidCookieValue = newError("invalid cookie value")
	// ErrorInvalidURI is returned when a string can't be parsed as a URI.
	ErrorInvalidURI = newError("invalid uri")
)

// Errors of servers.
var (
	// ErrPerIPConnLimit is returned by Server.ServeConn when the client's address already
	// has Server.MaxConnsPerIP connections.
	ErrPerIPConnLimit = newError("too many connections per ip")
	// ErrConcurrencyLimit is returned by Server.ServeConn when Server.Concurrency
	// connections are already being served.
	ErrConcurrencyLimit = newError("cannot serve the connection because server.concurrency concurrent connections are served")
	// ErrGetOnly says that a server with Server.GetOnly got a method other than GET or
	// HEAD.
	ErrGetOnly = newError("non-get request received")
	// ErrAlreadyServing is never returned: a server may serve several
	// listeners.
	//
	// Deprecated: it is only here for programs that name it.
	ErrAlreadyServing = newError("server is already serving connections")
	// ErrTLSHandshakeTimeout says that a TLS handshake took too long.
	ErrTLSHandshakeTimeout = newError("tls handshake timed out")
	// ErrDeadlineUpdatesDisabled is returned when a deadline is set on a context that can
	// no longer change its connection, such as after TimeoutError.
	ErrDeadlineUpdatesDisabled = newError("deadline updates disabled")
	// ErrNilConnection is returned when a deadline is set on a context
	// without a connection.
	ErrNilConnection = newError("nil connection")
)

// ErrTimeout is returned by calls that took longer than their timeout. Its method Timeout
// returns true, as that of a net.Error.
var ErrTimeout = &timeoutError{}

type timeoutError struct{}

func (*timeoutError) Error() string { return errorPrefix + "timeout" }

// Timeout reports true.
func (*timeoutError) Timeout() bool { return true }

// ErrNothingRead wraps the error of a connection that ended, or timed out,
// before the first byte of a message. A plain end of the stream is reported
// as io.EOF instead.
type ErrNothingRead struct{ err error }

// Error returns the text of the error that it wraps.
func (e ErrNothingRead) Error() string { return errorText(e.err, bareErrorPrefix+"nothing read") }

// Unwrap returns the error of the connection. fasthttp has no such method.
func (e ErrNothingRead) Unwrap() error { return e.err }

// ErrSmallBuffer wraps [ErrSmallReadBuffer] with the beginning and the end of
// a head that is longer than allowed. Reading functions return a pointer to
// it.
type ErrSmallBuffer struct{ err error }

// Error says which head didn't fit, and quotes it.
func (e ErrSmallBuffer) Error() string { return errorText(e.err, ErrSmallReadBuffer.Error()) }

// Unwrap returns the wrapped error. fasthttp has no such method.
func (e ErrSmallBuffer) Unwrap() error { return e.err }

// ErrBrokenChunk wraps the error of a chunked body that is malformed (RFC 9112 section
// 7.1) or ends too early.
type ErrBrokenChunk struct{ err error }

// Error says what is wrong with the coding.
func (e ErrBrokenChunk) Error() string { return bareErrorPrefix + errorText(e.err, "broken chunk") }

// Unwrap returns the wrapped error. fasthttp has no such method.
func (e ErrBrokenChunk) Unwrap() error { return e.err }

// ErrBodyStreamWritePanic says that a body stream panicked while its bytes
// were being written.
type ErrBodyStreamWritePanic struct{ err error }

// Error describes the panic.
func (e ErrBodyStreamWritePanic) Error() string {
	return bareErrorPrefix + errorText(e.err, "panic while writing body stream")
}

// Unwrap returns the wrapped error. fasthttp has no such method.
func (e ErrBodyStreamWritePanic) Unwrap() error { return e.err }

// errorText returns the text of err, or zero if err is nil, as in the zero value of a
// wrapper.
func errorText(err error, zero string) string {
	if err == nil {
		return zero
	}
	return err.Error()
}

// EscapeError is the error of a malformed percent-encoding. Its value is the characters
// that can't be decoded.
type EscapeError string

// Error quotes the characters.
func (e EscapeError) Error() string {
	return bareErrorPrefix + "invalid url escape " + strconv.Quote(string(e))
}

// InvalidHostError is the error of a malformed host name. Its value is the characters
// that can't be in a host name (RFC 3986 section 3.2.2).
type InvalidHostError string

// Error quotes the characters.
func (e InvalidHostError) Error() string {
	return bareErrorPrefix + "invalid character " + strconv.Quote(string(e)) + " in host name"
}

// Errors of clients.
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
