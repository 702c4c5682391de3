//go:build !race

package held

import (
	"compress/flate"
	"encoding/binary"
	"io"
	"net"
	"strings"

	"github.com/galehttp/gale/internal/wsframe"
)

// Types of frames, and flags.
const (
	typeData, typeHeaders, typePriority, typeReset, typeSettings, typePush, typePing, typeWindow, typeContinuation = 0, 1, 2, 3, 4, 5, 6, 8, 9
	typePriorityUpdate                                                                                             = 16

	endStream, ack, endHeaders = 1, 1, 4
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame returns a frame of HTTP/2.
func frame(typ, flags byte, stream int, payload string) string {
	n := len(payload)
	return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), typ, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}) + payload
}

// number returns n as four bytes.
func number(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// setting returns a SETTINGS frame with one setting.
func setting(id, value int) string {
	return frame(typeSettings, 0, 0, string([]byte{0, byte(id)})+number(value))
}

// hpackString encodes a string without Huffman coding.
func hpackString(s string) string {
	if len(s) < 127 {
		return string([]byte{byte(len(s))}) + s
	}
	b := []byte{127}
	n := len(s) - 127
	for ; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return string(append(b, byte(n))) + s
}

// field encodes a field that isn't put into the table, indexed one that is.
func field(name, value string) string   { return "\x00" + hpackString(name) + hpackString(value) }
func indexed(name, value string) string { return "\x40" + hpackString(name) + hpackString(value) }

// The pseudo-header fields of a GET and a POST for /, and those of responses.
const (
	getHead     = "\x82\x86\x84\x01\x01h"
	postHead    = "\x83\x86\x84\x01\x01h"
	okHead      = "\x88"
	connectHead = "\x02\x07CONNECT\x86\x84\x01\x01h" + "\x00\x09:protocol\x09websocket"
	hintHead    = "\x08\x03103"
)

// block returns a field block, in frames that are not too large.
func block(stream int, flags byte, fields string) string {
	var b strings.Builder
	for typ := byte(typeHeaders); ; typ, flags = typeContinuation, 0 {
		n := min(len(fields), 16<<10)
		if n == len(fields) {
			b.WriteString(frame(typ, flags|endHeaders, stream, fields))
			return b.String()
		}
		b.WriteString(frame(typ, flags, stream, fields[:n]))
		fields = fields[n:]
	}
}

// many returns what f makes of 0, 1, 2 and so on, until it has n bytes.
func many(n int, f func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(f(i))
	}
	return b.String()
}

// again returns s repeated until it has n bytes.
func again(n int, s string) string { return many(n, func(int) string { return s }) }

// Pings whose answers are awaited.
var (
	ping   = frame(typePing, 0, 0, "all read")
	wsPing = wsFrame(wsframe.Ping, true, false, "all read")
)

// answered reads up to the answer to a ping. It reports whether that came.
func answered(nc net.Conn) bool {
	want, found := "all read", 0
	var b [256]byte
	for {
		n, err := nc.Read(b[:])
		for _, c := range b[:n] {
			if c != want[found] {
				found = 0
			}
			if c == want[found] {
				found++
			}
			if found == len(want) {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// wsSends returns the handshake of a WebSocket, and what f returns after it.
func wsSends(f func(n int) string) func(n int) string {
	return func(n int) string {
		return "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n" + f(n)
	}
}

// wsFrame returns a frame of a client's WebSocket.
func wsFrame(op wsframe.Opcode, fin, compressed bool, payload string) string {
	return string(wsframe.AppendMasked(nil, op, fin, compressed, [4]byte{1, 2, 3, 4}, []byte(payload)))
}

// deflated compresses a message.
func deflated(s string) string {
	var b strings.Builder
	w, _ := flate.NewWriter(&b, 9)
	_, _ = io.WriteString(w, s)
	_ = w.Flush()
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}
