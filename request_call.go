package gale

import (
	"context"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// call is one call of Do with what bounds it.
type call struct {
	// ctx is nil if there is no context that can be cancelled.
	ctx   context.Context
	start clock.Tick // 0 for a call without a time limit
	// deadline is the end of the time that the call may take, 0 if it is
	// without limit.
	deadline clock.Tick

	attempts int
	quick    bool   // the request is short, and may be sent by clientconn.Conn.Swap
	upstream string // where the last attempt went
	// The last attempt: whether it was made over a connection that had been
	// used before, whether bytes of the request were written, and whether the
	// default rules allow another one.
	reused, sent bool
	verdict      retryVerdict
}

// retryVerdict says whether an attempt that failed may be repeated.
type retryVerdict uint8

const (
	verdictNone   retryVerdict = iota // not known: another RoundTripper
	verdictUnsafe                     // a time-out, a byte of a response, or a new connection
	verdictSafe                       // the request can't have been acted upon, or acting twice does no harm
)

// newCall returns a call that begins now. A timeout of 0 is no limit.
func newCall(ctx context.Context, timeout time.Duration) (k call) {
	// One that watch needs no channel of isn't asked for it: making it takes memory.
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

// until returns the earlier of the call's deadline and what begins now and
// lasts for d; 0 for none. now is taken if it is needed.
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

// mustEnd returns why the call must end, nil if it may go on.
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
