package ws

import (
	"math"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

var (
	errTooBig  = &wsframe.Error{Code: wsframe.CodeTooBig, Reason: "message too big"}
	errText    = &wsframe.Error{Code: wsframe.CodeInvalidData, Reason: "text message is not valid UTF-8"}
	errControl = &wsframe.Error{Code: uint16(StatusPolicy), Reason: "too many control frames"}
)

// read handles the frames in in and returns how many bytes it consumed.
func (s *Socket) read(in []byte, now clock.Tick) (n int) {
	var f wsframe.Frame
	for !s.is(outFull | outLeft | lastly | aborted) {
		k, err := s.reader.Next(in[n:], &f)
		if err != nil {
			s.fail(err.(*wsframe.Error))
			break
		}
		n += k
		switch f.Kind {
		case wsframe.More:
			return n
		case wsframe.Control:
			s.control(&f, now)
		default:
			s.piece(&f, now, len(in)-n < len(f.Payload))
		}
	}
	if s.is(lastly | aborted) {
		return len(in)
	}
	return n
}

// control handles a control frame.
func (s *Socket) control(f *wsframe.Frame, now clock.Tick) {
	if f.Op == wsframe.Close {
		s.closed(f.Payload)
		return
	}
	if !s.mayControl(now) || s.is(sentClose) {
		return
	}
	if f.Op == wsframe.Pong {
		s.h.OnPong(s, f.Payload)
		return
	}
	s.mu.Lock()
	if !s.is(sentClose) {
		s.put(wsframe.Pong, false, f.Payload)
	}
	s.mu.Unlock()
	s.h.OnPing(s, f.Payload)
}

// mayControl counts a control frame, or one without data, and ends the connection if there
// are too many. Each moves tokens, a time in microseconds, on by a part of a second; tokens
// may be a second ahead of the clock. If it seems to be more, it is an hour old.
func (s *Socket) mayControl(now clock.Tick) bool {
	limit := s.params.maxControl
	if limit == 0 {
		return true
	}
	const second = 1e6
	clock, step := uint32(now/1000), uint32(max(second/limit, 1))
	if s.tokens-clock > second+step {
		s.tokens = clock
	}
	if s.tokens += step; s.tokens-clock <= second {
		return true
	}
	if !s.is(sentClose) {
		s.params.stats.controlClosed.Add(1)
	}
	s.fail(errControl)
	return false
}

// piece handles a part of a message, or a whole one. alone says that no message of the same
// size follows in the input.
func (s *Socket) piece(f *wsframe.Frame, now clock.Tick, alone bool) {
	if s.is(sentClose) {
		s.dropMessage()
		return
	}
	had := 0
	if s.in != nil {
		had = s.in.buf.Len()
	}
	if int64(had+len(f.Payload)) > s.params.maxReceived(f.Compressed)-f.Left {
		s.fail(errTooBig)
		return
	}
	if f.First && f.Last {
		s.deliver(f.Op, f.Compressed, f.Payload, alone)
		return
	}
	if len(f.Payload) == 0 && f.FrameEnd && !f.Last && !s.mayControl(now) {
		return
	}
	if s.in == nil && len(f.Payload) == 0 && !f.Last {
		return // a header is no reason to hold memory
	}
	if s.in == nil {
		in := acquireIncoming()
		in.op, in.compressed = f.Op, f.Compressed
		in.buf = pool.Get(len(f.Payload))
		s.setIncoming(in)
	}
	s.in.left = f.Left
	s.room(len(f.Payload))
	s.in.buf.B = append(s.in.buf.B, f.Payload...)
	if f.Last {
		s.deliverMessage()
	}
}

// maxReceived returns the limit of messages as they are sent.
func (p *params) maxReceived(compressed bool) int64 {
	if compressed {
		return p.maxCompressed
	}
	return p.maxMessage
}

// maxRoom is how much memory a message gets if some thousand bytes of it have arrived.
const maxRoom = 64 << 10

// ahead returns how much memory a message gets if have bytes of it have arrived: four times
// as much at first.
func ahead(have int) int { return max(2*have, min(4*have, minGrow)) }

// room makes room in the message's buffer for n bytes that are there and for those of the
// frame that are still to come. Memory beyond 64 KiB grows with what has arrived.
func (s *Socket) room(n int) {
	in := s.in
	have := in.buf.Len() + n
	most := ahead(have)
	if have >= minGrow/4 {
		most = max(maxRoom, most)
	}
	in.buf.GrowTo(have + int(min(in.left, int64(max(most-have, 0)))))
}

// land handles bytes that were read to the end of the message's buffer.
func (s *Socket) land(n int) {
	in := s.in
	had := in.buf.Len()
	b := in.buf.B[had : had+n]
	in.left -= int64(n)
	_, last, err := s.reader.Landed(b)
	if err != nil {
		s.fail(err.(*wsframe.Error))
		return
	}
	if s.is(sentClose) {
		s.dropMessage()
		return
	}
	in.buf.B = in.buf.B[:had+n]
	if last {
		s.deliverMessage()
	}
}

// readAhead lets the server read the next bytes of a large message to the end of its
// buffer, if there is room for many.
func (s *Socket) readAhead() {
	in := s.in
	if in == nil || in.left == 0 || s.rest > 0 || s.is(sentClose) {
		return
	}
	s.room(0)
	b := in.buf.B
	if n := min(in.left, int64(cap(b)-len(b))); n >= min(in.left, directRead) {
		s.c.ReadInto(b[len(b) : len(b)+int(n)])
	}
}

// deliverMessage calls OnMessage for a message that came in pieces.
func (s *Socket) deliverMessage() {
	in := s.in
	s.setIncoming(nil)
	s.deliver(in.op, in.compressed, in.buf.B, true)
	in.release()
}

// dropMessage forgets what is there of a message.
func (s *Socket) dropMessage() {
	if in := s.in; in != nil {
		s.setIncoming(nil)
		in.release()
	}
}

var incomings pool.Pool

// acquireIncoming returns an incoming without a buffer.
func acquireIncoming() *incoming {
	in, _ := incomings.Get().(*incoming)
	if in == nil {
		in = new(incoming)
	}
	return in
}

// release gives in back.
func (in *incoming) release() {
	pool.Put(in.buf)
	*in = incoming{}
	incomings.Put(in)
}

// setIncoming sets s.in.
func (s *Socket) setIncoming(in *incoming) {
	s.mu.Lock()
	s.in = in
	s.mu.Unlock()
}

// deliver calls OnMessage, unless the connection is closing. alone is as for piece: then data
// may be sent back without a copy, but by a write of its own.
func (s *Socket) deliver(op wsframe.Opcode, compressed bool, data []byte, alone bool) {
	if compressed {
		s.inflate(op, data)
		return
	}
	if s.is(sentClose) {
		return
	}
	// If Send leaves output to the server, nothing more is written until the callback
	// returns. So no goroutine may wait in the callback then.
	if len(data) < minSend || !alone || s.params.policy == QueueWait {
		s.h.OnMessage(s, MessageType(op), data)
		return
	}
	in := s.lend(data)
	s.h.OnMessage(s, MessageType(op), data)
	s.unlend(in)
}

// lend notes that OnMessage has data.
func (s *Socket) lend(data []byte) *incoming {
	in := acquireIncoming()
	s.mu.Lock()
	in.lent = &data[0]
	s.in = in
	s.mu.Unlock()
	return in
}

// unlend notes that OnMessage has returned.
func (s *Socket) unlend(in *incoming) {
	s.mu.Lock()
	s.in = nil
	s.mu.Unlock()
	in.release()
}

// inflate inflates a message and calls OnMessage for it.
func (s *Socket) inflate(op wsframe.Opcode, data []byte) {
	limit := s.params.maxMessage
	if limit == math.MaxInt64 {
		limit = 0
	}
	b := pool.Get(min(4*len(data), maxRoom))
	in := wsframe.NewInflater(s.params.deflate, false)
	z := &in
	if s.z != nil {
		z = &s.z.in
	}
	if err := z.AppendTo(b, data, limit); err != nil {
		pool.Put(b)
		s.fail(err.(*wsframe.Error))
		return
	}
	if op == wsframe.Text && !utf8.Valid(b.B) {
		pool.Put(b)
		s.fail(errText)
		return
	}
	s.deliver(op, false, b.B, true)
	pool.Put(b)
}
