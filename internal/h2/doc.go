// Package h2 is HTTP/2 (RFC 9113) on bytes: frames, settings, streams, flow control,
// limits, priorities (RFC 9218), heads from and to package head. It does no I/O, reads
// no clock and has no goroutines and no locks: bytes in, events, bytes and state out.
// The caller owns a Conn and calls its methods from one goroutine at a time.
//
// # Flow
//
// Begin makes a Conn ready and appends what a server sends first. Read consumes what has
// arrived, cut anywhere, up to the next event: a head, data, trailers, a reset, room to
// send. What the peer must be sent for it (acknowledgements, window updates, resets,
// GOAWAY) is queued in the Conn until AppendControl takes it; a caller takes it each time
// before it writes.
//
// After a Head event DecodeRequest decodes the field block into a msg head, and checks it.
// The stream then belongs to the caller until Done. Data is consumed by Consumed, which
// opens the stream's window again. AppendHead, AppendData and AppendTrailers send;
// Queue and Next say whose turn it is.
//
// # Memory
//
// A Conn keeps of its input only what it must: a frame header in part, up to 64 bytes of
// a small frame, and a field block that did not arrive in one piece, up to
// Config.HeaderList and one frame. It queues at most maxQueued answers. It remembers how
// the last 512 streams ended in two bits each. Streams come from a pool. Rest gives back
// what an idle connection need not hold.
//
// # Errors
//
// A connection error (RFC 9113 section 5.4.1) queues GOAWAY and ends Read with Failed. A
// stream error (section 5.4.2) queues RST_STREAM; the caller learns of it by Reset if it
// has the stream. Where a frame breaks the rules on a stream that is idle or closed, on
// which nothing may be sent, a stream error becomes one of the connection.
//
// # Strictness
//
// A request that two recipients could read differently is refused (RFC 9113 sections 8.2
// and 8.3), with the rules of package h1 where HTTP/1.1 has the same:
//
//   - field names are tokens without capital letters; values hold no control
//     characters but HTAB, and no whitespace at their ends
//   - no Connection, Proxy-Connection, Keep-Alive, Transfer-Encoding, Upgrade; TE is
//     "trailers" or absent
//   - pseudo-fields come first, once each, none but those of requests, none in trailers
//   - :path is in origin-form, or "*" for OPTIONS; :scheme is http or https
//   - a valid host: one of :authority or Host, or both if they are equal
//   - one Content-Length at most, equal to the DATA that comes
//   - fields that govern the message are no trailers
//
// # Limits
//
// What costs work and brings no request is counted in token buckets: resets received,
// resets caused, frames that change nothing (PRIORITY, unknown types, PING, SETTINGS,
// WINDOW_UPDATE for more than was sent, frames on closed streams) and empty DATA. New streams
// and DATA that was sent in full give tokens back, so that peers that answer them with frames
// of their own never run out. Beyond a limit the connection ends with ENHANCE_YOUR_CALM. A stream
// that was reset counts as open until Done, so no more handlers run than
// Config.Streams.
package h2
