package gale

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/modeltest"
	"github.com/galehttp/gale/internal/race"
)

// TestLBClientModel makes random calls of an LBClient whose clients answer, fail, wait, panic
// and end their goroutine at random, as HealthCheck does, while clients are added and removed.
// Whenever no goroutine can go on, it proves that each call that runs waits in a client, that
// the failures of each client are those of the last three seconds, and that the next call
// goes to a client with the least load. A client that was removed gets no call that began
// after that. At the end, all calls have ended and all loads are 0.
func TestLBClientModel(t *testing.T) {
	modeltest.Each(t, race.Fewer(100), func(seed uint64) {
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
			m := newLBModel(t, seed)
			for step := 0; step < 80 && !t.Failed(); step++ {
				for range 1 + m.Rand.IntN(4) {
					m.act()
				}
				synctest.Wait()
				m.check()
			}
			m.settle()
		})
	})
}

// lbModel is one run of TestLBClientModel.
type lbModel struct {
	*modeltest.Run
	cc *LBClient

	mu      sync.Mutex
	clients []*lbModelClient // also those that were removed
	calls   map[string]*lbModelClient
	last    int // the last call that began
	without int // the last call that began before there were clients again
	cancels []context.CancelFunc
}

// lbModelClient is a client of the program. The model's lock guards the fields after number.
type lbModelClient struct {
	m      *lbModel
	number int

	member   *lbMember
	removed  bool
	gone     bool // RemoveClients has returned
	last     int  // the last call that began before that
	pending  int
	waiting  []chan struct{}
	failures []time.Time
}

// lbModelCtxClient is one that has a method DoContext.
type lbModelCtxClient struct{ *lbModelClient }

func (c lbModelCtxClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, req)
}

func newLBModel(t *testing.T, seed uint64) *lbModel {
	m := &lbModel{Run: modeltest.New(t, seed), calls: map[string]*lbModelClient{}}
	m.cc = &LBClient{Timeout: time.Duration(1+m.Rand.IntN(5)) * time.Second}
	if m.Rand.IntN(2) == 0 {
		m.cc.HealthCheck = m.healthy
	}
	m.Note("Timeout %v, HealthCheck %v", m.cc.Timeout, m.cc.HealthCheck != nil)
	for range m.Rand.IntN(4) {
		m.add()
	}
	return m
}

// act does something at random.
func (m *lbModel) act() {
	switch n := m.Rand.IntN(100); {
	case n < 50:
		m.call()
	case n < 55:
		m.probe()
	case n < 75:
		m.release()
	case n < 80:
		m.mu.Lock()
		if cancel, ok := modeltest.Pick(m.Run, &m.cancels); ok {
			m.Note("a context ends")
			cancel()
		}
		m.mu.Unlock()
	case n < 85:
		m.add()
	case n < 90:
		m.remove()
	case n < 91:
		m.Note("a function for RemoveClients panics")
		func() {
			defer func() { _ = recover() }()
			m.cc.RemoveClients(func(BalancingClient) bool { panic("mischief") })
		}()
	default:
		d := time.Duration(1+m.Rand.IntN(1000)) * time.Millisecond
		m.Note("%v pass", d)
		time.Sleep(d) // by the clock of the bubble
	}
}

// add adds a client.
func (m *lbModel) add() {
	m.mu.Lock()
	c := &lbModelClient{m: m, number: len(m.clients)}
	if m.present() == 0 {
		m.without = math.MaxInt
	}
	m.clients = append(m.clients, c)
	m.mu.Unlock()
	var client BalancingClient = c
	if m.Rand.IntN(2) == 0 {
		client = lbModelCtxClient{c}
	}
	m.Note("client %d is added", c.number)
	n := m.cc.AddClient(client)
	m.mu.Lock()
	defer m.mu.Unlock()
	members := *m.cc.members.Load()
	c.member = members[len(members)-1]
	if want := m.present(); n != want {
		m.Fail("AddClient returned %d, but there are %d clients", n, want)
	}
	if n == 1 {
		m.without = m.last
	}
}

// present returns how many clients there are. mu is held.
func (m *lbModel) present() int {
	n := 0
	for _, c := range m.clients {
		if !c.removed {
			n++
		}
	}
	return n
}

// remove removes a client, and others with it at times.
func (m *lbModel) remove() {
	if len(m.clients) == 0 {
		return
	}
	gone := m.clients[m.Rand.IntN(len(m.clients))]
	above := m.Rand.IntN(3 * len(m.clients))
	left := m.cc.RemoveClients(func(client BalancingClient) bool {
		c, ok := client.(*lbModelClient)
		if !ok {
			c = client.(lbModelCtxClient).lbModelClient
		}
		if c != gone && c.number <= above {
			return false
		}
		m.Note("client %d is removed", c.number)
		m.mu.Lock()
		defer m.mu.Unlock()
		c.removed = true
		return true
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.clients {
		if c.removed && !c.gone {
			c.gone, c.last = true, m.last
		}
	}
	if want := m.present(); left != want {
		m.Fail("RemoveClients returned %d, but there are %d clients", left, want)
	}
}

// release lets a call in a client go on.
func (m *lbModel) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.clients) == 0 {
		return
	}
	c := m.clients[m.Rand.IntN(len(m.clients))]
	if goes, ok := modeltest.Pick(m.Run, &c.waiting); ok {
		m.Note("a call of client %d goes on", c.number)
		close(goes)
	}
}

