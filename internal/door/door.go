// Package door has what only packages of this module may use of package gale: how
// packages adaptor and galetest bring requests to a RequestCtx, the keys by which they ask
// it for what its methods don't tell, and what package reverse needs of clients. A type of
// this package in the signature of a method keeps types of other modules from having that
// method.
package door

import (
	"bufio"
	"context"
	"errors"
	"net"
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
	// End closes Done because the request was answered. It reports whether package
	// context may hold the RequestCtx, which must not be used again then: neither
	// Init2 nor Reset may be called.
	End() (held bool)
	// Detached reports whether the RequestCtx belongs to the program. Then LeaveKey ends
	// the request, and the RequestCtx must not be used again.
	Detached() bool
}

// ParentKey is a key for RequestCtx.Value. The value is the context.Context that the
// context of the request is made from, nil if there is none.
type ParentKey struct{}

// UnhurriedKey is a key for RequestCtx.Value. The value is the *Unhurried of the request.
type UnhurriedKey struct{}

// Unhurried is a context like the one that RequestCtx.Context returns, but a shutdown of
// the server doesn't end it. Cancel ends it earlier.
type Unhurried struct {
	context.Context
	Cancel context.CancelCauseFunc
}

// ConnKey is a key for RequestCtx.Value. The value is the net.Conn of the context, as
// RequestCtx.Conn returns it; but its deadlines stay the server's.
type ConnKey struct{}

// HeadKey is a key for RequestCtx.Value. The value is the *head.Request of the request's
// header. It is read, not changed, while the handler runs.
type HeadKey struct{}

// PeerKey is a key for RequestCtx.Value. The value is the net.Conn whose RemoteAddr is
// what RequestCtx.RemoteAddr returns, nil if there is none.
type PeerKey struct{}

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

// ReadResponse reads the head of a response into h, a *gale.ResponseHeader, as
// ResponseHeader.Read does, but as strictly as clients read theirs. Package gale sets it.
var ReadResponse func(h any, r *bufio.Reader) error

// AcquireConn is the method AcquireConn of c, a *gale.HostClient, that waits no longer than
// until ctx ends. release gives the connection back, or closes it. Package gale sets it.
var AcquireConn func(ctx context.Context, c any) (nc net.Conn, release func(keep bool), err error)

// MayHTTP2 reports whether the next request of c, a *gale.HostClient, may go over HTTP/2.
// Package gale sets it.
var MayHTTP2 func(c any) bool

// DoHTTP2 is DoContext of c, a *gale.HostClient, but sends the request over HTTP/2 only. If
// the server speaks HTTP/1.1, the error is ErrHTTP1: nothing was sent, and nothing was read
// from the stream of the body. req and resp are a *gale.Request and a *gale.Response. Package
// gale sets it.
var DoHTTP2 func(ctx context.Context, c, req, resp any) error

// ErrHTTP1 is an error of DoHTTP2.
var ErrHTTP1 = errors.New("gale: the server speaks HTTP/1.1")

// DialTLS makes c, a *gale.HostClient that wasn't used yet, call dial for its connections. dial
// does the handshake, in which it offers protocols (ALPN, RFC 7301), and returns when ctx ends.
// It doesn't change protocols. Package gale sets it.
var DialTLS func(c any, dial func(ctx context.Context, network, addr string, protocols []string) (net.Conn, error))

// Trailered is a stream for the body of a request that is sent over HTTP/2. After its end,
// Trailers returns a *gale.RequestHeader whose trailer section follows the body, instead of that
// of the request.
type Trailered interface {
	Trailers() any
}

// FinalKey is a key for RequestCtx.Value, to be asked once, when the handler has returned or
// timed out: that runs the functions of RequestCtx.BeforeSend, unless Flush has done so.
// The value is the *gale.Response to send, nil if what was sent must be broken off.
type FinalKey struct{}

// AbandonKey is a key for RequestCtx.Value, to be asked once after FinalKey if the handler has
// timed out: what the context holds may be closed from then on. The value is nil.
type AbandonKey struct{}

// LeaveKey is a key for RequestCtx.Value, to be asked once after the response was sent. If the
// context is detached, that separates it from its exchange, closes Done, and leaves it to the
// program. Otherwise it does nothing. The value is nil.
type LeaveKey struct{}

// SentKey is a key for RequestCtx.Value, to be asked once after the response was sent. The value
// is a Sent, nil if there is nothing to call.
type SentKey struct{}

// Sent calls the functions of RequestCtx.AfterSend.
type Sent func(sent int64, err error)

// ErrBodyClosed is wrapped by the errors of reading a request body that the program has
// closed, for example by RequestCtx.CloseRequestBody.
var ErrBodyClosed = errors.New("the request body was closed")

// BodyClosed is an error that wraps ErrBodyClosed, and Done, which is gale.ErrRequestDone.
type BodyClosed struct {
	Text string
	Done error
}

func (e *BodyClosed) Error() string   { return e.Text }
func (e *BodyClosed) Unwrap() []error { return []error{ErrBodyClosed, e.Done} }

// HijackKey is a key for RequestCtx.Value. The value is a Hijack.
type HijackKey struct{}

// Hijack is what RequestCtx.Hijack and RequestCtx.HijackSetNoResponse have set.
type Hijack struct {
	Handler    func(net.Conn) // nil if Hijack was not called
	NoResponse bool
}

// Lend guards a request of a server of another package, if the objects of pools are guarded and
// it is in the sample: see gale.GuardPools. ctx is the *gale.RequestCtx that has the request, and
// handler the gale.RequestHandler that will get it. If it returns true, the context must not be
// used again, and Lapse must be called when the request has ended, unless the context was left to
// other goroutines. Package gale sets both.
var (
	Lend  func(ctx, handler any) bool
	Lapse func(ctx any)
)
