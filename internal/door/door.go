// Package door has what only packages of this module may use of package gale: how
// packages adaptor and galetest bring requests to a RequestCtx and end them, what its methods
// don't tell, and what package reverse needs of clients. A type of this package in the
// signature of a method keeps types of other modules from having that method.
package door

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
)

// Seal is the parameter of the method Exchange by which a connection given to
// RequestCtx.Init2 brings an exchange.
type Seal struct{}

// Done is the end of a request's context, which an exchange gets by its method Watch.
// Its methods may be called from any goroutine.
type Done interface {
	// Gone closes Done of the RequestCtx because the client has left. reset says
	// that it doesn't wait for the response. cause is what context.Cause tells.
	Gone(cause error, reset bool)
}

// InterimKey is a key for the context of HostClient.DoContext. The value is a
// func(*gale.ResponseHeader), which is called with the head of each informational
// response (1xx), on the goroutine of the call. It may change the header.
type InterimKey struct{}

// OnceKey is a key for the context of HostClient.DoContext. If the value is true, the
// request isn't sent again once a byte of it was written, whatever its method.
type OnceKey struct{}

// WholeKey is a key for the context of HostClient.DoContext. If the value is true, a body
// of known length that has come with its head is no stream in the response.
type WholeKey struct{}

// KeepSlashes makes the path of req, a *gale.Request without a target, keep %2F and %5C encoded
// until Reset, as net/http reads them. Package gale sets it.
var KeepSlashes func(req any)

// KeepsSlashes reports whether KeepSlashes was called for req. Package gale sets it.
var KeepsSlashes func(req any) bool

// ReadFormsAsMIME makes req, a *gale.Request, have a form only where package mime finds a boundary, until
// Reset. Package gale sets it.
var ReadFormsAsMIME func(req any)

// SettleURI makes the header of req, a *gale.Request that is handed on, say what its URI says. Package
// gale sets it.
var SettleURI func(req any)

// ErrBodyTooLong and ErrBodyTooShort say that the body of a response isn't as long as its head says.
// Package gale sets them.
var ErrBodyTooLong, ErrBodyTooShort error

// MustBeWhole returns ErrBodyTaken if the program has read of the stream that is the body of req, a
// *gale.Request. Package gale sets it.
var MustBeWhole func(req any) error

// ErrBodyTaken is the error of handing on a body whose stream was read before, in part or to its end:
// the rest would look like the whole body.
var ErrBodyTaken = errors.New("gale: the body's stream was read before the request is handed on, and the rest would look like the whole body: " +
	"set a stream with all of it (SetBodyStream), or read it with Body, which keeps it")

// KeepCookies gives jar, a gale.CookieJar, the cookies of h, the *gale.ResponseHeader of a
// response from u, a *gale.URI. Package gale sets it.
var KeepCookies func(jar, u, h any)

// ClientIP is the method ClientIP of ctx, a *gale.RequestCtx, but proxies of trusted are trusted,
// too. peer is the address of the peer, which the method would ask for. Package gale sets it.
var ClientIP func(ctx any, peer netip.Addr, trusted []netip.Prefix) netip.Addr

// LimitCopies puts the compressed copies of fs, a *gale.FS without a handler, into root instead of
// CompressRoot, and bounds them to limit bytes on the disk. Nothing else may be there. Copies are
// never in another directory, also if one takes the place of root's name. The caller closes root
// when fs is no longer used. room is called before n bytes are written: an error means that there is
// no room. Otherwise done is called after that. Package gale sets it.
var LimitCopies func(fs any, root *os.Root, limit int64, room func(n int64) (done func(), err error))

// Upgraded is a connection whose server has answered with 101 (Switching Protocols).
type Upgraded struct {
	Conn  net.Conn // without deadlines
	First []byte   // what the server has sent after its response
	// Close closes the connection and gives its place in the pool to others. It must be called
	// once, whatever has closed Conn before.
	Close func()
}

// Upgrade is DoContext of c, a *gale.HostClient, over HTTP/1.1. If the status of the response is 101,
// the connection belongs to the caller; otherwise up is nil. req and resp are a *gale.Request and a
// *gale.Response. Package gale sets it.
var Upgrade func(ctx context.Context, c, req, resp any) (up *Upgraded, err error)

// HeadIn returns the *head.Request or *head.Response in h, a header of package gale, which sets it.
var HeadIn func(h any) any

