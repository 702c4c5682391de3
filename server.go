package gale

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// Defaults of Server.
const (
	// DefaultConcurrency is the number of connections that a Server serves at a time if
	// Server.Concurrency is 0.
	DefaultConcurrency = 256 * 1024
	// DefaultMaxRequestBodySize is the largest request body in bytes that a Server reads
	// if Server.MaxRequestBodySize is 0 or negative.
	DefaultMaxRequestBodySize = 4 * 1024 * 1024

	// DefaultMaxStreamedFormSize is the largest multipart form, in bytes, that is read
	// from a streamed body if Server.MaxStreamedFormSize is 0.
	DefaultMaxStreamedFormSize = 1 << 30

	// DefaultMaxHeaderBytes is the largest request head, in bytes, if
	// Server.MaxHeaderBytes and Server.ReadBufferSize are 0.
	DefaultMaxHeaderBytes = 64 * 1024
	// DefaultReadHeaderTimeout is how long the head of a request may take to arrive if
	// Server.ReadHeaderTimeout is 0.
	DefaultReadHeaderTimeout = 10 * time.Second
	// DefaultTLSHandshakeTimeout is how long a TLS handshake may take if
	// Server.TLSHandshakeTimeout is 0.
	DefaultTLSHandshakeTimeout = 10 * time.Second
	// DefaultStallTimeout is how long a client may make no progress if
	// Server.ReadStallTimeout or Server.WriteStallTimeout is 0.
	DefaultStallTimeout = 30 * time.Second
)

// RequestHandler answers the request in ctx. It may block.
//
// ctx and everything that its methods return belong to the server. Don't use them after
// the handler has returned, unless the documentation of a method allows it, or Detach was
// called. Handlers run concurrently, each with its own context.
//
// If a handler panics, the client gets 500, the panic is logged with its stack, and the
// process goes on; see Server.PanicHandler and ErrAbortHandler. In fasthttp a panic ends
// the process.
type RequestHandler func(ctx *RequestCtx)

// ServeHandler takes over a connection after the TLS handshake; see Server.NextProto. The
// connection is closed when it returns.
type ServeHandler func(c net.Conn) error

// FormValueFunc returns the value of the form field named key; see Server.FormValueFunc.
type FormValueFunc func(ctx *RequestCtx, key string) []byte

// RequestConfig overrides settings of the Server for one request; see
// Server.RequestStarted and Server.HeaderReceived. A field that is zero keeps the Server's
// setting.
type RequestConfig struct {
	// ReadTimeout replaces Server.ReadTimeout for the body of the request.
	ReadTimeout time.Duration
	// WriteTimeout replaces Server.WriteTimeout for the response.
	WriteTimeout time.Duration
	// ReadStallTimeout and WriteStallTimeout replace Server.ReadStallTimeout for the body
	// of the request and Server.WriteStallTimeout for the response. Negative means no
	// timeout.
	ReadStallTimeout, WriteStallTimeout time.Duration
	// MaxRequestBodySize replaces Server.MaxRequestBodySize. If it is negative, it is
	// ignored, as 0 is. From RequestStarted it also limits a streamed body: one whose
	// declared length is larger is answered with 413 before the handler runs, and reading
	// one without a declared length fails with ErrBodyTooLarge after that many bytes. The
	// handler may replace that by RequestCtx.LimitRequestBody.
	MaxRequestBodySize int
	// StreamRequestBody makes the server call the handler before the body has arrived;
	// see Server.StreamRequestBody.
	StreamRequestBody bool
	// RefuseStatus refuses the request with a status from 400 to 599, before its body is
	// read and before a client that sends "Expect: 100-continue" is asked for it. Any
	// other status becomes 500. The answer is made as for other requests that the server
	// refuses, see Server.ErrorHandler: ErrorStatus finds RefuseStatus in the error, and
	// the error for 413 is ErrBodyTooLarge. Without an ErrorHandler, the answer to 503 has
	// "Retry-After: 1". The connection is closed afterwards, unless it is HTTP/2.
	RefuseStatus int
}

