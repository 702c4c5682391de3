package gale

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
)

// call is one call of Do, with its limits.
type call struct {
	// ctx is nil if there is no context that can be cancelled.
	ctx   context.Context
	start clock.Tick // 0 for a call without a time limit
	// deadline is the time at which the call must end, 0 for no limit.
	deadline clock.Tick

	attempts int
	kind     callKind
	http1    bool   // only HTTP/1.1 can be used: the request, or the server, demands it
	quick    bool   // the request is short, and may be sent by clientconn.Conn.Swap
	upstream string // where the last attempt went
	// The last attempt: whether it was made over a connection that had been
	// used before, whether bytes of the request were written, and whether the
	// default rules allow another one.
	reused, sent bool
	verdict      retryVerdict
	unread       bool           // the body stream is still as it was before the attempt
	stream       net.Conn       // of OpenStream, nil before it is open
	upgraded     *door.Upgraded // of callUpgrade, nil without a 101

	// Of the attempt, see hostclient_line.go.
	promised any        // the shared wire on which room is kept for the call until its request begins, or nil
	number   uint64     // of the connWaiter of a call that has waited, or 0
	since    clock.Tick // when it began to wait, or 0
}

// callKind says what a call wants. A callStream fails with ErrNoExtendedConnect if call.http1 is set, or
// if the host speaks HTTP/1.1.
type callKind uint8

const (
	callAny      callKind = iota // a response, over the protocol that the host speaks
	callTrailers                 // as callAny, and over HTTP/2 the request says TE: trailers
	callStream                   // a stream of HTTP/2, see OpenStream
	callUpgrade                  // a response, and after a 101 the connection; http1 is set
	callRaw                      // a connection of HTTP/1.1, with TLS as the user has configured it; http1 is set
)

// retryVerdict says whether an attempt that failed may be repeated.
type retryVerdict uint8

const (
	verdictNone        retryVerdict = iota // not known: the program's own RoundTripper
	verdictUnsafe                          // a timeout, a byte of a response arrived, or the connection was new
	verdictUnprocessed                     // over HTTP/2: nothing was written, or the server has said that it did nothing
	verdictRefused                         // over HTTP/2: as verdictUnprocessed, and the server may accept the request a little later
	verdictSafe                            // the server can't have acted on the request, or acting twice does no harm
)

// newCall returns a call that begins now. A timeout of 0 means no limit.
func newCall(ctx context.Context, timeout time.Duration) (k call) {
	// If watch needs no channel of the context, Done isn't called: making the channel
	// takes memory.
	if _, own := ctx.(interface{ AfterFunc(func()) func() bool }); own || ctx.Done() != nil {
		k.ctx = ctx
	}
	if timeout > 0 {
		k.limit(timeout)
	}
	return k
}

// limit makes the call begin now and end after timeout.
func (k *call) limit(timeout time.Duration) {
	k.start = clock.Ticks()
	k.deadline = k.start + clock.Tick(timeout)
}

// until returns the call's deadline or the time d from now, whichever is earlier; 0 for
// none. It reads the clock only if it has to.
func (k *call) until(d time.Duration) clock.Tick {
	if d <= 0 {
		return k.deadline
	}
	t := clock.Ticks() + clock.Tick(d)
	if k.deadline != 0 && k.deadline < t {
		return k.deadline
	}
	return t
}

// pause waits before an attempt that follows a refused stream: a server may count a stream that
// was reset until its handler has returned. Its error says why the call must end.
func (k *call) pause() error {
	d := time.Millisecond << min(2*(k.attempts-1), 8) // 1, 4, 16, 64, 256 ms
	t := AcquireTimer(d)
	defer ReleaseTimer(t)
	if k.deadline != 0 {
		if left := time.Duration(k.deadline - clock.Ticks()); left < d {
			t.Reset(max(left, 0))
		}
	}
	var done <-chan struct{}
	if k.ctx != nil {
		done = k.ctx.Done()
	}
	select {
	case <-t.C:
	case <-done:
	}
	return k.mustEnd()
}

// mustEnd returns the reason why the call must end, nil if it may go on.
func (k *call) mustEnd() error {
	if k.ctx != nil {
		if err := k.ctx.Err(); err != nil {
			return err
		}
	}
	if k.deadline != 0 && clock.Ticks() >= k.deadline {
		return ErrTimeout
	}
	return nil
}
