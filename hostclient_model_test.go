package gale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/modeltest"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/peers"
)

func (m *poolModel) dial(string) (net.Conn, error) {
	return m.connect(context.Background(), func() net.Conn { return m.accept(true) })
}

func (m *poolModel) dialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return m.connect(ctx, func() net.Conn { return m.accept(true) })
}

func (m *poolModel) dialALPN(ctx context.Context, _, _ string, protocols []string) (net.Conn, error) {
	return m.connect(ctx, func() net.Conn { return m.accept(slices.Contains(protocols, "h2")) })
}

// accept makes a connection and serves it.
func (m *poolModel) accept(http2 bool) net.Conn {
	pc := galeutil.NewPipeConns()
	late, plain := m.Chance(20), m.Chance(10)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted++
	c := &modelConn{m: m, nc: pc.Conn2(), number: m.accepted, most: m.streams, greets: make(chan struct{}), plain: plain}
	if !late {
		c.greet()
	}
	cc := &modelClientConn{Conn: pc.Conn1(), m: &m.modelDialer, proto: "http/1.1"}
	if http2 = http2 && !m.http1; http2 {
		cc.proto = "h2"
	}
	m.open++
	m.conns = append(m.conns, c)
	go func() {
		defer func() {
			c.nc.Close()
			m.mu.Lock()
			m.conns = slices.DeleteFunc(m.conns, func(o *modelConn) bool { return o == c })
			m.mu.Unlock()
		}()
		if http2 {
			c.serveHTTP2()
		} else {
			c.serveHTTP1()
		}
	}()
	return cc
}

// modelConn is the server's end of a connection. Requests stay in asked until the test decides
// what becomes of them. poolModel.mu guards the fields after greets.
type modelConn struct {
	m      *poolModel
	nc     net.Conn
	number int
	plain  bool // it doesn't accept extended CONNECT

	greetOnce sync.Once
	greets    chan struct{} // closed when the server sends its SETTINGS, or ends

	h2     *peers.H2PeerConn // nil for HTTP/1.1
	most   uint32            // streams that it accepts
	asked  []uint32          // requests without a response; 0 over HTTP/1.1
	begun  []uint32          // requests with a part of a response
	tunnel []uint32          // extended CONNECTs
}

func (c *modelConn) serveHTTP1() {
	br := bufio.NewReader(c.nc)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		c.m.mu.Lock()
		c.asked = append(c.asked, 0)
		c.m.mu.Unlock()
	}
}

func (c *modelConn) serveHTTP2() {
	p := peers.NewH2PeerConn(c.nc)
	if p == nil {
		return
	}
	<-c.greets
	c.m.mu.Lock()
	settings := []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: c.most}}
	c.m.mu.Unlock()
	if !c.plain {
		settings = append(settings, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	p.Hello(settings...)
	c.m.mu.Lock()
	c.h2 = p
	c.m.mu.Unlock()
	for {
		switch f := p.Next().(type) {
		case nil:
			return
		case *http2.MetaHeadersFrame:
			c.ask(f)
		case *http2.DataFrame:
			c.write(func(fr *http2.Framer) {
				if n := uint32(f.Length); n > 0 {
					_ = fr.WriteWindowUpdate(0, n)
					_ = fr.WriteWindowUpdate(f.StreamID, n)
				}
			})
			if c.m.has(c, &c.tunnel, f.StreamID) && f.StreamEnded() {
				c.finish(f.StreamID)
			}
		case *http2.RSTStreamFrame:
			c.m.forget(c, f.StreamID)
		}
	}
}

// ask takes a request, or refuses it if there are too many.
func (c *modelConn) ask(f *http2.MetaHeadersFrame) {
	c.m.mu.Lock()
	full := len(c.asked)+len(c.begun) >= int(c.most)
	if !full {
		c.asked = append(c.asked, f.StreamID)
		if f.PseudoValue("protocol") != "" {
			c.tunnel = append(c.tunnel, f.StreamID)
		}
	}
	c.m.mu.Unlock()
	if full {
		c.write(func(fr *http2.Framer) { _ = fr.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream) })
	}
}

