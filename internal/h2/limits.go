package h2

import "github.com/galehttp/gale/internal/clock"

// bucket counts events that bring no request. It lets burst of them pass at once and
// rate in a second. The zero value is full.
type bucket struct {
	used int32      // tokens that are missing
	at   clock.Tick // up to when they were given back
}

// second is that many ticks.
const second clock.Tick = 1e9

// take takes n tokens and reports whether they were there.
func (b *bucket) take(n, burst, rate int32, now clock.Tick) bool {
	if b.used > 0 && now > b.at {
		back := int64(burst) // after a second at most
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

// buckets are those of a connection.
type buckets struct {
	resetsIn  bucket // RST_STREAM received
	resetsOut bucket // RST_STREAM sent for what the peer did
	odd       bucket // frames that change nothing, or little
	empty     bucket // DATA without data
}

// The limits of buckets: how many at once, and how many a second. Browsers that seek in
// media send some 50 resets a second. A peer answers DATA with up to two WINDOW_UPDATE (more
// where it is long: givesBack) and one PING, for which giveData gives back what they take,
// and sends a PRIORITY_UPDATE or two for a stream.
const (
	resetBurst, resetRate = 1000, 100
	oddBurst, oddRate     = 10000, 330
	emptyBurst, emptyRate = 1000, 100

	giveStream = 4
	giveData   = 3
)

// The limits of a field block in pieces. Together with the bytes of the block, which
// Config.HeaderList bounds, they bound the work.
const (
	maxContinuations      = 64
	maxEmptyContinuations = 8
)

// maxQueued is how many control frames may wait for AppendControl.
const maxQueued = 1000

// odd counts a frame that changes nothing. It reports false if the connection has failed.
func (c *Conn) odd(n int32) bool {
	if c.buckets.odd.take(n, oddBurst, oddRate, c.now) {
		return true
	}
	c.fail(EnhanceYourCalm)
	return false
}
