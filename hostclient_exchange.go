package gale

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
)

// roundTrip sends req over a connection of the pool and reads the response. retry
// says that it makes sense to send it again. After an error resp is empty.
func (c *HostClient) roundTrip(k *call, req *Request, resp *Response) (retry bool, err error) {
	if err := c.prepare(req); err != nil {
		return false, resp.failed(err)
	}
	if req.protocol != "" && k.kind != callStream {
		return false, resp.failed(errOpenStream)
	}
	var from clock.Tick
	if c.Trace != nil {
		from = clock.Ticks()
	}
	k.quick = c.isQuick(req)
	var rules readRules
	rules.set(c, req, resp)
	var out h2Outgoing
	if err := c.chooseProto(k, req, &rules, &out); err != nil {
		return false, resp.failed(err)
	}
	w, err := c.acquire(k)
	for {
		if err != nil {
			k.unread = out.streams()
			return false, resp.failed(err)
		}
		if c.Trace != nil {
			c.traceConn(k, req, w, time.Duration(clock.Ticks()-from))
		}
		var got carryOutcome
		switch got, err = c.carry(w, k, req, resp, &rules, &out); got {
		case carryDone:
			return false, nil
		case carryFailed, carryRetry:
			return got == carryRetry, resp.failed(err)
		case carryStale:
			w, err = c.replace(k, w)
		case carryFull:
			if err = k.mustEnd(); err == nil {
				w, err = c.acquire(k)
			}
		}
	}
}

// failed empties resp, which may be nil, keeps its settings, and returns err, the
// reason why there is no response. A part of a response that has come is not a
// response, and it must not mix with what the caller sets now, such as a 502.
func (resp *Response) failed(err error) error {
	if resp == nil {
		return err
	}
	resp.Header.resetFields()
	resp.resetSkipHeader()
	if resp.wasHead {
		resp.SkipBody, resp.wasHead = false, false
	}
	return err
}

// traceConn calls the trace function for a request that has a connection. If it
// panics, a connection that no other call uses is closed.
func (c *HostClient) traceConn(k *call, req *Request, w wire, wait time.Duration) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if cc, own := w.(*clientConn); own {
			c.discard(cc)
			return
		}
		c.passOn(k)
	}()
	c.Trace.gotConn(req, w, wait)
	returned = true
}

// readRules say how a response is read.
type readRules struct {
	lim    h1.Limits
	limit  int   // for the body, in bytes; 0 for none
	skip   bool  // there is no body, or the caller doesn't want it
	head   bool  // the request's method is HEAD
	tunnel bool  // it is CONNECT
	stream bool  // the caller reads the body, as a stream
	refuse bool  // the same for the body of an answer that refuses a stream of OpenStream
	length int64 // of the body, or msg.LenChunked, msg.LenUnknown

	interim int // 1xx responses so far
}

// set sets rules that are empty, and resets resp.
func (r *readRules) set(c *HostClient, req *Request, resp *Response) {
	r.limit = c.MaxResponseBodySize
	r.head = req.Header.IsHead()
	r.tunnel = req.Header.IsConnect()
	r.skip = resp.SkipBody && !resp.wasHead
	r.stream = (resp.StreamBody || c.StreamResponseBody) && !req.whole
	r.lim = c.responseLimits()
	r.lim.Tunnel = r.tunnel
	switch {
	case r.limit == 0:
		r.limit = DefaultMaxResponseBodySize
	case r.limit < 0:
		r.limit = 0
	}
	resp.Reset()
	resp.SkipBody, resp.StreamBody, resp.wasHead = r.skip || r.head, r.stream, r.head && !r.skip
	if c.DisableHeaderNamesNormalizing {
		resp.Header.DisableNormalizing()
	}
	resp.Header.hideContents = c.SecureErrorLogMessage
}

// responseLimits returns the limits of the heads and the trailer sections of responses.
func (c *HostClient) responseLimits() h1.Limits {
	lim := h1.Limits{Dialect: h1.Folding, Head: max(c.ReadBufferSize, 0)}
	if c.RefuseFoldedFields {
		lim.Dialect = h1.Strict
	}
	return lim
}
