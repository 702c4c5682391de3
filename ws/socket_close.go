package ws

import (
	"github.com/galehttp/gale/internal/wsframe"
)

// sendClose sends a close frame of this side. Like put, it reports whether the caller must
// call Wake. mu is held.
func (s *Socket) sendClose(code StatusCode, reason string) (wake bool) {
	if s.is(sentClose) {
		return false
	}
	if !wsframe.ValidSent(uint16(code)) {
		code = StatusNormal
	}
	payload := wsframe.AppendClose(make([]byte, 0, wsframe.MaxControl), uint16(code), reason)
	if s.end == nil {
		s.end = &CloseError{Code: code, Reason: string(payload[2:]), Local: true}
	}
	s.set(sentClose)
	s.q.wake()
	return s.put(wsframe.Close, false, payload)
}

// fail ends the connection because the peer broke a rule or a limit (RFC 6455 section
// 7.1.7).
func (s *Socket) fail(e *wsframe.Error) {
	if e.Code == wsframe.CodeTooBig {
		s.params.stats.tooBig.Add(1)
	}
	s.mu.Lock()
	s.sendClose(StatusCode(e.Code), e.Reason)
	s.set(lastly)
	s.mu.Unlock()
}

// closed handles the peer's close frame: it is answered with the same code, unless this side
// has sent one before, and then the connection ends (RFC 6455 sections 5.5.1 and 7.1.1).
func (s *Socket) closed(payload []byte) {
	code, reason, err := wsframe.ParseClose(payload)
	if err != nil {
		s.fail(err.(*wsframe.Error))
		return
	}
	s.mu.Lock()
	if !s.is(sentClose) {
		s.end = &CloseError{Code: StatusCode(code), Reason: string(reason)}
		s.set(sentClose)
		s.q.wake()
		s.put(wsframe.Close, false, payload[:min(len(payload), 2)])
	}
	s.set(gotClose | lastly)
	s.mu.Unlock()
}

// panicked closes the connection after a panic of a callback, which goes on to the server.
func (s *Socket) panicked() {
	s.params.stats.panics.Add(1)
	s.mu.Lock()
	for s.is(flushing) {
		s.queue().wait()
	}
	s.sendClose(StatusInternalError, "")
	s.set(lastly)
	s.unset(inCall | outOpen | outFull)
	s.mu.Unlock()
	s.c.Close()
}
