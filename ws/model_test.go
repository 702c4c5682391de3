package ws

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/modeltest"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/gate"
)

// TestWritersModel makes random calls of Sockets and Conns that write, from goroutines and
// from callbacks, with each QueuePolicy, while peers read, stop to read, close, break rules
// and leave at random, and callbacks panic or end their goroutine. It proves that no writer
// waits while there is room, while the peer reads, or after the end, and that no byte waits
// for a peer that reads. At the end, all calls have ended, and all counts are 0.
//
// It runs in memory, where nothing moves when it looks, and over TCP with both engines, where
// what it looks for must become true.
func TestWritersModel(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		defer emptyPools()
		modeltest.Each(t, race.Fewer(40), func(seed uint64) {
			emptyPools()
			synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
				ln := galeutil.NewInmemoryListener()
				m := newWritersModel(t, seed, ln.Dial, 20_000)
				m.quiet = func(problem func() string) string {
					synctest.Wait()
					return problem()
				}
				m.pass = func() { time.Sleep(time.Duration(m.Rand.IntN(2000)) * time.Millisecond) }
				done := make(chan error)
				go func() { done <- m.server.Serve(ln) }()
				m.run(60)
				time.Sleep(time.Minute)
				ln.Close()
				<-done
				_ = m.server.Close()
			})
		})
	})
	eachEngine(t, func(t *testing.T, w way) {
		modeltest.Each(t, race.Fewer(3), func(seed uint64) {
			checkNoLeaks(t)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			dial := func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
			m := newWritersModel(t, seed, dial, 400_000)
			m.quiet = func(problem func() string) (p string) {
				for end := time.Now().Add(patience); time.Now().Before(end); {
					if p = problem(); p == "" {
						break
					}
					time.Sleep(time.Millisecond) // between two looks
				}
				return p
			}
			m.pass = func() { time.Sleep(time.Millisecond) } // a program that rests
			m.server.Engine, m.server.EventLoops = w.engine, 1
			done := make(chan error, 1)
			go func() { done <- m.server.Serve(ln) }()
			m.run(40)
			_ = m.server.Close()
			ln.Close() // Serve may not have begun yet, and would begin after Close
			if err := <-done; err != nil {
				t.Error("Serve:", err)
			}
		})
	})
}

// emptyPools drops what is in pools: what waits in a bubble can't be used outside it, nor the
// other way round.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// writersModel is one run of TestWritersModel.
type writersModel struct {
	*modeltest.Run
	server *gale.Server
	dial   func() (net.Conn, error)
	o      *Options
	topics Topics
	most   int                                // bytes of a message
	quiet  func(problem func() string) string // returns the problem that is left when nothing moves
	pass   func()                             // lets time pass
	peers  []*writersPeer                     // of the test goroutine
	focus  *writersPeer                       // that act uses for a while

	mu sync.Mutex // of the fields of peers that say so
}

// writersPeer is a client, and the WebSocket that it has.
type writersPeer struct {
	m      *writersModel
	number int
	c      *rawConn
	writes chan []byte // what it sends, until it leaves
	left   chan struct{}

	// Guarded by the model's lock.
	reads  chan struct{} // closed while it reads
	stalls bool
	gone   bool
	socket *Socket
	conn   *Conn
	calls  map[int]writersCall // that run
	inside int                 // callbacks that run
	over   time.Time           // when the Conn was first seen to have ended
}

// writersCall is a call that writes.
type writersCall struct {
	kind string
	ctx  context.Context // of a Conn
	size int             // of the message
}

func newWritersModel(t *testing.T, seed uint64, dial func() (net.Conn, error), most int) *writersModel {
	m := &writersModel{Run: modeltest.New(t, seed), dial: dial, most: most}
	r := m.Rand
	m.o = &Options{
		MaxQueue: most / (1 + r.IntN(4)), QueuePolicy: QueuePolicy(min(r.IntN(4), 2)), MaxControl: -1,
		CloseTimeout: time.Second, WriteTimeout: time.Duration(r.IntN(2)*2-1) * 10 * time.Second,
	}
	switch r.IntN(4) {
	case 0:
		m.o.Compression = &Compression{}
	case 1:
		m.o.Compression = &Compression{SendTakeover: true, ReceiveTakeover: true}
	}
	m.Note("MaxQueue %d, policy %d, compression %v, WriteTimeout %v", m.o.MaxQueue, m.o.QueuePolicy, m.o.Compression, m.o.WriteTimeout)
	m.server = &gale.Server{Handler: m.serve, Logger: new(logs)}
	return m
}

