package gale

import (
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h2Step is what comes next for a stream.
type h2Step uint8

const (
	h2Accept  h2Step = iota // its head has arrived: a runner decides about it
	h2Collect               // the session collects its body
	h2Handle                // a runner calls the handler
	h2Send                  // the session sends the rest of the response
	h2Finish                // a runner ends it
)

// h2Turn says who does the next step of a stream.
type h2Turn uint8

const (
	h2Rests  h2Turn = iota // the session, if there is something to do
	h2Queued               // a runner that will take it from the list of streams that are ready
	h2Runs                 // a runner does
)

// h2Stream is one request on an HTTP/2 connection, and its response. It is the exchange of
// its context.
//
// While turn is h2Runs, one goroutine, the runner, owns h2Serving, and step. Otherwise the
// goroutine that holds h2Session.mu owns them. That lock guards the other parts;
// goroutines of the handler use these too. ss, ctx and came stay as they are.
type h2Stream struct {
	ss   *h2Session
	ctx  *RequestCtx
	came clock.Tick // when the head came

	h2Serving
	h2Place
	h2StreamIn
	h2StreamOut
}

// h2Serving is what the runner of a stream knows, in the order in which it learns it:
//
//	before the handler   at most one of refusal, answered and streamed; with the first two it doesn't run
//	after it             left, unless it returned in time; broke sets it in its place
//	at the end           ended; finish reads the others for the last time
type h2Serving struct {
	refusal  error        // why the handler isn't called
	lender   *serverGuard // that guards the request, or nil
	outcome  outcome
	isHead   bool // the method was HEAD; the handler may change the header
	extended bool // it is an extended CONNECT (RFC 8441), whose stream a handler may take over
	answered bool // a hook has begun the response or timed out: the handler doesn't run
	ended    bool // finish was called
	streamed bool // the handler got the body as a stream
	left     bool // other goroutines may still use the context
	shared   bool // a body stream or its writer may still refer to outBody, or a timer to the stream
	outBody  h2Out
}

// h2Place is where a stream is in its session, under h2Session.mu.
type h2Place struct {
	st       *h2.Stream // nil when the stream is over
	limits   requestLimits
	step     h2Step
	turn     h2Turn
	collects bool      // its body waits in memory for the rest of it, or for the handler
	next     *h2Stream // in the list of streams that are ready
	done     door.Done // is told when the client has gone
	tunnel   *h2Tunnel // the connection that the stream has become, or nil
	timed    bool      // counted in ss.waiting
}

// h2StreamIn is the body of the request, under h2Session.mu. in holds what has arrived and was not
// read. What arrives while a goroutine waits in Read goes to into, that goroutine's buffer: got counts
// these bytes.
type h2StreamIn struct {
	body     h2Body
	in       pool.Queue
	into     []byte
	got      int
	inErr    error      // why no more comes: errH2End, or an error
	lastIn   clock.Tick // when some of it came, or the wait for it began
	readBy   clock.Tick // when all of it must have come, 0 for never
	limit    int64      // the handler's limit for the body, in bytes; 0 for none
	reading  int        // goroutines that wait for more of it
	readers  sync.Cond
	trailers msg.Fields
	owes100  bool // the client waits for a 100 before it sends the body
}

// h2StreamOut is the response, under h2Session.mu. rest is of the body of resp.
type h2StreamOut struct {
	progress h2Progress
	accepted bool       // a head with a 2xx status was sent
	unsent   int32      // the memory that waits in step h2Send, see keepUnsent
	sent     int64      // bytes of the body that were sent
	resp     *Response  // the response whose body is in rest
	rest     []byte     // of a body in memory: what was not sent yet
	sendErr  error      // why nothing can be sent any more
	stalled  clock.Tick // when the client stopped giving room, 0 if it gives room
	writeDue clock.Tick // when the current write must be done, 0 for never
	senders  sync.Cond
	awaits   *sync.Cond  // the condition for which a sending goroutine waits, or nil
	late     *time.Timer // ends that wait, see waitToSend; nil if it was never set
}

// h2Progress is what was sent of a response.
type h2Progress uint8

const (
	h2Unsent   h2Progress = iota // nothing but informational responses
	h2Begun                      // the final head
	h2Complete                   // all of it
)

// reach sets what the context may use.
func (s *h2Stream) reach(r reach) {
	s.ctx.mu.Lock()
	s.ctx.reach = r
	s.ctx.mu.Unlock()
}

// tell, called under mu, makes unlock tell the context that the client has gone.
func (s *h2Stream) tell(cause error, reset bool) {
	if s.done == nil {
		return
	}
	s.ss.told = append(s.ss.told, h2Gone{s.done, cause, reset})
	if reset {
		s.done = nil
	}
}

// fail ends the request because of err, under mu: nothing more of it will arrive. reset
// says that the client doesn't wait for the response any more, so nothing more is sent.
func (s *h2Stream) fail(err error, reset bool) {
	if s.lingers() {
		s.tunnel.end()
		return
	}
	if s.inErr == nil || reset && s.inErr == errH2End && s.unread() && !s.extended {
		s.inErr = err
	}
	if reset {
		if s.sendErr == nil {
			s.sendErr = err
		}
		s.tell(err, true)
	}
	s.readers.Broadcast()
	s.senders.Broadcast()
	s.time()
	if s.turn != h2Rests {
		return
	}
	switch {
	case reset:
		s.step = h2Finish
	case s.step == h2Collect:
		s.refusal, s.step = err, h2Handle
	default:
		return
	}
	s.ss.push(s)
}

// time updates h2Session.waiting, the number of streams that have a time limit now, under
// mu. It is called when something has changed that nextDue looks at.
func (s *h2Stream) time() {
	timed := s.st != nil && s.nextDue() != 0
	if timed != s.timed {
		s.timed = timed
		if timed {
			s.ss.waiting++
		} else {
			s.ss.waiting--
		}
	}
}

// nextDue returns when the stream will have taken too long, 0 for never. It is called
// under mu.
func (s *h2Stream) nextDue() clock.Tick {
	if s.tunnel != nil {
		return s.tunnel.lingerDue
	}
	return clock.Earlier(s.readDue(), s.sendDue())
}

// readDue is the part of nextDue for the body. It limits the time only while something
// waits for the body: otherwise the client may have no window, and can't send.
func (s *h2Stream) readDue() clock.Tick {
	if s.inErr != nil || s.step != h2Collect && s.reading == 0 {
		return 0
	}
	if s.st.Waits() {
		return s.readBy // the client isn't to blame
	}
	return bodyDue(s.lastIn, s.limits.readStall, s.readBy)
}

// sendDue is the part of nextDue for the response. It limits the time only while the
// client gives no room.
func (s *h2Stream) sendDue() clock.Tick {
	if s.stalled == 0 || s.sendErr != nil {
		return 0
	}
	due := s.writeDue
	if d := s.limits.writeStall; d > 0 {
		since := s.stalled
		if s.st.HasWindow() { // the stream waits for its turn, and the client takes data of others
			since = max(since, s.ss.roomAt)
		}
		due = clock.Earlier(due, since.Add(d))
	}
	return due
}

// checkTime ends what has taken too long, under mu.
func (s *h2Stream) checkTime(now clock.Tick) {
	if t := s.tunnel; t != nil {
		if t.lingerDue != 0 && t.lingerDue <= now {
			t.end()
		}
		return
	}
	if due := s.readDue(); due != 0 && due <= now {
		s.ss.s.stats.timeouts.Add(1)
		s.fail(ErrTimeout, false)
	}
	if due := s.sendDue(); due != 0 && due <= now {
		s.timeOut()
	}
}

// waitToSend waits for c before something is sent, under mu, at most until the deadline
// that the handler has set, or that of a WriteTimeout of the request, as a route has. It uses
// a timer for that deadline: while the engine writes, it doesn't call the session, and it
// knows the limits of the server only.
func (s *h2Stream) waitToSend(c *sync.Cond) {
	s.awaits = c
	if s.timeSend(); s.sendErr == nil {
		c.Wait()
	}
	s.awaits = nil
	if s.late != nil {
		s.late.Stop()
	}
}

// timeSend sets the timer of waitToSend, or ends its wait if the deadline has already
// passed. It is called under mu.
func (s *h2Stream) timeSend() {
	if s.awaits == nil || s.sendErr != nil {
		return
	}
	if s.late != nil {
		s.late.Stop()
	}
	due := s.limits.writeUntil
	if d := s.limits.writeTimeout; due == 0 && d > 0 && d != s.ss.l.fixed.each.writeTimeout {
		due = s.writeDue
	}
	if due == 0 {
		return
	}
	if left := time.Duration(due - clock.Ticks()); left > 0 {
		s.late = time.AfterFunc(left, s.sendLate)
		return
	}
	s.timeOut()
	s.awaits.Broadcast()
}

// sendLate is the timer's function. By now the wait may have ended, or the deadline may
// have moved; timeSend checks that.
func (s *h2Stream) sendLate() {
	s.ss.mu.Lock()
	defer s.ss.wake()
	defer s.ss.unlock()
	s.timeSend()
}

// timeOut ends a response that could not be sent in time, under mu.
func (s *h2Stream) timeOut() {
	s.ss.s.stats.timeouts.Add(1)
	s.ss.proto.ResetStream(s.st, h2.Cancel)
	s.fail(ErrTimeout, true)
}

// finish ends the stream and gives up its context. That may run user code: functions of
// AfterSend, and what closes bodies and values.
func (s *h2Stream) finish() {
	s.ended = true
	unsent, handed := s.close()
	if handed { // the stream goes on without its request
		defer func() { s.ctx, s.lender = nil, nil }()
	}
	ctx := s.ctx
	if ctx.endRequest(door.Ending{Sent: s.sent, Err: unsent, Late: s.left}) != ctxFree {
		return
	}
	private := ctx.done.Load() == nil && !handed && !s.streamed && !s.shared && !ctx.flush.begun
	ctx.reset()
	releaseCtx(ctx)
	if private {
		*s = h2Stream{}
		h2Streams.Put(s)
	}
}

// close ends the stream for the session, which forgets it. Methods that the context still
// calls fail. unsent says why the response isn't complete, nil if it is. handed says that
// the stream was handed over: then it goes on without its request, and close does nothing.
func (s *h2Stream) close() (unsent error, handed bool) {
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.tunnel != nil {
		return nil, true
	}
	s.shared = s.shared || s.late != nil // the timer's function may be about to run
	if s.inErr == nil || s.inErr == errH2End && s.unread() {
		s.inErr = errStreamClosed
	}
	if s.progress != h2Complete {
		if unsent = s.sendErr; unsent == nil {
			unsent = errNotSent
		}
	}
	if s.sendErr == nil {
		s.sendErr = errStreamClosed
	}
	s.leave()
	return unsent, false
}

// leave makes the session forget the stream, under mu. Readers and senders must have an
// error.
func (s *h2Stream) leave() {
	ss := s.ss
	s.in.Drop()
	s.readers.Broadcast()
	s.senders.Broadcast()
	ss.tellRoom()
	if s.tunnel != nil {
		ss.tunnels--
	}
	if s.unsent != 0 {
		ss.unsent -= s.unsent
		s.unsent = 0
	}
	ss.proto.Done(s.st) // after this, st may become a stream of another connection
	s.st = nil
	ss.resume()
	ss.out = ss.proto.AppendControl(ss.out)
	s.time()
	ss.forget()
}
