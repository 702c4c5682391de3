// Package clock keeps the current second, as a time and as the value of a Date
// field, so that the time isn't read and formatted again for each response.
//
// While the clock is held ([Start]), one goroutine refreshes it at the beginning of
// every second. Otherwise each call reads the time from the system; only a
// formatted date is kept until a timer at the end of its second.
package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// DateLen is the length in bytes of every date that this package writes.
const DateLen = len("Mon, 02 Jan 2006 15:04:05 GMT")

// stamp is one second in its ready forms. It never changes after it was published.
type stamp struct {
	now  time.Time // without a monotonic reading
	base time.Time // when it was published, with a monotonic reading
	tick Tick
	unix int64
	date [DateLen]byte
}

// current is nil while the clock isn't held.
var current atomic.Pointer[stamp]

// currentDate is &current.date, or nil while current is nil. It is a variable of
// its own so that Date can be inlined.
var currentDate atomic.Pointer[[DateLen]byte]

// lent is the second that is served while the clock isn't held. It is nil if no
// date was requested since the last one ended.
var lent atomic.Pointer[stamp]

// lend returns the current second, as precisely as timers fire. It is kept until it
// ends, except in a test with a fake clock, whose timers may never fire. The time
// of such clocks is before the start of the process.
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

// Start holds the clock until stop is called. The goroutine that refreshes the
// clock starts with the first holder, and has ended when stop of the last one
// returns. stop must be called; only its first call has an effect.
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

// run publishes each second when it begins. The wait is computed again every time
// from the wall clock. So after the clock was set, or if the goroutine runs late,
// the time is right again at the next beginning of a second.
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
// the clock is held, it reads only the monotonic part from the system, which costs
// half as much. A change of the wall clock is visible within a second.
func Instant() time.Time {
	if s := current.Load(); s != nil {
		return s.base.Add(time.Since(s.base))
	}
	return time.Now()
}

// A Tick is an instant in nanoseconds on the monotonic clock, as Ticks gives it.
// Zero means no instant. A Tick costs less to read and to store than a time.Time,
// and most of them are never converted to one.
type Tick int64

// Ticks are counted from epoch.
var epoch = time.Now()

// Add returns the instant d after t. t must not be negative. If the result would be
// too large, it is the largest Tick.
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

// TickOf returns t as a tick, or 0 for the zero time. A time before the start of
// the process becomes the first tick; but the fake clock of a test may have such
// times.
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

// Earlier returns the earlier of two instants, of which 0 is never.
func Earlier(a, b Tick) Tick {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// LongAgo is a deadline that has passed: it ends reads and writes that wait.
var LongAgo = time.Unix(1, 0)

// Coarse returns the instant at which the current second of the clock was
// published. It is up to a second old, and costs almost nothing. While the clock
// isn't held, Coarse is Ticks.
func Coarse() Tick {
	if s := current.Load(); s != nil {
		return s.tick
	}
	return Ticks()
}

// Time returns t as a time with a monotonic reading, or the zero time for no tick.
// If the wall clock was changed after t, the result may have the changed time.
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
// 5.6.7 requires of a sender. The array never changes, and the pointer stays the
// same during the second. The date may be late by the time that a goroutine or a
// timer needs to be scheduled. A caller that has the current time can use
// [AppendDateAt], which is never late.
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

// AppendDateAt is like [AppendDate] with now as the current time. If the held clock
// has that second, it only copies the date; otherwise it formats now.
func AppendDateAt(dst []byte, now time.Time) []byte {
	if s := current.Load(); s != nil && s.unix == now.Unix() {
		return append(dst, s.date[:]...)
	}
	return appendDate(dst, now)
}