// peer returns what writes frames, nil for HTTP/1.1 and before the preface has come.
func (c *modelConn) peer() *peers.H2PeerConn {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.h2
}

// write writes frames.
func (c *modelConn) write(f func(fr *http2.Framer)) {
	p := c.peer()
	p.W.Lock()
	defer p.W.Unlock()
	f(p.Fr)
}

func (m *poolModel) has(c *modelConn, list *[]uint32, id uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(*list, id)
}

// forget removes a request from all lists.
func (m *poolModel) forget(c *modelConn, id uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(o uint32) bool { return o == id }
	c.asked, c.begun, c.tunnel = slices.DeleteFunc(c.asked, same), slices.DeleteFunc(c.begun, same), slices.DeleteFunc(c.tunnel, same)
}

// first returns the first request that asked or, if also is set, begun has.
func (c *modelConn) first(also bool) (id uint32, begun, ok bool) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	switch {
	case len(c.asked) > 0:
		return c.asked[0], false, true
	case also && len(c.begun) > 0:
		return c.begun[0], true, true
	}
	return 0, false, false
}

// answer ends the response to a request.
func (c *modelConn) answer() {
	id, begun, ok := c.first(true)
	if !ok {
		return
	}
	if !begun {
		c.start(id)
	}
	if !c.m.has(c, &c.tunnel, id) {
		c.finish(id)
	}
}

// begin sends the head of a response.
func (c *modelConn) begin() {
	if id, _, ok := c.first(false); ok {
		c.start(id)
	}
}

