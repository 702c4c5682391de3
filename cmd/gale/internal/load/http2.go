package load

import (
	"crypto/tls"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// http2 is the protocol of a connection of HTTP/2. It is used again for each socket.
type http2 struct {
	conn     h2.Conn
	repeated []h2.Repeated // for each target
	live     []*stream
	spare    []*stream
}

// stream is an exchange over HTTP/2.
type stream struct {
	exchange
	stream  *h2.Stream
	index   int // in live
	status  int // of the final response, 0 until then
	length  int64
	collect []byte
	head    head.Response
	body    []byte   // of the request, that wasn't sent yet
	request *Request // that has body
}

// lastStream is the last stream that a connection has (RFC 9113 section 5.1.1). Tests change
// it.
var lastStream uint32 = 1<<31 - 1

// room returns how many more streams can be opened, of so many at a time. Until the server
// has said how many it allows, it is one: a server may refuse those above its limit.
func (p *http2) room(streams int) int {
	if !p.conn.Greeted() {
		streams = 1
	}
	return min(streams-len(p.live), p.conn.CanOpen())
}

// noteStreams notes how many streams the server allows at a time on c, if it has said so.
func (l *loop) noteStreams(c *conn) {
	if c.http2 == nil || c.state != stateOpen || c.closing || !c.http2.conn.Greeted() {
		return
	}
	if n := c.http2.conn.Streams() + c.http2.conn.CanOpen(); n < l.run.http2.Streams {
		l.tally.fewStreams = max(min(n, l.tally.fewStreams), 1)
	}
}

// beginHTTP2 sends the first bytes of a connection.
func (l *loop) beginHTTP2(c *conn) {
	for i := range c.http2.repeated {
		c.http2.repeated[i].Reset()
	}
	l.scratch = c.http2.conn.BeginClient(&l.run.http2, l.scratch)
	l.send(c)
}

// addHTTP2 opens a stream for a request.
func (l *loop) addHTTP2(c *conn, e exchange) {
	t, p := l.run.targets[e.target], c.http2
	if t.head == nil && e.sent == 0 {
		e.number = l.number()
	}
	s := p.take(e)
	if len(l.scratch) == 0 {
		l.scratch = p.conn.AppendControl(l.scratch)
	}
	var err error
	if t.head != nil {
		s.body, s.isHead = t.body, t.isHead
		l.scratch, s.stream, err = p.conn.AppendRepeated(l.scratch, &p.repeated[e.target], t.head, t.scheme(), len(s.body) == 0)
	} else {
		r := l.takeRequest()
		t.Source.Fill(r, e.number)
		setLength(&r.Head, len(r.Body))
		s.body, s.request, s.isHead = r.Body, r, method(r) == "HEAD"
		l.scratch, s.stream, err = p.conn.AppendRequest(l.scratch, &r.Head, t.scheme(), len(s.body) == 0)
	}
	if err != nil {
		p.live = p.live[:len(p.live)-1]
		l.fail(&s.exchange, kindRequest, err.Error())
		l.flying--
		l.releaseStream(c, s)
		return
	}
	s.stream.Owner = s
	if p.conn.Last() >= lastStream {
		c.closing = true
	}
	if len(s.body) > 0 {
		p.conn.Queue(s.stream)
	}
}

func (t *target) scheme() string {
	if t.TLS != nil {
		return "https"
	}
	return "http"
}

// take adds a stream for e to the live ones.
func (p *http2) take(e exchange) *stream {
	var s *stream
	if n := len(p.spare); n > 0 {
		s, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		s = new(stream)
	}
	s.exchange, s.index = e, len(p.live)
	s.status, s.length, s.collect = 0, 0, s.collect[:0]
	p.live = append(p.live, s)
	return s
}

// remove takes s from the live streams.
func (p *http2) remove(s *stream) {
	last := p.live[len(p.live)-1]
	p.live[s.index], last.index = last, s.index
	p.live = p.live[:len(p.live)-1]
}

// releaseStream makes s ready for another exchange.
func (l *loop) releaseStream(c *conn, s *stream) {
	if s.request != nil {
		l.requests = append(l.requests, s.request)
	}
	s.stream, s.body, s.request = nil, nil, nil
	c.http2.spare = append(c.http2.spare, s)
}

// endStream ends the use of s.
func (l *loop) endStream(c *conn, s *stream) {
	c.http2.remove(s)
	c.http2.conn.Done(s.stream)
	l.releaseStream(c, s)
}

// sendHTTP2 writes control frames and bodies, as far as the windows and the socket allow.
func (l *loop) sendHTTP2(c *conn) {
	p, gen := c.http2, c.gen
	for c.gen == gen && c.state == stateOpen && !c.writing() && (p.conn.HasControl() || p.conn.CanSend()) {
		l.scratch = p.conn.AppendControl(l.scratch)
		for len(l.scratch) < maxRecord {
			st := p.conn.Next()
			if st == nil {
				break
			}
			s, n := st.Owner.(*stream), 0
			piece := s.body[:min(len(s.body), maxTogether)]
			l.scratch, n = p.conn.AppendData(l.scratch, st, piece, len(piece) == len(s.body))
			if s.body = s.body[n:]; len(s.body) == 0 {
				p.conn.Unqueue(st)
			}
		}
		if len(l.scratch) == 0 {
			return
		}
		l.send(c)
	}
}

// consumeHTTP2 takes bytes of frames.
func (l *loop) consumeHTTP2(c *conn, b []byte) {
	p, gen := c.http2, c.gen
	var ev h2.Event
	for len(b) > 0 && c.gen == gen {
		b = b[p.conn.Read(b, clock.Tick(l.now+1), &ev):]
		switch ev.Kind {
		case h2.Head:
			l.headHTTP2(c, ev.Stream.Owner.(*stream), ev.End)
		case h2.Data:
			l.dataHTTP2(c, ev.Stream.Owner.(*stream), ev.Data, ev.End)
		case h2.Trailers:
			s := ev.Stream.Owner.(*stream)
			if err := p.conn.DecodeTrailers(nil); err != nil {
				l.failStream(c, s, kindBadResponse, err.Error())
			} else {
				l.completeStream(c, s)
			}
		case h2.Reset:
			kind, text := kindReset, "the server reset the stream: "
			if ev.Local {
				kind, text = kindBadResponse, "the response breaks a rule of HTTP/2: "
			}
			l.failStream(c, ev.Stream.Owner.(*stream), kind, text+ev.Code.String())
		case h2.GoAway:
			c.closing = true
			l.refuseUnprocessed(c, ev.Code)
		case h2.Failed:
			l.scratch = p.conn.AppendControl(l.scratch)
			l.send(c)
			if c.gen == gen {
				l.lose(c, kindBadResponse, "invalid frames: "+ev.Code.String())
			}
		}
	}
}

func (l *loop) headHTTP2(c *conn, s *stream, end bool) {
	status, err := 0, error(nil)
	if l.run.targets[s.target].Expect == nil {
		status, err = c.http2.conn.DecodeStatus()
	} else {
		s.head.Reset()
		err = c.http2.conn.DecodeResponse(&s.head.ResponseHead)
		status = s.head.Status
	}
	switch {
	case err != nil:
		l.failStream(c, s, kindBadResponse, err.Error())
	case status >= 200:
		s.status = status
		if end {
			l.completeStream(c, s)
		}
	}
}

func (l *loop) dataHTTP2(c *conn, s *stream, data []byte, end bool) {
	c.http2.conn.Consumed(s.stream, len(data))
	s.length += int64(len(data))
	t := l.run.targets[s.target]
	if room := t.CollectBody - len(s.collect); room > 0 && t.Expect != nil {
		s.collect = append(s.collect, data[:min(room, len(data))]...)
	}
	if end {
		l.completeStream(c, s)
	}
}

func (l *loop) completeStream(c *conn, s *stream) {
	h := &s.head
	if l.run.targets[s.target].Expect == nil {
		h = &l.bare
		h.Status = s.status
	}
	l.flying--
	l.complete(c, &s.exchange, h, s.collect, s.length)
	l.endStream(c, s)
}

// failStream ends a request that gets no complete response.
func (l *loop) failStream(c *conn, s *stream, kind, text string) {
	l.flying--
	l.fail(&s.exchange, kind, text)
	l.endStream(c, s)
}

// refuseUnprocessed takes back the requests that a GOAWAY has refused. The server has not
// processed them and won't (RFC 9113 section 6.8).
func (l *loop) refuseUnprocessed(c *conn, code h2.Code) {
	for i := len(c.http2.live) - 1; i >= 0; i-- {
		if s := c.http2.live[i]; s.stream.WasReset() {
			e := s.exchange
			l.endStream(c, s)
			l.refuse(c, &e, "the server refused the stream with GOAWAY: "+code.String())
		}
	}
}

// scanHTTP2 ends the requests that take too long. The connection stays.
func (l *loop) scanHTTP2(c *conn) {
	timeout := l.run.plan.Timeout
	if timeout <= 0 {
		return
	}
	p, late := c.http2, false
	for i := len(p.live) - 1; i >= 0; i-- {
		if s := p.live[i]; l.now-s.start > int64(timeout) {
			late = true
			p.conn.ResetStream(s.stream, h2.Cancel)
			l.failStream(c, s, kindTimeout, "no complete response within "+timeout.String())
		}
	}
	switch {
	case late && !c.writing():
		l.sendHTTP2(c)
		l.proceed(c)
	case late && len(p.live) == 0: // the server doesn't read either
		l.reopen(c, true)
	}
}

// checkHTTP2 reports a fixed request that can't be sent over HTTP/2.
func (r *run) checkHTTP2() error {
	r.http2.Fill()
	for _, t := range r.targets {
		if t.head == nil {
			continue
		}
		var c h2.Conn
		c.BeginClient(&r.http2, nil)
		_, _, err := c.AppendRequest(nil, t.head, t.scheme(), len(t.body) == 0)
		c.End()
		if err != nil {
			return refuse("%s: %v", t.URL, err)
		}
	}
	return nil
}

// withALPN returns config with the protocol of the plan.
func withALPN(config *tls.Config, http2 bool) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	if http2 {
		config.NextProtos = []string{"h2"}
	}
	return config
}

// setLength sets the length of the body of a request.
func setLength(h *head.Request, n int) {
	h.ContentLength = int64(n)
	switch msg.LookupMethod(h.Part(msg.Method)) {
	case msg.MethodPost, msg.MethodPut, msg.MethodPatch:
		h.LengthSet = true // RFC 9110 section 8.6: a length of 0 too
	}
}
