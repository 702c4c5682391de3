package gale

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultLBClientTimeout is how long requests of [LBClient.Do] may take if
// LBClient.Timeout isn't set.
const DefaultLBClientTimeout = time.Second

// BalancingClient is a client that an [LBClient] sends requests to. HostClient and
// PipelineClient implement it.
//
// If it also has the method
//
//	DoContext(ctx context.Context, req *Request, resp *Response) error
//
// then LBClient.DoContext calls it.
type BalancingClient interface {
	// DoDeadline sends req and returns when the response has been read into resp,
	// or at the deadline. It may be called concurrently.
	DoDeadline(req *Request, resp *Response, deadline time.Time) error
	// PendingRequests returns how many requests are running. It is called often and
	// must not block.
	PendingRequests() int
}

// LBClient distributes requests among clients.
//
// A request goes to the client with the fewest pending requests. If several have
// the same number, it goes to the one that was chosen the longest time ago. Each
// failure counts as a pending request of its client for three seconds, up to 300 of
// them. So a client whose server has problems gets few requests.
//
// Its methods may be called concurrently. Its fields must be set before the first
// call. It must not be copied.
type LBClient struct {
	noCopy noCopy

	// HealthCheck is called after each request with the results of the client, and
	// returns whether they count as a success. It may be called by several
	// goroutines at once and must not keep its arguments.
	//
	// If it is nil, a request without an error is a success, and so is a request
	// that was cancelled by the caller's context.
	HealthCheck func(req *Request, resp *Response, err error) bool

	// Clients are the clients at the start. The field is read once, at the first
	// call of any method. After that use AddClient and RemoveClients.
	Clients []BalancingClient

	// Timeout is how long requests of Do and DoContext may take. 0 and negative
	// values mean DefaultLBClientTimeout.
	Timeout time.Duration

	once    sync.Once
	changes sync.Mutex // held to store members
	members atomic.Pointer[[]*lbMember]
	turns   atomic.Uint64
}

// lbMember is a client with its counters.
type lbMember struct {
	client BalancingClient
	chosen atomic.Uint64 // the turn in which it was last chosen
	failed lbFailures
}

// load is how busy m is, its failures included.
func (m *lbMember) load() int { return m.client.PendingRequests() + m.failed.count() }

// Do sends req with the client that has the least load, and takes at most Timeout, and at
// most the time of Request.SetTimeout.
//
// It returns the error of the client. Without clients the error is
// [ErrNoAvailableClients], and resp is empty, as it is after an error of a client.
func (cc *LBClient) Do(req *Request, resp *Response) error {
	limit := cc.timeout()
	if req != nil && req.timeout > 0 {
		limit = min(limit, req.timeout)
	}
	return cc.DoDeadline(req, resp, time.Now().Add(limit))
}

// DoTimeout is like Do but takes at most timeout.
func (cc *LBClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return cc.DoDeadline(req, resp, time.Now().Add(timeout))
}

// DoDeadline is like Do but returns no later than deadline.
func (cc *LBClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	m := cc.choose()
	if m == nil {
		req.dropStream(ErrNoAvailableClients)
		return resp.failed(ErrNoAvailableClients)
	}
	err := m.client.DoDeadline(req, resp, deadline)
	if !cc.healthy(req, resp, err) {
		m.failed.add(time.Now())
	}
	return err
}

// DoContext is like Do but returns when ctx is done. Timeout counts only if ctx has
// no deadline. If the client has no method DoContext, a running request ends only
// at the deadline of ctx.
func (cc *LBClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if err := ctx.Err(); err != nil {
		req.dropStream(err)
		return resp.failed(err)
	}
	m := cc.choose()
	if m == nil {
		req.dropStream(ErrNoAvailableClients)
		return resp.failed(ErrNoAvailableClients)
	}
	err := cc.doContext(ctx, m.client, req, resp)
	if !cc.healthy(req, resp, err) {
		m.failed.add(time.Now())
	}
	return err
}

