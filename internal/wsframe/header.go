package wsframe

import (
	"encoding/binary"
	"math"
)

// Opcode says what a frame is (RFC 6455 section 5.2).
type Opcode uint8

// The opcodes that exist. All others are reserved.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

// control reports whether op is one of control frames, reserved ones included.
func (op Opcode) control() bool { return op&8 != 0 }

// Rsv1 is the bit of [Header.Rsv] that marks the first frame of a compressed message
// (RFC 7692 section 6).
const Rsv1 = 4

// MaxControl is the largest payload of a control frame in bytes (RFC 6455 section 5.5).
const MaxControl = 125

// MaxHeader is the size of the longest header in bytes.
const MaxHeader = 14

// Header is what precedes the payload of a frame.
type Header struct {
	Fin    bool  // the last frame of its message
	Rsv    uint8 // the three reserved bits: 4 is RSV1, 1 is RSV3
	Op     Opcode
	Masked bool
	Key    [4]byte // the masking key, if Masked
	Length int64   // of the payload in bytes
}

// ParseHeader reads the header at the start of in. n is its length in bytes. If in doesn't
// hold the whole header, n is 0 and err is nil. The only errors are those of the length:
// more than 63 bits, or not in the shortest form (RFC 6455 section 5.2). It doesn't check
// the reserved bits and opcodes; [Reader] does.
func ParseHeader(in []byte) (h Header, n int, err error) {
	p, n, err := parseHead(in)
	if n == 0 {
		return Header{}, 0, err
	}
	h = Header{Fin: p.fin(), Rsv: p.first >> 4 & 7, Op: p.op(), Masked: p.masked, Length: p.length}
	binary.LittleEndian.PutUint32(h.Key[:], p.key)
	return h, n, nil
}

// head is a header in a form that fits in registers.
type head struct {
	length int64
	key    uint32 // as turn has it; 0 if not masked
	first  byte
	masked bool
}

func (h head) fin() bool  { return h.first&0x80 != 0 }
func (h head) op() Opcode { return Opcode(h.first & 15) }

// parseHead is ParseHeader.
func parseHead(in []byte) (h head, n int, err error) {
	if len(in) < 2 {
		return head{}, 0, nil
	}
	h.first = in[0]
	h.masked = in[1]&0x80 != 0
	h.length = int64(in[1] & 0x7f)
	n = 2
	switch h.length {
	case 126:
		if len(in) < 4 {
			return head{}, 0, nil
		}
		h.length = int64(binary.BigEndian.Uint16(in[2:]))
		if h.length < 126 {
			return head{}, 0, errLengthForm
		}
		n = 4
	case 127:
		if len(in) < 10 {
			return head{}, 0, nil
		}
		length := binary.BigEndian.Uint64(in[2:])
		if length > math.MaxInt64 {
			return head{}, 0, errLength
		}
		if length <= math.MaxUint16 {
			return head{}, 0, errLengthForm
		}
		h.length = int64(length)
		n = 10
	}
	if h.masked {
		if len(in) < n+4 {
			return head{}, 0, nil
		}
		h.key = binary.LittleEndian.Uint32(in[n:])
		n += 4
	}
	return h, n, nil
}

// AppendHeader appends h, with the length in its shortest form, to dst and returns the
// extended dst. h.Length must not be negative.
func AppendHeader(dst []byte, h Header) []byte {
	first := byte(h.Op) | h.Rsv<<4
	if h.Fin {
		first |= 0x80
	}
	mask := byte(0)
	if h.Masked {
		mask = 0x80
	}
	switch {
	case h.Length <= 125:
		dst = append(dst, first, mask|byte(h.Length))
	case h.Length <= math.MaxUint16:
		dst = append(dst, first, mask|126, byte(h.Length>>8), byte(h.Length))
	default:
		dst = append(dst, first, mask|127)
		dst = binary.BigEndian.AppendUint64(dst, uint64(h.Length))
	}
	if h.Masked {
		dst = append(dst, h.Key[:]...)
	}
	return dst
}
