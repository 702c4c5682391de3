package gale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/modeltest"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestPipelineModel makes random calls of a PipelineClient to a server that answers in time,
// late, in part or with garbage, stops to read and ends connections at random, while dials
// fail or block, and functions of the program panic or end their goroutine. Whenever no
// goroutine can go on, it proves that a call waits only for what is in use: for a dial that
// runs, for its response, or for room that there isn't; that no call is late; and that no
// request is refused while there is room. At the end, all calls and goroutines have ended,
// and all counts are 0.
func TestPipelineModel(t *testing.T) {
	defer peers.EmptyPools()
	modeltest.Each(t, race.Fewer(50), func(seed uint64) {
		peers.EmptyPools()
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
			m := newPipeModel(t, seed)
			for step := 0; step < 60 && !t.Failed(); step++ {
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

// pipeModel is one run of TestPipelineModel.
type pipeModel struct {
	modelDialer
	c *PipelineClient

	// Guarded by mu.
	peers    []*pipePeer // that the server has
	accepted int
	cancels  []context.CancelFunc // of calls
	dues     map[int]time.Time    // when calls must have ended
}

func newPipeModel(t *testing.T, seed uint64) *pipeModel {
	m := &pipeModel{modelDialer: modelDialer{Run: modeltest.New(t, seed)}, dues: map[int]time.Time{}}
	r := m.Rand
	limit := func() time.Duration { return time.Duration(r.IntN(2)*(1+r.IntN(20))) * time.Second }
	m.c = &PipelineClient{
		Addr: "h:1", Dial: m.dial, Logger: pipeModelLog{m}, MaxConns: 1 + r.IntN(3), MaxPendingRequests: 1 + r.IntN(4),
		MaxBatchDelay: time.Duration(r.IntN(2)) * 10 * time.Millisecond, WriteBufferSize: r.IntN(2) * 200,
		ReadTimeout: limit(), WriteTimeout: limit(), MaxIdleConnDuration: limit(),
	}
	c := m.c
	m.Note("MaxConns %d, MaxPendingRequests %d, MaxBatchDelay %v, ReadTimeout %v, WriteTimeout %v, MaxIdleConnDuration %v",
		c.MaxConns, c.MaxPendingRequests, c.MaxBatchDelay, c.ReadTimeout, c.WriteTimeout, c.MaxIdleConnDuration)
	c.PendingRequests() // makes the lanes
	return m
}

// pipeModelLog is a Logger of the program.
type pipeModelLog struct{ m *pipeModel }

func (l pipeModelLog) Printf(string, ...any) { l.m.Mischief() }

// act does something at random.
func (m *pipeModel) act() {
	switch n := m.Rand.IntN(100); {
	case n < 40:
		m.call()
	case n < 44:
		m.probe()
	case n < 66:
		m.each("answer", (*pipePeer).answer)
	case n < 70:
		m.each("answer in part", (*pipePeer).begin)
	case n < 73:
		m.each("answer and close", (*pipePeer).last)
	case n < 75:
		m.each("garbage", func(p *pipePeer) { p.early("garbage\r\n\r\n") })
	case n < 77:
		m.each("early hints", func(p *pipePeer) { p.early("HTTP/1.1 103 Early\r\n\r\n") })
	case n < 80:
		m.each("close", (*pipePeer).close)
	case n < 84:
		m.each("read no more", func(p *pipePeer) { p.stall(true) })
	case n < 88:
		m.each("read again", func(p *pipePeer) { p.stall(false) })
	case n < 91:
		m.releaseDial()
	case n < 94:
		m.mu.Lock()
		if cancel, ok := modeltest.Pick(m.Run, &m.cancels); ok {
			m.Note("a context ends")
			cancel()
		}
		m.mu.Unlock()
	default:
		d := time.Duration(1+m.Rand.IntN(3000)) * time.Millisecond
		if m.Rand.IntN(5) == 0 {
			d *= 10
		}
		m.Note("%v pass", d)
		time.Sleep(d) // by the clock of the bubble
	}
}

// each does something with a connection of the server.
func (m *pipeModel) each(what string, do func(*pipePeer)) {
	m.mu.Lock()
	var p *pipePeer
	if n := len(m.peers); n > 0 {
		p = m.peers[m.Rand.IntN(n)]
	}
	m.mu.Unlock()
	if p != nil {
		m.Note("%s on connection %d", what, p.number)
		do(p)
	}
}

// call starts a call.
func (m *pipeModel) call() {
	if m.Running() >= 14 {
		return
	}
	kinds := []string{"GET", "POST", "DoTimeout", "DoTimeout", "DoContext", "DoContext", "big", "body stream", "close", "Upgrade", "CONNECT", "no host", "SetTimeout"}
	kind := kinds[m.Rand.IntN(len(kinds))]
	timeout := time.Duration(1+m.Rand.IntN(20_000)) * time.Millisecond
	m.Call(kind, func(id int) { _ = m.do(id, kind, timeout) })
}

// do does a call of some kind.
func (m *pipeModel) do(id int, kind string, timeout time.Duration) error {
	req, resp := &Request{}, &Response{}
	path := fmt.Sprintf("/%d", id)
	req.SetRequestURI("http://h" + path)
	patient := false
	do := m.c.Do
	switch kind {
	case "POST":
		req.Header.SetMethod("POST")
	case "DoTimeout", "SetTimeout":
		patient = true
		m.limit(id, timeout)
		if kind == "SetTimeout" {
			req.SetTimeout(timeout)
			break
		}
		do = func(req *Request, resp *Response) error { return m.c.DoTimeout(req, resp, timeout) }
	case "DoContext":
		patient = true
		ctx, cancel := context.WithCancel(context.Background())
		m.mu.Lock()
		m.cancels = append(m.cancels, cancel)
		m.mu.Unlock()
		do = func(req *Request, resp *Response) error { return m.c.DoContext(ctx, req, resp) }
	case "big":
		req.Header.SetMethod("PUT")
		req.SetBody(make([]byte, 100_000))
	case "body stream":
		req.Header.SetMethod("POST")
		req.SetBodyStream(io.LimitReader(modelBody{m.Run}, 20_000), -1)
	case "close":
		req.SetConnectionClose()
	case "Upgrade":
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "x")
	case "CONNECT":
		req.Header.SetMethod("CONNECT")
	case "no host":
		req.SetRequestURI(path)
	}
	defer func() {
		m.mu.Lock()
		delete(m.dues, id)
		m.mu.Unlock()
	}()
	err := do(req, resp)
	switch {
	case err == ErrPipelineOverflow && patient:
		m.Fail("call %d, which may wait, was refused", id)
	case err == nil && kind != "CONNECT" && string(resp.Body()) != path:
		m.Fail("call %d got the response %q", id, resp.Body())
	}
	return err
}

// limit says that a call must have ended after d.
func (m *pipeModel) limit(id int, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dues[id] = time.Now().Add(d)
}

// probe does a call when there is room for it: it must not be refused.
func (m *pipeModel) probe() {
	synctest.Wait()
	l := m.c.choose()
	l.mu.Lock()
	room := l.queue.n < m.c.window()
	l.mu.Unlock()
	if !room || m.Running() >= 14 {
		return
	}
	m.Call("probe", func(id int) {
		if err := m.do(id, "probe", 0); errors.Is(err, ErrPipelineOverflow) {
			m.Fail("call %d was refused while there was room", id)
		}
	})
	synctest.Wait()
}

// check looks for calls that wait while they need not, when no goroutine can go on.
func (m *pipeModel) check() {
	m.T.Helper()
	m.mu.Lock()
	dials, open := m.dials, m.open
	for id, due := range m.dues {
		if time.Now().After(due) {
			m.Fail("call %d is late", id)
		}
	}
	m.mu.Unlock()
	load, dialing, conns := 0, 0, 0
	for i := range m.c.lanes {
		l := &m.c.lanes[i]
		l.mu.Lock()
		load += int(l.load.Load())
		if l.undial != nil {
			dialing++
		}
		if l.conn != nil {
			conns++
		}
		m.checkLane(i, l)
		l.mu.Unlock()
	}
	switch {
	case dialing != dials:
		m.Fail("%d lanes dial, but %d dials run", dialing, dials)
	case conns != open:
		m.Fail("the lanes have %d connections, but %d are open", conns, open)
	case load < m.Running():
		m.Fail("%d requests are pending, but %d calls run", load, m.Running())
	}
}

// checkLane checks a lane, whose lock is held.
func (m *pipeModel) checkLane(i int, l *pipeLane) {
	m.T.Helper()
	queued, waited := 0, 0
	for pc := l.queue.front; pc != nil; pc = pc.next {
		queued += len(pc.bytes.B)
	}
	for pc := l.flight.front; pc != nil; pc = pc.next {
		if !pc.left {
			waited++
		}
	}
	p := l.conn
	state := fmt.Sprintf("lane %d: load %d, %d queued, %d in flight, %d waited for, running %v, parked %v, batched %v, careful %v, dials %v",
		i, l.load.Load(), l.queue.n, l.flight.n, l.waited, l.running, l.parked, l.batched, l.careful, l.undial != nil)
	if p != nil {
		state += fmt.Sprintf("; connection: ended %v, last %v, writing %v", p.ended, p.last, p.writing != 0)
	}
	m.Note("%s", state)
	now := clock.Ticks()
	late := func(since clock.Tick, limit time.Duration) bool { return limit > 0 && now > since+clock.Tick(limit) }
	switch {
	case int(l.load.Load()) != l.queue.n+l.flight.n || l.waited != waited || l.queued != queued:
		m.Fail("a count is wrong (%d waited for, %d bytes queued, want %d and %d): %s", l.waited, l.queued, waited, queued, state)
	case !l.running && (l.queue.n+l.flight.n > 0 || p != nil || l.undial != nil):
		m.Fail("calls wait for a goroutine that has ended: %s", state)
	case l.running && p == nil && l.undial == nil:
		m.Fail("the goroutine neither dials nor serves: %s", state)
	case l.flight.n > 0 && p == nil:
		m.Fail("calls wait for responses without a connection: %s", state)
	case l.undial != nil && l.queue.n == 0 && !l.running:
		m.Fail("no call waits for a dial: %s", state)
	case p == nil:
	case p.ended:
		m.Fail("calls wait for a connection that has ended: %s", state)
	case l.writable() && p.writing == 0 && !l.batched:
		m.Fail("a call waits while there is room in flight: %s", state)
	case l.flight.n > 0 && waited == 0:
		m.Fail("no call waits for the responses: %s", state)
	case p.writing != 0 && late(p.writing, m.c.WriteTimeout),
		p.writing == 0 && l.flight.n > 0 && late(p.progress, m.c.ReadTimeout),
		l.queue.n+l.flight.n == 0 && late(p.idle, m.c.idle()):
		m.Fail("the connection should have ended: %s", state)
	}
}

// settle lets all calls end, and proves that nothing is left of them.
func (m *pipeModel) settle() {
	m.Note("the end")
	m.Calm()
	for round := 0; m.Running() > 0 && round < 300 && !m.T.Failed(); round++ {
		m.releaseDial()
		m.mu.Lock()
		peers := slices.Clone(m.peers)
		m.mu.Unlock()
		for _, p := range peers {
			p.stall(false)
			p.answer()
		}
		synctest.Wait()
		m.check()
		time.Sleep(10 * time.Millisecond) // for calls that wait for others to be written with
	}
	if n := m.Running(); n > 0 {
		m.Fail("%d calls don't end", n)
	}
	for _, cancel := range m.cancels {
		cancel()
	}
	for range 14 { // those of dials that no call waits for
		m.releaseDial()
	}
	for _, p := range slices.Clone(m.peers) {
		p.close()
	}
	time.Sleep(time.Minute) // by the clock of the bubble
	synctest.Wait()
	m.check()
	for i := range m.c.lanes {
		if l := &m.c.lanes[i]; l.running || l.load.Load() != 0 {
			m.Fail("at the end, lane %d runs %v with %d calls", i, l.running, l.load.Load())
		}
	}
}

// dial is the Dial of the client.
func (m *pipeModel) dial(string) (net.Conn, error) {
	return m.connect(context.Background(), m.accept)
}

// accept makes a connection and serves it.
func (m *pipeModel) accept() net.Conn {
	client, server := net.Pipe() // a write waits for the reader
	if m.Chance(50) {
		pc := galeutil.NewPipeConns()
		client, server = pc.Conn1(), pc.Conn2()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted++
	p := &pipePeer{m: m, nc: server, number: m.accepted, reads: make(chan struct{})}
	close(p.reads)
	m.open++
	m.peers = append(m.peers, p)
	go p.serve()
	return &pipeModelConn{modelClientConn{Conn: client, m: &m.modelDialer, proto: "http/1.1"}, m}
}

// pipeModelConn is a connection of the program: its methods may panic or end their goroutine.
type pipeModelConn struct {
	modelClientConn
	m *pipeModel
}

func (c *pipeModelConn) Read(p []byte) (int, error) {
	n, err := c.modelClientConn.Read(p)
	c.rarely()
	return n, err
}

func (c *pipeModelConn) Write(p []byte) (int, error) {
	n, err := c.modelClientConn.Write(p)
	c.rarely()
	return n, err
}

func (c *pipeModelConn) Close() error {
	err := c.modelClientConn.Close()
	c.m.Mischief()
	return err
}

func (c *pipeModelConn) rarely() {
	if c.m.Chance(30) {
		c.m.Mischief()
	}
}

// pipePeer is the server's end of a connection. Requests stay in asked until the test decides
// what becomes of them. pipeModel.mu guards the fields after number.
type pipePeer struct {
	m      *pipeModel
	nc     net.Conn
	number int

	reads  chan struct{} // closed while it reads
	stalls bool
	asked  []string // the paths of requests without a whole response
	begun  bool     // the first one has the head of a response
}

func (p *pipePeer) serve() {
	m := p.m
	defer func() {
		p.nc.Close()
		m.mu.Lock()
		m.peers = slices.DeleteFunc(m.peers, func(o *pipePeer) bool { return o == p })
		m.mu.Unlock()
	}()
	br := bufio.NewReader(p.nc)
	for {
		if _, err := br.Peek(1); err != nil {
			return
		}
		m.mu.Lock()
		reads := p.reads
		m.mu.Unlock()
		<-reads
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		m.mu.Lock()
		p.asked = append(p.asked, req.URL.Path)
		m.mu.Unlock()
	}
}

// stall makes the server stop to read, or read again.
func (p *pipePeer) stall(stalls bool) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case stalls == p.stalls:
		return
	case stalls:
		p.reads = make(chan struct{})
	default:
		close(p.reads)
	}
	p.stalls = stalls
}

func (p *pipePeer) close() {
	_ = p.nc.Close()
	p.stall(false)
}

// write sends something to the client, which reads it or has closed the connection.
func (p *pipePeer) write(s string) { _, _ = io.WriteString(p.nc, s) }

// early sends something before the next response, whether a request has come or not.
func (p *pipePeer) early(s string) {
	if _, begun, _ := p.first(); !begun {
		p.write(s)
	}
}

// first returns the path of the first request, and whether its response has begun.
func (p *pipePeer) first() (path string, begun, ok bool) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if len(p.asked) == 0 {
		return "", false, false
	}
	return p.asked[0], p.begun, true
}

// begin sends the head of a response.
func (p *pipePeer) begin() {
	if path, begun, ok := p.first(); ok && !begun {
		p.head(path, "")
	}
}

func (p *pipePeer) head(path, fields string) {
	p.m.mu.Lock()
	p.begun = true
	p.m.mu.Unlock()
	p.write(fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n", fields, len(path)))
}

// answer sends the rest of a response.
func (p *pipePeer) answer() { p.respond("") }

// last sends a response that is the last one.
func (p *pipePeer) last() {
	if p.respond("Connection: close\r\n") {
		p.close()
	}
}

func (p *pipePeer) respond(fields string) bool {
	path, begun, ok := p.first()
	if !ok {
		return false
	}
	if !begun {
		p.head(path, fields)
	}
	p.m.mu.Lock()
	p.asked, p.begun = p.asked[1:], false
	p.m.mu.Unlock()
	p.write(path)
	return true
}
