package load

import (
	"github.com/galehttp/gale/internal/msg"
)

const (
	// maxTogether is how large a request may be that is copied in order to be written
	// with others.
	maxTogether = 16 << 10
	// maxTickets is how many tickets or numbers a loop takes at a time.
	maxTickets = 64
)

// fill starts as many requests on c as it can take. An open loop starts those that are
// due, and otherwise remembers c for those to come.
func (l *loop) fill(c *conn) {
	if !l.started || c.closing || c.writing() || c.state != stateOpen {
		return
	}
	if len(c.again) > 0 {
		l.sendAgain(c)
	}
	if l.run.schedule != nil {
		l.offer(c)
		return
	}
	for room, writes := l.room(c), 0; room > 0 && !c.writing() && c.state == stateOpen; writes++ {
		if writes > 0 {
			l.clock()
		}
		n := 0
		for n < room && len(l.scratch) < maxTogether {
			step, ok := l.ticket()
			if !ok {
				room = 0
				break
			}
			n++
			if l.add(c, exchange{start: l.now, target: c.server.turn(), step: step}) {
				break // has to be written alone
			}
		}
		if n == 0 {
			return
		}
		room -= n
		l.send(c)
		if c.http2 != nil {
			l.sendHTTP2(c)
		}
	}
}

// room returns how many requests c can take.
func (l *loop) room(c *conn) int {
	n := len(c.flight.ring) - c.flight.n
	if c.http2 != nil {
		n = c.http2.room(l.run.http2.Streams)
	}
	if most := l.run.perConn; most > 0 {
		n = min(n, most-c.sent)
	}
	return n
}

// ticket says whether a closed loop may start one more request, and the step in which it
// counts.
func (l *loop) ticket() (step int32, ok bool) {
	switch r := l.run; {
	case l.now < r.begin:
		return uncounted, true
	case l.now >= r.end.Load():
		return 0, false
	case r.plan.Count == 0:
		return 0, true
	case l.tickets > 0:
		l.tickets--
		return 0, true
	}
	l.tickets = l.run.takeTickets()
	if l.tickets == 0 {
		return 0, false
	}
	l.tickets--
	return 0, true
}

// number returns a number for Source.Fill.
func (l *loop) number() int64 {
	if l.numbers[0] == l.numbers[1] {
		l.numbers[1] = l.run.numbers.Add(maxTickets)
		l.numbers[0] = l.numbers[1] - maxTickets
	}
	l.numbers[0]++
	return l.numbers[0] - 1
}

// add appends a request to what c will write next. It returns true if the request isn't
// in scratch and so must be written before others.
func (l *loop) add(c *conn, e exchange) (alone bool) {
	t := l.run.targets[e.target]
	l.flying++
	c.sent++
	last := l.run.perConn > 0 && c.sent == l.run.perConn
	if last {
		c.closing = true
	}
	if c.http2 != nil {
		l.addHTTP2(c, e)
		return false
	}
	if t.fixed == nil && c.websocket != nil {
		l.addMessage(c, e)
		return false
	}
	if t.fixed == nil {
		return l.addFilled(c, e, last)
	}
	e.isHead = t.isHead
	c.flight.push(e)
	b := t.fixed
	if last {
		b = t.last
	}
	if len(l.scratch) == 0 && (len(b) > maxTogether || len(c.flight.ring) == 1) {
		c.out[0] = b
		return true
	}
	if len(b) > maxTogether {
		c.out[1] = b
		return true
	}
	l.scratch = append(l.scratch, b...)
	return false
}

// addFilled is add for a request that the source makes.
func (l *loop) addFilled(c *conn, e exchange, last bool) (alone bool) {
	r := l.takeRequest()
	if e.sent == 0 {
		e.number = l.number()
	}
	l.run.targets[e.target].Source.Fill(r, e.number)
	e.isHead = msg.LookupMethod(r.Head.Part(msg.Method)) == msg.MethodHead
	c.flight.push(e)
	l.scratch = appendHead(l.scratch, &r.Head, len(r.Body), last)
	if len(r.Body) <= maxTogether {
		l.scratch = append(l.scratch, r.Body...)
		l.requests = append(l.requests, r)
		return false
	}
	c.out[1], c.request = r.Body, r
	return true
}

func (l *loop) takeRequest() *Request {
	n := len(l.requests)
	if n == 0 {
		return new(Request)
	}
	r := l.requests[n-1]
	l.requests = l.requests[:n-1]
	return r
}

// giveBack takes the request whose body was written from c.
func (l *loop) giveBack(c *conn) {
	if c.request != nil {
		l.requests = append(l.requests, c.request)
		c.request = nil
	}
}

// send writes what add has collected.
func (l *loop) send(c *conn) {
	shared := len(l.scratch) > 0
	if shared {
		c.out[0] = l.scratch
	}
	if l.run.plan.Delay > 0 {
		pauseThread(l.run.plan.Delay)
	}
	l.flush(c)
	if shared {
		if len(c.out[0]) > 0 {
			c.kept = append(c.kept[:0], c.out[0]...)
			c.out[0] = c.kept
		}
		l.scratch = l.scratch[:0]
	}
}

// flush writes what c has to write, as far as there is room. If the connection has failed,
// it is lost.
func (l *loop) flush(c *conn) {
	if c.tls != nil {
		l.flushTLS(c)
		return
	}
	if len(c.out[0])+len(c.out[1]) == 0 {
		return
	}
	n, err := l.net.write(c.slot, c.out[0], c.out[1])
	if err != nil {
		l.failWrite(c, err)
		return
	}
	l.wrote(c, n)
}

// wrote takes n bytes from what c has to write.
func (l *loop) wrote(c *conn, n int) {
	if l.counting() {
		l.tally.bytes.Written += int64(n)
	}
	m := min(n, len(c.out[0]))
	c.out[0] = c.out[0][m:]
	c.out[1] = c.out[1][n-m:]
	if len(c.out[0])+len(c.out[1]) == 0 {
		c.out = [2][]byte{}
		l.giveBack(c)
	}
}

// failWrite is called when a write failed. The server may have answered before it closed,
// so what it sent is read first.
func (l *loop) failWrite(c *conn, err error) {
	gen := c.gen
	c.closing = true
	c.out = [2][]byte{}
	l.receive(c, true)
	if c.gen == gen && (c.state == stateOpen || c.state == stateUpgrading) {
		l.lose(c, errorKind(err), err.Error())
	}
}
