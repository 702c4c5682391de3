package wsframe

import "math"

// Config says how a [Reader] reads.
type Config struct {
	// Client says that this side is the client. The peer's frames must not be masked then,
	// else they must be.
	Client bool
	// Deflate allows RSV1 on the first frame of a message: compression was negotiated.
	Deflate bool
	// MaxMessage is the largest message in bytes as it is sent, all its frames together. A
	// frame that exceeds it fails as soon as its header is there. 0 or less: no limit.
	MaxMessage int64
	// Hold is the largest payload in bytes that is delivered only as a whole, if the message
	// is a single frame. The caller must be able to pass Hold + MaxHeader bytes to Next.
	Hold int
}

// Reader is the receiving half of one connection: it reads frames, unmasks their payload
// and checks all rules of RFC 6455 section 5, and that uncompressed text is UTF-8. Init
// must be called before the first use. A Reader isn't safe for concurrent use. It keeps no
// slices.
type Reader struct {
	max    int64
	room   int64  // how many bytes the rest of the message may have, after the current frame
	left   int64  // how many bytes of the current data frame are still to come
	key    uint32 // for the next byte of the current data frame
	hold   int32
	tested int32 // how many bytes of a held text frame were checked
	state  uint8 // of the checker, after the bytes of the message or the held frame so far
	flags  uint8
	op     Opcode // of the message
	failed uint8  // index of the error in failures
}

// Flags of a Reader.
const (
	isClient   = 1 << iota
	takesRsv1  // compression was negotiated
	inMessage  // a message has begun and not ended
	compressed // the message has RSV1
	lastFrame  // the current frame has FIN
	checks     // the message is text and not compressed
	ofMessage  = inMessage | compressed | lastFrame | checks
)

// failures are the errors of a Reader. Its field failed is an index.
var failures = [...]*Error{
	1: errReserved, errOpcode, errMasked, errUnmasked, errControlFin, errControlSize,
	errContinuation, errInterleaved, errLengthForm, errLength, errText, errTooBig, errLanded,
}

// Kind says what [Reader.Next] found.
type Kind uint8

const (
	// More means that nothing else can be read until more bytes are there.
	More Kind = iota
	// Piece is a part of a message. It may be empty.
	Piece
	// Control is a whole control frame. It may come between the pieces of a message.
	Control
)

// Frame is what [Reader.Next] found.
type Frame struct {
	Kind Kind
	// Op is Text or Binary for a Piece, whichever the message is. For Control it is Close,
	// Ping or Pong.
	Op Opcode
	// First and Last say that the message begins and ends with this piece.
	First, Last bool
	// FrameEnd says that the piece ends its frame.
	FrameEnd bool
	// Compressed says that the message is compressed. Its text isn't checked.
	Compressed bool
	// Left is how many bytes of the piece's frame are still to come.
	Left int64
	// Payload is a slice of what was passed to Next, unmasked in place.
	Payload []byte
}

// Init makes r ready for a new connection.
func (r *Reader) Init(c Config) {
	*r = Reader{max: c.MaxMessage, hold: int32(min(max(c.Hold, 0), math.MaxInt32))}
	if r.max <= 0 {
		r.max = math.MaxInt64
	}
	if c.Client {
		r.flags |= isClient
	}
	if c.Deflate {
		r.flags |= takesRsv1
	}
}

// fail makes err the result of all further calls.
func (r *Reader) fail(f *Frame, err error) error {
	*f = Frame{}
	for i, e := range failures {
		if e == err {
			r.failed = uint8(i)
		}
	}
	return err
}

// Next reads from in, fills f and returns how many bytes of in it consumed. The caller
// calls it with the bytes that follow those until f.Kind is [More], and then again when
// there are more bytes: those that weren't consumed, unchanged, and the new ones. With
// More, n is 0.
//
// A data frame is delivered in pieces as it arrives; the first piece is empty if only the
// header is there. Control frames, and frames that [Config.Hold] says, are delivered as a
// whole. Text that can't become valid UTF-8 fails at once, even if its frame isn't whole.
//
// err is always an *Error. The same error is returned by all further calls.
func (r *Reader) Next(in []byte, f *Frame) (n int, err error) {
	if r.failed != 0 {
		*f = Frame{}
		return 0, failures[r.failed]
	}
	if r.left > 0 {
		if len(in) == 0 {
			*f = Frame{}
			return 0, nil
		}
		return r.piece(in, 0, f)
	}
	h, n, err := parseHead(in)
	if err != nil {
		return 0, r.fail(f, err)
	}
	if n == 0 {
		*f = Frame{}
		return 0, nil
	}
	op := h.op()
	if err := r.allowed(h, op); err != nil {
		return 0, r.fail(f, err)
	}
	switch {
	case op.control():
		return control(h, op, in, n, f), nil
	case op == Continuation:
		if h.length > r.room {
			return 0, r.fail(f, errTooBig)
		}
		r.room -= h.length
	default:
		if h.length > r.max {
			return 0, r.fail(f, errTooBig)
		}
		if h.fin() && h.length > int64(len(in)-n) && h.length <= int64(r.hold) {
			return 0, r.wait(h, in[n:], f)
		}
		r.begin(h, op)
	}
	r.key = h.key
	r.left = h.length
	if h.fin() {
		r.flags |= lastFrame
	}
	return r.piece(in, n, f)
}

