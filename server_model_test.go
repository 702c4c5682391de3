package gale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/modeltest"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestServerModel sends random requests over HTTP/1.1 and HTTP/2 to handlers that answer,
// wait, time out, detach their context, take the connection over, panic and end their
// goroutine, from clients that leave while they wait. It proves that a request waits only for
// its handler, or for one of MaxRunningHandlers that are all in use, and that no more of them
// run. At the end, Shutdown returns, no handler is left, and all counts are 0.
func TestServerModel(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		modeltest.Each(t, race.Fewer(20), func(seed uint64) {
			m := newServerModel(t, seed, e)
			for step := 0; step < 40 && !t.Failed(); step++ {
				for range 1 + m.Rand.IntN(4) {
					m.act()
				}
				m.check()
			}
			m.settle()
		})
	})
}

// serverModel is one run of TestServerModel.
type serverModel struct {
	*modeltest.Run
	hs    *h2Server
	h2    *http.Client
	bound int // of handlers of HTTP/1.1 that run at a time; 0 means none
	ends  chan struct{}

	mu     sync.Mutex
	calls  map[int]*serverModelCall // that run
	inside map[int]bool             // handlers that run, by call; true: of HTTP/1.1
	waits  []chan struct{}          // of handlers that wait
	leaves []func()                 // of calls and connections that were taken over
	idle   []*serverModelConn
}

// serverModelCall is a request whose client waits.
type serverModelCall struct {
	kind  string
	http2 bool
	rest  chan struct{} // closed when the rest of the body is sent; nil without a body
	whole bool          // it was
}

// serverModelConn is a client's connection of HTTP/1.1.
type serverModelConn struct {
	net.Conn
	br *bufio.Reader
}

func newServerModel(t *testing.T, seed uint64, e Engine) *serverModel {
	m := &serverModel{Run: modeltest.New(t, seed), ends: make(chan struct{}), calls: map[int]*serverModelCall{}, inside: map[int]bool{}}
	r := m.Rand
	s := &Server{Handler: m.serve, EventLoops: 1, MaxRunningHandlers: r.IntN(4), StreamRequestBody: r.IntN(2) == 0}
	if e == EngineEvent && runtime.GOOS == "linux" {
		m.bound = s.MaxRunningHandlers
	}
	if r.IntN(3) == 0 {
		s.Concurrency = 4 + r.IntN(4)
	}
	if r.IntN(3) == 0 {
		s.MaxConnsPerIP = 4 + r.IntN(4)
	}
	m.Note("%d handlers, %d connections, %d of a client, streams %v", m.bound, s.Concurrency, s.MaxConnsPerIP, s.StreamRequestBody)
	m.hs = h2Way{Engine: e}.start(t, s)
	await.Until(t, "Serve", func() bool { return len(s.Stats().Listeners) == 1 }) // or a Shutdown may come before it
	m.h2 = m.hs.Client(2)
	return m
}

// serve is the handler of the server. The path says what it does.
func (m *serverModel) serve(ctx *RequestCtx) {
	id, _ := strconv.Atoi(string(ctx.Request.Header.Peek("X-Call")))
	http1 := string(ctx.Request.Header.Protocol()) == "HTTP/1.1"
	m.mu.Lock()
	m.inside[id] = http1
	n := 0
	for _, http1 := range m.inside {
		if http1 {
			n++
		}
	}
	m.mu.Unlock()
	if m.bound > 0 && n > m.bound {
		m.Fail("%d handlers of HTTP/1.1 run", n)
	}
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.inside, id)
	}()
	switch string(ctx.Path()) {
	case "/wait":
		<-m.wait()
		m.Mischief()
	case "/done":
		select {
		case <-ctx.Done():
		case <-m.wait():
		}
	case "/panic":
		panic("mischief")
	case "/goexit":
		runtime.Goexit()
	case "/timeout":
		goes := m.wait()
		TimeoutHandler(func(*RequestCtx) {
			<-goes
			m.Mischief()
		}, time.Millisecond, "late")(ctx)
	case "/detach":
		d, goes := ctx.Detach(), m.wait()
		go func() {
			<-goes
			d.SetUserValue("late", d.Path())
		}()
	case "/hijack":
		goes := m.wait()
		ctx.Hijack(func(net.Conn) {
			<-goes
			m.Mischief()
		})
	case "/counted":
		goes := m.wait()
		ctx.HijackCounted(func(net.Conn) {
			<-goes
			m.Mischief()
		}, m.Mischief)
	case "/upgrade":
		ctx.SetStatusCode(101)
		ctx.Response.Header.Set("Upgrade", "x")
		ctx.Upgrade(serverModelUpgrade{m})
	case "/body":
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
	}
}

