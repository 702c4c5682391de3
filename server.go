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
	// DefaultConcurrency is the number of connections that a Server serves at
	// a time where Server.Concurrency is 0.
	DefaultConcurrency = 256 * 1024
	// DefaultMaxRequestBodySize is the largest request body in bytes that a
	// Server reads where Server.MaxRequestBodySize is 0 or less.
	DefaultMaxRequestBodySize = 4 * 1024 * 1024

	// DefaultMaxStreamedFormSize is the largest multipart form in bytes that is
	// read from a streamed body where Server.MaxStreamedFormSize is 0. Not in
	// fasthttp.
	DefaultMaxStreamedFormSize = 1 << 30

	// DefaultMaxHeaderBytes is the largest request head in bytes where
	// Server.MaxHeaderBytes and Server.ReadBufferSize are 0. Not in fasthttp.
	DefaultMaxHeaderBytes = 64 * 1024
	// DefaultReadHeaderTimeout bounds the arrival of a request head where
	// Server.ReadHeaderTimeout is 0. Not in fasthttp.
	DefaultReadHeaderTimeout = 10 * time.Second
	// DefaultTLSHandshakeTimeout bounds a TLS handshake where
	// Server.TLSHandshakeTimeout is 0. Not in fasthttp.
	DefaultTLSHandshakeTimeout = 10 * time.Second
	// DefaultStallTimeout is how long a client may make no progress where
	// Server.ReadStallTimeout or Server.WriteStallTimeout is 0. Not in fasthttp.
	DefaultStallTimeout = 30 * time.Second
)

// RequestHandler answers the request in ctx. It may block.
//
// ctx and everything that it returns belong to the server: nothing of it may be
// used after the handler has returned, unless the documentation of a method
// says so. Handlers run concurrently, each with a context of its own.
//
// A panic in a handler is answered with 500 and logged with its stack, and
// the process lives; see Server.PanicHandler and ErrAbortHandler. fasthttp
// lets it end the process.
type RequestHandler func(ctx *RequestCtx)

// ServeHandler takes over a connection after the TLS handshake, see
// Server.NextProto. The connection is closed when it returns.
type ServeHandler func(c net.Conn) error

// FormValueFunc finds the value of the form field key, see
// Server.FormValueFunc.
type FormValueFunc func(ctx *RequestCtx, key string) []byte

// RequestConfig overrides settings of the Server for one request, see
// Server.HeaderReceived. Zero fields leave them as they are.
type RequestConfig struct {
	// ReadTimeout replaces Server.ReadTimeout for the body of the request.
	ReadTimeout time.Duration
	// WriteTimeout replaces Server.WriteTimeout for the response.
	WriteTimeout time.Duration
	// ReadStallTimeout and WriteStallTimeout replace those of Server for the
	// body of the request and for the response; negative values mean no such
	// bound. Not in fasthttp.
	ReadStallTimeout, WriteStallTimeout time.Duration
	// MaxRequestBodySize replaces Server.MaxRequestBodySize; negative values
	// count as 0.
	MaxRequestBodySize int
	// StreamRequestBody calls the handler before the body has arrived, see
	// Server.StreamRequestBody. Not in fasthttp.
	StreamRequestBody bool
}