func (c *modelConn) start(id uint32) {
	c.m.mu.Lock()
	c.asked = slices.DeleteFunc(c.asked, func(o uint32) bool { return o == id })
	c.begun = append(c.begun, id)
	c.m.mu.Unlock()
	if c.peer() == nil {
		_, _ = io.WriteString(c.nc, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
		return
	}
	c.peer().Head(id, "200", false)
}

func (c *modelConn) finish(id uint32) {
	c.m.forget(c, id)
	if c.peer() == nil {
		_, _ = io.WriteString(c.nc, "good")
		return
	}
	c.peer().Data(id, "good", true)
}

// refuse resets a stream, or ends a connection of HTTP/1.1 with a response.
func (c *modelConn) refuse() {
	id, begun, ok := c.first(true)
	if !ok {
		return
	}
	if c.peer() == nil {
		if !begun {
			_, _ = io.WriteString(c.nc, "HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		c.close()
		return
	}
	c.m.forget(c, id)
	code := http2.ErrCodeRefusedStream
	if begun {
		code = http2.ErrCodeInternal
	}
	c.write(func(fr *http2.Framer) { _ = fr.WriteRSTStream(id, code) })
}

func (c *modelConn) close() {
	_ = c.nc.Close()
	c.greet()
}

// greet lets the server send its SETTINGS. Some servers do so at once.
func (c *modelConn) greet() { c.greetOnce.Do(func() { close(c.greets) }) }

// goAway sends GOAWAY, after which the server processes all requests that it has.
func (c *modelConn) goAway() {
	if c.peer() == nil {
		return
	}
	c.m.mu.Lock()
	last := uint32(0)
	for _, id := range slices.Concat(c.asked, c.begun) {
		last = max(last, id)
	}
	c.m.mu.Unlock()
	c.write(func(fr *http2.Framer) { _ = fr.WriteGoAway(last, http2.ErrCodeNo, nil) })
}

// limit changes how many streams the server accepts.
func (c *modelConn) limit(n uint32) {
	if c.peer() == nil {
		return
	}
	c.m.mu.Lock()
	c.most = n
	c.m.mu.Unlock()
	c.write(func(fr *http2.Framer) {
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n})
	})
}

// TestClientModel makes random calls of a HostClient to a server that answers, refuses and
// ends connections at random, while dials fail or block, functions of the program panic or end
// their goroutine, and limits change. It proves that no call waits while there is room: whenever
// no goroutine can go on, the calls in both lines wait for something that is in use. At the
// end, all calls have ended and all places are given back.
func TestClientModel(t *testing.T) {
	defer peers.EmptyPools()
	modeltest.Each(t, race.Fewer(60), func(seed uint64) {
		peers.EmptyPools()
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
			m := newPoolModel(t, seed)
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

// poolModel is one run of TestClientModel.
type poolModel struct {
	modelDialer
	c *HostClient

	// Guarded by mu.
	conns    []*modelConn // that the server has
	accepted int
	cancels  []context.CancelFunc // of calls
	held     []io.Closer          // streamed bodies and tunnels that calls have left open
	http1    bool                 // the protocol of the next connections
	streams  uint32               // the limit of the next connections
}

func newPoolModel(t *testing.T, seed uint64) *poolModel {
	m := &poolModel{modelDialer: modelDialer{Run: modeltest.New(t, seed)}}
	r := m.Rand
	c := &HostClient{Addr: "h:1", MaxConns: 1 + r.IntN(3), MaxConnDuration: time.Duration(r.IntN(2)) * 20 * time.Second}
	if r.IntN(4) > 0 {
		c.MaxConnWaitTimeout = time.Duration(1+r.IntN(60)) * time.Second
	}
	if r.IntN(4) == 0 {
		c.Addr = "h:1,h:2"
	}
	if r.IntN(2) == 0 {
		c.MaxIdleConnDuration = time.Duration(1+r.IntN(30)) * time.Second
	}
	m.http1, m.streams = r.IntN(2) == 0, uint32(1+r.IntN(3))
	switch r.IntN(4) {
	case 0:
		c.HTTP2, m.http1 = HTTP2Off, true
	case 1:
		c.HTTP2, m.http1 = HTTP2Only, false
	case 2:
		c.HTTP2 = HTTP2On // learns of HTTP/2 from a connection that a call of HTTP/1.1 dials
	case 3:
		c.HTTP2 = HTTP2On
		c.h2.proto.Store(uint32(protoUnset)) // as if TLS were used
	}
	switch r.IntN(3) {
	case 0:
		c.dialALPN = m.dialALPN
	case 1:
		c.DialContext = m.dialContext
	case 2:
		c.Dial = m.dial
	}
	if r.IntN(2) == 0 {
		c.Trace = &ClientTrace{GotConn: func(*Request, net.Conn, bool, time.Duration) { m.Mischief() },
			Wrote: func(*Request, error) { m.Mischief() }, FirstByte: func(*Request) { m.Mischief() },
			Dialed: func(string, net.Conn, time.Duration, error) { m.Mischief() }}
	}
	if r.IntN(2) == 0 {
		c.RetryIfErr = func(_ *Request, attempts int, _ error) (bool, bool) {
			m.Mischief()
			return false, attempts < 3
		}
	}
	m.c = c
	m.Note("HTTP2 %v, proto %v, HTTP/1.1 %v, MaxConns %d, wait %v, %d streams, ALPN %v, Dial %v, trace %v", c.HTTP2, c.h2.proto.Load(), m.http1, c.MaxConns,
		c.MaxConnWaitTimeout, m.streams, c.dialALPN != nil, c.Dial != nil, c.Trace != nil)
	return m
}

func (m *poolModel) fail(format string, args ...any) {
	m.T.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Fail("%s\n%d dials, %d connections", fmt.Sprintf(format, args...), m.dials, m.open)
}

// act does something at random.
func (m *poolModel) act() {
	switch n := m.Rand.IntN(100); {
	case n < 35:
		m.call()
	case n < 65:
		m.each("answer", m.pick, (*modelConn).answer)
	case n < 70:
		m.each("answer in part", m.pick, (*modelConn).begin)
	case n < 74:
		m.each("refuse", m.pick, (*modelConn).refuse)
	case n < 77:
		m.each("close", m.pick, (*modelConn).close)
	case n < 79:
		m.each("go away", m.pick, (*modelConn).goAway)
	case n < 81:
		m.each("greet", m.pick, (*modelConn).greet)
	case n < 84:
		limit := uint32(m.Rand.IntN(4))
		m.each(fmt.Sprint("limit ", limit), m.pick, func(c *modelConn) { c.limit(limit) })
	case n < 87:
		m.releaseDial()
	case n < 90:
		m.cancel()
	case n < 94:
		m.closeHeld()
	case n < 96:
		d := time.Duration(1+m.Rand.IntN(3000)) * time.Millisecond
		if m.Rand.IntN(5) == 0 {
			d *= 10
		}
		m.Note("%v pass", d)
		time.Sleep(d) // by the clock of the bubble
	case n < 97:
		n := 1 + m.Rand.IntN(3)
		m.Note("MaxConns %d", n)
		m.c.SetMaxConns(n)
	case n < 98:
		m.Note("CloseIdleConnections")
		m.c.CloseIdleConnections()
	default:
		m.mu.Lock()
		if m.c.HTTP2 == HTTP2On {
			m.http1 = !m.http1
		}
		m.streams = uint32(1 + m.Rand.IntN(3))
		m.Note("from now on HTTP/1.1 %v, %d streams", m.http1, m.streams)
		m.mu.Unlock()
	}
}

// pick returns a connection at random, or nil.
func (m *poolModel) pick() *modelConn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.conns) == 0 {
		return nil
	}
	return m.conns[m.Rand.IntN(len(m.conns))]
}

func (m *poolModel) each(what string, pick func() *modelConn, do func(*modelConn)) {
	if c := pick(); c != nil {
		m.Note("%s on connection %d", what, c.number)
		do(c)
	}
}

func (m *poolModel) cancel() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cancel, ok := modeltest.Pick(m.Run, &m.cancels); ok {
		m.Note("a context ends")
		cancel()
	}
}

func (m *poolModel) closeHeld() {
	m.mu.Lock()
	held, ok := modeltest.Pick(m.Run, &m.held)
	m.mu.Unlock()
	if ok {
		m.Note("a stream is closed")
		_ = held.Close()
	}
}

// call starts a call.
func (m *poolModel) call() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Running() >= 14 {
		return
	}
	kinds := []string{"Do", "DoTimeout", "DoContext", "stream", "big", "OpenStream", "bad protocol", "bad method", "Upgrade", "no host", "body stream"}
	kind := kinds[m.Rand.IntN(len(kinds))]
	ctx := context.Background()
	if m.Rand.IntN(3) == 0 || kind == "DoContext" || kind == "OpenStream" {
		c, cancel := context.WithCancel(ctx)
		ctx = c
		m.cancels = append(m.cancels, cancel)
	}
	timeout := time.Duration(1+m.Rand.IntN(40_000)) * time.Millisecond
	m.Call(kind, func(int) { m.send(ctx, kind, timeout) })
}