// serve opens a WebSocket: a Socket, or a Conn whose messages a handler reads.
func (m *writersModel) serve(ctx *gale.RequestCtx) {
	n, _ := strconv.Atoi(string(ctx.Request.Header.Peek("X-Peer")))
	p := m.peers[n]
	if n%2 == 0 {
		_ = Serve(ctx, &writersHandler{p: p}, m.o)
		return
	}
	_ = Accept(ctx, func(c *Conn) {
		m.mu.Lock()
		p.conn = c
		m.mu.Unlock()
		for {
			if _, _, err := c.Read(context.Background()); err != nil {
				return
			}
			m.Mischief()
		}
	}, m.o)
}

// writersHandler has the callbacks of a Socket.
type writersHandler struct {
	Base
	p *writersPeer
}

func (h *writersHandler) OnOpen(s *Socket) {
	m := h.p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	h.p.socket = s
}

func (h *writersHandler) OnMessage(s *Socket, t MessageType, data []byte) {
	m := h.p.m
	m.mu.Lock()
	h.p.inside++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		h.p.inside--
		m.mu.Unlock()
	}()
	m.Mischief()
	for range 3 {
		_ = s.Write(t, data)
	}
	m.Mischief()
}

func (h *writersHandler) OnClose(*Socket, error) { h.p.m.Mischief() }

// open makes a peer.
func (m *writersModel) open() {
	if len(m.peers) >= 8 {
		return
	}
	nc, err := m.dial()
	if err != nil {
		m.Fail("dial: %v", err)
		return
	}
	p := &writersPeer{m: m, number: len(m.peers), writes: make(chan []byte, 1000), left: make(chan struct{}), reads: make(chan struct{}), calls: map[int]writersCall{}}
	close(p.reads)
	m.mu.Lock()
	m.peers = append(m.peers, p) // before serve looks
	m.mu.Unlock()
	p.c = &rawConn{t: m.T, nc: nc, r: bufio.NewReader(nc)}
	p.c.reader.Init(wsframe.Config{Client: true, Deflate: true, Hold: 1 << 30})
	fields := []string{fmt.Sprint("X-Peer: ", p.number)}
	if m.o.Compression != nil {
		fields = append(fields, "Sec-WebSocket-Extensions: permessage-deflate")
	}
	if m.o.Compression != nil && !m.o.Compression.SendTakeover {
		fields[1] += "; server_no_context_takeover"
	}
	p.c.write([]byte(handshakeRequest(fields...)))
	p.c.readHead()
	m.Note("peer %d opens", p.number)
	go p.read()
	go p.write()
}

// read reads, unless the peer stalls, and answers pings and close frames.
func (p *writersPeer) read() {
	defer p.leave()
	for {
		p.m.mu.Lock()
		reads := p.reads
		p.m.mu.Unlock()
		<-reads
		f, err := p.c.next()
		switch {
		case err != nil:
			return
		case f.Op == wsframe.Ping:
			p.send(frame(wsframe.Pong, true, string(f.Payload)))
		case f.Op == wsframe.Close:
			p.send(closing(StatusNormal, ""))
		}
	}
}

func (p *writersPeer) write() {
	for {
		select {
		case b := <-p.writes:
			if _, err := p.c.nc.Write(b); err != nil {
				return
			}
		case <-p.left:
			return
		}
	}
}

func (p *writersPeer) send(b []byte) {
	select {
	case p.writes <- b:
	default:
	}
}

// leave closes the connection.
func (p *writersPeer) leave() {
	p.m.mu.Lock()
	gone := p.gone
	p.gone = true
	p.m.mu.Unlock()
	if !gone {
		close(p.left)
		_ = p.c.nc.Close()
	}
	p.stall(false)
}

// stall makes the peer stop to read, or read again.
func (p *writersPeer) stall(stalls bool) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case stalls == p.stalls || stalls && p.gone:
		return
	case stalls:
		p.reads = make(chan struct{})
	default:
		close(p.reads)
	}
	p.stalls = stalls
}

func (m *writersModel) run(steps int) {
	for range 2 {
		m.open()
	}
	for step := 0; step < steps && !m.T.Failed(); step++ {
		for range 1 + m.Rand.IntN(4) {
			m.act()
		}
		m.check()
	}
	m.settle()
}

