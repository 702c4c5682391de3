package ws

import (
	"runtime/debug"
	"sync"
)

// The Broker of a topic is called while linkMu is held, and told what is right then: so
// calls come one at a time, and after the last one the Broker has subscribed if and only
// if there are members. Topics are pinned meanwhile, so that there is one for each name.

// link subscribes the Broker to the topic of sub, which join has pinned, if it hasn't. If
// that fails it ends sub. It returns false if sub had ended before.
func (t *Topics) link(sub *subscription) (ok bool, err error) {
	tp := sub.topic
	defer t.unpin(tp)
	tp.linkMu.Lock()
	defer tp.linkMu.Unlock()
	linked, member := tp.state(sub)
	if linked || !member {
		return member, nil
	}
	defer func() {
		if !linked { // an error, or a panic
			sub.member.memberships().remove(sub)
		}
	}()
	if err := t.Broker.Subscribe(tp.name); err != nil {
		return false, err
	}
	linked = true
	tp.setLinked(true)
	return true, nil
}

// state returns whether the Broker has subscribed, and whether sub hasn't ended.
func (t *topic) state(sub *subscription) (linked, member bool) {
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	return t.linked, sub.slot >= 0
}

// unlink unsubscribes the Broker from a topic of the leavers, which have pinned it, if the
// topic still has no members.
func (t *Topics) unlink(tp *topic) {
	defer t.unpin(tp)
	defer func() {
		if r := recover(); r != nil {
			t.logf("ws: panic in Broker.Unsubscribe: %v\n%s", r, debug.Stack())
		}
	}()
	tp.linkMu.Lock()
	defer tp.linkMu.Unlock()
	if !tp.setLinked(false) {
		return
	}
	if err := t.Broker.Unsubscribe(tp.name); err != nil {
		t.logf("ws: Broker.Unsubscribe: %v", err)
	}
}

// setLinked notes that the Broker has subscribed, or will unsubscribe now. It returns false
// if it hasn't subscribed, or must not unsubscribe because there are members.
func (t *topic) setLinked(linked bool) bool {
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	if !linked {
		t.leaving = false
		if !t.linked || t.members > 0 {
			return false
		}
	}
	t.linked = linked
	t.leaveIfEmpty() // the last one may have left while the Broker subscribed
	return true
}

// leaveIfEmpty queues the Unsubscribe of a linked topic without members. It is called with
// the shard's mutex.
func (t *topic) leaveIfEmpty() {
	if t.linked && t.members == 0 && !t.leaving {
		t.leaving = true
		t.pins++
		t.owner.left.add(t)
	}
}

// unpin lets a topic go that was pinned.
func (t *Topics) unpin(tp *topic) {
	tp.shard.mu.Lock()
	defer tp.shard.mu.Unlock()
	tp.pins--
	tp.removeUnused()
}

// leavers are linked topics whose last member has left. One goroutine calls the Broker for
// them, and ends when there are no more. So a member that leaves doesn't wait for the Broker.
type leavers struct {
	mu      sync.Mutex // taken after that of a topicShard
	topics  []*topic
	running bool
}

func (l *leavers) add(tp *topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topics = append(l.topics, tp)
	if !l.running {
		l.running = true
		go tp.owner.unlinkLeavers()
	}
}

// next returns a topic, or nil, after which the goroutine must end.
func (l *leavers) next() *topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.topics) == 0 {
		l.topics, l.running = nil, false
		return nil
	}
	tp := l.topics[0]
	l.topics[0] = nil
	l.topics = l.topics[1:]
	return tp
}

// unlinkLeavers is the goroutine of leavers. If the Broker ends it by runtime.Goexit, another
// one goes on.
func (t *Topics) unlinkLeavers() {
	done := false
	defer func() {
		if !done {
			go t.unlinkLeavers()
		}
	}()
	for tp := t.left.next(); tp != nil; tp = t.left.next() {
		t.unlink(tp)
	}
	done = true
}