// control reads a control frame, whose payload begins at n, and returns what it consumed: nothing, as long as
// the payload isn't whole.
func control(h head, op Opcode, in []byte, n int, f *Frame) int {
	if int64(len(in)-n) < h.length {
		*f = Frame{}
		return 0
	}
	end := n + int(h.length)
	*f = Frame{Kind: Control, Op: op, Payload: in[n:end:end]}
	mask(f.Payload, h.key)
	return end
}

// allowed checks a header against the rules that don't depend on the payload.
func (r *Reader) allowed(h head, op Opcode) error {
	if rsv := h.first >> 4 & 7; rsv != 0 && (rsv != Rsv1 || r.flags&takesRsv1 == 0 || op == Continuation || op.control()) {
		return errReserved
	}
	if op > Pong || op > Binary && op < Close {
		return errOpcode
	}
	if h.masked == (r.flags&isClient != 0) {
		if h.masked {
			return errMasked
		}
		return errUnmasked
	}
	switch {
	case op.control():
		if !h.fin() {
			return errControlFin
		}
		if h.length > MaxControl {
			return errControlSize
		}
	case op == Continuation:
		if r.flags&inMessage == 0 {
			return errContinuation
		}
	case r.flags&inMessage != 0:
		return errInterleaved
	}
	return nil
}

// begin starts the message whose first frame has the header h. A held frame may have set
// state and tested.
func (r *Reader) begin(h head, op Opcode) {
	r.op = op
	r.room = r.max - h.length
	if h.first>>4&7 != 0 {
		r.flags |= compressed
	} else if op == Text {
		r.flags |= checks
	}
}

// wait checks what is there of a held frame's payload.
func (r *Reader) wait(h head, payload []byte, f *Frame) error {
	*f = Frame{}
	if h.op() != Text || h.first>>4&7 != 0 || len(payload) <= int(r.tested) {
		return nil
	}
	r.state = checkMasked(payload[r.tested:], turn(h.key, int(r.tested)), r.state)
	r.tested = int32(len(payload))
	if r.state == rejected {
		return r.fail(f, errText)
	}
	return nil
}

// piece delivers what in has of the current data frame, from in[start] on. The message
// begins with it if inMessage isn't set.
func (r *Reader) piece(in []byte, start int, f *Frame) (int, error) {
	end := len(in)
	if int64(end-start) > r.left {
		end = start + int(r.left)
	}
	b := in[start:end:end]
	first := r.flags&inMessage == 0
	if err := r.take(b); err != nil {
		return 0, r.fail(f, err)
	}
	f.Kind = Piece
	f.Op = r.op
	f.First = first
	f.FrameEnd = r.left == 0
	f.Compressed = r.flags&compressed != 0
	f.Last = f.FrameEnd && r.flags&lastFrame != 0
	f.Left = r.left
	f.Payload = b
	return end, r.end(f)
}

// take unmasks and checks the next bytes of the current data frame.
func (r *Reader) take(b []byte) error {
	r.flags |= inMessage
	r.left -= int64(len(b))
	key := r.key
	if r.left > 0 {
		r.key = turn(key, len(b))
	}
	if r.flags&checks == 0 {
		mask(b, key)
		return nil
	}
	if n := int(r.tested); n > 0 {
		r.tested = 0
		mask(b[:n], key)
		key = turn(key, n)
		b = b[n:]
	}
	if key != 0 {
		r.state = unmaskText(b, key, r.state)
	} else {
		r.state = checkText(b, r.state)
	}
	if r.state == rejected {
		return errText
	}
	return nil
}

// end ends the message if the piece f is its last.
func (r *Reader) end(f *Frame) error {
	if !f.Last {
		return nil
	}
	if r.state != between {
		return r.fail(f, errText)
	}
	r.flags &^= ofMessage
	return nil
}

// Landed unmasks and checks b in place: the next bytes of the current frame's payload,
// which the caller read from the connection straight into memory of its own. b must not be
// longer than the Left of the last piece. The results say whether the frame and the
// message end with b. Errors are those of [Reader.Next].
func (r *Reader) Landed(b []byte) (frameEnd, last bool, err error) {
	if r.failed != 0 {
		return false, false, failures[r.failed]
	}
	var f Frame
	if int64(len(b)) > r.left {
		return false, false, r.fail(&f, errLanded)
	}
	if len(b) == 0 {
		return false, false, nil
	}
	if err := r.take(b); err != nil {
		return false, false, r.fail(&f, err)
	}
	f.FrameEnd = r.left == 0
	f.Last = f.FrameEnd && r.flags&lastFrame != 0
	if err := r.end(&f); err != nil {
		return false, false, err
	}
	return f.FrameEnd, f.Last, nil
}