// act does something at random.
func (m *writersModel) act() {
	if m.focus == nil || m.Rand.IntN(15) == 0 {
		m.focus = m.peers[m.Rand.IntN(len(m.peers))]
	}
	p := m.focus
	do := func(what string, f func()) {
		m.Note("peer %d: %s", p.number, what)
		f()
	}
	switch n := m.Rand.IntN(100); {
	case n < 50:
		m.call(p)
	case n < 64:
		do("stalls", func() { p.stall(true) })
	case n < 72:
		do("reads", func() { p.stall(false) })
	case n < 82:
		do("sends a message", func() { p.send(message(string(make([]byte, m.Rand.IntN(m.most))))) })
	case n < 85:
		do("sends a ping", func() { p.send(frame(wsframe.Ping, true, "x")) })
	case n < 86:
		do("breaks a rule", func() { p.send(message("\xff")) })
	case n < 87:
		do("closes", func() { p.send(closing(StatusNormal, "")) })
	case n < 89:
		do("leaves", p.leave)
	case n < 95:
		m.open()
	default:
		m.Note("time passes")
		m.pass()
	}
}

// call starts a call of p's WebSocket.
func (m *writersModel) call(p *writersPeer) {
	m.mu.Lock()
	s, c := p.socket, p.conn
	m.mu.Unlock()
	if s == nil && c == nil || m.Running() >= 20 {
		return
	}
	data := make([]byte, m.Rand.IntN(m.most))
	for i := range data { // compression must not make it smaller
		data[i] = byte(m.Rand.Uint32())
	}
	kinds := []string{"Write", "Write", "Write", "WritePrepared", "Ping", "Subscribe", "Publish", "Publish", "Close", "end"}
	if c != nil {
		kinds = append(kinds, "Writer", "Writer")
	}
	kind := kinds[m.Rand.IntN(len(kinds))]
	if kind == "end" && m.Rand.IntN(2) > 0 {
		kind = "Write"
	}
	call := writersCall{kind: kind, ctx: context.Background(), size: len(data)}
	cancel := context.CancelFunc(func() {})
	if m.Rand.IntN(2) == 0 {
		call.ctx, cancel = context.WithTimeout(call.ctx, time.Duration(m.Rand.IntN(2000))*time.Millisecond)
	}
	prepared, _ := Prepare(Binary, data)
	m.Call(fmt.Sprintf("%s of peer %d, %d bytes", kind, p.number, len(data)), func(id int) {
		defer cancel()
		m.mu.Lock()
		p.calls[id] = call
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			delete(p.calls, id)
			m.mu.Unlock()
		}()
		var err error
		switch {
		case kind == "Publish":
			_ = m.topics.Publish("topic", Binary, data)
		case s != nil:
			err = m.ofSocket(s, kind, data, prepared)
		default:
			m.ofConn(call.ctx, c, kind, data, prepared)
		}
		if err == ErrQueueFull && m.o.QueuePolicy == QueueWait {
			m.Fail("call %d, which may wait, got ErrQueueFull", id)
		}
	})
}

func (m *writersModel) ofSocket(s *Socket, kind string, data []byte, prepared *Prepared) error {
	switch kind {
	case "Write":
		return s.Write(Binary, data)
	case "WritePrepared":
		return s.WritePrepared(prepared)
	case "Ping":
		return s.Ping(nil)
	case "Subscribe":
		_ = m.topics.Subscribe(s, "topic")
	case "Close":
		_ = s.Close(StatusNormal, "")
	case "end":
		s.Abort()
	}
	return nil
}

func (m *writersModel) ofConn(ctx context.Context, c *Conn, kind string, data []byte, prepared *Prepared) {
	switch kind {
	case "Write":
		_ = c.Write(ctx, Binary, data)
	case "WritePrepared":
		_ = c.WritePrepared(ctx, prepared)
	case "Ping":
		_ = c.Ping(ctx)
	case "Subscribe":
		_ = m.topics.Subscribe(c, "topic")
	case "Writer":
		if w, err := c.Writer(ctx, Binary); err == nil {
			defer w.Close()
			m.Mischief()
			_, _ = w.Write(data)
		}
	case "Close":
		_ = c.Close(StatusNormal, "")
	case "end":
		_ = c.CloseNow()
	}
}

