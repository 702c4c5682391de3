// Package clock keeps the current second, as a time and as the value of a
// Date field, so that responses don't read and format the time each.
//
// While the clock is held ([Start]), one goroutine refreshes it at the
// beginning of every second. Otherwise each call asks the system, except that a
// date that was formatted is kept until a timer at the end of its second.
package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// DateLen is the length in bytes of every date that this package writes.
const DateLen = len("Mon, 02 Jan 2006 15:04:05 GMT")

// stamp is one second, ready to be served. It never changes once published.
type stamp struct {
	now  time.Time // without a monotonic reading
	base time.Time // when it was published, with one
	tick Tick
	unix int64
	date [DateLen]byte
}

// current is nil while the clock isn't held.
var current atomic.Pointer[stamp]

// currentDate is &current.date, and nil while current is; on its own so that Date is
// inlined.
var currentDate atomic.Pointer[[DateLen]byte]

// lent is the second that is served while the clock isn't held, nil if none was
// asked for since the last one ended.
var lent atomic.Pointer[stamp]

// lend returns the current second, as far as timers are in time. It is kept until it
// ends, except in a test with a clock of its own, whose timers may never fire: such
// clocks stand before the process began.
func lend() *stamp {
	if s := lent.Load(); s != nil {
		return s
	}
	now := time.Now()
	s := makeStamp(now)
	if now.Unix() < epoch.Unix() {
		return s
	}
	lent.Store(s)
	time.AfterFunc(untilNext(now), func() { lent.CompareAndSwap(s, nil) })
	return s
}

// runner is the goroutine that refreshes current.
var runner struct {
	sync.Mutex
	holders int
	quit    chan struct{} // closed to ask the goroutine to end
	done    chan struct{} // closed when it has ended
}

// Start begins to hold the clock. The goroutine that refreshes it starts with
// the first holder and has ended when the stop of the last one returns. stop
// must be called once; further calls do nothing.
func Start() (stop func()) {
	runner.Lock()
	defer runner.Unlock()
	if runner.holders == 0 {
		publish(time.Now())
		runner.quit, runner.done = make(chan struct{}), make(chan struct{})
		go run(runner.quit, runner.done)
	}
	runner.holders++
	return sync.OnceFunc(release)
}

func release() {
	runner.Lock()
	defer runner.Unlock()
	runner.holders--
	if runner.holders > 0 {
		return
	}
	close(runner.quit)
	<-runner.done
	current.Store(nil)
	currentDate.Store(nil)
}

// run publishes each second when it begins. The wait is computed anew every
// time from the wall clock, so a clock that was set or a goroutine that ran
// late is right again at the next beginning of a second.
func run(quit, done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(untilNext(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case <-timer.C:
			now := time.Now()
			publish(now)
			timer.Reset(untilNext(now))
		}
	}
}

func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond())
}

func publish(now time.Time) {
	s := makeStamp(now)
	current.Store(s)
	currentDate.Store(&s.date)
}

func makeStamp(now time.Time) *stamp {
	s := &stamp{now: now.Truncate(time.Second), base: now, tick: Ticks(), unix: now.Unix()}
	appendDate(s.date[:0], now)
	return s
}

// Now returns the current time truncated to the second, in the local zone and
// without a monotonic reading.
func Now() time.Time {
	if s := current.Load(); s != nil {
		return s.now
	}
	return time.Now().Truncate(time.Second)
}

// Instant returns the current time with a monotonic reading, like time.Now. While
// the clock is held it asks the system for the monotonic part only, at half the
// cost; a step of the wall clock shows within a second.
func Instant() time.Time {
	if s := current.Load(); s != nil {
		return s.base.Add(time.Since(s.base))
	}
	return time.Now()
}

// A Tick is an instant in nanoseconds on the monotonic clock, as Ticks gives it.
// Zero stands for none. It costs less to take and to keep than a time.Time,
// which most of them never have to become.
type Tick int64

// epoch is where ticks are counted from.
var epoch = time.Now()

// Add returns the instant d after t, which is not negative, the last one there
// is if that is too far.
func (t Tick) Add(d time.Duration) Tick {
	if sum := t + Tick(d); sum >= t || d < 0 {
		return sum
	}
	return math.MaxInt64
}

// Ticks returns the current instant.
func Ticks() Tick {
	t := Tick(time.Since(epoch))
	if t == 0 {
		t = 1
	}
	return t
}

// TickOf returns t as a tick, none for the zero time. Times before the process began
// are its first tick; but the clock of a test may stand there all the time.
func TickOf(t time.Time) Tick {
	if t.IsZero() {
		return 0
	}
	d := Tick(t.Sub(epoch))
	if d == 0 || d < 0 && Ticks() > 0 {
		return 1
	}
	return d
}

// Coarse returns the instant at which the current second of the clock began to be
// served: up to a second ago, at nearly no cost. While the clock isn't held it is Ticks.
func Coarse() Tick {
	if s := current.Load(); s != nil {
		return s.tick
	}
	return Ticks()
}

// Time returns t as a time with a monotonic reading, the zero time for no tick.
// The wall clock's part may be of a later step of that clock than t.
func (t Tick) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	var base time.Time
	if s := current.Load(); s != nil {
		base = s.base
	} else {
		base = time.Now()
	}
	return base.Add(time.Duration(t) - base.Sub(epoch))
}

// Date returns the current second as an IMF-fixdate, the form that RFC 9110 section
// 5.6.7 requires of a sender. The array never changes, and the pointer is the same
// for as long as the second lasts. The date lags behind by no more than the delay of
// a goroutine or a timer in being scheduled; a caller that has the time in hand uses
// [AppendDateAt], which never lags.
func Date() *[DateLen]byte {
	if d := currentDate.Load(); d != nil {
		return d
	}
	return lentDate()
}

//go:noinline so that Date is inlined
func lentDate() *[DateLen]byte { return &lend().date }

// AppendDate appends what Date returns and returns the extended dst.
func AppendDate(dst []byte) []byte { return append(dst, Date()[:]...) }

// AppendDateAt is like [AppendDate] with now as the current time. It costs a
// copy if the held clock knows that second, and formats now otherwise.
func AppendDateAt(dst []byte, now time.Time) []byte {
	if s := current.Load(); s != nil && s.unix == now.Unix() {
		return append(dst, s.date[:]...)
	}
	return appendDate(dst, now)
}