func (cc *LBClient) doContext(ctx context.Context, client BalancingClient, req *Request, resp *Response) error {
	deadline, ok := ctx.Deadline()
	c, cancels := client.(interface {
		DoContext(ctx context.Context, req *Request, resp *Response) error
	})
	switch {
	case cancels && ok:
		return c.DoContext(ctx, req, resp)
	case cancels:
		ctx, cancel := context.WithTimeout(ctx, cc.timeout())
		err := c.DoContext(ctx, req, resp)
		if err == nil && resp != nil && resp.IsBodyStream() {
			context.AfterFunc(ctx, cancel) // the context applies to the body, too
			return nil
		}
		cancel()
		return err
	case !ok:
		deadline = time.Now().Add(cc.timeout())
	}
	return client.DoDeadline(req, resp, deadline)
}

// AddClient adds c to the clients and returns how many there are.
func (cc *LBClient) AddClient(c BalancingClient) int {
	cc.once.Do(cc.begin)
	cc.changes.Lock()
	defer cc.changes.Unlock()
	members := append(slices.Clone(*cc.members.Load()), &lbMember{client: c})
	cc.members.Store(&members)
	return len(members)
}

// RemoveClients removes the clients for which rc returns true and returns how many
// are left. Running requests of a removed client continue. rc must not add or
// remove clients.
func (cc *LBClient) RemoveClients(rc func(BalancingClient) bool) int {
	cc.once.Do(cc.begin)
	cc.changes.Lock()
	defer cc.changes.Unlock()
	var members []*lbMember
	for _, m := range *cc.members.Load() {
		if !rc(m.client) {
			members = append(members, m)
		}
	}
	cc.members.Store(&members)
	return len(members)
}

func (cc *LBClient) begin() {
	var members []*lbMember
	for _, c := range cc.Clients {
		if c != nil {
			members = append(members, &lbMember{client: c})
		}
	}
	cc.members.Store(&members)
}

func (cc *LBClient) timeout() time.Duration {
	if cc.Timeout > 0 {
		return cc.Timeout
	}
	return DefaultLBClientTimeout
}

func (cc *LBClient) healthy(req *Request, resp *Response, err error) bool {
	if cc.HealthCheck != nil {
		return cc.HealthCheck(req, resp, err)
	}
	return err == nil || errors.Is(err, context.Canceled)
}

// choose returns the member for the next request, or nil if there is none.
func (cc *LBClient) choose() *lbMember {
	cc.once.Do(cc.begin)
	var best *lbMember
	var load int
	var chosen uint64
	for _, m := range *cc.members.Load() {
		l := m.load()
		if best != nil && l > load {
			continue
		}
		if c := m.chosen.Load(); best == nil || l < load || c < chosen {
			best, load, chosen = m, l, c
		}
	}
	if best != nil {
		best.chosen.Store(cc.turns.Add(1))
	}
	return best
}

const (
	// lbFailureTime is how long a failure counts.
	lbFailureTime = 3 * time.Second
	// lbMaxFailures is how many failures count at most. If all requests fail, their
	// exact number doesn't matter.
	lbMaxFailures = 300
)

// lbFailures are the failures that count now: a ring buffer with the time when each
// one stops to count.
type lbFailures struct {
	n     atomic.Int32 // how many; changed under the lock, but a test for 0 needs no lock
	mu    sync.Mutex
	ends  []time.Time
	first int
}

// add records a failure.
func (f *lbFailures) add(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.expire(now)
	if n == lbMaxFailures {
		return
	}
	if n == len(f.ends) { // full: its contents move to the front
		ends := make([]time.Time, min(2*n+4, lbMaxFailures))
		copy(ends[copy(ends, f.ends[f.first:]):], f.ends[:f.first])
		f.ends, f.first = ends, 0
	}
	f.ends[(f.first+n)%len(f.ends)] = now.Add(lbFailureTime)
	f.n.Store(int32(n + 1))
}

// count returns how many failures count now.
func (f *lbFailures) count() int {
	if f.n.Load() == 0 {
		return 0
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.expire(now)
}

// expire removes the failures that have ended and returns how many are left.
func (f *lbFailures) expire(now time.Time) int {
	n := int(f.n.Load())
	for n > 0 && !now.Before(f.ends[f.first]) {
		f.first = (f.first + 1) % len(f.ends)
		n--
	}
	f.n.Store(int32(n))
	return n
}
