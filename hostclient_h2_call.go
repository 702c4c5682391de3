package gale

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h2Call is one request on a connection of HTTP/2, and its response. The goroutine of the
// call makes it (begin) and waits (await). The goroutine that reads the connection decodes
// the response into resp, and the goroutine that writes takes the body from rest. Both do so under
// sharedConn.mu, and only until the call has ended or is given up: then finish clears both, so
// that nothing touches the messages afterwards.
type h2Call struct {
	c      *HostClient
	hc     *sharedConn
	wake   chan struct{} // holds one token
	pokeFn func()        // poke
	bits   atomic.Uint32 // what has happened; changed under mu

	// Of the goroutine of the call.
	began       clock.Tick
	continueDue clock.Tick // when a body that waits for a 100 is sent anyway; 0 if none waits

	// Under sharedConn.mu, until bits has h2Done.
	st       *h2.Stream
	req      *Request        // nil if only rest is needed
	resp     *Response       // nil if the caller doesn't want it any more
	rest     []byte          // of the body, what wasn't sent yet
	wants    uint32          // the bits for which the call is woken
	sender   *h2Sender       // sends a streamed body
	reader   *h2Reader       // the body of a streamed response, or nil
	tunnel   *h2ClientTunnel // what the stream has become, or nil
	answered bool            // a final response came instead of a 100: the body isn't sent
	got      bool            // a head has come, perhaps of an informational response
	from     uint64          // of all bytes that the connection sends, the first one of the request
	h2Wishes

	sentAt      clock.Tick
	wholeAt     clock.Tick
	interims    []*ResponseHeader
	trailers    msg.Fields    // of the response
	trailersOut head.Trailers // of the request, once req is gone

	h2Result
}

// h2Wishes says what kind of exchange it is. With opens, skip and trails are false; without it,
// refuse is.
type h2Wishes struct {
	opens  bool // it is an extended CONNECT
	refuse bool // the body of an answer that refuses it is read as a stream
	trails bool // a trailer section follows the body
	timed  bool // sentAt is needed
	skip   bool // the caller doesn't want a body
	tells  bool // informational responses are kept in interims
	limit  int  // for the body; 0 for none
}

// h2Result is the result of an exchange, when bits has h2Done. Without err it is the zero value.
type h2Result struct {
	err     error
	verdict retryVerdict // verdictSafe only for a request that is idempotent
	sent    bool         // bytes of the request were written
	reused  bool         // the connection had carried a complete response
	wants11 bool         // the server wants HTTP/1.1, and has not processed the request
}

// The bits of h2Call.
const (
	h2HeadCame uint32 = 1 << iota // resp has the final head
	h2Done                        // the exchange is over, with err
	h2AllSent                     // all of the request is in the output
	h2Continue                    // a 100 has come
	h2Interim                     // interims isn't empty
	h2MoreIn                      // reader has something to read, or its end
	h2Whole                       // only the end of the stream is missing, since wholeAt
)

// h2EndDelay is how long the server may take to end a stream after the last byte of the response, for
// example to send trailer fields. Many servers end it in a frame of its own.
const h2EndDelay = time.Second

var h2Calls = pool.Pool{New: func() any {
	s := &h2Call{wake: make(chan struct{}, 1)}
	s.pokeFn = s.poke
	return s
}}

// poke makes the goroutine of the call look again. It never blocks, and may come too late.
func (s *h2Call) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// release gives s back, unless other code may still refer to it.
func (s *h2Call) release() {
	if s.sender != nil || s.reader != nil {
		return
	}
	s.reset()
	h2Calls.Put(s)
}

func (s *h2Call) reset() {
	select {
	case <-s.wake:
	default:
	}
	s.c, s.hc, s.st, s.req, s.resp, s.rest = nil, nil, nil, nil, nil, nil
	s.bits.Store(0)
	s.began, s.continueDue, s.sentAt, s.wholeAt = 0, 0, 0, 0
	s.sender, s.reader, s.tunnel = nil, nil, nil
	s.wants, s.from, s.got, s.answered = 0, 0, false, false
	s.h2Wishes, s.h2Result = h2Wishes{}, h2Result{}
	s.interims = nil
	s.trailers.Reset()
	s.trailersOut.Reset()
}