// Server serves HTTP/1.0, HTTP/1.1 and HTTP/2 (RFC 9110, RFC 9112, RFC 9113).
//
// The zero value with a Handler is ready for use. The defaults of its limits are safe on
// the open internet, but by default ReadTimeout, WriteTimeout and IdleTimeout are off:
// set them there. Don't change fields once the server serves, and don't copy a Server.
// Methods are safe for concurrent use.
type Server struct {
	noCopy noCopy

	// Handler answers requests.
	Handler RequestHandler

	// ErrorHandler answers a request that the server could not read; err says why. The
	// connection is closed after the answer. If the head could not be read, ctx.Request
	// is empty, and err wraps a *RequestError, which has what a log needs. Otherwise
	// ctx.Request has the whole head, and no body.
	//
	// Possible errors are ErrGetOnly, ErrBodyTooLarge, *ErrSmallBuffer for a head that is
	// too large, io.ErrUnexpectedEOF, errors with a Timeout method, and protocol errors.
	// By default the answer has the status that ErrorStatus returns, such as 400, 408,
	// 413, 414, 417, 431, 501 or 505, and a constant text. If the request's Accept header
	// prefers JSON to text, the media type is application/problem+json (RFC 9457).
	//
	// ErrorHandler also writes the body of the response for two other errors:
	// *HandlerError, from RequestCtx.Fail, and *PanicError, from a handler that panicked,
	// if PanicHandler is not set. The status of these responses is already set. fasthttp
	// has neither error. So ErrorHandler is the one place that decides what errors look
	// like. In it, call RequestCtx.Error only if headers that were set before may be
	// dropped. If it panics, the client gets a plain 500.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called with the head of a request before its body is read, and
	// may return limits for this request. It must not change header. The header is
	// borrowed: it is valid until the function returns.
	//
	// header.RequestURI() is the raw target, with the query. If a limit depends on the
	// path, compare the normalized path (URI.Parse), because /a/../b reaches the handler
	// of /b.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// RequestStarted is called with the context of a request when its head has arrived,
	// before its body is read, and may return limits for this request or refuse it. It is
	// called for each request whose head could be read, after HeaderReceived, and before
	// ContinueHandler and ExpectHandler. Router.Attach of package router sets it, for limits
	// of routes.
	//
	// It may read the request, set user values, and call BeforeSend and AfterSend. It may
	// set the response: the handler finds that there, and a refusal drops it. It shouldn't
	// block: other requests of the connection may wait for it. If it sends the response
	// itself, by Flush, or by one of the TimeoutError methods, the handler isn't called. The
	// server's deadlines may replace those that it sets on ctx: return timeouts instead. ctx
	// is borrowed, as in a handler. If it panics, the connection (of HTTP/2, the stream) is
	// broken off.
	//
	// A net/http server that calls the handler (package adaptor) doesn't call it.
	RequestStarted func(ctx *RequestCtx) RequestConfig

	// ContinueHandler decides on a request with `Expect: 100-continue`
	// (RFC 9110 section 10.1.1). If it returns false, the answer is 417 and
	// the connection is closed. By default such requests are accepted. The header is
	// borrowed: it is valid until the function returns.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler decides like ContinueHandler, by the status code that it returns:
	// StatusContinue accepts the request; any other code becomes the answer. If both are
	// set, only ExpectHandler is called. It may set the response: the handler finds that
	// there, except Server if the server has a name, and a refusal drops it.
	ExpectHandler func(ctx *RequestCtx) int

	// ConnState is called when a connection changes its state. It must
	// neither block nor close the connection.
	ConnState func(net.Conn, ConnState)

	// BeforeSend is called before each response is sent, like a function given to
	// RequestCtx.BeforeSend. It also runs for responses that the server makes without
	// calling a handler, such as 400 for a malformed head, 413 and 431. It runs after the
	// functions given to RequestCtx.BeforeSend. It doesn't run for connections that are
	// refused before any request was read, such as those beyond Concurrency.
	BeforeSend func(ctx *RequestCtx)

	// PanicHandler answers a request whose handler panicked; recovered is the value of
	// the panic. It is called after the response was reset and its status was set to 500.
	// The connection is closed after the answer. The panic is logged in any case. If
	// PanicHandler is nil, ErrorHandler is called, if it is set.
	PanicHandler func(ctx *RequestCtx, recovered any)

	// BaseContext, if set, is called for each connection of ln (nil for ServeConn). It
	// returns the parent of the connection's context: RequestCtx.Value also finds the
	// values of that context.
	BaseContext func(ln net.Listener) context.Context

	// ConnContext, if set, derives the context of one connection from the one that
	// BaseContext returned.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// TrustedProxies are the networks of the proxies in front of the server.
	// RequestCtx.ClientIP trusts what these proxies say about the client's address. By
	// default there are none. Write IPv4 prefixes in IPv4 form, not as IPv4-mapped IPv6;
	// invalid prefixes contain no address. A proxy in this list must set or extend
	// X-Forwarded-For: if it passes the header on unchanged, a client can put any address
	// into it.
	TrustedProxies []netip.Prefix

	// TrustUNIXProxies also trusts proxies that connect by a UNIX socket: they have no
	// address that could be in TrustedProxies.
	TrustUNIXProxies bool

	// TLSConfig is the configuration for the methods with TLS in their names. They use a
	// clone of it. If MinVersion is 0, the oldest version served is TLS 1.2.
	TLSConfig *tls.Config

	// FormValueFunc replaces what RequestCtx.FormValue does. NetHttpFormValueFunc is one
	// that works like net/http.
	FormValueFunc FormValueFunc

	// Logger receives the errors of connections and what is written to RequestCtx.Logger.
	// If it is nil, they go to Slog, or, if that is nil too, to standard error. A panic goes
	// to Logger, and also to Slog, or to standard error if that is nil: a Logger may write
	// nothing, as that of a framework does.
	Logger Logger

	// Slog receives what Logger would, as structured records, if Logger is nil. Errors of
	// connections, which are mostly mistakes of clients, have level Info, and everything
	// else that Logger would receive has level Error. Slog also gets a record for each
	// listener when it is served, with its engine: of level Info, or Warn if EngineEvent
	// was set and can't serve it. Records about a connection have the attributes while,
	// remote, local, error and, for a head that was refused, request. Records about a
	// panic have error and stack. If a handler or a function of BeforeSend panicked, and
	// SecureErrorLogMessage is not set, they also have method, path and remote.
	Slog *slog.Logger

	// Name is the value of the Server header of responses, "gale" if empty.
	Name string

	// Concurrency is the highest number of connections served at a time,
	// DefaultConcurrency if 0. Beyond it, idle connections are closed to make room. If no
	// connection is idle, a new one is answered with 503 and closed.
	Concurrency int

	// MaxConnsPerIP is the highest number of connections of one IP address,
	// unlimited if 0. One more is answered with 429 and closed.
	MaxConnsPerIP int

	// MaxRequestsPerConn is the number of requests after which a connection
	// is closed, unlimited if 0.
	MaxRequestsPerConn int

	// ReadBufferSize is the largest request head in bytes if MaxHeaderBytes is 0: in
	// fasthttp, programs set that limit with it. It doesn't change the size of buffers:
	// they start at 4 KiB and grow as needed.
	ReadBufferSize int

	// WriteBufferSize has no effect: answers to pipelined requests are
	// gathered up to 16 KiB and bodies are not copied through a buffer.
	WriteBufferSize int

	// MaxHeaderBytes is the largest request head in bytes. A larger one is answered with
	// 431. A request target that is longer than a quarter of it, or than 8 KiB if that is
	// more, is answered with 414. If MaxHeaderBytes is 0, ReadBufferSize is the limit; if
	// that is 0 too, DefaultMaxHeaderBytes.
	MaxHeaderBytes int

	// MaxHeaderFields is the highest number of header lines in a request, 512 if 0. A
	// request with more is answered with 431.
	MaxHeaderFields int

	// ReadHeaderTimeout limits the time from the first byte of a request to the end of
	// its head. For the first request of a connection, the time begins when the
	// connection opens. If 0, it is DefaultReadHeaderTimeout; negative means no timeout.
	ReadHeaderTimeout time.Duration

	// TLSHandshakeTimeout limits the time of a TLS handshake. If 0, it is
	// DefaultTLSHandshakeTimeout; negative means no timeout. If ReadTimeout is set and
	// shorter, it limits handshakes instead.
	TLSHandshakeTimeout time.Duration

	// ReadTimeout limits the time from the first byte of a request to the end of its
	// body. By default there is no such timeout.
	ReadTimeout time.Duration

	// WriteTimeout limits the time of each write of a response, beginning when the
	// handler returns. A write may take up to a quarter longer than that. A file or a
	// stream may take longer in total, as long as the client takes some of it within each
	// period. By default there is no such timeout.
	WriteTimeout time.Duration

	// ReadStallTimeout is how long a client may go without sending a byte of a request
	// body for which the server waits. Each byte restarts the timeout. When it expires,
	// the server answers 408, or, if the body is streamed, Read returns ErrTimeout. The
	// connection is closed after the response. If 0, it is DefaultStallTimeout; negative
	// means no timeout. ReadTimeout is separate: it limits the request as a whole.
	ReadStallTimeout time.Duration

	// WriteStallTimeout is how long a client may go without taking a byte of what the
	// server sends: a body, a stream, a file, or what Flush sends. Each byte that it
	// takes restarts the timeout; bytes in the socket's buffer count as taken. When it
	// expires, the connection is closed, and the blocked write returns an error. If 0, it
	// is DefaultStallTimeout; negative means no timeout. WriteTimeout and
	// RequestCtx.SetWriteDeadline apply too: the earliest of the three counts. Hijacked
	// connections have no such timeout.
	WriteStallTimeout time.Duration

	// IdleTimeout limits how long a connection may wait for its next request. If 0, it is
	// ReadTimeout; if that is 0 too, which is the default, there is no timeout.
	IdleTimeout time.Duration

	// MaxKeepaliveDuration has no effect.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	// MaxIdleWorkerDuration is how long a goroutine whose connection has ended
	// waits for another one, 10 seconds if 0.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalivePeriod is the period of TCP keep-alive probes. If 0, it is the
	// system's.
	TCPKeepalivePeriod time.Duration

	// MaxRequestBodySize is the largest request body in bytes. A larger one is answered
	// with 413. If 0 or negative, it is DefaultMaxRequestBodySize.
	MaxRequestBodySize int

	// MaxStreamedFormSize is the largest multipart form, in bytes, that
	// RequestCtx.MultipartForm and the similar methods read from a streamed body (see
	// StreamRequestBody). MaxRequestBodySize doesn't apply to such a form, because its
	// files are stored in temporary files. A larger form gives ErrBodyTooLarge, and the
	// temporary files are removed. If 0, the limit is DefaultMaxStreamedFormSize, 1 GiB;
	// negative means no limit. A limit set by RequestCtx.LimitRequestBody or
	// MultipartFormWithLimit is used instead of this one.
	MaxStreamedFormSize int

	// SleepWhenConcurrencyLimitsExceeded is how long the server stops accepting after it
	// refused a connection because of Concurrency. By default it doesn't stop.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// DrainTime is how long Shutdown and ShutdownWithContext go on serving before they
	// stop the server. During that time every response says `Connection: close` (RFC 9112
	// section 9.6), so that clients and load balancers leave before the server stops. It
	// should be longer than the pause that clients make between requests, and longer than
	// the interval of a load balancer's health checks; see Draining. If it is 0 (the
	// default) or negative, the server stops at once.
	DrainTime time.Duration

	// CertReloadInterval is how often the server checks whether certificate files have
	// changed, so that renewed certificates are served without a restart. It checks
	// during handshakes. A file has changed if its size, its modification time or the file
	// itself is another one. If files can't be used, their old certificate stays, and they
	// are read again at each check. Logger gets the reason, and again once an hour, and a
	// line when they can be used again. If CertReloadInterval is 0, only
	// ReloadCertificates reads the files again.
	CertReloadInterval time.Duration

	// DisableKeepalive closes connections after their first response.
	DisableKeepalive bool

	// TCPKeepalive turns on TCP keep-alive probes for connections accepted by the
	// ListenAndServe methods.
	TCPKeepalive bool

	// ReduceMemoryUsage lets idle connections wait without a buffer even if they are
	// neither plain sockets nor TLS connections, at the cost of one more read for each
	// request. Sockets and TLS connections always wait without a buffer.
	ReduceMemoryUsage bool

	// LazyRequestTime makes RequestCtx.Time return the time of its first call. By default
	// it returns the time at which the last bytes of the request were read. This setting
	// has no effect on speed.
	LazyRequestTime bool

	// GetOnly refuses requests with other methods than GET and HEAD.
	GetOnly bool

	// DisablePreParseMultipartForm has an effect only in programs that import Gale under
	// fasthttp's name (compat/fasthttp). There a multipart form is parsed before the
	// handler is called, if its body is in memory and has no content coding. A broken
	// form is refused as other malformed requests are: ErrorHandler is called, or the
	// response is a 400, and the handler isn't called. If DisablePreParseMultipartForm is
	// set, and in all other programs, a form is parsed when the handler asks for it, and
	// the handler gets the error.
	DisablePreParseMultipartForm bool

	// LogAllErrors makes the server also log common errors that clients cause: resets,
	// closed connections and timeouts.
	LogAllErrors bool

	// SecureErrorLogMessage keeps everything that clients send out of the log.
	SecureErrorLogMessage bool

	// DisableHeaderNamesNormalizing keeps the case of header names of requests and
	// responses as it is.
	DisableHeaderNamesNormalizing bool

	// NoDefaultServerHeader leaves the Server header out of responses that don't set it.
	NoDefaultServerHeader bool

	// NoDefaultDate leaves the Date header out of responses.
	NoDefaultDate bool

	// NoDefaultContentType leaves the Content-Type header out of responses that don't set
	// it.
	NoDefaultContentType bool

	// KeepHijackedConns leaves connections open when their HijackHandler returns. The
	// program must then close them.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect: while the server shuts down, responses always carry
	// `Connection: close` (RFC 9112 section 9.6).
	CloseOnShutdown bool

	// StreamRequestBody makes the server call the handler as soon as the head of a
	// request has arrived. RequestCtx.RequestBodyStream then reads the body as it
	// arrives; only one buffer of it is in memory at a time. Methods that return the
	// whole body read up to MaxRequestBodySize or DefaultMaxRequestBodySize, whichever is
	// more. If the handler leaves up to 256 KiB of the body unread, the server discards
	// them; if it leaves more, the connection (of HTTP/2, the stream) is closed.
	//
	// If the whole body could not be read, PostBody, PostArgs and FormValue return
	// nothing. If the handler then calls neither Request.BodyError nor a method that
	// returns the error, the server drops its response and answers 413, 408 or 400, or
	// calls ErrorHandler if it is set. In fasthttp the body is the text of the error.
	StreamRequestBody bool

	// MergeTrailers lets Peek and PeekAll of RequestHeader find the trailers of a request
	// body (chunked, or of HTTP/2) after the body was read, as in fasthttp. They find
	// only trailers that the request declares in its Trailer header and whose names are
	// not in the header already. A request whose trailers have a name that is forbidden
	// there (RFC 9110 section 6.5.1), such as names for framing, routing, authentication
	// and cookies, is answered with 400 in any case.
	//
	// They aren't found if a client has sent the body on: then the program may use the header
	// while it does so.
	//
	// By default only RequestCtx.Trailers and RequestCtx.PeekTrailer find trailers. A
	// proxy or another check that decides by a request's header may not have looked at
	// them.
	MergeTrailers bool

	// ListenConfig has options for the sockets that the ListenAndServe methods listen on:
	// sharing the address, a longer queue, and more. ListenAndServeUNIX uses only
	// Backlog. With the zero value, sockets are as net.Listen makes them.
	ListenConfig ListenConfig

	// Engine chooses how connections are served. The default, EngineAuto, serves all
	// connections with few goroutines where the system and the listener allow it. Not in
	// fasthttp, which uses one goroutine per connection, as EngineBlock does.
	Engine Engine

	// EventLoops is the number of pollers of EngineEvent. Each has its own goroutines. If
	// 0, there is one poller for each four processors: the goroutines of one poller can
	// use several processors.
	EventLoops int

	// MaxRunningHandlers limits how many requests EngineEvent serves at a time; each uses
	// a goroutine while it is served. Other requests wait for their turn. By default only
	// Concurrency, which counts connections, limits them. With a limit, handlers that
	// wait for other requests to this server may wait forever. The limit doesn't apply to
	// HTTP/2 requests, because they may wait for data that only their own connection can
	// bring: HTTP2.MaxStreams limits them, for each connection.
	MaxRunningHandlers int

	// GuardLifetimes makes the server find code that uses a request after its handler has
	// returned: a context that a goroutine keeps, or bytes of a request in a map. It also
	// guards the pools of AcquireRequest and the similar functions, unless GuardPools did.
	// If it is nil, the default, requests are not guarded. In programs that are built with
	// the race detector (go build -race), nil means that each request is guarded, without
	// pages, and late uses are logged, or panic if the environment has GALE_GUARD=panic.
	GuardLifetimes *LifetimeGuard

	// HTTP2 turns HTTP/2 (RFC 9113) on or off and has its limits. The zero value offers
	// it to clients of TLS listeners.
	HTTP2 HTTP2Config

	engine    engine.Block
	event     engine.Event
	run       serverRun
	direct    atomic.Pointer[listening] // of ServeConn
	stats     serverStats
	tls       serverTLS
	protocols []protocol // not changed while it serves
	perIP     perIPConns

	workers workers
}

