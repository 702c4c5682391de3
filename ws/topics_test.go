package ws

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// inbox is a member that keeps what it gets. Those of topics_socket_test.go are real
// WebSockets; here tests look at each message.
type inbox struct {
	subs  memberships
	mu    sync.Mutex
	texts []string
	fail  error
	enter chan<- struct{} // if not nil, publish sends to it,
	leave <-chan struct{} // and waits for this
}

func (b *inbox) memberships() *memberships { return &b.subs }

func (b *inbox) publish(p *Prepared) error {
	if b.enter != nil {
		b.enter <- struct{}{}
		<-b.leave
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil {
		b.texts = append(b.texts, string(p.data))
	}
	return b.fail
}

// got returns the messages and forgets them.
func (b *inbox) got() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	texts := b.texts
	b.texts = nil
	return texts
}

func subscribe(t *testing.T, topics *Topics, m Member, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := topics.Subscribe(m, name); err != nil {
			t.Fatalf("Subscribe to %q: %v", name, err)
		}
	}
}

func publish(t *testing.T, topics *Topics, name, text string) {
	t.Helper()
	if err := topics.Publish(name, Text, []byte(text)); err != nil {
		t.Fatalf("Publish to %q: %v", name, err)
	}
}

// held returns how many topics t keeps, also without members.
func (t *Topics) held() (n int) {
	for i := range t.shards {
		t.shards[i].mu.Lock()
		n += len(t.shards[i].topics)
		t.shards[i].mu.Unlock()
	}
	return n
}

func TestTopics(t *testing.T) {
	var topics Topics
	a, b := new(inbox), new(inbox)
	subscribe(t, &topics, a, "x", "y", "x", "")
	subscribe(t, &topics, b, "x")
	want := func(what string, b *inbox, texts ...string) {
		t.Helper()
		if got := b.got(); !slices.Equal(got, texts) {
			t.Errorf("%s: got %q, want %q", what, got, texts)
		}
	}
	for name, n := range map[string]int{"x": 2, "y": 1, "": 1, "z": 0} {
		if got := topics.Members(name); got != n {
			t.Errorf("topic %q has %d members, want %d", name, got, n)
		}
	}
	names := topics.Names()
	if slices.Sort(names); !slices.Equal(names, []string{"", "x", "y"}) {
		t.Errorf("Names: %q", names)
	}

	publish(t, &topics, "x", "1")
	publish(t, &topics, "y", "2")
	publish(t, &topics, "z", "3")
	publish(t, &topics, "", "4")
	want("a member of three topics, once each", a, "1", "2", "4")
	want("a member of one", b, "1")

	if n, err := topics.Deliver("x", Binary, []byte("5")); n != 2 || err != nil {
		t.Errorf("Deliver: %d, %v", n, err)
	}
	b.fail = ErrQueueFull
	if n, err := topics.Deliver("x", Binary, nil); n != 1 || err != nil {
		t.Errorf("Deliver with a member whose queue is full: %d, %v", n, err)
	}
	if n, err := topics.Deliver("z", Binary, nil); n != 0 || err != nil {
		t.Errorf("Deliver to no members: %d, %v", n, err)
	}
	a.got()
	b.got()
	b.fail = nil

	topics.Unsubscribe(a, "x")
	topics.Unsubscribe(a, "x")
	topics.Unsubscribe(a, "z")
	topics.Unsubscribe(new(inbox), "x")
	publish(t, &topics, "x", "6")
	want("a member that has left", a)
	want("one that stays", b, "6")

	a.subs.end()
	a.subs.end()
	b.subs.end()
	if n := topics.held(); n != 0 {
		t.Errorf("%d topics are kept after all members have ended", n)
	}
	if err := topics.Subscribe(a, "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("Subscribe of a member that has ended: %v", err)
	}
	topics.Unsubscribe(a, "x")
	new(inbox).subs.end()
}

