package load

import (
	"context"
	"crypto/rand"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/measure/figures"
)

// grace is the longest time that an open loop waits for answers after its last start.
const grace = 5 * time.Second

// maxOpening is how long a run waits for its connections before it begins without some.
const maxOpening = 10 * time.Second

// maxUnopened is how long a run with a Count goes on while no connection can be opened.
const maxUnopened = 10 * time.Second

// run is what the loops of a run share. The fields without atomic types are set before
// started is, and don't change.
type run struct {
	plan      *Plan
	targets   []*target
	endpoints []*endpoint
	pattern   []int32 // of targets, in an open loop
	schedule  *schedule
	perConn   int // requests of a connection, 0: no limit
	grace     int64
	scan      int64 // between two looks at all connections
	loops     []*loop
	http2     h2.Config

	base       time.Time // all times of the run are nanoseconds since
	warm       int64     // when the warm-up begins
	warmStarts int64     // starts in the warm-up
	begin      int64     // when the counted time begins

	end         atomic.Int64 // when the counted time ends
	interrupted bool         // the context ended the counted time
	started     atomic.Bool
	stopped     atomic.Bool   // the context is done
	opened      atomic.Int64  // when a connection was opened last
	connections atomic.Int64  // that are open
	finished    chan struct{} // closed when end was set to an earlier time
	once        sync.Once
	tickets     atomic.Int64 // that no loop has taken; of a closed loop with a Count
	hungry      atomic.Bool  // a loop found no ticket
	numbers     atomic.Int64
	ended       atomic.Int64 // counted requests that have ended
	last        atomic.Int64 // when the last one did

	ready      sync.WaitGroup // loops whose connections were tried
	working    sync.WaitGroup // loops
	handshakes sync.WaitGroup
}

// Run carries out p. It ends when the plan does or ctx is done, whichever comes first, and
// then returns what was measured: all of figures.Run that describes requests, connections,
// the schedule, targets, steps and intervals, and of Generator what its loops know (Busy,
// Wait, Late). The error says why nothing could be measured, and is an *Error if p or what
// it names is the reason; that requests failed is no error.
func Run(ctx context.Context, p *Plan) (*figures.Run, error) {
	return runWith(ctx, p, newNetwork)
}

// runWith is Run with the network that loops use.
func runWith(ctx context.Context, p *Plan, network func(conns int) (network, error)) (*figures.Run, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := checkFiles(p); err != nil {
		return nil, err
	}
	r := &run{plan: p, base: time.Now(), finished: make(chan struct{})}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if err := r.makeLoops(network); err != nil {
		return nil, err
	}
	// Loops don't give up their processors while they wait; see epoll.block.
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(processors + p.Threads)
	defer runtime.GOMAXPROCS(processors)
	began, w := r.carryOut(ctx)
	r.handshakes.Wait() // they wake the networks
	for _, l := range r.loops {
		l.net.end()
	}
	intervals, err := w.timeline.intervals()
	if err != nil {
		return nil, err
	}
	return r.result(began, intervals, w.listener.silences)
}

// prepare makes what the loops share.
func (r *run) prepare() error {
	p := r.plan
	_, _ = rand.Read(p.maskKey[:])
	index := map[string]int{}
	for _, t := range p.endpoints() {
		e, err := endpointOf(t)
		if err != nil {
			return err
		}
		index[p.key(t)] = len(r.endpoints)
		r.endpoints = append(r.endpoints, e)
	}
	if err := checkPorts(p, r.endpoints); err != nil {
		return err
	}
	if err := checkSources(p, r.endpoints); err != nil {
		return err
	}
	weights := make([]int, len(p.Targets))
	for i := range p.Targets {
		t := &p.Targets[i]
		weights[i] = t.Weight
		r.targets = append(r.targets, newTarget(t, index[p.key(t)], p))
	}
	r.pattern = pattern(weights)
	if p.HTTP2 {
		r.http2.Streams = max(p.Streams, 1)
		if err := r.checkHTTP2(); err != nil {
			return err
		}
	}
	r.perConn = p.RequestsPerConn
	if p.NoKeepAlive {
		r.perConn = 1
	}
	r.scan = int64(maxScan)
	for _, d := range []time.Duration{p.Timeout, p.ConnectTimeout} {
		if d > 0 {
			r.scan = max(min(r.scan, int64(d/16)), int64(minScan))
		}
	}
	r.grace = int64(grace)
	if p.Timeout > 0 {
		r.grace = min(r.grace, int64(p.Timeout))
	}
	r.tickets.Store(p.Count)
	r.end.Store(never)
	if len(p.Schedule) > 0 {
		r.schedule = newSchedule(p.Schedule)
		if p.Count > 0 {
			r.schedule.total = min(r.schedule.total, p.Count)
		}
		r.warmStarts = int64(p.WarmUp.Seconds() * p.Schedule[0].From)
	}
	return nil
}

// makeLoops makes the loops and divides the connections among them.
func (r *run) makeLoops(network func(int) (network, error)) error {
	p := r.plan
	for i := range p.Threads {
		share := p.Connections / p.Threads
		if i < p.Connections%p.Threads {
			share++
		}
		n, err := network(share)
		if err != nil {
			for _, l := range r.loops {
				l.net.end()
			}
			return err
		}
		r.loops = append(r.loops, newLoop(r, int64(i), n, share))
	}
	return nil
}

