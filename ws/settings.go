package ws

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
)

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// settings are the settings of an Options or DialOptions with all defaults applied.
// Connections share them. They don't change.
type settings struct {
	maxMessage, maxCompressed int64         // math.MaxInt64 without a limit
	maxControl                int           // 0 without a limit
	pingInterval, idleTimeout time.Duration // 0: no pings, no limit
	maxLifetime, closeTimeout time.Duration // maxLifetime 0: no limit
	writeTimeout              time.Duration // 0: no limit
	maxQueue                  int
	policy                    QueuePolicy
	compression               *Compression // nil: off; a copy with defaults applied
	stats                     *counters
}

// Defaults of Options.
const (
	defaultMaxMessage   = 1 << 20
	defaultMaxControl   = 100
	defaultIdleTimeout  = time.Minute
	defaultCloseTimeout = 5 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultMaxQueue     = 1 << 20
	defaultThreshold    = 512
)

// mostControl is the largest MaxControl: a frame each microsecond, the unit in which they
// are counted.
const mostControl = 1_000_000

// defaults replaces values that are 0 with the defaults, and negative ones with what means
// no limit.
func (s *settings) defaults() {
	if s.maxMessage == 0 {
		s.maxMessage = defaultMaxMessage
	}
	if s.maxMessage < 0 {
		s.maxMessage = math.MaxInt64
	}
	if s.maxCompressed == 0 {
		s.maxCompressed = s.maxMessage
	}
	if s.maxCompressed < 0 {
		s.maxCompressed = math.MaxInt64
	}
	if s.maxControl == 0 {
		s.maxControl = defaultMaxControl
	}
	if s.maxControl < 0 || s.maxControl > mostControl {
		s.maxControl = 0
	}
	orDefault(&s.idleTimeout, defaultIdleTimeout)
	orDefault(&s.pingInterval, s.idleTimeout/2)
	orDefault(&s.closeTimeout, defaultCloseTimeout)
	if s.closeTimeout == 0 { // negative: there must be a limit
		s.closeTimeout = defaultCloseTimeout
	}
	orDefault(&s.writeTimeout, defaultWriteTimeout)
	s.maxLifetime = max(s.maxLifetime, 0)
	if s.maxQueue <= 0 {
		s.maxQueue = defaultMaxQueue
	}
	if s.compression != nil {
		c := *s.compression
		c.defaults()
		s.compression = &c
	}
}

// orDefault replaces 0 with def, and negative values with 0.
func orDefault(d *time.Duration, def time.Duration) {
	switch {
	case *d == 0:
		*d = def
	case *d < 0:
		*d = 0
	}
}

func (c *Compression) defaults() {
	if c.Threshold == 0 {
		c.Threshold = defaultThreshold
	}
	if c.Level == 0 {
		c.Level = 1
	}
	c.Level = min(max(c.Level, 1), 9)
	c.SendBits = windowBits(c.SendBits)
	c.ReceiveBits = windowBits(c.ReceiveBits)
}

func windowBits(bits int) int {
	if bits == 0 {
		return 15
	}
	return min(max(bits, 9), 15)
}

// negotiated returns what a server wants of the client's offers.
func (c *Compression) negotiated() wsframe.DeflateOptions {
	return wsframe.DeflateOptions{
		ServerTakeover: c.SendTakeover, ClientTakeover: c.ReceiveTakeover,
		ServerBits: uint8(c.SendBits), ClientBits: uint8(c.ReceiveBits),
	}
}

// shared is the state that the connections of one Options share.
type shared struct {
	once      sync.Once
	settings  settings
	origins   []origin
	anyOrigin bool
	stats     counters
	params    paramsCache
}

// settings returns the settings with defaults applied. The first call decides.
func (o *Options) settings() *settings {
	sh := &o.shared
	sh.once.Do(func() {
		sh.settings = settings{
			maxMessage: o.MaxMessage, maxCompressed: o.MaxCompressed, maxControl: o.MaxControl,
			pingInterval: o.PingInterval, idleTimeout: o.IdleTimeout,
			maxLifetime: o.MaxLifetime, closeTimeout: o.CloseTimeout, writeTimeout: o.WriteTimeout,
			maxQueue: o.MaxQueue, policy: o.QueuePolicy, compression: o.Compression,
			stats: &sh.stats,
		}
		sh.settings.defaults()
		for _, text := range o.Origins {
			if text == "*" {
				sh.anyOrigin = true
			}
			if p, ok := parseOrigin(text); ok {
				sh.origins = append(sh.origins, p)
			}
		}
	})
	return &sh.settings
}

// defaultOptions are the Options of calls with nil.
var defaultOptions Options

// counters are the counters of Stats.
type counters struct {
	open                                              atomic.Int64
	accepted, refused                                 atomic.Uint64
	dropped, queueClosed, waits                       atomic.Uint64
	idleClosed, lifetimeClosed, controlClosed, tooBig atomic.Uint64
	panics                                            atomic.Uint64
}

// Stats returns the counters. Each is read at its own time. It is safe for concurrent use.
func (o *Options) Stats() Stats {
	c := &o.shared.stats
	return Stats{
		Open: c.open.Load(), Accepted: c.accepted.Load(), Refused: c.refused.Load(),
		Dropped: c.dropped.Load(), QueueClosed: c.queueClosed.Load(), Waits: c.waits.Load(),
		IdleClosed: c.idleClosed.Load(), LifetimeClosed: c.lifetimeClosed.Load(),
		ControlClosed: c.controlClosed.Load(), TooBig: c.tooBig.Load(),
		Panics: c.panics.Load(),
	}
}
