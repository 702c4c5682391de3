package ws

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
)

// hub is a broker for the Topics of one process: it delivers in Publish to all that have
// subscribed, and checks how it is called.
type hub struct {
	t  *testing.T
	mu sync.Mutex
	on map[*Topics]map[string]bool // who has subscribed to what
}

// leg is the Broker that one Topics has. A leg of a hub is used by one Topics.
type leg struct {
	hub     *hub
	topics  *Topics
	busy    sync.Map // names for which a call runs
	subs    atomic.Int64
	unsubs  atomic.Int64
	refuse  atomic.Pointer[error]
	panics  atomic.Bool
	exits   atomic.Bool // calls runtime.Goexit
	enter   chan string // if not nil, Subscribe sends to it
	proceed chan struct{}
}

var errRefused = errors.New("refused")

func (h *hub) join(topics *Topics) *leg {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on == nil {
		h.on = make(map[*Topics]map[string]bool)
	}
	h.on[topics] = make(map[string]bool)
	l := &leg{hub: h, topics: topics}
	topics.Broker = l
	return l
}

func (l *leg) Publish(topic string, t MessageType, data []byte) error {
	l.hub.mu.Lock()
	var all []*Topics
	for topics, names := range l.hub.on {
		if names[topic] {
			all = append(all, topics)
		}
	}
	l.hub.mu.Unlock()
	for _, topics := range all {
		if _, err := topics.Deliver(topic, t, data); err != nil {
			return err
		}
	}
	return nil
}

// call notes a change and fails the test if another call for the topic runs, or if there
// is nothing to change.
func (l *leg) call(topic string, on bool) error {
	if _, loaded := l.busy.LoadOrStore(topic, true); loaded {
		l.hub.t.Errorf("two calls for %q at once", topic)
	}
	defer l.busy.Delete(topic)
	if l.enter != nil {
		l.enter <- topic
		<-l.proceed
	}
	if l.exits.Load() {
		runtime.Goexit()
	}
	if l.panics.Load() {
		panic("of a broker")
	}
	if err := l.refuse.Load(); err != nil {
		return *err
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	names := l.hub.on[l.topics]
	if names[topic] == on {
		l.hub.t.Errorf("told twice about %q: %v", topic, on)
	}
	if on {
		names[topic] = true
	} else {
		delete(names, topic)
	}
	return nil
}

func (l *leg) Subscribe(topic string) error {
	l.subs.Add(1)
	return l.call(topic, true)
}

func (l *leg) Unsubscribe(topic string) error {
	l.unsubs.Add(1)
	return l.call(topic, false)
}

// has reports whether the broker has subscribed.
func (l *leg) has(topic string) bool {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.hub.on[l.topics][topic]
}

// settled waits until t keeps nothing and the broker has left all topics.
func (l *leg) settled() {
	l.hub.t.Helper()
	await.Until(l.hub.t, "the broker is unsubscribed", func() bool {
		l.hub.mu.Lock()
		n := len(l.hub.on[l.topics])
		l.hub.mu.Unlock()
		return n == 0 && l.topics.held() == 0
	})
}

func TestBroker(t *testing.T) {
	var here, there Topics
	h := &hub{t: t}
	l := h.join(&here)
	h.join(&there)
	a, b, c := new(inbox), new(inbox), new(inbox)
	subscribe(t, &here, a, "x", "x")
	subscribe(t, &here, b, "x")
	subscribe(t, &there, c, "x")
	publish(t, &here, "x", "1")
	publish(t, &there, "x", "2")
	for i, m := range []*inbox{a, b, c} {
		if got := m.got(); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("member %d got %q", i, got)
		}
	}
	here.Unsubscribe(a, "x")
	if !l.has("x") || l.subs.Load() != 1 || l.unsubs.Load() != 0 {
		t.Errorf("%d and %d calls while there is a member", l.subs.Load(), l.unsubs.Load())
	}
	b.subs.end()
	l.settled()
	publish(t, &here, "x", "3") // a process without members may publish
	if got := c.got(); !slices.Equal(got, []string{"3"}) {
		t.Errorf("got %q from a process without members", got)
	}
	subscribe(t, &here, a, "x")
	if !l.has("x") {
		t.Error("the broker didn't subscribe again")
	}
}

