package gale

import (
	"math"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
)

// requestLimits are the settings of one request.
type requestLimits struct {
	maxBody      int
	readTimeout  time.Duration
	writeTimeout time.Duration
	readStall    time.Duration // 0 for none, as writeStall
	writeStall   time.Duration
	stream       bool
	bounded      bool   // maxBody also limits a streamed body
	refuse       uint16 // the status with which the request is refused, 0 for none
	// writeUntil is the deadline that SetWriteDeadline gave the response.
	writeUntil clock.Tick
	// writeNow: the response has its own deadline and is not held back for responses to
	// pipelined requests.
	writeNow bool
}

// fixedSettings are values computed from the settings of the server, which don't change
// while it serves.
type fixedSettings struct {
	name      string // the default of the Server header
	lim       h1.Limits
	each      requestLimits // of each request, if no hook decides otherwise
	served    *spread       // counts the requests, for Stats
	requests  uint64        // the number of requests after which a connection is closed
	headFirst bool          // the head must be checked before its request is served
	keepNames bool          // DisableHeaderNamesNormalizing
	implied   head.Implied  // fields that every response has or lacks
	lazyTime  bool
	hooked    bool // BeforeSend is set
	lender    *serverGuard
	faults    bool // lender has pages
	http2     h2.Config
}

// minTarget is the lowest limit of a request-target in bytes, for small limits of the
// head (RFC 9112 section 3 recommends 8000 for the request line).
const minTarget = 8 << 10

func (s *Server) fixed() fixedSettings {
	maxHead := s.maxHeadBytes()
	var implied head.Implied
	if s.NoDefaultDate {
		implied |= head.NoDate
	}
	if s.NoDefaultContentType {
		implied |= head.NoDefaultType
	}
	requests := uint64(math.MaxUint64)
	if s.MaxRequestsPerConn > 0 {
		requests = uint64(s.MaxRequestsPerConn)
	}
	lender := s.lender()
	return fixedSettings{
		name: s.serverName(),
		lim:  h1.Limits{Head: maxHead, Fields: s.MaxHeaderFields, Target: max(maxHead/4, minTarget)},
		each: requestLimits{
			maxBody:      s.maxBodySize(),
			readTimeout:  s.ReadTimeout,
			writeTimeout: s.WriteTimeout,
			readStall:    stallTimeout(s.ReadStallTimeout),
			writeStall:   stallTimeout(s.WriteStallTimeout),
			stream:       s.StreamRequestBody,
		},
		served:    s.stats.counter(),
		requests:  requests,
		headFirst: s.HeaderReceived != nil || s.RequestStarted != nil || s.GetOnly || s.ReadTimeout > 0,
		keepNames: s.DisableHeaderNamesNormalizing,
		implied:   implied,
		lazyTime:  s.LazyRequestTime,
		hooked:    s.BeforeSend != nil,
		lender:    lender,
		faults:    lender.faults(),
		http2:     s.h2Config(),
	}
}

// changes reports whether a field isn't zero. It costs less than a comparison of all.
func (c *RequestConfig) changes() bool {
	return c.ReadTimeout|c.WriteTimeout|c.ReadStallTimeout|c.WriteStallTimeout != 0 || c.MaxRequestBodySize|c.RefuseStatus != 0 ||
		c.StreamRequestBody
}

// override applies the result of HeaderReceived or RequestStarted for a request.
// bounds says that MaxRequestBodySize also limits a streamed body.
func (r *requestLimits) override(c RequestConfig, bounds bool) {
	if c.ReadTimeout > 0 {
		r.readTimeout = c.ReadTimeout
	}
	if c.WriteTimeout > 0 {
		r.writeTimeout = c.WriteTimeout
	}
	if c.ReadStallTimeout != 0 {
		r.readStall = max(c.ReadStallTimeout, 0)
	}
	if c.WriteStallTimeout != 0 {
		r.writeStall = max(c.WriteStallTimeout, 0)
	}
	if c.MaxRequestBodySize > 0 {
		r.maxBody, r.bounded = c.MaxRequestBodySize, bounds
	}
	if c.StreamRequestBody {
		r.stream = true
	}
	if c.RefuseStatus != 0 {
		r.refuse = StatusInternalServerError
		if c.RefuseStatus >= 400 && c.RefuseStatus <= 599 {
			r.refuse = uint16(c.RefuseStatus)
		}
	}
}
