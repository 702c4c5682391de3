package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/msg"
)

// ErrPipelineOverflow is returned by a [PipelineClient] when the largest allowed
// number of requests is waiting for a connection.
var ErrPipelineOverflow = newError("pipelined requests' queue has been overflowed. increase maxconns and/or maxpendingrequests")

// errPipelineScheme is the error of a request for https that would be sent without
// TLS.
var errPipelineScheme = errors.New("gale: the request is for https, but the PipelineClient is not: set IsTLS")

// PipelineClient sends requests to a host over few connections, without waiting for
// the responses to earlier requests (RFC 9112 section 9.3.2). This saves
// connections, system calls and goroutine switches when there are many concurrent
// requests. But a response has to wait for all earlier ones on its connection.
//
// Whole requests and responses are held in memory, even if their body is a stream.
// For large ones, and for servers that you don't trust, use [HostClient].
//
// An open connection has two goroutines. It is closed when it has been idle for
// MaxIdleConnDuration, when the server breaks the rules, and when no caller waits
// for any of its responses any more.
//
// When a connection is lost, its unanswered requests are handled like this:
//
//   - A request of which nothing was written goes to the next connection.
//   - So does a request after a response that says `Connection: close`, because a
//     server doesn't act on it (RFC 9112 section 9.6).
//   - A request that was written goes to the next connection if it is idempotent
//     (RFC 9110 section 9.2.2). The next connection then starts with only one of
//     them. The first unanswered request is not sent again if the connection had
//     given no response before.
//   - After a timeout, no request that was written is sent again.
//
// Other requests fail. If a request isn't idempotent and may have reached the
// server, the error is an [ErrRequestSent].
//
// Its methods may be called concurrently. Its fields must be set before the first
// call. It must not be copied.
type PipelineClient struct {
	noCopy noCopy

	// Logger gets the reasons why connections are lost. nil means the standard
	// error stream.
	Logger Logger

	// Dial makes connections; it gets Addr as it is. If nil, [TCPDialer] with its
	// defaults is used. If IsTLS is set, Dial may return a *tls.Conn; otherwise the
	// client starts TLS.
	Dial DialFunc

	// TLSConfig is used for connections with TLS; the client uses a copy. If
	// ServerName is empty, the server's certificate must match the host of Addr.
	TLSConfig *tls.Config

	// Addr is the address to connect to. If it has no port and Dial is nil, the
	// port is 80, or 443 if IsTLS is set.
	Addr string

	// Name is the User-Agent of requests that have none. If it is empty, that is
	// "gale". See NoDefaultUserAgentHeader.
	Name string

	// MaxConns is the largest number of connections. 0 and negative values mean 1.
	MaxConns int

	// MaxPendingRequests is how many requests may be pending on a connection, and
	// also how many more may wait for that. 0 and negative values mean
	// [DefaultMaxPendingRequests]. A further request fails with
	// [ErrPipelineOverflow]; but if it has a time limit or a context that can be
	// cancelled, it waits until that ends.
	MaxPendingRequests int

	// MaxBatchDelay is how long a request may wait for others that are then written
	// together with it. 0 means that it doesn't wait.
	MaxBatchDelay time.Duration

	// MaxIdleConnDuration is how long a connection may be idle before it is closed.
	// 0 and negative values mean [DefaultMaxIdleConnDuration].
	MaxIdleConnDuration time.Duration

	// ReadBufferSize is the maximum size in bytes of a response's head (status line
	// and headers). 0 and negative values mean 64 KiB.
	ReadBufferSize int

	// WriteBufferSize is how many bytes of requests are collected for one write. 0
	// and negative values mean 16 KiB.
	WriteBufferSize int

	// ReadTimeout is how long to wait for the next complete response while requests
	// on a connection are unanswered. After that, all requests that were written on the connection fail with [ErrTimeout]. 0 sets no limit.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write requests that are sent together. 0 sets
	// no limit.
	WriteTimeout time.Duration

	// MaxResponseBodySize is the maximum size in bytes of a response body; for a
	// longer body Do returns [ErrBodyTooLarge] and the connection is closed. 0
	// means [DefaultMaxResponseBodySize], a negative value no limit. (In fasthttp 0
	// means no limit.)
	MaxResponseBodySize int

	// NoDefaultUserAgentHeader leaves out User-Agent in requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack makes the default dialer use IPv6 addresses as well as IPv4
	// addresses. It does so anyway, unless the program imports the compat module.
	DialDualStack bool

	// DisableHeaderNamesNormalizing keeps the spelling of header names as they are
	// set or received; see RequestHeader.DisableNormalizing.
	DisableHeaderNamesNormalizing bool

	// RefuseFoldedFields makes a response with a folded field line an error. Otherwise each
	// fold is replaced by a space (RFC 9112 section 5.2).
	RefuseFoldedFields bool

	// DisablePathNormalizing sends paths as they are given: `%2F` stays `%2F`, `//` stays
	// `//`. By default `%2F` is sent as a slash, because that is what RequestCtx.Path and
	// URI.Path have normalised and a program has checked; see [URI.DisablePathNormalizing].
	DisablePathNormalizing bool

	// IsTLS makes connections use TLS.
	IsTLS bool

	once  sync.Once
	host  HostClient // makes connections and reads responses
	addr  string
	lanes []pipeLane
}