// serverRun has the parts of a server that start and stop with it.
type serverRun struct {
	mu         sync.Mutex
	listeners  map[*listening]struct{}
	begun      chan struct{} // closed when the next listener is in listeners; nil if no caller waits
	handshakes map[*tls.Conn]handshaking
	waiters    map[*requestDone]struct{} // requests that asked for Done
	timed      atomic.Int32              // handlers that TimeoutHandler runs
	shutdowns  int                       // calls of Shutdown that wait
	drained    chan struct{}             // closed when the last connection ends; nil if no caller waits
	drain      *drain                    // the one that runs, see DrainTime
	readWhole  atomic.Int32              // how often it was logged that a streamed body was read whole
	h2         h2Sessions
	taken      map[*taken]struct{} // see countTaken
	closed     uint32              // the epoch that began when Close ended the connections before it

	lenderMu sync.Mutex   // of lender; after mu
	lender   *serverGuard // of GuardLifetimes, made when the server begins to serve
}

// ConnState is the state of a connection; see Server.ConnState.
type ConnState int

// The states of a connection.
const (
	// StateNew: the connection was accepted and should send a request.
	StateNew ConnState = iota
	// StateActive: bytes of a request have arrived.
	StateActive
	// StateIdle: a request was answered, and the connection waits for the next one.
	StateIdle
	// StateHijacked: a HijackHandler has taken the connection over. This is the last
	// state.
	StateHijacked
	// StateClosed: the connection is closed. This is the last state.
	StateClosed
)