// set records what has happened, and wakes the call if it waits for that, under mu. After
// h2Done s belongs to the goroutine of the call.
func (s *h2Call) set(bits uint32) {
	if s.wants&bits != 0 {
		s.hc.woken = append(s.hc.woken, s)
	}
	if s.tunnel != nil {
		s.tunnel.changed.Broadcast() // those that wait need mu
	}
	s.bits.Or(bits)
}

// head handles the head of a response, under mu.
func (s *h2Call) head(end bool) {
	hc := s.hc
	h := &s.resp.Header
	err := hc.proto.DecodeResponse(&h.s.ResponseHead)
	s.got = true
	if err != nil {
		if !hc.proto.Failed() { // else all calls fail
			s.fail(h2HeadError(err))
		}
		return
	}
	if h.s.Status < 200 {
		s.interim(h)
		return
	}
	s.resp.bodyBuf().Reset()
	if s.opens && s.opened(h.s.Status, end) {
		return
	}
	none := s.skip || s.st.IsHead() || !statusHasBody(h.s.Status)
	if none {
		s.reader = nil
	}
	length := h.s.ContentLength
	if end || s.skip {
		s.bits.Or(h2HeadCame)
	}
	switch {
	case end || s.skip:
		s.complete()
		return
	case none:
	case s.reader != nil:
		s.reader.length = length
		h.s.Trailers.Open = true
	case s.limit > 0 && length > int64(s.limit):
		s.fail(ErrBodyTooLarge)
		return
	default:
		hc.proto.Collect(s.st)
	}
	s.set(h2HeadCame)
	s.noteWhole()
}

// opened handles the final response to an extended CONNECT, under mu. It returns false if that has a body, as
// others: the server refuses.
func (s *h2Call) opened(status int, end bool) bool {
	if status/100 != 2 {
		if !s.refuse {
			s.reader = nil
		}
		s.endRequest()
		return false
	}
	if end {
		s.reader.err = io.EOF
	}
	s.set(h2HeadCame)
	return true
}

// interim handles an informational response, which is in h, under mu.
func (s *h2Call) interim(h *ResponseHeader) {
	bits := uint32(0)
	if h.s.Status == StatusContinue {
		bits = h2Continue
	}
	if s.tells {
		kept := &ResponseHeader{}
		h.CopyTo(kept)
		s.interims = append(s.interims, kept)
		bits |= h2Interim
	}
	h.resetFields()
	s.set(bits)
}

// h2HeadError returns the error of a response that can't be decoded.
func h2HeadError(err error) error {
	e := err.(*h2.Error)
	cause := fmt.Errorf("%serror when reading response headers: %w", bareErrorPrefix, err)
	switch err {
	case h2.ErrHeadTooLong:
		cause = &ErrSmallBuffer{errorf("error when reading response headers: %w", ErrSmallReadBuffer)}
	case h2.ErrInterims:
		cause = errTooManyInterim
	}
	return &StreamResetError{Code: uint32(e.Code), Local: true, client: true, cause: cause}
}

// data handles a part of the body, under mu. It doesn't keep b.
func (s *h2Call) data(b []byte, end bool) {
	if s.reader != nil {
		s.reader.take(b, end)
		return
	}
	if len(b) > 0 {
		buf := s.resp.bodyBuf()
		if s.limit > 0 && len(b) > s.limit-len(buf.B) {
			s.fail(ErrBodyTooLarge)
			return
		}
		if cap(buf.B)-len(buf.B) < len(b) {
			buf.Grow(pool.Room(len(buf.B), len(b), s.resp.Header.s.ContentLength) - len(buf.B))
		}
		buf.B = append(buf.B, b...)
	}
	if end {
		s.complete()
		return
	}
	s.hc.proto.Collect(s.st)
	s.noteWhole()
}

// trailerSection handles the trailer section, which ends the body, under mu.
func (s *h2Call) trailerSection() {
	if err := s.hc.proto.DecodeTrailers(&s.trailers); err != nil {
		if e := err.(*h2.Error); !s.hc.proto.Failed() {
			s.fail(&StreamResetError{Code: uint32(e.Code), Local: true, client: true,
				cause: fmt.Errorf("%serror when reading response trailers: %w", bareErrorPrefix, err)})
		}
		return
	}
	if s.reader != nil && s.opens { // only DATA may come (RFC 9113 section 8.5)
		s.hc.proto.ResetStream(s.st, h2.ProtocolError)
		s.fail(&StreamResetError{Code: uint32(h2.ProtocolError), Local: true, client: true, cause: errTunnelTrailers})
		return
	}
	if s.reader != nil {
		s.reader.take(nil, true)
		return
	}
	s.resp.Header.takeTrailers(&s.trailers)
	s.complete()
}