func TestTopicsRefuse(t *testing.T) {
	topics := Topics{MaxTopics: 2}
	m := new(inbox)
	subscribe(t, &topics, m, "a", "b")
	if err := topics.Subscribe(m, "c"); !errors.Is(err, ErrTooManyTopics) {
		t.Errorf("the third topic of two: %v", err)
	}
	subscribe(t, &topics, m, "b") // which it has
	var other Topics              // counts all
	for i := range 998 {
		subscribe(t, &other, m, strconv.Itoa(i))
	}
	if err := other.Subscribe(m, "one more"); !errors.Is(err, ErrTooManyTopics) {
		t.Errorf("topic 1001: %v", err)
	}
	unlimited := Topics{MaxTopics: -1}
	subscribe(t, &unlimited, m, "one more")
	topics.Unsubscribe(m, "a")
	other.Unsubscribe(m, "0")
	subscribe(t, &other, m, "again")
	m.subs.end()
	if n := topics.held() + other.held() + unlimited.held(); n != 0 {
		t.Errorf("%d topics are kept", n)
	}

	long := strings.Repeat("x", maxTopicName)
	m = new(inbox)
	subscribe(t, &topics, m, long)
	if err := topics.Subscribe(m, long+"x"); !errors.Is(err, ErrTopicName) {
		t.Errorf("a name that is too long: %v", err)
	}
	for _, mt := range []MessageType{0, 3, 8} {
		if err := topics.Publish("a", mt, nil); !errors.Is(err, ErrMessageType) {
			t.Errorf("Publish with type %d: %v", mt, err)
		}
		if n, err := topics.Deliver(long, mt, nil); n != 0 || !errors.Is(err, ErrMessageType) {
			t.Errorf("Deliver with type %d: %d, %v", mt, n, err)
		}
	}
}

// A member with many topics, which are searched in another way, leaves each of them, and
// goes back to few.
func TestTopicsMany(t *testing.T) {
	var topics Topics
	m := new(inbox)
	for _, n := range []int{1, fewTopics, fewTopics + 1, 100} {
		for i := range n {
			subscribe(t, &topics, m, strconv.Itoa(i), strconv.Itoa(i))
		}
		for i := range n {
			publish(t, &topics, strconv.Itoa(i), strconv.Itoa(i))
		}
		if got := m.got(); len(got) != n || got[n-1] != strconv.Itoa(n-1) {
			t.Errorf("%d topics: got %q", n, got)
		}
		for i := range n {
			topics.Unsubscribe(m, strconv.Itoa(i))
		}
		if n := topics.held() + m.subs.get().len(); n != 0 {
			t.Errorf("%d topics are kept", n)
		}
	}
	for i := range 100 {
		subscribe(t, &topics, m, strconv.Itoa(i))
	}
	m.subs.end()
	if n := topics.held(); n != 0 {
		t.Errorf("%d topics are kept after the end", n)
	}
}

// While Deliver sends, members come and go without waiting. One that comes doesn't get
// the message, nor does one that leaves and comes back get it twice.
func TestDeliverHoldsNoLock(t *testing.T) {
	var topics Topics
	members := make([]*inbox, 3*deliverWindow)
	for i := range members {
		members[i] = new(inbox)
		subscribe(t, &topics, members[i], "x")
	}
	enter, leave := make(chan struct{}), make(chan struct{})
	slow := members[deliverWindow]
	slow.enter, slow.leave = enter, leave
	done := make(chan int)
	go func() {
		n, _ := topics.Deliver("x", Text, []byte("1"))
		done <- n
	}()
	<-enter
	late, again, gone := new(inbox), members[0], members[len(members)-1]
	subscribe(t, &topics, late, "x")
	topics.Unsubscribe(again, "x")
	subscribe(t, &topics, again, "x")
	gone.subs.end()
	if n := topics.Members("x"); n != len(members) {
		t.Errorf("%d members, want %d", n, len(members))
	}
	if n, err := topics.Deliver("another", Text, nil); n != 0 || err != nil {
		t.Errorf("Deliver to another topic: %d, %v", n, err)
	}
	close(leave)
	if n := <-done; n != len(members)-1 {
		t.Errorf("delivered to %d, want %d", n, len(members)-1)
	}
	slow.enter = nil
	for i, m := range members {
		want := 1
		if m == gone {
			want = 0
		}
		if got := m.got(); len(got) != want {
			t.Errorf("member %d got %q, want %d", i, got, want)
		}
	}
	if got := late.got(); len(got) != 0 {
		t.Errorf("a member that came later got %q", got)
	}
}

