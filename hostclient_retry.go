package gale

import (
	"context"
	"errors"
	"io"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
)

// transport is the type of DefaultTransport.
type transport struct{}

// RoundTrip implements [RoundTripper].
func (transport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if k := req.call; k != nil {
		k.closeOpened()
		return hc.roundTrip(k, req, resp)
	}
	k := newCall(context.Background(), req.timeout)
	return hc.roundTrip(&k, req, resp)
}

// do sends req until there is a response or a permanent error, or ctx ends.
func (c *HostClient) do(ctx context.Context, req *Request, resp *Response) error {
	err := ctx.Err()
	if err == nil && req.timeout < 0 {
		err = ErrTimeout
	}
	if err != nil {
		req.dropStream(err)
		return resp.failed(err)
	}
	k := newCall(ctx, req.timeout)
	return c.doCall(&k, req, resp)
}

// doCall is do for a call that has begun.
func (c *HostClient) doCall(k *call, req *Request, resp *Response) (err error) {
	if resp == nil {
		err = c.doDrop(k, req)
	} else {
		err = c.attempts(k, req, resp)
	}
	if c.Trace != nil {
		c.Trace.done(req, resp, k.attempts, err)
	}
	return err
}

// doOpen is doCall for a call that opens k.stream or k.upgraded. It closes what the caller doesn't get,
// because a function of the program has panicked, ended the goroutine or failed.
func (c *HostClient) doOpen(k *call, req *Request, resp *Response) (err error) {
	err = errNoConn // until doCall returns
	defer func() {
		if err != nil {
			k.closeOpened()
		}
	}()
	err = c.doCall(k, req, resp)
	return err
}

// closeOpened closes what the call has opened. A request that a RoundTripper sends again opens another.
func (k *call) closeOpened() {
	if k.upgraded != nil {
		k.upgraded.Close()
		k.upgraded = nil
	}
	if k.stream != nil {
		_ = k.stream.(interface{ SetLinger(seconds int) error }).SetLinger(0) // the stream is reset at once
		_ = k.stream.Close()
		k.stream = nil
	}
}

// doDrop is do for callers that don't want the response.
func (c *HostClient) doDrop(k *call, req *Request) error {
	resp := acquireResponse()
	defer ReleaseResponse(resp)
	if err := c.attempts(k, req, resp); err != nil {
		return err
	}
	if s, ok := resp.bodyStream.(*responseStream); ok {
		s.drainShort()
	}
	return nil
}

// attempts sends req as often as the rules allow. Afterwards req has no stream.
func (c *HostClient) attempts(k *call, req *Request, resp *Response) error {
	most := c.MaxIdemponentCallAttempts
	if most <= 0 {
		most = DefaultMaxIdemponentCallAttempts
	}
	stream := req.bodyEnds()
	for {
		k.attempts++
		retry, err := c.attempt(k, req, resp)
		if err == nil {
			req.dropStream(nil)
			return nil
		}
		if !retry || stream && !k.unread || k.attempts >= most || !c.again(k, req, err) {
			req.dropStream(err)
			return k.final(req, err)
		}
		if k.verdict == verdictRefused {
			err = k.pause()
		} else {
			err = k.mustEnd()
		}
		if err != nil {
			req.dropStream(err)
			return err
		}
		if k.reused && k.verdict != verdictRefused {
			c.dropSuspects()
		}
	}
}

// attempt sends req once.
func (c *HostClient) attempt(k *call, req *Request, resp *Response) (retry bool, err error) {
	k.reused, k.sent, k.verdict, k.unread = false, false, verdictNone, false
	k.number, k.since = 0, 0
	if c.Transport == nil {
		return c.roundTrip(k, req, resp)
	}
	c.pending.Add(1)
	defer c.pending.Add(-1)
	k.closeOpened()
	own := *k // the call itself stays where it is, which is not on the heap
	req.call = &own
	defer func() { req.call, *k = nil, own }()
	return c.Transport.RoundTrip(c, req, resp)
}

// again reports whether req is sent again after err. It asks the user's functions;
// without them it follows the rules described at Do.
func (c *HostClient) again(k *call, req *Request, err error) bool {
	var reset, again bool
	switch {
	case k.verdict == verdictUnprocessed, k.verdict == verdictRefused:
		return true
	case c.RetryIfErrUpstream != nil:
		reset, again = c.RetryIfErrUpstream(req, k.attempts, err, k.upstream)
	case c.RetryIfErr != nil:
		reset, again = c.RetryIfErr(req, k.attempts, err)
	case c.RetryIf != nil:
		again = c.RetryIf(req)
	case k.verdict == verdictNone:
		again = isIdempotent(req) && !engine.IsTimeout(err)
	default:
		again = k.verdict == verdictSafe && (!k.sent || !k.asks(door.OnceKey{}))
	}
	if reset && again && req.timeout > 0 {
		k.limit(req.timeout)
	}
	return again
}

// asks reports whether the context's value of key is true; see package door.
func (k *call) asks(key any) bool {
	if k.ctx == nil {
		return false
	}
	yes, _ := k.ctx.Value(key).(bool)
	return yes
}

// final turns the last attempt's error into the one that Do returns.
func (k *call) final(req *Request, err error) error {
	if k.ctx != nil && k.ctx.Err() != nil {
		return k.ctx.Err()
	}
	lost := err == io.EOF
	if lost {
		err = ErrConnectionClosed
	}
	if (lost || k.verdict == verdictUnsafe && isLost(err)) && k.sent && !isIdempotent(req) {
		return &ErrRequestSent{err}
	}
	return err
}

// isLost reports whether err is an error of the connection, not of the received
// bytes.
func isLost(err error) bool {
	if e := (*HTTP2ConnError)(nil); errors.As(err, &e) {
		return !e.Local
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, ErrConnectionClosed) || clientconn.IsReset(err)
}

// isIdempotent reports whether the method is one of RFC 9110 section 9.2.2.
func isIdempotent(req *Request) bool {
	h := &req.Header
	return h.IsGet() || h.IsHead() || h.IsPut() || h.IsDelete() || h.IsOptions() || h.IsTrace() || h.IsQuery()
}