// Do sends req and reads the response into resp, or drops the response if resp is
// nil. req must have a host, in its URI or its header. Do waits without a time
// limit, unless Request.SetTimeout set one. Redirects aren't followed. If
// resp.StreamBody is set, the body is a stream that reads from memory.
//
// Errors are:
//
//   - [ErrPipelineOverflow], [ErrConnectionClosed], [ErrBodyTooLarge], [ErrTimeout]
//     and the errors of dialing,
//   - errors of the connection, and of responses that break the rules,
//   - an [ErrRequestSent] that wraps one of these, if the request isn't idempotent
//     and may have reached the server.
//
// PipelineClient says which requests are sent again.
//
// After an error resp is empty; see HostClient.Do. After Do has returned, the
// client no longer uses req and resp. A request body that is a stream was read and
// closed.
func (c *PipelineClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), req, resp, req.timeout)
}

// DoTimeout is Do with a time limit: after timeout it returns [ErrTimeout]. While it
// reads the request's body stream, it can't return: it returns after that read. If
// timeout is 0 or negative, it returns ErrTimeout at once.
func (c *PipelineClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		req.dropStream(ErrTimeout)
		return resp.failed(ErrTimeout)
	}
	return c.do(context.Background(), req, resp, timeout)
}

// DoDeadline is DoTimeout with a deadline instead of a timeout.
func (c *PipelineClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// DoContext is Do with a context: when ctx ends, it returns ctx.Err(), unless it is
// reading from the stream of the request's body. It needs no goroutine for that.
func (c *PipelineClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if err := ctx.Err(); err != nil {
		req.dropStream(err)
		return resp.failed(err)
	}
	return c.do(ctx, req, resp, req.timeout)
}

// PendingRequests returns how many requests wait for a connection or for their
// response. A request whose caller has given up counts until the server has
// answered it.
func (c *PipelineClient) PendingRequests() int {
	c.once.Do(c.begin)
	n := 0
	for i := range c.lanes {
		n += int(c.lanes[i].load.Load())
	}
	return n
}

func (c *PipelineClient) begin() {
	h := &c.host
	h.DialDualStack = c.DialDualStack
	if c.Dial != nil {
		h.Dial = func(string) (net.Conn, error) { return c.Dial(c.Addr) }
	}
	h.IsTLS, h.TLSConfig = c.IsTLS, c.TLSConfig
	h.ReadBufferSize, h.MaxResponseBodySize = c.ReadBufferSize, c.MaxResponseBodySize
	h.DisableHeaderNamesNormalizing, h.RefuseFoldedFields = c.DisableHeaderNamesNormalizing, c.RefuseFoldedFields
	h.Name, h.NoDefaultUserAgentHeader = c.Name, c.NoDefaultUserAgentHeader
	if c.Addr != "" {
		c.addr = AddMissingPort(c.Addr, c.IsTLS)
	}
	c.lanes = make([]pipeLane, max(c.MaxConns, 1))
	for i := range c.lanes {
		c.lanes[i].init(c)
	}
}

// do sends req. A timeout of 0 means no limit.
func (c *PipelineClient) do(ctx context.Context, req *Request, resp *Response, timeout time.Duration) error {
	if timeout < 0 {
		req.dropStream(ErrTimeout)
		return resp.failed(ErrTimeout)
	}
	c.once.Do(c.begin)
	var deadline clock.Tick
	if timeout > 0 {
		deadline = clock.Ticks() + clock.Tick(timeout)
	}
	if err := c.prepare(req); err != nil {
		req.dropStream(err)
		return resp.failed(err)
	}
	pc := acquirePipeCall()
	defer pc.drop()
	if err := pc.encode(ctx, req, deadline); err != nil {
		return resp.failed(err)
	}
	lane := c.choose()
	if !lane.push(pc, deadline != 0 || ctx.Done() != nil) {
		return resp.failed(ErrPipelineOverflow)
	}
	err := pc.wait(ctx, deadline)
	if err == nil || !lane.leave(pc) {
		err = pc.err
	}
	if resp != nil {
		pc.deliver(resp, err == nil)
	}
	return err
}

// choose returns the lane with the fewest calls. Among equals it returns the first,
// so that few requests need few connections.
func (c *PipelineClient) choose() *pipeLane {
	best := &c.lanes[0]
	load := best.load.Load()
	for i := 1; i < len(c.lanes) && load > 0; i++ {
		if n := c.lanes[i].load.Load(); n < load {
			best, load = &c.lanes[i], n
		}
	}
	return best
}

// prepare applies the settings of the client to a request.
func (c *PipelineClient) prepare(req *Request) error {
	t := req.Header.s.Part(msg.Target)
	if req.uriParsed || len(t) == 0 || t[0] != '/' || len(req.Header.Host()) == 0 {
		u := &req.uri
		if err := req.parseTargetURI(); err != nil {
			return err
		}
		if !c.IsTLS && c.Dial == nil && !u.scheme.empty() && string(u.Scheme()) == "https" {
			return errPipelineScheme
		}
		if c.DisablePathNormalizing {
			u.DisablePathNormalizing = true
		}
	}
	host := req.sentHost()
	if len(host) == 0 {
		return errRequestHostRequired
	}
	if err := checkHost(host); err != nil {
		return err
	}
	req.forward = false
	if c.DisableHeaderNamesNormalizing {
		req.Header.DisableNormalizing()
	}
	c.host.setUserAgent(&req.Header)
	return nil
}

func (c *PipelineClient) logger() Logger {
	if c.Logger != nil {
		return calmLogger{c.Logger}
	}
	return defaultLogger
}

func (c *PipelineClient) window() int {
	return orDefault(c.MaxPendingRequests, DefaultMaxPendingRequests)
}

func (c *PipelineClient) batch() int { return orDefault(c.WriteBufferSize, 16<<10) }

func (c *PipelineClient) idle() time.Duration {
	if c.MaxIdleConnDuration > 0 {
		return c.MaxIdleConnDuration
	}
	return DefaultMaxIdleConnDuration
}