// resetBy handles a reset, under mu.
func (s *h2Call) resetBy(ev *h2.Event) {
	if s.reader != nil && s.reader.err == io.EOF && !s.opens { // the server doesn't want the rest of the request
		s.finish()
		return
	}
	if s.bits.Load()&h2Whole != 0 && ev.Code == h2.NoError && !ev.Local {
		s.complete()
		return
	}
	s.wants11 = ev.Code == h2.HTTP11Required && !ev.Local && s.mayHTTP1()
	s.fail(&StreamResetError{Code: uint32(ev.Code), Local: ev.Local, client: true})
}

// complete ends an exchange whose response is complete, under mu. If a part of the request
// wasn't sent, it won't be.
func (s *h2Call) complete() {
	s.hc.served++
	if r := s.reader; r != nil {
		r.err = io.EOF
	}
	s.finish()
}

// lose is fail because the connection has ended.
func (s *h2Call) lose(err error) {
	if s.st == nil {
		return
	}
	s.wants11 = s.hc.refuses && s.st.Unprocessed() && s.mayHTTP1()
	switch {
	case s.got && err == io.EOF:
		err = io.ErrUnexpectedEOF
	case !s.got && clientconn.IsReset(err):
		err = io.EOF // it is a matter of luck whether a client sees a reset or a close
	}
	s.failWith(err, true)
}

// mayHTTP1 reports whether the request may be sent over HTTP/1.1 instead.
func (s *h2Call) mayHTTP1() bool { return !s.got && s.c.HTTP2 != HTTP2Only }

// fail ends the exchange with an error, under mu.
func (s *h2Call) fail(err error) {
	if s.st != nil {
		s.failWith(err, false)
	}
}

// failWith ends the exchange with err, under mu. lost says that the connection has ended.
func (s *h2Call) failWith(err error, lost bool) {
	s.err = err
	s.sent = s.from < s.hc.taken
	s.reused = s.hc.served > 0
	switch unprocessed := s.st.Unprocessed(); {
	case s.wants11, lost && (unprocessed || !s.sent):
		s.verdict = verdictUnprocessed
	case unprocessed:
		s.verdict = verdictRefused
	case lost && !s.got && s.reused:
		s.verdict = verdictSafe
	default:
		s.verdict = verdictUnsafe
	}
	if r := s.reader; r != nil && r.err == nil {
		r.err = err
	}
	s.finish()
}

// finish ends the exchange for the connection, under mu. A stream that has not ended is reset
// with CANCEL. s must not be used after it.
func (s *h2Call) finish() {
	hc := s.hc
	s.st.Owner = nil
	hc.proto.Done(s.st)
	for hc.proto.Resume() != nil { // responses that waited for room go on
	}
	hc.out = hc.proto.AppendControl(hc.out)
	s.st, s.req, s.resp, s.rest = nil, nil, nil, nil
	if s.sender != nil {
		s.sender.poke()
	}
	if s.tunnel != nil {
		s.tunnel.over()
	}
	s.wants |= h2Done
	s.set(h2Done | h2MoreIn)
}

// allSent records that all of the request is in the output, under mu.
func (s *h2Call) allSent() {
	if s.timed {
		s.sentAt = clock.Ticks()
	}
	s.set(h2AllSent)
	if r := s.reader; r != nil && r.err != nil { // the response had ended before
		s.finish()
		return
	}
	s.noteWhole()
}

// noteWhole records when only the end of the stream is missing: all bytes of the response have come,
// and all of the request is in the output. It is called under mu, after each step on the way there.
func (s *h2Call) noteWhole() {
	const both = h2HeadCame | h2AllSent
	if bits := s.bits.Load(); bits&(both|h2Whole) == both && s.hc.proto.IsWhole(s.st) {
		s.wholeAt = clock.Ticks()
		s.set(h2Whole)
	}
}

// endWhole ends an exchange of which only the end of the stream is missing, without an error.
func (s *h2Call) endWhole() {
	hc := s.hc
	hc.mu.Lock()
	if s.st != nil {
		hc.proto.ResetStream(s.st, h2.NoError)
		s.complete()
		hc.maybeEnd()
	}
	hc.unlockToFlush()
}