// send does a call of some kind.
func (m *poolModel) send(ctx context.Context, kind string, timeout time.Duration) {
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://h/")
	switch kind {
	case "DoTimeout":
		req.SetTimeout(timeout)
	case "stream":
		resp.StreamBody = true
	case "big":
		req.Header.SetMethod("PUT")
		req.SetBody(make([]byte, 200_000))
	case "body stream":
		req.Header.SetMethod("POST")
		req.SetBodyStream(io.LimitReader(modelBody{m.Run}, 100_000), -1)
	case "bad method":
		req.Header.SetMethod("BAD METHOD")
	case "Upgrade":
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "x")
	case "no host":
		req.SetRequestURI("/")
	case "OpenStream", "bad protocol":
		req.SetConnectProtocol("x")
		if kind == "bad protocol" { // found when the stream is opened
			req.SetConnectProtocol("x y")
		}
		if nc, err := m.c.OpenStream(ctx, req, resp); err == nil {
			m.hold(nc)
		}
		return
	}
	if err := m.c.DoContext(ctx, req, resp); err == nil && resp.StreamBody {
		m.hold(resp.BodyStream().(io.Closer))
	}
}

// modelBody is a stream that may panic or end its goroutine.
type modelBody struct{ r *modeltest.Run }

func (b modelBody) Read(p []byte) (int, error) {
	b.r.Mischief()
	return len(p), nil
}

func (m *poolModel) hold(c io.Closer) {
	m.mu.Lock()
	m.held = append(m.held, c)
	m.mu.Unlock()
}