var connStateNames = [...]string{"new", "active", "idle", "hijacked", "closed"}

// String returns the state's name in lower case.
func (c ConnState) String() string {
	if c < 0 || int(c) >= len(connStateNames) {
		return ""
	}
	return connStateNames[c]
}

// GetCurrentConcurrency returns the number of connections being served.
func (s *Server) GetCurrentConcurrency() uint32 { return uint32(s.engine.Len() + s.event.Len()) }

// GetOpenConnectionsCount returns the number of open connections: see Stats.OpenConnections.
func (s *Server) GetOpenConnectionsCount() int32 { return s.stats.open.Load() }

// GetRejectedConnectionsCount returns the number of connections that were refused because
// of Concurrency or MaxConnsPerIP.
func (s *Server) GetRejectedConnectionsCount() uint32 { return s.stats.rejected.Load() }

// GetPanicsCount returns the number of panics in user code that the server has recovered
// from: in handlers, and in other functions that it calls, such as hooks.
func (s *Server) GetPanicsCount() uint64 { return s.stats.panics.Load() }

func (s *Server) concurrency() int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return DefaultConcurrency
}

func (s *Server) maxBodySize() int {
	if s.MaxRequestBodySize > 0 {
		return s.MaxRequestBodySize
	}
	return DefaultMaxRequestBodySize
}

