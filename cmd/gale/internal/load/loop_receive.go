package load

import (
	"errors"
	"io"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
)

// handle does what an event asks for.
func (l *loop) handle(e *event) {
	c := l.conns[e.slot]
	if c.gen != e.gen {
		return // of a socket that was closed meanwhile
	}
	switch c.state {
	case stateConnecting:
		l.connected(c)
		if c.gen != e.gen || !e.bytes {
			return
		}
	case stateClosed:
		return
	}
	if c.writing() {
		l.flush(c)
		if c.gen != e.gen {
			return
		}
		if c.http2 != nil && c.state == stateOpen && !c.writing() {
			l.sendHTTP2(c)
		}
		if c.gen == e.gen && c.state == stateOpen && c.inFlight() == 0 && !c.pausing {
			l.clock()
			l.fill(c)
		}
	}
	l.receive(c, e.ended)
}

// receive reads what has arrived, and then starts the next requests. ended says that the
// end of the connection has arrived too.
func (l *loop) receive(c *conn, ended bool) {
	gen := c.gen
	for reads := 0; ; reads++ {
		if reads == maxReads {
			l.postpone(c)
			break
		}
		n, err := l.net.read(c.slot, l.buf)
		if err == errAgain {
			break
		}
		l.clock()
		if l.run.schedule == nil && l.now >= l.run.end.Load() {
			return // too late to count, and the loop is about to end
		}
		if err != nil {
			l.receiveEnd(c, err)
			return
		}
		if l.started && l.now >= l.run.begin {
			l.tally.waits.Add(time.Duration(l.now - l.seen))
		}
		if c.tls != nil {
			l.receiveTLS(c, l.buf[:n])
		} else {
			l.consume(c, l.buf[:n])
		}
		if c.gen != gen {
			return
		}
		if n < len(l.buf) && !ended {
			break
		}
	}
	l.proceed(c)
}

// maxReads is how often the loop reads from a connection before it looks at others.
const maxReads = 16

// postpone remembers that there may be more to read from c: the network doesn't tell again.
func (l *loop) postpone(c *conn) {
	if !c.unread {
		c.unread = true
		l.unread = append(l.unread, c)
	}
}

// readOn reads from the connections that were postponed.
func (l *loop) readOn() {
	list := l.unread
	l.unread, l.unreadSpare = l.unreadSpare[:0], list
	for _, c := range list {
		c.unread = false
		if c.state != stateClosed && c.state != stateConnecting {
			l.receive(c, true)
		}
		if l.due() {
			l.startDue()
		}
	}
}

// proceed starts the next requests after responses were read.
func (l *loop) proceed(c *conn) {
	l.think(c)
	switch {
	case c.state != stateOpen:
	case c.closing && c.inFlight() == 0 && !c.writing():
		l.endConn(c)
	case l.room(c) <= 0 || c.pausing || l.run.plan.Think > 0 && c.served > 0:
	default:
		l.fill(c)
	}
	switch {
	case c.http2 != nil: // what fill hasn't sent
		l.sendHTTP2(c)
	case c.websocket != nil:
		l.sendPongs(c)
	}
}

// think begins a pause, if there is one after the responses that c has had.
func (l *loop) think(c *conn) {
	if l.run.plan.Think > 0 && c.state == stateOpen && c.inFlight() == 0 && c.served > 0 && !c.pausing {
		l.thinks.push(l.now+int64(l.run.plan.Think), c)
	}
}

// endConn ends a connection that has had its last response. The server is the one to close
// it, because the side that closes first has to remember the connection (TIME_WAIT), and
// this side would run out of ports.
func (l *loop) endConn(c *conn) {
	if gen := c.gen; c.websocket != nil {
		if l.sendClose(c); c.gen != gen {
			return
		}
	}
	if c.http2 != nil || c.server.leftOpen >= maxLeftOpen { // it waits for the client to close
		l.reopen(c, true)
		return
	}
	c.state, c.since = stateEnding, l.now
}

// receiveEnd is called when a read failed or found the end of the connection.
func (l *loop) receiveEnd(c *conn, err error) {
	if err == io.EOF {
		l.endBody(c)
	}
	l.think(c)
	switch {
	case c.state == stateHandshaking:
		c.tls.pipe.end()
	case c.state == stateUpgrading:
		l.endUpgrade(c, err)
	case c.state == stateEnding:
		c.server.leftOpen = 0
		l.reopen(c, false)
	case c.inFlight() == 0:
		l.reopen(c, err != io.EOF)
	default:
		l.lose(c, errorKind(err), errorText(err))
	}
}

func errorKind(err error) string {
	switch {
	case err == io.EOF:
		return kindClosedEarly
	case clientconn.IsReset(err):
		return kindReset
	}
	return kindConnect
}

func errorText(err error) string {
	if errors.Is(err, io.EOF) {
		return "the server closed the connection before the response was complete"
	}
	return err.Error()
}