// A member whose topic the broker refuses isn't one, and the next call asks again. A panic
// reaches the caller and leaves no lock held.
func TestBrokerRefuses(t *testing.T) {
	var topics Topics
	l := (&hub{t: t}).join(&topics)
	m := new(inbox)
	l.refuse.Store(&errRefused)
	if err := topics.Subscribe(m, "x"); !errors.Is(err, errRefused) {
		t.Errorf("refused: %v", err)
	}
	if n := topics.Members("x") + topics.held() + m.subs.get().len(); n != 0 {
		t.Error("something is left of a subscription that was refused")
	}
	l.refuse.Store(nil)
	l.panics.Store(true)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic didn't reach the caller")
			}
		}()
		_ = topics.Subscribe(m, "x")
	}()
	if n := topics.Members("x") + topics.held() + m.subs.get().len(); n != 0 {
		t.Error("something is left of a subscription that panicked")
	}
	l.panics.Store(false)
	subscribe(t, &topics, m, "x")

	var lines logLines
	topics.Logger = &lines
	l.panics.Store(true)
	topics.Unsubscribe(m, "x")
	await.Until(t, "the panic of Unsubscribe is logged", func() bool { return lines.has("of a broker") })
	l.panics.Store(false)
	await.Until(t, "the topic is forgotten", func() bool { return topics.held() == 0 })

	m = new(inbox)
	subscribe(t, &topics, m, "y")
	l.refuse.Store(&errRefused)
	m.subs.end()
	await.Until(t, "the error of Unsubscribe is logged", func() bool { return lines.has("refused") })
	await.Until(t, "the topic is forgotten", func() bool { return topics.held() == 0 })
}

// A broker that ends goroutines leaves no lock held, and Unsubscribe is called for the
// other topics.
func TestBrokerExits(t *testing.T) {
	var topics Topics
	l := (&hub{t: t}).join(&topics)
	m := new(inbox)
	l.exits.Store(true)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = topics.Subscribe(m, "x")
	}()
	<-ended
	if n := topics.Members("x") + topics.held() + m.subs.get().len(); n != 0 {
		t.Error("something is left of a subscription that ended its goroutine")
	}
	l.exits.Store(false)
	subscribe(t, &topics, m, "x", "y", "z")
	l.exits.Store(true)
	m.subs.end()
	await.Until(t, "Unsubscribe was called for each", func() bool { return l.unsubs.Load() == 3 && topics.held() == 0 })
}

// logLines is a Logger that keeps what it gets.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, format+"\n", args...)
}

func (l *logLines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// A second member waits for the call that is under way. If its member leaves or ends
// meanwhile, the broker is unsubscribed after it.
func TestBrokerWaits(t *testing.T) {
	for _, end := range []func(topics *Topics, m *inbox){
		func(topics *Topics, m *inbox) { topics.Unsubscribe(m, "x") },
		func(_ *Topics, m *inbox) { m.subs.end() },
	} {
		var topics Topics
		l := (&hub{t: t}).join(&topics)
		l.enter, l.proceed = make(chan string), make(chan struct{})
		a, b := new(inbox), new(inbox)
		errs := make(chan error, 2)
		go func() { errs <- topics.Subscribe(a, "x") }()
		<-l.enter
		go func() { errs <- topics.Subscribe(b, "x") }()
		await.Until(t, "the second member is there", func() bool { return topics.Members("x") == 2 })
		end(&topics, a)
		end(&topics, b)
		if n := len(errs); n != 0 {
			t.Errorf("%d calls returned before the broker's", n)
		}
		l.proceed <- struct{}{} // Subscribe returns
		go func() {
			for range l.enter {
				l.proceed <- struct{}{}
			}
		}()
		for range 2 {
			// One may be a member again: its call had not ended when it left.
			if err := <-errs; err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		topics.Unsubscribe(a, "x")
		topics.Unsubscribe(b, "x")
		l.settled()
		close(l.enter)
	}
}

// Members come and go at once. The hub reports calls that overlap or
// repeat. In the end the broker has what has members.
func TestBrokerChurn(t *testing.T) {
	const goroutines, rounds = 8, 300
	var topics Topics
	h := &hub{t: t}
	l := h.join(&topics)
	names := []string{"a", "b", "c"}
	shared := new(inbox)
	var run sync.WaitGroup
	for i := range goroutines {
		run.Go(func() {
			for r := range rounds {
				m, name := new(inbox), names[(i+r)%len(names)]
				if i%2 == 0 {
					m = shared
				}
				if err := topics.Subscribe(m, name); err != nil {
					t.Error(err)
				}
				if m != shared && topics.Members(name) == 0 {
					t.Error("a member that has subscribed isn't counted")
				}
				if r%3 == 0 && m != shared {
					m.subs.end()
				} else {
					topics.Unsubscribe(m, name)
				}
			}
		})
	}
	run.Wait()
	l.settled()
	for _, name := range names {
		subscribe(t, &topics, shared, name)
		if !l.has(name) {
			t.Errorf("the broker hasn't subscribed to %q", name)
		}
	}
	shared.subs.end()
	l.settled()
}
