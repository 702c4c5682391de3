package reverse

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
)

// life is the context of a request to an upstream. A context of package context
// would work as well, but would cost more time than everything else that a small
// request needs here.
type life struct {
	mu    sync.Mutex
	cause error         // why it ended, or nil if it hasn't
	done  chan struct{} // nil until Done is called
	hooks []*hook       // called at the end

	// Room for one hook: most requests have at most one at a time. It is used again, so it is
	// only for code that calls its stop function once.
	room [1]*hook
	hook hook
	stop func() bool // hook.stop, made when it is first needed
}

// untouched reports whether the life hasn't ended and no code can be waiting for
// its end.
func (l *life) untouched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause == nil && l.done == nil && len(l.hooks) == 0
}

// cancel ends the life, unless it has already ended.
func (l *life) cancel(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return
	}
	l.cause = cause
	if l.done != nil {
		close(l.done)
	}
	for _, f := range l.hooks {
		go f.f()
	}
	l.hooks = nil
}

// Err returns context.Canceled after cancel, whatever the cause was.
func (l *life) Err() error {
	if l.ended() != nil {
		return context.Canceled
	}
	return nil
}

// ended returns the cause of the end, or nil.
func (l *life) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Done implements context.Context.
func (l *life) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.cause != nil {
			close(l.done)
		}
	}
	return l.done
}

// Deadline says that there is no deadline.
func (l *life) Deadline() (deadline time.Time, ok bool) { return }

// AfterFunc is called by clients, which call stop once, and by package context, which first
// calls Done. What that derives from the life may call stop again at any time.
func (l *life) AfterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		go f()
		return func() bool { return false }
	}
	if len(l.hooks) > 0 || l.done != nil {
		h := &hook{l, f}
		l.hooks = append(l.hooks, h)
		return h.stop
	}
	if l.stop == nil {
		l.stop = l.hook.stop
	}
	l.hook = hook{l, f}
	l.hooks = append(l.room[:0], &l.hook)
	return l.stop
}

// hook is a function that is called at the end of a life.
type hook struct {
	l *life
	f func()
}

// stop prevents the call of the function, and reports whether it did.
func (h *hook) stop() bool {
	l := h.l
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.hooks, h)
	if i < 0 {
		return false
	}
	l.hooks = slices.Delete(l.hooks, i, i+1)
	return true
}

// Value gives the HostClient the function that passes interim responses on, and
// says that a request with a body must be sent only once.
func (x *exchange) Value(key any) any {
	switch key.(type) {
	case door.InterimKey:
		return x.passInterim
	case door.OnceKey:
		return x.hasBody
	case door.WholeKey:
		return true
	}
	return nil
}

// flights are the running exchanges. Watching a client costs more than passing a
// small request on, so only the clients of exchanges that take longer are watched.
type flights struct {
	mu    sync.Mutex
	first *exchange
	round uint // number of calls of watch
	armed bool // timer runs
	timer *time.Timer
}

// watchPeriod is the age of an exchange at which its client is watched: between
// this and twice this.
const watchPeriod = 50 * time.Millisecond

func (s *flights) add(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.next = s.first
	if x.next != nil {
		x.next.prev = x
	}
	s.first = x
	x.round = s.round
	if s.armed {
		return
	}
	s.armed = true
	if s.timer == nil {
		s.timer = time.AfterFunc(watchPeriod, s.watch)
		return
	}
	s.timer.Reset(watchPeriod)
}

func (s *flights) remove(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		s.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
	x.next, x.prev = nil, nil
}

// watch starts to watch the clients of exchanges that existed at its last run, and breaks off
// the responses of those that take too little. It
// holds the lock, so that none of them ends meanwhile. It runs again as long as
// there are exchanges.
func (s *flights) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
	now := clock.Ticks()
	for x := s.first; x != nil; x = x.next {
		if x.isSlow(now) {
			go x.breakOff()
		}
		if x.unwatch == nil && s.round-x.round > 1 {
			x.watchClient()
		}
	}
	if s.armed = s.first != nil; s.armed {
		s.timer.Reset(watchPeriod)
	}
}

// watchClient ends x when the client breaks the connection, when Server.Close closes it, or
// when a handler around the proxy has timed out. A shutdown of this server, and the end of a
// context that the program has given it, let x continue, and so does a client that only ends
// its own side: it gets the response. On a net/http server every end of the request's context
// ends x.
func (x *exchange) watchClient() {
	gone := door.Of(x.client).Patient()
	x.unwatch = context.AfterFunc(gone, func() {
		switch why := context.Cause(gone); {
		case errors.Is(why, gale.ErrClientGone), errors.Is(why, gale.ErrRequestDone):
			x.cancel(why)
			x.abandon()
		case gone.Foreign, errors.Is(why, net.ErrClosed):
			x.cancel(gale.ErrClientGone)
			x.abandon()
		}
	})
}
