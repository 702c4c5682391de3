package ws

import (
	"context"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// Frames that a Conn sends without making a call wait: control frames, and messages of
// Topics. If the socket doesn't take them, they wait in queues, and a goroutine sends them
// and ends.
//
// The holder of wire sends what waits before it gives wire back: see unlockWire.

// queued is a frame that waits.
type queued struct {
	b   []byte
	own *pool.Buf   // has b, if it belongs to the queue
	t   MessageType // not 0: b is a message that must be compressed first
}

// queuedCost is about how many bytes of memory a frame that waits needs apart from its
// bytes. Without it, short messages would hold many times as much as MaxQueue.
const queuedCost = 64

// cost returns how many bytes q counts for MaxQueue: about the memory that it holds. Many
// queues may share a frame; each counts it.
func (q *queued) cost() int {
	if q.own != nil {
		return cap(q.own.B) + queuedCost
	}
	return len(q.b) + queuedCost
}

// kick sends what waits, unless the holder of wire does. It doesn't wait for the peer: what a
// call has to send must not keep it longer than its context.
func (c *Conn) kick() {
	if !c.wire.tryLock() {
		return
	}
	c.beginOutput()
	c.unlockWire()
}

// unlockWire sends what waits and gives wire back. It doesn't wait for the peer.
func (c *Conn) unlockWire() {
	for c.takeQueued() {
		if c.raw == nil || !c.tryQueued() {
			go c.drain()
			return
		}
	}
}

// takeQueued makes the next frame that waits the current one. If there is none, it gives
// wire back and returns false.
func (c *Conn) takeQueued() bool {
	o := c.out
	if len(o.cur.b) > 0 {
		return true
	}
	pool.Put(o.cur.own)
	o.cur = queued{}

	c.mu.Lock()
	s := &c.state
	switch w := s.waits; {
	case w != nil && len(w.control) > 0:
		o.cur = popQueued(&w.control)
	case w != nil && len(w.messages) > 0 && s.stream == nil:
		o.cur = popQueued(&w.messages)
		w.size -= o.cur.cost()
		if o.cur.t != 0 {
			c.compressCurrent()
		}
	default:
		if w != nil && len(w.messages) == 0 {
			s.waits = nil
		}
		c.endOutput()
		if s.over {
			c.freeOutput()
		}
		c.wire.unlock()
		hangup := s.hangup
		s.hangup = false
		c.mu.Unlock()
		if hangup {
			c.hangUp()
		}
		return false
	}
	c.mu.Unlock()
	return true
}

// compressCurrent makes a frame of a message that must be compressed when it is sent.
func (c *Conn) compressCurrent() {
	o := c.out
	b := pool.Get(len(o.cur.b)/2 + 64)
	b.B = c.zip.deflater.Append(b.B, o.cur.b)
	own := c.newFrame(wsframe.Opcode(o.cur.t), true, true, b.B)
	pool.Put(b)
	o.cur = queued{b: own.B, own: own}
}

func popQueued(list *[]queued) queued {
	l := *list
	q := l[0]
	l[0] = queued{}
	if *list = l[1:]; len(*list) == 0 {
		*list = nil
	}
	return q
}

// tryQueued writes of the current frame what the socket takes, and reports whether that
// was all.
func (c *Conn) tryQueued() bool {
	o := c.out
	n, err := c.tryRaw(o.cur.b)
	o.cur.b = o.cur.b[n:]
	if err != nil {
		c.dropQueued(err)
	}
	return len(o.cur.b) == 0
}

// drain sends what waits and gives wire back.
func (c *Conn) drain() {
	o := c.out
	for c.takeQueued() {
		err := c.write(context.Background(), o.cur.b, nil)
		o.cur.b = nil
		if err != nil {
			c.dropQueued(err)
		}
	}
}

// dropQueued ends the WebSocket because of an error of writing, and drops what waits. The
// holder of wire calls it.
func (c *Conn) dropQueued(err error) {
	_ = c.lostWriting(context.Background(), err)
	c.mu.Lock()
	c.state.drop()
	c.mu.Unlock()
	c.out.cur.b = nil
}

// connQueue is what waits to be sent.
type connQueue struct {
	control  []queued // control frames
	messages []queued // and perhaps a close frame at the end
	size     int      // what messages cost
}

// queue returns what waits to be sent. mu is held.
func (s *connState) queue() *connQueue {
	if s.waits == nil {
		s.waits = new(connQueue)
	}
	return s.waits
}

// drop drops all that waits to be sent. mu is held.
func (s *connState) drop() {
	s.dropMessages()
	if s.waits != nil {
		for _, q := range s.waits.control {
			pool.Put(q.own)
		}
		s.waits = nil
	}
}

// dropMessages drops the messages that wait to be sent. mu is held.
func (s *connState) dropMessages() {
	if w := s.waits; w != nil {
		for _, q := range w.messages {
			pool.Put(q.own)
		}
		w.messages, w.size = nil, 0
	}
}

// enqueue adds a message to the queue, or does what the policy says if it is full. It
// doesn't wait. On success, q belongs to the queue.
func (c *Conn) enqueue(q queued) error {
	c.mu.Lock()
	s := &c.state
	if err := s.writable(); err != nil {
		c.mu.Unlock()
		return err
	}
	w := s.queue()
	if w.size > 0 && w.size+q.cost() > c.set.maxQueue {
		c.mu.Unlock()
		return c.queueFull()
	}
	w.messages = append(w.messages, q)
	w.size += q.cost()
	c.mu.Unlock()
	c.kick()
	return nil
}

// queueFull does what the policy says.
func (c *Conn) queueFull() error {
	if c.set.policy != QueueClose {
		c.set.stats.dropped.Add(1)
		return ErrQueueFull
	}
	c.mu.Lock()
	if c.state.closeSent || c.state.over {
		c.mu.Unlock()
		return ErrQueueFull
	}
	c.state.dropMessages()
	c.mu.Unlock()
	c.set.stats.queueClosed.Add(1)
	c.beginClose(StatusTryAgainLater, "")
	c.hangUpSoon()
	return ErrQueueFull
}