// wait returns a channel that the test closes.
func (m *serverModel) wait() <-chan struct{} {
	goes := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.ends:
		close(goes)
	default:
		m.waits = append(m.waits, goes)
	}
	return goes
}

// serverModelUpgrade serves a connection until bytes come.
type serverModelUpgrade struct{ m *serverModel }

func (u serverModelUpgrade) Opened(*UpgradedConn) { u.m.Mischief() }

func (u serverModelUpgrade) Received(c *UpgradedConn, in []byte) int {
	u.m.Mischief()
	if len(in) > 0 {
		c.Close()
	}
	return len(in)
}

func (u serverModelUpgrade) Stalled(c *UpgradedConn, _ error) { c.Close() }

func (u serverModelUpgrade) Closed(*UpgradedConn, error) { u.m.Mischief() }

// act does something at random.
func (m *serverModel) act() {
	switch n := m.Rand.IntN(100); {
	case n < 60:
		m.call()
	case n < 80:
		m.release()
	case n < 90:
		m.mu.Lock()
		leave, ok := modeltest.Pick(m.Run, &m.leaves)
		m.mu.Unlock()
		if ok {
			m.Note("a client leaves")
			leave()
		}
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		for id, call := range m.calls {
			if call.rest != nil && !call.whole {
				m.Note("call %d sends the rest", id)
				call.whole = true
				close(call.rest)
				return
			}
		}
	}
}

// release lets a handler go on.
func (m *serverModel) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if goes, ok := modeltest.Pick(m.Run, &m.waits); ok {
		m.Note("a handler goes on")
		close(goes)
	}
}

