package ws

import (
	"hash/maphash"
	"strings"
	"sync"
)

const (
	// topicShards is the number of locks that the topics of a Topics share.
	topicShards = 64
	// deliverWindow is how many members Deliver takes from a topic at a time. It holds no
	// lock of the shard while it sends to them.
	deliverWindow = 64
	// fewSlots is the number of slots below which a topic isn't compacted.
	fewSlots = 32
)

var topicSeed = maphash.MakeSeed()

// topicShard holds some of the topics. mu guards also what the topics have.
type topicShard struct {
	mu     sync.Mutex
	topics map[string]*topic
	_      [48]byte // shards don't share a cache line
}

// topic is a topic that has members, or for which a call of the Broker runs.
type topic struct {
	name   string
	owner  *Topics
	shard  *topicShard
	sendMu sync.Mutex // held by deliver; taken before shard.mu
	linkMu sync.Mutex // held while the Broker is called for the topic, see topics_link.go

	// slots are the members in the order in which they came. nil marks one that has left.
	// Slots don't move while deliver runs, so it reaches each member once.
	slots      []*subscription
	members    int
	joins      uint64 // how many have come so far
	delivering bool
	pins       int  // how many calls need the topic to stay
	linked     bool // the Broker has subscribed
	leaving    bool // it is in the list of leavers
}

func (t *Topics) shard(name string) *topicShard {
	return &t.shards[maphash.String(topicSeed, name)%topicShards]
}

// join makes m a member of a topic, if it isn't. With a Broker the topic is pinned.
func (t *Topics) join(m Member, name string, limit int) (sub *subscription, err error) {
	s := m.memberships().get()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, ErrClosed
	}
	shard := t.shard(name)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	tp := shard.topics[name]
	if tp != nil {
		sub = s.find(tp)
	}
	if sub == nil && limit >= 0 && s.len() >= limit {
		return nil, ErrTooManyTopics
	}
	if tp == nil {
		tp = &topic{name: strings.Clone(name), owner: t, shard: shard}
		if shard.topics == nil {
			shard.topics = make(map[string]*topic)
		}
		shard.topics[tp.name] = tp
	}
	if sub == nil {
		sub = &subscription{member: m, topic: tp, joined: tp.joins, slot: len(tp.slots)}
		tp.joins++
		tp.members++
		tp.slots = append(tp.slots, sub)
		s.add(sub)
	}
	if t.Broker != nil {
		tp.pins++
	}
	return sub, nil
}

// remove takes sub out of the topic.
func (t *topic) remove(sub *subscription) {
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	t.slots[sub.slot], sub.slot = nil, -1
	t.members--
	if !t.delivering {
		t.compact()
	}
	if t.members > 0 {
		return
	}
	t.leaveIfEmpty()
	t.removeUnused()
}

// removeUnused removes a topic that isn't needed any more. It is called with the shard's mutex.
func (t *topic) removeUnused() {
	if t.members > 0 || t.pins > 0 || t.shard.topics[t.name] != t {
		return
	}
	delete(t.shard.topics, t.name)
	if len(t.shard.topics) == 0 {
		t.shard.topics = nil // a map keeps its memory
	}
}

// compact removes the slots of members that have left, if they are more than half, and
// memory that isn't needed. It is called with the shard's mutex.
func (t *topic) compact() {
	for n := len(t.slots); n > 0 && t.slots[n-1] == nil; n-- {
		t.slots = t.slots[:n-1]
	}
	holes := len(t.slots) >= fewSlots && t.members <= len(t.slots)/2
	if spare := cap(t.slots) > fewSlots && t.members <= cap(t.slots)/4; !holes && !spare {
		return
	}
	slots := make([]*subscription, 0, max(t.members, fewSlots))
	for _, sub := range t.slots {
		if sub != nil {
			sub.slot = len(slots)
			slots = append(slots, sub)
		}
	}
	t.slots = slots
}

// deliver sends p to those who are members now and don't leave before their turn. It
// returns how many took it.
func (t *topic) deliver(p *Prepared) (n int) {
	t.sendMu.Lock()
	defer t.sendMu.Unlock()
	t.shard.mu.Lock()
	t.delivering = true
	joins := t.joins
	t.shard.mu.Unlock()
	defer func() {
		t.shard.mu.Lock()
		defer t.shard.mu.Unlock()
		t.delivering = false
		t.compact()
	}()
	var window [deliverWindow]*subscription
	for at := 0; ; {
		got := 0
		got, at = t.window(&window, at, joins)
		if got == 0 {
			return n
		}
		for _, sub := range window[:got] {
			if sub.member.publish(p) == nil {
				n++
			}
		}
	}
}

// window copies the next members, from slot at on, that had come when joins was counted.
// It returns how many they are and the slot to go on with.
func (t *topic) window(window *[deliverWindow]*subscription, at int, joins uint64) (n, next int) {
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	for ; at < len(t.slots) && n < len(window); at++ {
		if sub := t.slots[at]; sub != nil {
			if sub.joined >= joins {
				return n, len(t.slots) // all further ones came later
			}
			window[n] = sub
			n++
		}
	}
	return n, at
}
