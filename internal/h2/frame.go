package h2

import "encoding/binary"

// frameType is the type of a frame (RFC 9113 section 6).
type frameType uint8

const (
	frameData frameType = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePushPromise
	framePing
	frameGoAway
	frameWindowUpdate
	frameContinuation

	framePriorityUpdate frameType = 0x10 // RFC 9218 section 7.1
)

// The flags of frames.
const (
	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

const (
	frameHeaderLen = 9
	// maxFrame is the longest payload in bytes that is accepted:
	// SETTINGS_MAX_FRAME_SIZE keeps its smallest value, which costs one frame
	// header per 16 KiB.
	maxFrame = 16 << 10
	// initialWindow is the size of windows before SETTINGS (RFC 9113 section 6.9.2).
	initialWindow = 65535
	maxWindow     = 1<<31 - 1
	maxStreamID   = 1<<31 - 1
)

// Preface is what a client sends first (RFC 9113 section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frameHeader is the header of a frame (RFC 9113 section 4.1), without the reserved bit.
type frameHeader struct {
	length int
	typ    frameType
	flags  uint8
	stream uint32
}

// parseFrameHeader parses b, which has frameHeaderLen bytes.
func parseFrameHeader(b []byte) frameHeader {
	w := binary.BigEndian.Uint32(b)
	return frameHeader{
		length: int(w >> 8),
		typ:    frameType(w),
		flags:  b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & maxStreamID,
	}
}

// appendFrameHeader appends the header of a frame.
func appendFrameHeader(dst []byte, length int, typ frameType, flags uint8, stream uint32) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), byte(typ), flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// setFrameHeader writes the header of a frame to b, which has frameHeaderLen bytes.
func setFrameHeader(b []byte, length int, typ frameType, flags uint8, stream uint32) {
	_ = b[frameHeaderLen-1]
	binary.BigEndian.PutUint32(b, uint32(length)<<8|uint32(typ))
	b[4] = flags
	binary.BigEndian.PutUint32(b[5:], stream)
}
