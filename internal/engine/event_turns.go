package engine

import "slices"

// turn is a visit that a worker makes next: to the connection c for the events ev, or to
// the listener a. If both are nil, there is no visit.
type turn struct {
	c  *eventConn
	a  *acceptor
	ev uint32
}

func (t turn) none() bool { return t.c == nil && t.a == nil }

// turns is a first-in, first-out queue of connections and listeners. It is used under
// loop.mu. A connection in it is owned (isOwned), and a listener in it is queued, but no
// goroutine visits them. Each is in it at most once.
//
// Connections are linked by eventConn.link, so that no memory is needed even if all of
// them are queued when the engine stops. Listeners are few, so they are in a slice. Each
// of them knows which connections come before it:
//
//	listeners[i].after <= listeners[i+1].after <= popped+conns
type turns struct {
	first, last *eventConn
	conns       int
	popped      uint64 // connections that ever left the queue
	listeners   []*acceptor
}

func (q *turns) len() int { return q.conns + len(q.listeners) }

func (q *turns) push(c *eventConn) {
	if q.first == nil {
		q.first = c
	} else {
		q.last.link = c
	}
	q.last = c
	q.conns++
}

func (q *turns) pushListener(a *acceptor) {
	a.state = queued
	a.after = q.popped + uint64(q.conns)
	q.listeners = append(q.listeners, a)
}

// pop returns the first turn; len() > 0.
func (q *turns) pop() turn {
	if len(q.listeners) > 0 && q.listeners[0].after <= q.popped {
		a := q.listeners[0]
		q.remove(a)
		a.state = visited
		return turn{a: a}
	}
	c := q.first
	q.first, c.link = c.link, nil
	q.conns--
	q.popped++
	return turn{c: c, ev: evTurn}
}

// remove takes a listener out of the queue. The caller changes its state.
func (q *turns) remove(a *acceptor) {
	i := slices.Index(q.listeners, a)
	q.listeners = slices.Delete(q.listeners, i, i+1)
}
