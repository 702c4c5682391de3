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

// ErrPipelineOverflow is returned by a [PipelineClient] when as many requests
// wait for a connection as may.
var ErrPipelineOverflow = newError("pipelined requests' queue has been overflowed. increase maxconns and/or maxpendingrequests")

// errPipelineScheme is the error of a request that would go out in the clear.
var errPipelineScheme = errors.New("gale: the request is for https, but the PipelineClient is not: set IsTLS")

// PipelineClient sends requests to a host over few connections, each before
// the responses to those before it are there (RFC 9112 section 9.3.2). That
// saves connections, system calls and switches of goroutines where many
// requests are made at a time. The price is that a response waits for those
// before it.
//
// Requests and responses are held in memory whole, also those whose body is a
// stream; for large ones and for servers that aren't trusted [HostClient] is
// the better choice.
//
// A connection has two goroutines while it lives. It is closed when it has
// been idle, when the server breaks the rules, and when no caller waits any longer for
// any of the responses that it owes.
//
// What becomes of requests when their connection is lost: those of which
// nothing was written go to the next connection, and so do the ones after a response that
// says `Connection: close`, which a server doesn't act upon (RFC 9112 section 9.6). Of
// those that were written and not answered the idempotent ones (RFC 9110 section 9.2.2)
// go to the next connection, too, which begins with one of them alone; the others fail
// with an [ErrRequestSent]. The first of them is repeated only if the connection had
// given a response before, and none is after a time-out.
//
// Its methods may be called from any number of goroutines; its fields are set
// before. It must not be copied.
type PipelineClient struct {
	noCopy noCopy

	// Logger is told why connections are lost, the standard error stream if
	// nil.
	Logger Logger

	// Dial makes connections, and is given Addr as it is. If nil, [TCPDialer]
	// with its defaults is used. The connection may be a *tls.Conn already if
	// IsTLS is set.
	Dial DialFunc

	// TLSConfig is used for connections with TLS; it is copied. Without a
	// ServerName the host of Addr is verified.
	TLSConfig *tls.Config

	// Addr is the address to connect to. Without a Dial of its own, the port
	// is 80, or 443 with IsTLS, unless it is given.
	Addr string

	// Name is sent as the User-Agent of requests that have none, "gale" if
	// empty. See NoDefaultUserAgentHeader.
	Name string

	// MaxConns is how many connections there may be, 1 if it isn't positive.
	MaxConns int

	// MaxPendingRequests is how many requests may be pending on a
	// connection, and how many more may wait for that;
	// [DefaultMaxPendingRequests] if it isn't positive. Further ones fail
	// with [ErrPipelineOverflow], except that those with a time limit or a
	// context that can be cancelled wait until then.
	MaxPendingRequests int

	// MaxBatchDelay is how long a request may wait for others to be written
	// along with it. 0 means not at all.
	MaxBatchDelay time.Duration

	// MaxIdleConnDuration is how long a connection may be idle before it is
	// closed, [DefaultMaxIdleConnDuration] if it isn't positive.
	MaxIdleConnDuration time.Duration

	// ReadBufferSize is the longest head of a response in bytes, 64 KiB if it
	// isn't positive.
	ReadBufferSize int

	// WriteBufferSize is how many bytes of requests are gathered for one write,
	// 16 KiB if it isn't positive.
	WriteBufferSize int

	// ReadTimeout is how long a connection that owes responses may take for
	// the next of them, with its body. All requests that were written fail
	// with [ErrTimeout] then. 0 sets no limit.
	ReadTimeout time.Duration

	// WriteTimeout limits the writing of requests that go out together. 0
	// sets no limit.
	WriteTimeout time.Duration

	// MaxResponseBodySize is the longest body of a response in bytes; Do
	// returns [ErrBodyTooLarge] for more, and the connection is closed. 0
	// means [DefaultMaxResponseBodySize], a negative value no limit. (In
	// fasthttp 0 means no limit.)
	MaxResponseBodySize int

	// NoDefaultUserAgentHeader leaves out User-Agent in requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack makes the default dialer use addresses of IPv6 as well as
	// those of IPv4, which is what it does anyway unless the program imports
	// the compat module.
	DialDualStack bool

	// DisableHeaderNamesNormalizing leaves the names of fields as they are
	// given or received; see RequestHeader.DisableNormalizing.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing sends paths as they are given; see
	// URI.DisablePathNormalizing.
	DisablePathNormalizing bool

	// IsTLS makes connections use TLS.
	IsTLS bool

	once  sync.Once
	host  HostClient // makes connections and knows how to read responses
	addr  string
	lanes []pipeLane
}

// Do sends req and reads the response into resp, or drops it if resp is nil.
// req must have a host, in its URI or its header. It waits as long as it
// takes, unless Request.SetTimeout set a limit. Redirects aren't followed. With
// resp.StreamBody the body is a stream, of bytes in memory.
//
// Errors are [ErrPipelineOverflow], what dialing returns, errors of the
// connection and of responses that break the rules, [ErrConnectionClosed],
// [ErrBodyTooLarge], [ErrTimeout], and an [ErrRequestSent] that wraps one of
// these for a request that isn't idempotent and may have reached the server.
// See PipelineClient for what is sent again.
//
// After an error resp is empty; see HostClient.Do. When Do has returned nothing touches
// req and resp any more. A body that is a
// stream was read and closed.
func (c *PipelineClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), req, resp, req.timeout)
}

// DoTimeout is Do that returns [ErrTimeout] after timeout, whatever it waits
// for except the stream of a body; at once if that is not positive.
func (c *PipelineClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return resp.failed(ErrTimeout)
	}
	return c.do(context.Background(), req, resp, timeout)
}

// DoDeadline is DoTimeout with a point in time.
func (c *PipelineClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// DoContext is Do that returns ctx.Err() when ctx ends, whatever it waits for
// except the stream of a body. It needs no goroutine for that. Not in
// fasthttp.
func (c *PipelineClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if err := ctx.Err(); err != nil {
		return resp.failed(err)
	}
	return c.do(ctx, req, resp, req.timeout)
}

// PendingRequests returns how many requests wait for a connection or for their
// response. Those that were given up count as long as the server owes an
// answer to them.
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
	h.DisableHeaderNamesNormalizing = c.DisableHeaderNamesNormalizing
	h.Name, h.NoDefaultUserAgentHeader = c.Name, c.NoDefaultUserAgentHeader
	if c.Addr != "" {
		c.addr = AddMissingPort(c.Addr, c.IsTLS)
	}
	c.lanes = make([]pipeLane, max(c.MaxConns, 1))
	for i := range c.lanes {
		c.lanes[i].init(c)
	}
}

// do performs req. A timeout of 0 is none.
func (c *PipelineClient) do(ctx context.Context, req *Request, resp *Response, timeout time.Duration) error {
	if timeout < 0 {
		return resp.failed(ErrTimeout)
	}
	c.once.Do(c.begin)
	var deadline clock.Tick
	if timeout > 0 {
		deadline = clock.Ticks() + clock.Tick(timeout)
	}
	if err := c.prepare(req); err != nil {
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

// choose returns the lane with the least to do, the first of them so that few
// requests need few connections.
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

// prepare brings the settings of the client into a request.
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
	if agent := c.host.userAgent(); agent != "" && !req.Header.s.Has(msg.UserAgent) && !req.Header.s.NoSpecial {
		req.Header.SetUserAgent(agent)
	}
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
