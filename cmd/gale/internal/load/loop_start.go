package load

import "time"

// This file is the open loop: requests start when the schedule says.

// offer makes c available for starts, and begins those that wait for it.
func (l *loop) offer(c *conn) {
	if c.free || l.room(c) <= 0 {
		return
	}
	c.free = true
	c.server.free.push(c)
	if c.server.waiting {
		l.startOf(c.server)
	}
}

// due reports whether a start is due while events are handled.
func (l *loop) due() bool {
	if l.run.schedule == nil || !l.started {
		return false
	}
	for _, s := range l.servers {
		if s.next.at <= l.now && !s.waiting {
			return true
		}
	}
	return false
}

// startDue begins the requests that are due.
func (l *loop) startDue() {
	if l.run.schedule == nil {
		return
	}
	for _, s := range l.servers {
		l.startOf(s)
	}
}

// startOf begins the due requests of a server, as long as connections are free.
func (l *loop) startOf(s *server) {
	for s.next.at <= l.now && l.now < l.run.end.Load() {
		if timeout := int64(l.run.plan.Timeout); timeout > 0 && l.now-s.next.at > timeout {
			l.skip(s)
			continue
		}
		c := l.take(s)
		if c == nil {
			s.waiting = true
			l.notice(s)
			return
		}
		l.start(s, c)
	}
	s.waiting = s.waiting && s.next.at <= l.now
}

// take returns a connection to s that can take a request, nil if there is none. A server of
// HTTP/2 may have taken back room that c had.
func (l *loop) take(s *server) *conn {
	for s.free.n > 0 {
		c := s.free.pop()
		c.free = false
		if c.state == stateOpen && !c.closing && !c.writing() && l.room(c) > 0 {
			return c
		}
	}
	return nil
}

// start begins the next request of s on c.
func (l *loop) start(s *server, c *conn) {
	e := exchange{start: s.next.at, target: s.next.target, step: s.next.step}
	own := s.noticed.index <= s.next.index // it has not waited for a connection
	s.next = l.after(s, s.next)
	gen := c.gen
	l.add(c, e)
	l.send(c)
	if c.http2 != nil && c.gen == gen {
		l.sendHTTP2(c)
	}
	l.clock()
	late := time.Duration(l.now - e.start)
	if l.tally.slice.late.Add(late); e.step != uncounted {
		l.tally.steps[e.step].late.Add(late)
		if own {
			l.tally.late.Add(late)
		}
	}
	if c.gen == gen && c.state == stateOpen && !c.closing && !c.writing() && !c.free && l.room(c) > 0 {
		c.free = true
		s.free.push(c)
	}
}

// startLast begins the requests that were due before the end, if connections are free: then
// only the loop was late.
func (l *loop) startLast() {
	if l.run.schedule == nil || l.run.stopped.Load() {
		return
	}
	for _, s := range l.servers {
		for s.next.at < l.run.end.Load() {
			c := l.take(s)
			if c == nil {
				break
			}
			l.start(s, c)
		}
	}
}

// notice counts how late the loop is for the starts that are due and find no connection.
// That they have to wait for one isn't its doing. The loop doesn't wake up for such starts,
// so what counts is how late it is since the last poll returned.
func (l *loop) notice(s *server) {
	if s.noticed.index < s.next.index {
		s.noticed = s.next
	}
	for s.noticed.at <= l.now {
		if s.noticed.step != uncounted {
			l.tally.queued++
			l.tally.late.Add(time.Duration(l.now - max(s.noticed.at, l.polled)))
		}
		s.noticed = l.after(s, s.noticed)
	}
}

// skip gives up the next start of s.
func (l *loop) skip(s *server) {
	if s.next.step != uncounted {
		e := exchange{start: s.next.at, target: s.next.target, step: s.next.step}
		t := &l.tally.steps[e.step]
		t.notSent++
		t.latency.Add(time.Duration(l.now - e.start))
		if l.tally.targets != nil {
			l.tally.targets[e.target].latency.Add(time.Duration(l.now - e.start))
		}
		l.done++
		l.tally.last = l.now
	}
	s.next = l.after(s, s.next)
}

// skipRest gives up all starts that lie in the past when the run ends.
func (l *loop) skipRest() {
	if l.run.schedule == nil || !l.started {
		return
	}
	end := l.run.end.Load()
	for _, s := range l.servers {
		for s.next.at < end {
			l.skip(s)
		}
	}
}

// after returns the start of s after the one with the index of f.
func (l *loop) after(s *server, f start) start {
	r := l.run
	if r.schedule == nil {
		return start{at: never}
	}
	for {
		f.index++
		n := f.index*int64(len(r.loops)) + l.id
		f.target = r.targetOf(n)
		if n >= r.warmStarts+r.schedule.total {
			f.at = never
			return f
		}
		if r.targets[f.target].server != s.id {
			continue
		}
		if n < r.warmStarts {
			f.step = uncounted
			f.at = r.warm + int64(float64(n)/r.schedule.ramps[0].From*1e9)
			return f
		}
		at, step := r.schedule.at(n - r.warmStarts)
		f.at, f.step = r.begin+int64(at), int32(step)
		return f
	}
}

// targetOf returns the target of a start. Each round of the pattern begins one place
// further on: otherwise a loop, which has every second start or the like, would have always
// the same targets.
func (r *run) targetOf(n int64) int32 {
	size := int64(len(r.pattern))
	return r.pattern[(n+n/size)%size]
}