// Members that stay get each message once, all in the same order, and each publisher's in
// its order, while others come and go so that the topic is compacted.
func TestTopicsOrder(t *testing.T) {
	const publishers, messages = 3, 200
	var topics Topics
	var stay []*inbox
	var passing []*inbox
	for range fewSlots {
		for range 4 {
			m := new(inbox)
			passing = append(passing, m)
			subscribe(t, &topics, m, "x")
		}
		m := new(inbox)
		stay = append(stay, m)
		subscribe(t, &topics, m, "x")
	}
	var churn, publish sync.WaitGroup
	var stop atomic.Bool
	for i := range 2 {
		churn.Go(func() {
			for !stop.Load() {
				for _, m := range passing[i*len(passing)/2 : (i+1)*len(passing)/2] {
					topics.Unsubscribe(m, "x")
				}
				for _, m := range passing[i*len(passing)/2 : (i+1)*len(passing)/2] {
					if err := topics.Subscribe(m, "x"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range publishers {
		publish.Go(func() {
			for j := range messages {
				if err := topics.Publish("x", Text, fmt.Appendf(nil, "%d %04d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	publish.Wait()
	stop.Store(true)
	churn.Wait()

	order := stay[0].got()
	for _, m := range stay[1:] {
		if got := m.got(); !slices.Equal(got, order) {
			t.Fatalf("members got %d and %d messages, or in another order", len(got), len(order))
		}
	}
	sorted := slices.Sorted(slices.Values(order))
	if len(order) != publishers*messages || len(slices.Compact(sorted)) != publishers*messages {
		t.Errorf("%d messages, want %d", len(order), publishers*messages)
	}
	for i := range publishers {
		prefix, last := strconv.Itoa(i)+" ", ""
		for _, text := range order {
			if strings.HasPrefix(text, prefix) {
				if text <= last {
					t.Fatalf("%q came after %q", text, last)
				}
				last = text
			}
		}
	}
	for _, m := range passing {
		texts := slices.Clone(m.got())
		slices.Sort(texts)
		if n := len(texts); len(slices.Compact(texts)) != n {
			t.Error("a member that comes and goes got a message twice")
		}
		m.subs.end()
	}
	tp := topics.shard("x").topics["x"]
	if tp.members != len(stay) || len(tp.slots) > 2*len(stay) {
		t.Errorf("%d members hold %d slots", tp.members, len(tp.slots))
	}
}

// Memory follows the members that are there, in whatever order they leave.
func TestTopicsShrink(t *testing.T) {
	const n = 4096
	for _, order := range []string{"first", "last", "every second"} {
		var topics Topics
		var members []*inbox
		for range n {
			m := new(inbox)
			members = append(members, m)
			subscribe(t, &topics, m, "x")
		}
		switch order {
		case "last":
			slices.Reverse(members)
		case "every second":
			for i := range n / 2 {
				members[i], members[2*i] = members[2*i], members[i]
			}
		}
		for _, m := range members[5:] {
			m.subs.end()
		}
		tp := topics.shard("x").topics["x"]
		if got, _ := topics.Deliver("x", Text, nil); got != 5 {
			t.Errorf("%s: %d members got it, want 5", order, got)
		}
		if cap(tp.slots) > 2*fewSlots {
			t.Errorf("%s: 5 members hold %d slots", order, cap(tp.slots))
		}
	}
}

// Deliver allocates for the message, not for members.
func TestDeliverAllocs(t *testing.T) {
	var topics Topics
	count := func() float64 {
		return testing.AllocsPerRun(20, func() {
			if _, err := topics.Deliver("x", Text, []byte("hello")); err != nil {
				t.Error(err)
			}
		})
	}
	add := func(n int) {
		for range n {
			m := new(counter)
			if err := topics.Subscribe(m, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1)
	one := count()
	add(999)
	if many := count(); many > one {
		t.Errorf("%v allocations for 1000 members, %v for one", many, one)
	}
}

// counter is a member that counts.
type counter struct {
	subs memberships
	n    atomic.Int64
}

func (c *counter) memberships() *memberships { return &c.subs }

func (c *counter) publish(*Prepared) error {
	c.n.Add(1)
	return nil
}

func BenchmarkDeliver(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var topics Topics
			for range n {
				if err := topics.Subscribe(new(counter), "x"); err != nil {
					b.Fatal(err)
				}
			}
			data := make([]byte, 1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := topics.Deliver("x", Text, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
