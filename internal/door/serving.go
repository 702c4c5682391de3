package door

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/head"
)

// Of returns the Serving of ctx, a *gale.RequestCtx. It doesn't allocate.
func Of(ctx any) Serving { return Serve(ctx) }

// Serve is Of. Package gale sets it.
var Serve func(ctx any) Serving

// Serving is a RequestCtx for the packages of this module: what those that serve requests with it
// do, and what its methods don't tell. The methods may be called while the handler runs; those that
// end the request say when.
type Serving interface {
	// Head and ResponseHead are what the headers of the request and of the response hold. The
	// request's is read, not changed.
	Head() *head.Request
	ResponseHead() *head.Response
	// Parent returns the context that the context of the request is made from, or nil.
	Parent() context.Context
	// Unhurried returns the context of the request that a shutdown of the server doesn't end.
	Unhurried() *Unhurried
	// Patient is Unhurried for a context that doesn't end either when the client ends only its own
	// side of the connection: such a client may wait for the response (RFC 9112 section 9.6).
	Patient() *Unhurried
	// Conn is RequestCtx.Conn, but the deadlines of the connection stay the server's.
	Conn() net.Conn
	// Peer returns the connection whose RemoteAddr is what RequestCtx.RemoteAddr returns, nil if
	// there is none.
	Peer() net.Conn
	// WriteStall returns the WriteStallTimeout of the request, 0 for none.
	WriteStall() (d time.Duration, known bool)

	// Lend guards the request of a server of another package, if the objects of pools are guarded
	// and it is in the sample: see gale.GuardPools. handler is the gale.RequestHandler that will get
	// it.
	Lend(handler any)
	// Bodiless says that the request was received without a body and a length of it.
	Bodiless()
	// Choose is called once, when the handler has returned or timed out. It runs the functions of
	// RequestCtx.BeforeSend, unless Flush has done so or the response isn't sent, and returns the
	// *gale.Response to send, and what gets the connection after it, or in its place. The response is
	// nil if what was sent must be broken off.
	Choose(of HijackOf) (resp any, h Hijack)
	// Final is Choose for a response that is sent on a connection that was taken over.
	Final() any
	// End ends the request. It is called once, after the response was sent, or when it won't be. It
	// calls the functions of RequestCtx.AfterSend, closes Done, and gives up the context as far as others
	// may use it. Only if it returns true, the context may be used again.
	End(Ending) (free bool)
}

// Ending is how a request has ended.
type Ending struct {
	Sent int64 // bytes of the response's body that were sent
	Err  error // why the response isn't complete, nil if it is
	// Late says that the handler has not returned, or timed out, so that other goroutines may use the
	// context without Detach.
	Late bool
	// Kept says that the context belongs to the program, as far as no other part of it does.
	Kept bool
}

// Unhurried is a context like the one that RequestCtx.Context returns, but a shutdown of
// the server doesn't end it. Cancel ends it earlier.
type Unhurried struct {
	context.Context
	Cancel context.CancelCauseFunc
	// Foreign says that no Server has the connection. Then Context also ends, with any cause, when
	// the client leaves and when the request is over.
	Foreign bool
}

// HijackOf says of a request what decides whether the connection can be taken over.
type HijackOf uint8

// The parts of a HijackOf.
const (
	HijackCloses HijackOf = 1 << iota // the connection ends after the response, because the request asks for that
	HijackOld                         // it is of HTTP/1.0
	HijackTunnel                      // it is a CONNECT to a host
	HijackStream                      // it is an extended CONNECT (RFC 8441): its stream can be taken over
	HijackNever                       // the connection has other requests, so it can't be taken over
)

// Hands is how an exchange hands its connection over.
type Hands uint8

// The values of Hands.
const (
	HandsConn    Hands = iota // the connection, after the response. Upgrade is served by Hijack
	HandsSession              // likewise, but the exchange knows of UpgradeHandlers
	HandsStream               // the stream of an extended CONNECT. HijackNow sends the head of the response
)

// Hijack is what RequestCtx.Hijack and RequestCtx.HijackSetNoResponse have set, if the response of
// the context, as it is now, grants it.
type Hijack struct {
	Handler    func(net.Conn) // nil if Hijack was not called, or if the response refuses it
	NoResponse bool
}
