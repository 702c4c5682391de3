// Package wsframe is WebSocket on bytes (RFC 6455) with the compression of messages (RFC
// 7692). It does no I/O, reads no clock and starts no goroutines. Servers and clients use
// the same code.
//
// [Reader] turns received bytes into pieces of messages and control frames, and checks
// them. [AppendFrame] and [AppendMasked] write frames. [DeflateOptions] negotiates
// compression, and [Deflater] and [Inflater] do it.
//
// What belongs to one connection (Reader, Deflater, Inflater) is small. The large state
// of compression comes from pools and goes back after each message.
package wsframe