// newLoop returns a loop with so many connections.
func newLoop(r *run, id int64, n network, conns int) *loop {
	l := &loop{
		run: r, id: id, net: n, tally: newTally(r.plan),
		buf: make([]byte, readBuffer), heads: make([]seenHead, len(r.targets)),
		slice: make(chan *slice, 1), left: make(chan struct{}),
	}
	l.servers = make([]*server, len(r.endpoints))
	weights := make([]int, len(r.endpoints))
	for i, e := range r.endpoints {
		l.servers[i] = &server{id: i, endpoint: e, next: start{at: never}}
	}
	for _, t := range r.pattern {
		s := l.servers[r.targets[t].server]
		s.targets = append(s.targets, t)
		weights[s.id]++
	}
	for _, t := range r.targets {
		if t.TLS != nil && l.plain == nil {
			l.plain = make([]byte, readBuffer)
		}
	}
	turns := pattern(weights)
	for slot := range conns {
		c := &conn{slot: int32(slot)}
		if r.plan.HTTP2 {
			c.http2 = &http2{repeated: make([]h2.Repeated, len(r.targets))}
		} else {
			c.flight.ring = make([]exchange, max(r.plan.Pipeline, 1))
		}
		if r.plan.WebSocket {
			c.websocket = &websocket{bodies: make([]*Request, len(c.flight.ring))}
		}
		c.server = l.servers[turns[slot%len(turns)]]
		if slot < len(l.servers) { // one to each at least
			c.server = l.servers[slot]
		}
		c.server.free.conns = append(c.server.free.conns, nil)
		l.conns = append(l.conns, c)
	}
	return l
}

// carryOut runs the loops and returns when the counted time began, and what was collected.
func (r *run) carryOut(ctx context.Context) (time.Time, *watch) {
	r.ready.Add(len(r.loops))
	for _, l := range r.loops {
		r.working.Go(l.work)
	}
	over := make(chan struct{})
	go func() {
		r.working.Wait()
		close(over)
	}()
	r.awaitOpening(ctx)
	began := r.start()
	watched, w := make(chan struct{}), newWatch(r, over)
	go func() {
		defer close(watched)
		w.work()
	}()
	select {
	case <-ctx.Done():
		r.interrupt()
	case <-over:
	}
	<-watched
	return began, w
}

// awaitOpening waits until all loops have tried to open their connections.
func (r *run) awaitOpening(ctx context.Context) {
	opened := make(chan struct{})
	go func() {
		r.ready.Wait()
		close(opened)
	}()
	tick := time.NewTicker(coarse)
	defer tick.Stop()
	for late := time.After(maxOpening); ; {
		select {
		case <-opened:
			return
		case <-late:
			return
		case <-ctx.Done():
			r.stopped.Store(true)
			r.interrupted = true
			return
		case <-tick.C:
			if r.plan.Opening != nil {
				r.plan.Opening(int(r.connections.Load()))
			}
		}
	}
}

// start begins the time of the run.
func (r *run) start() time.Time {
	p := r.plan
	now := time.Now()
	r.warm = int64(now.Sub(r.base))
	r.begin = r.warm + int64(p.WarmUp)
	r.opened.Store(r.warm)
	switch {
	case r.stopped.Load():
		r.end.Store(r.warm)
	case r.schedule != nil && p.Count > 0 && p.Duration == 0: // with the last request, even if that is late
	case r.schedule != nil:
		r.end.Store(r.begin + int64(r.schedule.time))
	case p.Duration > 0:
		r.end.Store(r.begin + int64(p.Duration))
	}
	r.started.Store(true)
	r.wake()
	return now.Add(p.WarmUp)
}

// interrupt ends the run because its context is done. If only answers are missing, the
// counted time is complete.
func (r *run) interrupt() {
	r.interrupted = r.interrupted || r.now() < r.end.Load()
	r.stop()
}

// stop ends the run at once.
func (r *run) stop() {
	r.stopped.Store(true)
	r.end.Store(min(r.end.Load(), max(r.now(), r.warm)))
	r.over()
}

// over tells everybody that end has come earlier than it was planned.
func (r *run) over() {
	r.once.Do(func() { close(r.finished) })
	r.wake()
}

// now returns the time.
func (r *run) now() int64 { return int64(time.Since(r.base)) }

func (r *run) wake() {
	for _, l := range r.loops {
		l.net.wake()
	}
}

// takeTickets takes tickets for some requests, 0 if there are none. Towards the end it
// takes few, so that no loop has tickets that others could use.
func (r *run) takeTickets() int64 {
	left := r.tickets.Load()
	n := max(min(left/int64(16*len(r.loops)), maxTickets), 1)
	got := r.tickets.Add(-n) + n // what there was
	if got >= n {
		return n
	}
	r.tickets.Add(n - max(got, 0))
	if got > 0 {
		return got
	}
	if !r.hungry.Load() {
		r.hungry.Store(true)
	}
	return 0
}

// finish counts requests that have ended, the last one at a time, and ends the run with
// the last of all.
func (r *run) finish(n, at int64) {
	for old := r.last.Load(); at > old && !r.last.CompareAndSwap(old, at); old = r.last.Load() {
	}
	total := r.plan.Count
	if r.schedule != nil {
		total = r.schedule.total
	}
	if r.ended.Add(n) == total {
		r.end.Store(min(r.end.Load(), r.last.Load()))
		r.over()
	}
}

// source returns the local address for the next socket of c.
func (r *run) source(c *conn) netip.Addr {
	list := r.plan.Sources
	if len(list) == 0 || c.server.endpoint.network == "unix" {
		return netip.Addr{}
	}
	return list[int(uint32(c.slot)+c.gen)%len(list)]
}
