package h2

import "github.com/galehttp/gale/internal/clock"

// bucket is a token bucket for events that bring no request. It allows burst of
// them at once and rate per second. The zero value is full.
type bucket struct {
	used int32      // missing tokens
	at   clock.Tick // time up to which tokens were given back
}

// second is one second in ticks.
const second clock.Tick = 1e9

// take takes n tokens. It returns false if there weren't enough.
func (b *bucket) take(n, burst, rate int32, now clock.Tick) bool {
	if b.used > 0 && now > b.at {
		back := int64(burst) // the bucket is full after a second at most
		if d := now - b.at; d < second*clock.Tick(burst/rate+1) {
			back = int64(d) * int64(rate) / int64(second)
		}
		if back > 0 {
			b.used = max(0, b.used-int32(min(back, int64(burst))))
			b.at = now
		}
	}
	if b.used == 0 {
		b.at = now
	}
	if b.used+n > burst {
		return false
	}
	b.used += n
	return true
}

// refund gives n tokens back.
func (b *bucket) refund(n int32) { b.used = max(0, b.used-n) }

// buckets are the buckets of a connection.
type buckets struct {
	resetsIn  bucket // RST_STREAM received
	resetsOut bucket // RST_STREAM sent because of errors of the peer
	odd       bucket // frames that change nothing, or little
	empty     bucket // DATA without data
}

// The limits of the buckets: how many at once, and how many per second. Browsers
// that seek in media send about 50 resets per second. A peer answers DATA with up
// to two WINDOW_UPDATE frames (more for long data: givesBack) and one PING;
// giveData gives back the tokens that these take. A peer also sends one or two
// PRIORITY_UPDATE frames per stream. A program may write an empty piece of each body,
// which becomes DATA without data.
const (
	resetBurst, resetRate = 1000, 100
	oddBurst, oddRate     = 10000, 330
	emptyBurst, emptyRate = 1000, 100

	giveStream = 4
	giveData   = 3
	giveEmpty  = 1 // for a stream, to the bucket of empty DATA
)

// The limits of a field block in pieces. Together with Config.HeaderList, which
// limits the bytes of the block, they limit the work.
const (
	maxContinuations      = 64
	maxEmptyContinuations = 8
)

// maxQueued is how many control frames may wait for AppendControl, unless the streams need
// more: see mostQueued.
const maxQueued = 1000

// mostQueued is how many control frames may wait for AppendControl. There is room for a
// reset and a WINDOW_UPDATE of each stream, because a caller may cause them all at once.
func (c *Conn) mostQueued() int32 { return max(maxQueued, 2*int32(c.cfg.Streams)) }

// odd counts a frame that changes nothing. It returns false if the connection has
// failed.
func (c *Conn) odd(n int32) bool {
	if c.buckets.odd.take(n, oddBurst, oddRate, c.now) {
		return true
	}
	c.fail(EnhanceYourCalm)
	return false
}