// call starts a call.
func (m *lbModel) call() {
	if m.Running() >= 20 {
		return
	}
	kinds := []string{"Do", "DoTimeout", "DoContext", "DoContext with a deadline", "SetTimeout"}
	m.start(kinds[m.Rand.IntN(len(kinds))])
}

func (m *lbModel) start(kind string) {
	timeout := time.Duration(1+m.Rand.IntN(5_000)) * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	m.Call(kind, func(id int) {
		defer cancel()
		req := &Request{}
		req.Header.SetMethod(strconv.Itoa(id))
		m.mu.Lock()
		m.last = max(m.last, id)
		m.mu.Unlock()
		var err error
		switch kind {
		case "DoTimeout":
			err = m.cc.DoTimeout(req, &Response{}, timeout)
		case "DoContext", "DoContext with a deadline":
			m.mu.Lock()
			m.cancels = append(m.cancels, cancel)
			m.mu.Unlock()
			if kind != "DoContext" {
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			err = m.cc.DoContext(ctx, req, &Response{})
		case "SetTimeout":
			req.SetTimeout(timeout)
			fallthrough
		default:
			err = m.cc.Do(req, &Response{})
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		c := m.calls[strconv.Itoa(id)]
		switch {
		case err == ErrNoAvailableClients && m.present() > 0 && id > m.without:
			m.Fail("call %d found no client", id)
		case m.cc.HealthCheck == nil && err != nil && !errors.Is(err, context.Canceled) && c != nil:
			c.failures = append(c.failures, time.Now())
		}
	})
}

// healthy is the HealthCheck of the LBClient.
func (m *lbModel) healthy(req *Request, _ *Response, err error) bool {
	m.Mischief()
	if err == nil && !m.Chance(10) {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[string(req.Header.Method())]
	c.failures = append(c.failures, time.Now())
	return false
}

func (c *lbModelClient) DoDeadline(req *Request, _ *Response, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	return c.do(ctx, req)
}

func (c *lbModelClient) PendingRequests() int {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.pending
}

var errLBModel = errors.New("the client failed")

// do answers a request, at once or later, or fails.
func (c *lbModelClient) do(ctx context.Context, req *Request) error {
	m := c.m
	call := string(req.Header.Method())
	id, _ := strconv.Atoi(call)
	goes := make(chan struct{})
	waits := m.Chance(60)
	m.mu.Lock()
	if c.gone && id > c.last {
		m.Fail("client %d got call %d, which began after it was removed", c.number, id)
	}
	m.calls[call] = c
	c.pending++
	if waits {
		c.waiting = append(c.waiting, goes)
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		c.pending--
		c.waiting = slices.DeleteFunc(c.waiting, func(w chan struct{}) bool { return w == goes })
	}()
	if waits {
		select {
		case <-goes:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.Mischief()
	if m.Chance(15) {
		return errLBModel
	}
	return nil
}

// probe does a call while nothing else happens: a client with the least load must get it.
func (m *lbModel) probe() {
	synctest.Wait()
	if m.Running() >= 20 {
		return
	}
	least, loads := 0, map[*lbModelClient]int{}
	for _, c := range m.clients {
		if c.removed {
			continue
		}
		if loads[c] = c.member.load(); len(loads) == 1 || loads[c] < least {
			least = loads[c]
		}
	}
	m.start("probe")
	synctest.Wait()
	m.mu.Lock()
	c := m.calls[strconv.Itoa(m.last)]
	m.mu.Unlock()
	if c == nil && len(loads) == 0 {
		return
	}
	if load, ok := loads[c]; !ok || load != least {
		m.Fail("the call went to a client with the load %d, although the least load was %d", load, least)
	}
}

// check looks for calls that wait outside clients and for wrong counts, when no goroutine can
// go on.
func (m *lbModel) check() {
	m.T.Helper()
	pending := 0
	for _, c := range m.clients {
		pending += c.PendingRequests()
		failures := 0
		m.mu.Lock()
		for _, at := range c.failures {
			if time.Since(at) < lbFailureTime {
				failures++
			}
		}
		m.mu.Unlock()
		if n := c.member.failed.count(); n != min(failures, lbMaxFailures) {
			m.Fail("client %d has %d failures, want %d", c.number, n, failures)
		}
	}
	if n := m.Running(); n != pending {
		m.Fail("%d calls run, but %d are in clients", n, pending)
	}
}

// settle lets all calls end, and proves that nothing is left of them.
func (m *lbModel) settle() {
	m.Note("the end")
	m.Calm()
	time.Sleep(time.Minute) // the deadline of each call
	synctest.Wait()
	m.check()
	for _, c := range m.clients {
		if n := c.member.load(); n != 0 {
			m.Fail("at the end, client %d has the load %d", c.number, n)
		}
	}
	if n := m.Running(); n > 0 {
		m.Fail("%d calls don't end", n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cancel := range m.cancels {
		cancel()
	}
}
