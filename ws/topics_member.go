package ws

import (
	"sync"
	"sync/atomic"
)

// Member is a WebSocket that can subscribe to topics: *Socket or *Conn.
type Member interface {
	// publish puts p into the queue. It never waits, and calls no user code.
	publish(p *Prepared) error
	// memberships returns the topics of the member.
	memberships() *memberships
}

// memberships are the topics of a member. The zero value has none. It is one word, because
// all Sockets and Conns have it.
type memberships struct {
	subs atomic.Pointer[subscriptions] // nil: none yet; gone: the member has ended
}

// subscriptions are the topics of a member that has had one. mu is taken before that of a
// topicShard.
type subscriptions struct {
	mu    sync.Mutex
	list  []*subscription          // in no order, if there are few
	index map[*topic]*subscription // if there are many
	ended bool
}

// subscription connects a member and a topic. member and topic don't change. The shard's
// mutex guards the rest.
type subscription struct {
	member Member
	topic  *topic
	joined uint64 // topic.joins when it came
	slot   int    // index in topic.slots, or -1 when it has ended
}

// fewTopics is how many topics of a member are searched one by one.
const fewTopics = 16

// gone stands for the subscriptions of members that have ended.
var gone = &subscriptions{ended: true}

// get returns the subscriptions, which it makes if there are none.
func (m *memberships) get() *subscriptions {
	if s := m.subs.Load(); s != nil {
		return s
	}
	m.subs.CompareAndSwap(nil, new(subscriptions))
	return m.subs.Load()
}

// end leaves all topics, and makes Subscribe return ErrClosed from now on.
func (m *memberships) end() {
	s := m.subs.Swap(gone)
	if s == nil || s == gone {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, sub := range s.list {
		sub.topic.remove(sub)
	}
	for _, sub := range s.index {
		sub.topic.remove(sub)
	}
	s.list, s.index = nil, nil
}

// leave ends the subscription to a topic of t, if there is one.
func (m *memberships) leave(t *Topics, name string) {
	s := m.subs.Load()
	if s == nil || s == gone {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shard := t.shard(name)
	shard.mu.Lock()
	tp := shard.topics[name]
	shard.mu.Unlock()
	if tp == nil {
		return
	}
	// If tp was removed from the shard since, it has no members, and s doesn't have it: a
	// member that joins or leaves holds s.mu.
	if sub := s.find(tp); sub != nil {
		s.delete(sub)
		tp.remove(sub)
	}
}

// remove ends sub, if it hasn't ended.
func (m *memberships) remove(sub *subscription) {
	s := m.subs.Load()
	if s == nil || s == gone {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(sub.topic) == sub {
		s.delete(sub)
		sub.topic.remove(sub)
	}
}

func (s *subscriptions) len() int { return len(s.list) + len(s.index) }

func (s *subscriptions) find(t *topic) *subscription {
	if s.index != nil {
		return s.index[t]
	}
	for _, sub := range s.list {
		if sub.topic == t {
			return sub
		}
	}
	return nil
}

func (s *subscriptions) add(sub *subscription) {
	if s.index == nil && len(s.list) < fewTopics {
		s.list = append(s.list, sub)
		return
	}
	if s.index == nil {
		s.index = make(map[*topic]*subscription, 2*fewTopics)
		for _, other := range s.list {
			s.index[other.topic] = other
		}
		s.list = nil
	}
	s.index[sub.topic] = sub
}

// delete removes sub. It goes back to the list when nothing is left.
func (s *subscriptions) delete(sub *subscription) {
	if s.index != nil {
		delete(s.index, sub.topic)
		if len(s.index) == 0 {
			s.index = nil
		}
		return
	}
	last := len(s.list) - 1
	for i := range s.list {
		if s.list[i] == sub {
			s.list[i], s.list[last] = s.list[last], nil
			s.list = s.list[:last]
			return
		}
	}
}
