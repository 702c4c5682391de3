package load

import "slices"

// This file sends requests again that the server has surely not processed: it refused them
// with GOAWAY, or closed the connection after a response that said so (RFC 9112 section
// 9.3.2). That is how servers end connections in good order, and clients don't show it to
// their users. Latency counts from the first time.

// maxSent is how often a request is sent. After that it counts as failed.
const maxSent = 4

// refuse takes back a request that is no longer among those in flight on c.
func (l *loop) refuse(c *conn, e *exchange, text string) {
	if e.sent+1 >= maxSent {
		l.flying--
		l.fail(e, kindClosedEarly, text)
		return
	}
	e.sent++
	c.again = append(c.again, *e)
}

// refuseFlight takes back the requests in flight on c, of HTTP/1.1.
func (l *loop) refuseFlight(c *conn, text string) {
	for c.flight.n > 0 {
		e := c.flight.pop()
		l.refuse(c, &e, text)
	}
}

// sendAgain sends requests again, as far as c can take them.
func (l *loop) sendAgain(c *conn) {
	gen, n := c.gen, 0
	for c.gen == gen && n < len(c.again) && l.room(c) > 0 && !c.closing && !c.writing() {
		e := c.again[n]
		n++
		if e.step != uncounted {
			l.tally.resent++
		}
		l.flying-- // add counts it
		l.add(c, e)
		l.send(c) // which may append to again
		if c.http2 != nil && c.gen == gen {
			l.sendHTTP2(c)
		}
	}
	c.again = slices.Delete(c.again, 0, n)
}

// expireAgain gives up what has waited too long for a connection.
func (l *loop) expireAgain(c *conn) {
	timeout := l.run.plan.Timeout
	if len(c.again) == 0 || timeout <= 0 {
		return
	}
	c.again = slices.DeleteFunc(c.again, func(e exchange) bool {
		if l.now-e.start <= int64(timeout) {
			return false
		}
		l.flying--
		l.fail(&e, kindTimeout, "no complete response within "+timeout.String())
		return true
	})
}

// leaveAgain counts what waits for a connection at the end of the run.
func (l *loop) leaveAgain(c *conn) {
	for _, e := range c.again {
		l.flying--
		if e.step != uncounted {
			l.tally.count(&e, unanswered, l.now-e.start, l.run.schedule != nil)
		}
	}
	c.again = c.again[:0]
}
