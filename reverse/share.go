package reverse

import (
	"net/netip"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/shares"
)

// streamsPerConn is for how many requests a connection counts that may be one of HTTP/2. Servers
// should allow no fewer (RFC 9113 section 6.5.2).
const streamsPerConn = 100

// shareOf returns how many of all places one client may have, 0 for no limit. set is the setting.
func shareOf(set, all int) int {
	switch {
	case set < 0:
		return 0
	case set > 0:
		return set
	case all <= 0:
		all = gale.DefaultMaxConnsPerHost
	}
	return max(1, all/4)
}

// enterShare takes a place in the client's share of the upstream's connections, and waits for it
// as long as for a connection.
func (x *exchange) enterShare(upgrade bool) error {
	p, s := x.p, &x.up.requests
	most := shareOf(p.MaxConnsPerClient, p.MaxConns)
	if upgrade {
		s, most = &x.up.upgrades, shareOf(p.MaxUpgradesPerClient, p.MaxUpgrades)
	} else if door.MayHTTP2(x.up.client) {
		most *= streamsPerConn
	}
	if most == 0 {
		return nil
	}
	ip := door.ClientIP(x.client, x.addr, p.TrustedProxies)
	place, ok := s.Take(ip, most)
	if !ok {
		place, ok = x.awaitShare(s, ip, most)
	}
	x.place = place
	if cause := x.ended(); cause != nil {
		return cause
	}
	if !ok {
		return ErrClientShare
	}
	return nil
}

func (x *exchange) awaitShare(s *shares.Shares, ip netip.Addr, most int) (place shares.Place, ok bool) {
	d := limit(x.p.MaxConnWait, DefaultMaxConnWait)
	if d == 0 {
		return place, false
	}
	return s.Wait(ip, most, d, x.Done())
}

// leaveShare gives the place back, if there is one.
func (x *exchange) leaveShare() {
	x.place.GiveBack()
	x.place = shares.Place{}
}

// setPatience sets how long the client may take for a piece of the response, which is as much as
// one Read returns: up to 32 KiB. The server itself only wants to see that a byte is taken.
func (x *exchange) setPatience() {
	stall, known := door.Of(x.client).WriteStall()
	if !known {
		stall = gale.DefaultStallTimeout
	}
	x.patience = 2 * stall
}

// isSlow reports whether the client takes too long for a piece of the response. The answer is true
// once for a piece.
func (x *exchange) isSlow(now clock.Tick) bool {
	since := x.given.Load()
	return since != 0 && time.Duration(now-clock.Tick(since)) > x.patience && x.given.CompareAndSwap(since, 0)
}

// breakOff ends the exchange with the upstream, because the client is slow, while the server still
// waits for the client. The server's next Read gets the error.
func (x *exchange) breakOff() {
	defer survive()
	if !x.use.TryLock() {
		return // it has taken the piece
	}
	defer x.use.Unlock()
	if x.over || x.given.Load() != 0 {
		return
	}
	x.broken = true
	_ = x.resp.CloseBodyStream()
	x.leaveShare()
}
