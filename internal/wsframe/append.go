package wsframe

import (
	"encoding/binary"
	"slices"
)

// AppendFrame appends an unmasked frame, as servers send it, to dst and returns the
// extended dst. compressed sets RSV1; it is only for the first frame of a message. payload
// and dst must not overlap.
func AppendFrame(dst []byte, op Opcode, fin, compressed bool, payload []byte) []byte {
	dst = slices.Grow(dst, MaxHeader+len(payload))
	h := Header{Fin: fin, Op: op, Length: int64(len(payload))}
	if compressed {
		h.Rsv = Rsv1
	}
	return append(AppendHeader(dst, h), payload...)
}

// AppendMasked appends a frame that is masked with key, as clients send it, to dst and
// returns the extended dst. key must be unpredictable (RFC 6455 section 5.3). payload
// isn't changed. compressed sets RSV1; it is only for the first frame of a message. payload
// and dst must not overlap.
func AppendMasked(dst []byte, op Opcode, fin, compressed bool, key [4]byte, payload []byte) []byte {
	dst = slices.Grow(dst, MaxHeader+len(payload))
	h := Header{Fin: fin, Op: op, Masked: true, Key: key, Length: int64(len(payload))}
	if compressed {
		h.Rsv = Rsv1
	}
	dst = AppendHeader(dst, h)
	n := len(dst)
	dst = dst[:n+len(payload)]
	copyMasked(dst[n:], payload, binary.LittleEndian.Uint32(key[:]))
	return dst
}