// Server serves HTTP/1.0 and HTTP/1.1 (RFC 9110, RFC 9112).
//
// The zero value with a Handler is ready for use, with limits that are safe on
// the open internet. Fields must not change once the server serves; a Server
// must not be copied. Methods are safe for concurrent use.
type Server struct {
	noCopy noCopy

	// Handler answers requests.
	Handler RequestHandler

	// ErrorHandler answers a request that could not be read, err being why.
	// The connection is closed after it. If the head could not be read, the
	// request is empty, and err has a *RequestError in its chain, with what a log
	// needs; otherwise it has its whole head, and no body.
	//
	// Among the errors are ErrGetOnly, ErrBodyTooLarge, *ErrSmallBuffer for a
	// head that is too large, io.ErrUnexpectedEOF, errors with a Timeout
	// method, and protocol errors. By default the answer has the status
	// that fits, such as 400, 408, 413, 414, 417, 431, 501 or 505: ErrorStatus
	// returns it. The text is constant, and of the media type
	// application/problem+json (RFC 9457) where the Accept field of the request
	// prefers JSON to text.
	//
	// It also makes the body of responses to two further errors, whose status stays
	// what it is: *HandlerError of RequestCtx.Fail, and *PanicError of a handler that
	// panicked, if PanicHandler is not set. fasthttp knows neither. So it is the one
	// place that says what errors look like. Call RequestCtx.Error only where fields
	// that were set before may be dropped.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called with the head of a request before its body is
	// read, and may set limits for this request. header must not be changed
	// and is valid during the call.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides on a request with `Expect: 100-continue`
	// (RFC 9110 section 10.1.1). If it returns false, the answer is 417 and
	// the connection is closed. By default such requests are accepted.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler decides like ContinueHandler, by the status code it
	// returns: StatusContinue accepts, any other is the answer. It takes
	// precedence over ContinueHandler. It must not change the response.
	ExpectHandler func(ctx *RequestCtx) int

	// ConnState is called when a connection changes its state. It must
	// neither block nor close the connection.
	ConnState func(net.Conn, ConnState)

	// BeforeSend is called as a function that RequestCtx.BeforeSend was given, for
	// every response, also to requests that no handler saw: 400 for a malformed head, 413,
	// 431 and the like. It runs after those of the request. It doesn't run for
	// connections that are refused before anything of a request was read, such as those
	// beyond Concurrency. Not in fasthttp.
	BeforeSend func(ctx *RequestCtx)

	// PanicHandler answers a request whose handler panicked with the value
	// recovered, after the response was reset and its status was set to 500.
	// The connection is closed after it, and the panic is logged anyway. Without it
	// ErrorHandler is asked, if there is one. Not in fasthttp.
	PanicHandler func(ctx *RequestCtx, recovered any)

	// BaseContext, if set, is called for each connection and returns the
	// context that is the parent of all connections of ln (nil for ServeConn): what its
	// Value knows, RequestCtx.Value knows too. Not in fasthttp.
	BaseContext func(ln net.Listener) context.Context

	// ConnContext, if set, derives the context of one connection from that
	// of BaseContext. Not in fasthttp.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// TrustedProxies are the networks of the proxies in front of the server, whose word on
	// the client's address RequestCtx.ClientIP takes. By default there are none. IPv4 must
	// not be in IPv6 form; invalid prefixes contain nothing. A proxy in this list must
	// set or extend X-Forwarded-For itself: what it passes on as it came could be anything.
	// Not in fasthttp.
	TrustedProxies []netip.Prefix

	// TrustUNIXProxies takes the peers on UNIX sockets for trusted proxies, too: they have
	// no address that could be in TrustedProxies. Not in fasthttp.
	TrustUNIXProxies bool

	// TLSConfig is the configuration for the methods with TLS in their names.
	// They use a clone of it. Where MinVersion is 0, TLS 1.2 is the oldest
	// version served.
	TLSConfig *tls.Config

	// FormValueFunc replaces what RequestCtx.FormValue does.
	// NetHttpFormValueFunc is one that does as net/http.
	FormValueFunc FormValueFunc

	// Logger takes the errors of connections and what RequestCtx.Logger
	// writes. By default they go to Slog, or to the standard error.
	Logger Logger

	// Slog takes what Logger would, as structured records, if Logger is nil:
	// errors of connections, which are mostly mistakes of clients, with level
	// Info, all else with level Error. Records of a connection have the attributes
	// while, remote, local, error and, for a head that is refused, request. Those of a
	// panic have error and stack and, if a handler panicked, method, path and remote,
	// unless SecureErrorLogMessage is set.
	// Not in fasthttp.
	Slog *slog.Logger

	// Name is sent as the Server field of responses, "gale" if empty.
	Name string

	// Concurrency is the highest number of connections served at a time,
	// DefaultConcurrency if 0. Beyond it idle connections are closed to make
	// room; where none is idle, new ones are answered with 503 and closed.
	Concurrency int

	// MaxConnsPerIP is the highest number of connections of one IP address,
	// unlimited if 0. One more is answered with 429 and closed.
	MaxConnsPerIP int

	// MaxRequestsPerConn is the number of requests after which a connection
	// is closed, unlimited if 0.
	MaxRequestsPerConn int

	// ReadBufferSize, where it is set and MaxHeaderBytes is not, is the
	// largest request head in bytes, for the sake of programs that set it for
	// that. Buffers start at 4 KiB and grow as needed, whatever it says.
	ReadBufferSize int

	// WriteBufferSize has no effect: answers to pipelined requests are
	// gathered up to 16 KiB and bodies are not copied through a buffer.
	WriteBufferSize int

	// MaxHeaderBytes is the largest request head in bytes, answered with 431
	// (a target beyond a quarter of it, or 8 KiB if that is more, with 414). If 0,
	// ReadBufferSize counts, and if that is 0 too, DefaultMaxHeaderBytes. Not in
	// fasthttp.
	MaxHeaderBytes int

	// MaxHeaderFields is the highest number of field lines in a request head,
	// answered with 431; 512 if 0. Not in fasthttp.
	MaxHeaderFields int

	// ReadHeaderTimeout bounds the time from the first byte of a request (for
	// the first one from the opening of the connection) to the end of its
	// head. If 0 it is DefaultReadHeaderTimeout; negative means none. Not in
	// fasthttp.
	ReadHeaderTimeout time.Duration

	// TLSHandshakeTimeout bounds TLS handshakes. If 0 it is
	// DefaultTLSHandshakeTimeout; negative means none. Not in fasthttp.
	TLSHandshakeTimeout time.Duration

	// ReadTimeout bounds the time from the first byte of a request to the end
	// of its body. By default there is no such bound.
	ReadTimeout time.Duration

	// WriteTimeout bounds (with up to a quarter more) each write of a response, from the
	// return of the handler on. A file or a stream may take longer, as long as the client
	// takes some of it within the time. By default there is no such bound.
	WriteTimeout time.Duration

	// ReadStallTimeout is how long a client may send nothing of the body of its
	// request while the server waits for it; any byte restarts it. A body that is
	// collected is answered with 408, the Read of a streamed one returns
	// ErrTimeout, and the connection is closed after the response. If 0 it is
	// DefaultStallTimeout; negative means no such bound. ReadTimeout bounds the
	// request as a whole beside it. Not in fasthttp.
	ReadStallTimeout time.Duration

	// WriteStallTimeout is how long a client may take nothing of what is sent to
	// it, be it a body, a stream, a file or what Flush sends; any byte that it
	// takes restarts it. Then the connection is closed, and what waits for the
	// write gets an error. If 0 it is DefaultStallTimeout; negative means no such
	// bound. WriteTimeout and RequestCtx.SetWriteDeadline hold beside it: the
	// earliest counts. What a socket's buffer holds counts as taken. It is not for
	// hijacked connections. Not in fasthttp.
	WriteStallTimeout time.Duration

	// IdleTimeout bounds the wait for the next request on a connection. If 0,
	// ReadTimeout counts; if that is 0 too, as by default, there is no such bound.
	IdleTimeout time.Duration

	// MaxKeepaliveDuration has no effect.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	// MaxIdleWorkerDuration is how long a goroutine whose connection has ended
	// waits for another one, 10 seconds if 0.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalivePeriod is the period of TCP keep-alive probes, that of the
	// system if 0.
	TCPKeepalivePeriod time.Duration

	// MaxRequestBodySize is the largest request body in bytes, answered with
	// 413; DefaultMaxRequestBodySize if 0 or less.
	MaxRequestBodySize int

	// MaxStreamedFormSize is the largest multipart form in bytes that
	// RequestCtx.MultipartForm and the similar methods read from a streamed body (see
	// StreamRequestBody), for which MaxRequestBodySize doesn't hold: its files
	// go to temporary files. Beyond it is ErrBodyTooLarge, and the files are
	// removed. DefaultMaxStreamedFormSize, 1 GiB, if 0; negative means no
	// limit. What RequestCtx.LimitRequestBody or MultipartFormWithLimit say
	// counts instead. Not in fasthttp.
	MaxStreamedFormSize int

	// SleepWhenConcurrencyLimitsExceeded is how long accepting pauses after a
	// connection was refused for Concurrency. By default it doesn't.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// DrainTime is how long Shutdown and ShutdownWithContext go on to serve before
	// they end the server, while every answer says `Connection: close` (RFC 9112
	// section 9.6): clients and load balancers learn of the end before a request of
	// theirs meets it. It should be longer than a client rests between requests, and
	// than a load balancer takes to look at the server's health, see Draining. By
	// default, and if it is negative, they end it at once. Not in fasthttp.
	DrainTime time.Duration

	// CertReloadInterval is how often certificate files are looked at again
	// when handshakes ask for them, so that renewed certificates are served
	// without a restart. If 0 they are read again by ReloadCertificates only.
	// Not in fasthttp.
	CertReloadInterval time.Duration

	// DisableKeepalive closes connections after their first response.
	DisableKeepalive bool

	// TCPKeepalive turns on TCP keep-alive probes for connections accepted by the
	// ListenAndServe methods.
	TCPKeepalive bool

	// ReduceMemoryUsage makes idle connections that are no plain sockets wait
	// without a buffer as well, at the cost of an extra read for each request.
	// Sockets and TLS connections always do.
	ReduceMemoryUsage bool

	// LazyRequestTime has no effect on speed: RequestCtx.Time returns the
	// time at which the request's last bytes were read. If set, it is the
	// time of the first call of RequestCtx.Time instead.
	LazyRequestTime bool

	// GetOnly refuses requests with other methods than GET and HEAD.
	GetOnly bool

	// DisablePreParseMultipartForm has no effect on memory: a multipart
	// form is parsed when it is asked for, whatever this says.
	DisablePreParseMultipartForm bool

	// LogAllErrors logs also what clients do all the time: resets, closed
	// connections and time-outs.
	LogAllErrors bool

	// SecureErrorLogMessage keeps what clients sent out of the log.
	SecureErrorLogMessage bool

	// DisableHeaderNamesNormalizing leaves field names of requests and
	// responses in the case they have.
	DisableHeaderNamesNormalizing bool

	// NoDefaultServerHeader leaves the Server field out of responses that
	// don't set it.
	NoDefaultServerHeader bool

	// NoDefaultDate leaves the Date field out of responses.
	NoDefaultDate bool

	// NoDefaultContentType leaves the Content-Type field out of responses
	// that don't set it.
	NoDefaultContentType bool

	// KeepHijackedConns leaves connections open when their HijackHandler
	// returns: the program must close them.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect: while the server shuts down, responses
	// carry `Connection: close` anyway (RFC 9112 section 9.6).
	CloseOnShutdown bool

	// StreamRequestBody calls the handler once the head of a request has
	// arrived; RequestCtx.RequestBodyStream reads the body as it comes, with
	// no more of it in memory than fits a buffer. Asking for the body as a
	// whole reads up to MaxRequestBodySize or, if that is more,
	// DefaultMaxRequestBodySize. What the handler leaves unread is discarded
	// up to 256 KiB; beyond that the connection is closed.
	//
	// A handler that gets an empty body because the whole could not be read (PostBody,
	// PostArgs, FormValue) and asks neither Request.BodyError nor a method that
	// returns the error is answered for as if it had not run: with 413, 408 or
	// 400, by ErrorHandler where it is set. In fasthttp the body is the text of the
	// error.
	StreamRequestBody bool

	// MergeTrailers lets Peek and PeekAll of RequestHeader find fields of the
	// trailer section of a chunked request body, as they do in fasthttp, once the
	// body was read. Only fields count that the request declares in a Trailer
	// field and whose names the header doesn't have. Fields that must not be in a
	// trailer section (RFC 9110 section 6.5.1), among them those for framing,
	// routing, authentication and cookies, are answered with 400 in any case.
	//
	// By default only RequestCtx.Trailers and RequestCtx.PeekTrailer find the
	// section: what decides on requests by their header, such as a proxy in
	// front, may not have looked at it. Not in fasthttp.
	MergeTrailers bool

	// ListenConfig has options for the sockets that the ListenAndServe methods listen on:
	// sharing the address, a longer queue, and more. ListenAndServeUNIX knows Backlog
	// alone. The zero value is what net.Listen does. Not in fasthttp.
	ListenConfig ListenConfig

	// Engine chooses how connections are served: by default, EngineAuto, with
	// few goroutines for all where the system and the listener allow it. Not in
	// fasthttp, which uses one goroutine per connection, as EngineBlock does.
	Engine Engine

	// EventLoops is the number of pollers that EngineEvent has, each with
	// goroutines of its own. If 0 there is one for each four processors: what
	// a loop does is spread over processors anyway. Not in fasthttp.
	EventLoops int

	// MaxRunningHandlers bounds the requests that EngineEvent serves at a
	// time, each of which has a goroutine while it is served; others wait for
	// their turn. By default nothing but Concurrency bounds them, which
	// counts connections. Handlers that wait for other requests to this
	// server may wait forever under a bound. It does not bound requests of HTTP/2, which
	// wait for what only their connection can bring: HTTP2.MaxStreams does, for each
	// connection. Not in fasthttp.
	MaxRunningHandlers int

	// HTTP2 says whether and within which limits the server speaks HTTP/2 (RFC 9113).
	// The zero value offers it to clients of TLS listeners. Not in fasthttp.
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

// serverRun is what starts and stops with the server.
type serverRun struct {
	mu         sync.Mutex
	listeners  map[*listening]struct{}
	handshakes map[net.Conn]struct{}
	waiters    map[*requestDone]struct{} // requests that asked for Done
	timed      atomic.Int32              // handlers that TimeoutHandler runs
	shutdowns  int                       // calls of Shutdown that wait
	drained    chan struct{}             // closed when the last connection ends; nil if no caller waits
	drain      *drain                    // the one that runs, see DrainTime
	readWhole  atomic.Int32              // how often it was logged that a streamed body was read whole
	h2         h2Sessions
}

// ConnState is the state of a connection, see Server.ConnState.
type ConnState int

// The states of a connection.
const (
	// StateNew: it was accepted and is expected to send a request.
	StateNew ConnState = iota
	// StateActive: bytes of a request have arrived.
	StateActive
	// StateIdle: a request was answered and the next one is waited for.
	StateIdle
	// StateHijacked: a HijackHandler has taken it. The last state.
	StateHijacked
	// StateClosed: it is closed. The last state.
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

// GetOpenConnectionsCount returns the number of connections that are open,
// those in a TLS handshake included.
func (s *Server) GetOpenConnectionsCount() int32 { return s.stats.open.Load() }

// GetRejectedConnectionsCount returns the number of connections that were
// refused for Concurrency or MaxConnsPerIP.
func (s *Server) GetRejectedConnectionsCount() uint32 { return s.stats.rejected.Load() }

// GetPanicsCount returns the number of handlers that panicked. Not in fasthttp.
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

// headTimeout returns the bound for a request head, 0 for none.
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

// stallTimeout returns the bound that d, ReadStallTimeout or WriteStallTimeout,
// means, 0 for none.
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

// serverName returns what goes into the Server field of responses that set
// none, "" for nothing.
func (s *Server) serverName() string {
	switch {
	case s.NoDefaultServerHeader:
		return ""
	case s.Name != "":
		return s.Name
	}
	return defaultServerName
}