// ContentLength is the method ContentLength of h, a *gale.RequestHeader or *gale.ResponseHeader,
// for lengths that an int doesn't hold, too. Package gale sets it.
var ContentLength func(h any) int64

// SetContentLength is the method SetContentLength of h, a *gale.ResponseHeader, for any n >= 0.
// Package gale sets it.
var SetContentLength func(h any, n int64)

// MayHTTP2 reports whether the next request of c, a *gale.HostClient, may go over HTTP/2.
// Package gale sets it.
var MayHTTP2 func(c any) bool

// DoTrailers is DoContext of c, a *gale.HostClient, but the request says TE: trailers if it is sent over
// HTTP/2, unless it has a TE field. It doesn't say so over HTTP/1.1. req and resp are a *gale.Request and
// a *gale.Response. Package gale sets it.
var DoTrailers func(ctx context.Context, c, req, resp any) error

// DialTLS makes c, a *gale.HostClient that wasn't used yet, call dial for its connections. dial
// does the handshake, in which it offers protocols (ALPN, RFC 7301), and returns when ctx ends.
// It doesn't change protocols. Package gale sets it.
var DialTLS func(c any, dial func(ctx context.Context, network, addr string, protocols []string) (net.Conn, error))

// Trailered is a stream for the body of a request that is sent over HTTP/2. After its end,
// Trailers returns a *gale.RequestHeader whose trailer section follows the body, instead of that
// of the request.
type Trailered interface {
	Trailers(Seal) any
}

// Trailing is a body stream of known length. If Trails returns true, a trailer section may come after the
// last byte, so over HTTP/2 the stream is read to its end. HTTP/1.1 has no such messages.
type Trailing interface {
	Trails() bool
}

// HeadFlusher is a writer for the body of a message. FlushHead sends what comes before the body, and
// waits as Write does. It is called at most once, before the first Write.
type HeadFlusher interface {
	FlushHead() error
}

// TrailerLender is the body of a request that was received, as a stream. At its end a trailer
// section may come, which Read stores in the header of that request.
type TrailerLender interface {
	// LendTrailers reports whether h, a *gale.RequestHeader, is that header. From then on Read
	// doesn't store the section there: a client reads the stream, and the program may use the
	// header meanwhile.
	LendTrailers(s Seal, h any) bool
	// GiveTrailers stores the section in h, another *gale.RequestHeader. It is called after the
	// end of the stream.
	GiveTrailers(s Seal, h any)
}

// AnnounceTrailers gives h, the *gale.RequestHeader of a request that a server of another package has
// received, a Trailer field with names. from is what a client asks for the section when it passes the
// request on, whatever stream the body is then. Package gale sets it.
var AnnounceTrailers func(h any, names string, from TrailerLender)

// ReceiveTrailers stores a trailer section, which is a *msg.Fields, in h, a copy of such a header,
// except the fields that the program has set or deleted before. Package gale sets it.
var ReceiveTrailers func(h, section any)

// ErrBodyClosed is wrapped by the errors of reading a request body that the program has
// closed, for example by RequestCtx.CloseRequestBody.
var ErrBodyClosed = errors.New("the request body was closed")

// ErrNotAsked is the error of reading a request's body that the client sends only after a 100, when
// the response has begun without it.
var ErrNotAsked = errors.New("gale: the response has begun, and the client waits for a 100 (Continue) before it sends the body")

// BodyClosed is an error that wraps ErrBodyClosed, and Done, which is gale.ErrRequestDone.
type BodyClosed struct {
	Text string
	Done error
}

func (e *BodyClosed) Error() string   { return e.Text }
func (e *BodyClosed) Unwrap() []error { return []error{ErrBodyClosed, e.Done} }

// Lent is a body stream that a message in flight has lent. It is a handle for that message: calls
// after the end of the message, or after Revoke, return an error and touch nothing else.
type Lent interface {
	Read(p []byte) (n int, err error)
	// Revoke ends the handle. If a Read or WriteTo runs, it returns an error, and Revoke waits
	// until it has returned or touches no memory of the message any more. It waits for the peer for
	// a short time only. Any goroutine may call Revoke, at any time and more than once.
	Revoke(Seal)
}

// WriteTo is wt.WriteTo(w). A stream of the program gets a writer that ends when its WriteTo has
// returned, so that a program that keeps it can't use w later. Package gale sets it.
var WriteTo func(wt io.WriterTo, w io.Writer) (int64, error)
