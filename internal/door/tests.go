package door

// What follows is for tests of this module only: those outside package gale see no unexported
// names. Package gale sets the variables.

// Inside is what a server holds at one moment.
type Inside struct {
	Conns      int  // connections of HTTP/2
	Streams    int  // open streams of HTTP/2
	Unsent     int  // most bytes of HTTP/2 that one connection has to send
	Calm       bool // connections of HTTP/2 hold nothing but streams that are open
	Waiters    int  // requests that hear of a shutdown
	Shutdowns  int  // calls of Shutdown that wait
	Handshakes int  // connections in their TLS handshake
	Listeners  int  // calls of Serve
	Timed      int  // handlers that TimeoutHandler runs
	Addresses  int  // addresses of clients that are counted
	Held       int  // connections that count although no engine has them
}

var (
	// InsideOf returns what s, a *gale.Server, holds.
	InsideOf func(s any) Inside
	// WaitingCalls returns how many calls of c, a *gale.HostClient, wait for a stream of HTTP/2,
	// and ClientStreams how many streams its newest connection has, 0 without one.
	WaitingCalls, ClientStreams func(c any) int
	// Unread returns how many bytes wait in the body stream of a response of HTTP/2.
	Unread func(body any) int
	// BodyIsRead says whether another goroutine reads the body of the request of ctx, a
	// *gale.RequestCtx of HTTP/1.1, and BodyWaits whether that waits for the client.
	BodyIsRead, BodyWaits func(ctx any) bool
	// FSAnswersAll says whether an FS serves files for all methods. It returns what was said before.
	FSAnswersAll func(on bool) (before bool)
	// ClosePipes ends the connections of c, a *gale.PipelineClient, as if they were idle.
	ClosePipes func(c any)
	// LoadOf returns the load of the first client of cc, a *gale.LBClient.
	LoadOf func(cc any) int
	// AutoEngine makes e, a gale.Engine, what EngineAuto means.
	AutoEngine func(e int)
	// GuardByDefault says whether servers and pools without a LifetimeGuard get one, as they do
	// in programs with the race detector. It returns what was said before.
	GuardByDefault func(on bool) (before bool)
	// KeepPools returns a function that gives pools the guard that they have now.
	KeepPools func() (restore func())
	// LoanOf returns the *lifetime.Loan of ctx, a *gale.RequestCtx; nil if it isn't guarded.
	LoanOf func(ctx any) any
	// GuardOf returns the *lifetime.Guard of g, a *gale.LifetimeGuard.
	GuardOf func(g any) any
	// UpgradeByPump is the method Upgrade of ctx, a *gale.RequestCtx, as on exchanges that know
	// only Hijack. f is a gale.UpgradeHandler.
	UpgradeByPump func(ctx, f any)
	// MaxFormMemory is from how many bytes on files of forms are on the disk.
	MaxFormMemory int64
	// WatchLateUses gives what such guards find to f, and guards the pools. It must be called before
	// anything is served.
	WatchLateUses func(f func(use string))
)