// check looks for writers that wait while they need not.
func (m *writersModel) check() {
	m.T.Helper()
	problem := m.quiet(func() string {
		for _, p := range m.peers {
			if s := p.problem(); s != "" {
				return fmt.Sprintf("peer %d: %s", p.number, s)
			}
		}
		return ""
	})
	if problem != "" {
		m.Fail("%s", problem)
	}
}

// problem says what is wrong with a peer's WebSocket when nothing moves.
func (p *writersPeer) problem() string {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	reads := !p.stalls && !p.gone
	state := fmt.Sprintf("stalls %v, gone %v, %d callbacks, calls %v", p.stalls, p.gone, p.inside, p.calls)
	for _, call := range p.calls {
		if call.kind == "Publish" || call.kind == "Subscribe" {
			return "a call that never waits runs: " + state
		}
	}
	switch {
	case p.socket != nil:
		return p.socketProblem(reads, state)
	case p.conn != nil:
		return p.connProblem(reads, state)
	}
	return ""
}

func (p *writersPeer) socketProblem(reads bool, state string) string {
	s := p.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting()
	state += fmt.Sprintf(", %d bytes queued, flags %b", waiting, s.flags.Load())
	switch {
	case s.is(over) && (len(p.calls) > 0 || p.inside > 0):
		return "a call waits after the end: " + state
	case s.is(over) && waiting > 0:
		return "bytes are queued after the end: " + state
	case reads && (len(p.calls) > 0 || p.inside > 0):
		return "a call waits for a peer that reads: " + state
	case reads && waiting > 0:
		return "bytes wait for a peer that reads: " + state
	case s.is(flushing): // calls wait until the peer has taken some
		return ""
	}
	for _, call := range p.calls {
		switch {
		case s.is(sentClose | broken):
			return "a call waits for a WebSocket that is closing: " + state
		case p.m.o.QueuePolicy != QueueWait:
			return "a call waits, although the policy is another: " + state
		case waiting == 0 || waiting+call.size+wsframe.MaxHeader <= p.m.o.MaxQueue:
			return "a call waits while there is room: " + state
		}
	}
	return ""
}

func (p *writersPeer) connProblem(reads bool, state string) string {
	c := p.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire.mu.Lock()
	held := c.wire.held
	c.wire.mu.Unlock()
	size, frames := 0, 0
	if w := c.state.waits; w != nil {
		size, frames = w.size, len(w.messages)+len(w.control)
	}
	total := 0
	if w := c.state.waits; w != nil {
		for _, q := range w.messages {
			total += q.cost()
		}
	}
	state += fmt.Sprintf(", %d bytes in %d frames queued, writing %v, over %v, close frame sent %v", size, frames, held, c.state.over, c.state.closeSent)
	if c.state.over && p.over.IsZero() {
		p.over = time.Now()
	}
	switch {
	case size != total:
		return fmt.Sprintf("the messages queued cost %d bytes: %s", total, state)
	case c.state.over && len(p.calls) > 0 && time.Since(p.over) > p.m.o.CloseTimeout: // for a close frame
		return "a call waits after the end: " + state
	case reads && len(p.calls) > 0:
		return "a call waits for a peer that reads: " + state
	case reads && (held || frames > 0):
		return "bytes wait for a peer that reads: " + state
	case frames > 0 && !held && c.state.stream == nil && !c.state.over:
		return "frames wait, and no goroutine writes: " + state
	}
	for _, call := range p.calls {
		if call.ctx.Err() != nil && call.kind != "Close" {
			return "a call waits although its context has ended: " + state
		}
	}
	return ""
}

// settle lets all calls end, and proves that nothing is left of them.
func (m *writersModel) settle() {
	m.Note("the end")
	m.Calm()
	for _, p := range m.peers {
		if gate.Rand.IntN(3) == 0 {
			p.leave()
		}
		p.stall(false)
	}
	m.check()
	for _, p := range m.peers {
		p.leave()
	}
	problem := m.quiet(func() string {
		switch st := m.o.Stats(); {
		case m.Running() > 0:
			return fmt.Sprintf("%d calls run", m.Running())
		case st.Open != 0:
			return fmt.Sprintf("%d WebSockets are open", st.Open)
		case m.topics.Members("topic") != 0:
			return fmt.Sprintf("the topic has %d members", m.topics.Members("topic"))
		}
		return ""
	})
	if problem != "" {
		m.Fail("at the end, %s", problem)
	}
	m.check()
}