// call starts a call.
func (m *serverModel) call() {
	if m.Running() >= 12 {
		return
	}
	kinds := []string{"ok", "ok", "wait", "wait", "wait", "done", "panic", "goexit", "timeout", "detach", "body", "hijack", "counted", "upgrade"}
	call := &serverModelCall{kind: kinds[m.Rand.IntN(len(kinds))], http2: m.Rand.IntN(3) == 0}
	if call.kind == "body" {
		call.http2 = false
		call.rest = make(chan struct{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.mu.Lock()
	m.leaves = append(m.leaves, cancel)
	m.mu.Unlock()
	m.Call(fmt.Sprintf("%s, HTTP/2 %v", call.kind, call.http2), func(id int) {
		defer cancel()
		m.mu.Lock()
		m.calls[id] = call
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.calls, id)
		}()
		if call.http2 {
			m.doHTTP2(ctx, id, call)
			return
		}
		m.doHTTP1(ctx, id, call)
	})
}

func (m *serverModel) doHTTP2(ctx context.Context, id int, call *serverModelCall) {
	req, _ := http.NewRequestWithContext(ctx, "GET", m.hs.URL("/"+call.kind), nil)
	req.Header.Set("X-Call", strconv.Itoa(id))
	if resp, err := m.h2.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func (m *serverModel) doHTTP1(ctx context.Context, id int, call *serverModelCall) {
	c := m.conn()
	if c == nil {
		return
	}
	keep := false
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer func() {
		if !keep {
			c.Close()
		}
	}()
	head := fmt.Sprintf("POST /%s HTTP/1.1\r\nHost: h\r\nX-Call: %d\r\n", call.kind, id)
	switch call.kind {
	case "body":
		_, _ = io.WriteString(c, head+"Content-Length: 4\r\n\r\nbo")
		select {
		case <-call.rest:
		case <-m.ends:
		case <-ctx.Done():
		}
		_, _ = io.WriteString(c, "dy")
	case "upgrade":
		_, _ = io.WriteString(c, head+"Content-Length: 0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	default:
		_, _ = io.WriteString(c, head+"Content-Length: 0\r\n\r\n")
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	taken := call.kind == "hijack" || call.kind == "counted" || call.kind == "upgrade"
	switch keep = err == nil && !resp.Close && m.Chance(80); {
	case !keep:
	case taken && resp.StatusCode < 300:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.leaves = append(m.leaves, func() {
			_, _ = io.WriteString(c, "bytes")
			c.Close()
		})
	default:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.idle = append(m.idle, c)
	}
}

// conn returns an idle connection or a new one.
func (m *serverModel) conn() *serverModelConn {
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		c := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return c
	}
	m.mu.Unlock()
	nc, err := net.Dial("tcp", m.hs.Addr)
	if err != nil {
		return nil
	}
	return &serverModelConn{nc, bufio.NewReader(nc)}
}

// check looks for requests that wait while they need not.
func (m *serverModel) check() {
	m.T.Helper()
	m.until(func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		n := 0
		for _, http1 := range m.inside {
			if http1 {
				n++
			}
		}
		if running := m.Running(); running != len(m.calls) {
			return fmt.Sprintf("%d calls run, %d have begun", running, len(m.calls))
		}
		full := m.bound > 0 && n >= m.bound
		for id, call := range m.calls {
			_, inside := m.inside[id]
			switch {
			case inside, call.rest != nil && !call.whole:
			case !full: // otherwise connections of HTTP/2 aren't read either
				return fmt.Sprintf("call %d waits while %d of %d handlers run", id, n, m.bound)
			}
		}
		return ""
	})
}

// until waits until there is no problem.
func (m *serverModel) until(problem func() string) {
	m.T.Helper()
	what := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) { // between two looks
		if what = problem(); what == "" {
			return
		}
	}
	st := m.hs.s.Stats()
	m.Fail("%s\n%+v\n%s", what, st, peers.AllStacks())
}

// settle lets all calls end, before a shutdown or while one waits for them, and proves that
// nothing is left of them.
func (m *serverModel) settle() {
	m.Note("the end")
	m.Calm()
	s := m.hs.s
	shut := make(chan error, 1)
	early := m.Rand.IntN(2) == 0
	if early {
		go func() { shut <- s.Shutdown() }()
	}
	m.mu.Lock()
	close(m.ends)
	for _, goes := range m.waits {
		close(goes)
	}
	for _, call := range m.calls {
		if call.rest != nil && !call.whole {
			call.whole = true
			close(call.rest)
		}
	}
	m.mu.Unlock()
	m.until(func() string {
		if n := m.Running(); n > 0 {
			return fmt.Sprintf("%d calls don't end", n)
		}
		return ""
	})
	m.mu.Lock()
	for _, leave := range m.leaves {
		leave()
	}
	for _, c := range m.idle {
		c.Close()
	}
	m.mu.Unlock()
	m.h2.CloseIdleConnections()
	if !early {
		go func() { shut <- s.Shutdown() }()
	}
	m.until(func() string {
		if len(shut) == 0 {
			return "Shutdown doesn't return"
		}
		return ""
	})
	m.until(m.rest)
}

// rest says what is left of connections.
func (m *serverModel) rest() string {
	m.mu.Lock()
	inside := len(m.inside)
	m.mu.Unlock()
	s := m.hs.s
	st := s.Stats()
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	switch {
	case inside > 0:
		return fmt.Sprintf("%d handlers run", inside)
	case st.OpenConnections != 0 || st.IdleConnections != 0 || st.UpgradedConnections != 0 || st.Event.Connections != 0 || st.Event.Running != 0:
		return "the counts aren't 0"
	case s.stats.held.Load() != 0 || s.run.timed.Load() != 0:
		return fmt.Sprintf("%d connections are held, %d handlers are timed", s.stats.held.Load(), s.run.timed.Load())
	case s.workers.waiting.Load() != 0:
		return fmt.Sprintf("%d jobs wait for workers", s.workers.waiting.Load())
	case len(s.run.handshakes)+len(s.run.waiters)+len(s.run.taken) > 0:
		return fmt.Sprintf("%d handshakes, %d contexts and %d connections are registered", len(s.run.handshakes), len(s.run.waiters), len(s.run.taken))
	}
	return ""
}