// check looks for calls that wait while there is room, when no goroutine can go on.
func (m *poolModel) check() {
	m.T.Helper()
	m.mu.Lock()
	dials, open, blocked, held := m.dials, m.open, len(m.blocked), len(m.held)
	opening := m.Running("OpenStream", "bad protocol") // calls that may wait for SETTINGS while a stream is promised to them
	m.mu.Unlock()
	p, x := &m.c.pool, &m.c.pool.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	proto := hostProto(m.c.h2.proto.Load())
	idle, free, promised := 0, 0, 0 // idle wires of both kinds, shared ones with room
	for _, w := range m.c.pool.wires() {
		held := promisedOn(w)
		promised += held
		if w.running() == 0 && held == 0 {
			idle++
		}
	}
	for _, w := range x.all {
		if w.room() > 0 {
			free++
		}
	}
	places := max(0, m.c.maxConns()-p.open)
	state := fmt.Sprintf("%d open, %d idle alone, %d shared, %d idle, %d with room, dialing %v; lines %d and %d, %d waiting, %d promised",
		p.open, p.idle.n, len(x.all), idle, free, x.dialing, p.line.n, x.line.n, p.waiting.Load(), promised)
	m.Note("%s", state)
	switch {
	case p.line.n > 0 && places+idle > 0:
		m.fail("a call that needs a wire alone waits while there is room: %s", state)
	case x.line.n > 0 && (proto == protoHTTP1 || free > 0 || !x.dialing && places+p.idle.n > 0):
		m.fail("a call that shares a wire waits while there is room (protocol %d): %s", proto, state)
	case p.idle.n > idle:
		m.fail("a wire that the pool offers to one call carries a request: %s", state)
	case int(p.waiting.Load()) != p.line.n+x.line.n+promised:
		m.fail("the count of those who wait is wrong: %s", state)
	case x.dialing && blocked == 0:
		m.fail("calls wait for a dial that doesn't run: %s", state)
	case promised > opening:
		m.fail("a stream is promised to a call that doesn't open it: %s", state)
	case p.open < dials+open || p.open > dials+open+held: // a body that isn't closed keeps the place of a broken connection
		m.fail("places don't belong to a connection (%d) or a dial (%d): %s", open, dials, state)
	}
	for w := p.line.first; w != nil; w = w.next {
		if w.any && proto == protoHTTP2 {
			m.fail("a call waits for HTTP/1.1 that may use HTTP/2: %s", state)
		}
	}
}

// wires returns the wires that the pool holds, of both kinds. The caller holds its lock.
func (p *connPool) wires() []wire {
	all := slices.Clone(p.shared.all)
	for i := range p.idle.n {
		all = append(all, p.idle.at(i))
	}
	return all
}

// promisedOn returns for how many calls room on w is kept.
func promisedOn(w wire) int {
	if hc, ok := w.(*sharedConn); ok {
		return int(hc.promised.Load())
	}
	return 0
}

// settle lets all calls end, and proves that nothing is left of them.
func (m *poolModel) settle() {
	m.Note("the end")
	m.Calm()
	left := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.Running() + len(m.held) + len(m.blocked)
	}
	for round := 0; left() > 0 && round < 300 && !m.T.Failed(); round++ {
		for range 3 {
			m.releaseDial()
			m.closeHeld()
		}
		m.mu.Lock()
		conns := slices.Clone(m.conns)
		m.mu.Unlock()
		for _, c := range conns {
			c.greet()
			c.limit(2)
			c.answer()
		}
		synctest.Wait()
		m.check()
		time.Sleep(300 * time.Millisecond) // for calls that pause before they try again
	}
	if n := left(); n > 0 {
		m.fail("%d calls, streams and dials don't end", n)
	}
	for _, cancel := range m.cancels {
		cancel()
	}
	m.c.CloseIdleConnections()
	time.Sleep(time.Minute) // by the clock of the bubble
	synctest.Wait()
	m.check()
	if s := m.c.PoolStats(); s.Open != 0 || s.Waiting != 0 || m.c.PendingRequests() != 0 {
		m.fail("at the end: %+v, %d pending", s, m.c.PendingRequests())
	}
	for _, c := range slices.Clone(m.conns) {
		c.close()
	}
}