func (s *Server) maxHeadBytes() int {
	switch {
	case s.MaxHeaderBytes > 0:
		return s.MaxHeaderBytes
	case s.ReadBufferSize > 0:
		return s.ReadBufferSize
	}
	return DefaultMaxHeaderBytes
}

// headTimeout returns the timeout for a request head, 0 for none.
func (s *Server) headTimeout() time.Duration {
	d := s.ReadHeaderTimeout
	switch {
	case d == 0:
		d = DefaultReadHeaderTimeout
	case d < 0:
		d = 0
	}
	if s.ReadTimeout > 0 && (d == 0 || s.ReadTimeout < d) {
		d = s.ReadTimeout
	}
	return d
}

// stallTimeout returns the timeout for the setting d (ReadStallTimeout or
// WriteStallTimeout), 0 for none.
func stallTimeout(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultStallTimeout
	}
	return max(d, 0)
}

func (s *Server) idleTimeout() time.Duration {
	if s.IdleTimeout != 0 {
		return s.IdleTimeout
	}
	return s.ReadTimeout
}

// serverName returns the Server header of responses that don't set it, "" for none.
func (s *Server) serverName() string {
	switch {
	case s.NoDefaultServerHeader:
		return ""
	case s.Name != "":
		return s.Name
	}
	return defaultServerName
}