// giveUp ends the exchange because of cause. It returns false if it was over already.
func (s *h2Call) giveUp(cause error) bool {
	hc := s.hc
	hc.mu.Lock()
	open := s.st != nil
	if open {
		s.fail(cause)
		hc.maybeEnd()
	}
	hc.unlockToFlush()
	return open
}

// due returns when the call must stop to wait, 0 for never. bits are what has happened.
func (s *h2Call) due(k *call, bits uint32) clock.Tick {
	c := s.c
	due := k.deadline
	switch {
	case bits&h2Whole != 0:
		due = clock.Earlier(due, s.wholeAt.Add(h2EndDelay))
		if c.ReadTimeout > 0 {
			due = clock.Earlier(due, s.sentAt.Add(c.ReadTimeout))
		}
	case s.continueDue != 0:
		due = clock.Earlier(due, s.continueDue)
	case bits&h2AllSent == 0:
		if c.WriteTimeout > 0 {
			due = clock.Earlier(due, s.began.Add(c.WriteTimeout))
		}
	default:
		if c.ReadTimeout > 0 {
			due = clock.Earlier(due, s.sentAt.Add(c.ReadTimeout))
		}
		if bits&h2HeadCame == 0 && c.ResponseHeaderTimeout > 0 {
			due = clock.Earlier(due, s.sentAt.Add(c.ResponseHeaderTimeout))
		}
	}
	return due
}

// await waits until something of want has happened, and returns what has. Its error is
// ErrTimeout or that of the context. A response that is whole has ended by then.
func (s *h2Call) await(k *call, want uint32) (bits uint32, err error) {
	for bits = s.bits.Load(); bits&want == 0; bits = s.bits.Load() {
		if k.ctx != nil || s.due(k, bits) != 0 {
			return s.awaitUntil(k, want)
		}
		<-s.wake
	}
	return bits, nil
}

// awaitUntil is await for a call that may end before.
func (s *h2Call) awaitUntil(k *call, want uint32) (bits uint32, err error) {
	var done <-chan struct{}
	if k.ctx != nil {
		if own, ok := k.ctx.(interface{ AfterFunc(func()) func() bool }); ok {
			defer own.AfterFunc(s.pokeFn)()
		} else {
			done = k.ctx.Done()
		}
	}
	var timer *time.Timer
	var at clock.Tick // when it fires
	defer func() {
		if timer != nil {
			ReleaseTimer(timer)
		}
	}()
	for bits = s.bits.Load(); bits&want == 0; bits = s.bits.Load() {
		if k.ctx != nil && k.ctx.Err() != nil {
			return bits, k.ctx.Err()
		}
		var fires <-chan time.Time
		if due := s.due(k, bits); due != 0 {
			left := time.Duration(due - clock.Ticks())
			switch {
			case left <= 0 && bits&h2Whole != 0: // late or not, the response is here
				s.endWhole()
				continue
			case left <= 0:
				return bits, ErrTimeout
			case timer == nil:
				timer = AcquireTimer(left)
			case at != due:
				timer.Reset(left)
			}
			at, fires = due, timer.C
		}
		select {
		case <-s.wake:
		case <-fires:
			at = 0
		case <-done:
		}
	}
	return bits, nil
}

// takeInterims calls the function that the context has for informational responses.
func (s *h2Call) takeInterims(k *call) {
	s.hc.mu.Lock()
	all := s.interims
	s.interims = nil
	s.bits.And(^h2Interim)
	s.hc.mu.Unlock()
	for _, h := range all {
		k.tellInterim(h)
	}
}

// failedH2 records in k what the failure of s means for another attempt, and returns the
// error of the attempt.
func (k *call) failedH2(s *h2Call, req *Request) error {
	k.sent, k.reused, k.verdict = s.sent, s.reused, s.verdict
	if k.ctx != nil && k.ctx.Err() != nil {
		k.verdict = verdictUnsafe
		return k.ctx.Err()
	}
	k.http1 = k.http1 || s.wants11
	switch {
	case k.verdict == verdictUnprocessed, k.verdict == verdictRefused:
		k.sent = false
	case k.verdict == verdictSafe && !isIdempotent(req):
		k.verdict = verdictUnsafe
	}
	return s.err
}

// errH2Upgrade is the error of a request that HTTP/2 can't carry.
var errH2Upgrade = errors.New("gale: a CONNECT request, or one with Upgrade, can't be sent over HTTP/2: set HostClient.HTTP2 to another value than HTTP2Only")
