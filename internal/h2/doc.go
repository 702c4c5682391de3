// Package h2 is the server's side of HTTP/2 (RFC 9113) on bytes: frames, settings,
// streams, flow control, limits, priorities (RFC 9218), and heads for package head.
// It does no I/O, reads no clock and has no goroutines and no locks. Its input is
// bytes; its output is events, bytes and state. The caller owns a Conn and calls
// its methods from one goroutine at a time.
//
// # Flow
//
// Begin makes a Conn ready and appends the first frames of a server. Read consumes
// the bytes that have arrived, in pieces of any length, up to the next event: a
// head, data, trailers, a reset, room to send. Frames that answer them
// (acknowledgements, window updates, resets, GOAWAY) are queued in the Conn. A
// caller takes them with AppendControl each time before it writes.
//
// After a Head event, DecodeRequest decodes and checks the field block, and stores
// it as a msg head. The stream then belongs to the caller until Done. For data that
// the program has read, the caller calls Consumed, which opens the stream's window
// again. AppendHead, AppendData and AppendTrailers make the frames of a response.
// Queue and Next decide which stream sends next.
//
// # Memory
//
// A Conn keeps as little of its input as possible: a part of a frame header, up to
// 64 bytes of a small frame, and a field block that did not arrive in one piece, up
// to Config.HeaderList plus one frame. It queues at most maxQueued control frames, and
// holds at most maxHeld resets until the write after their responses.
// It stores how the last 512 streams ended, in two bits each. Streams come from a
// pool. Rest gives back the memory that an idle connection doesn't need.
//
// # Errors
//
// A connection error (RFC 9113 section 5.4.1) queues GOAWAY and ends Read with
// Failed. A stream error (section 5.4.2) queues RST_STREAM; the caller gets a Reset
// event if it has the stream. If the stream is idle or closed, so that no frame may
// be sent on it, a stream error becomes a connection error.
//
// # Strictness
//
// A request that two recipients could read differently is refused (RFC 9113 sections 8.2
// and 8.3), with the rules of package h1 where HTTP/1.1 has the same:
//
//   - field names are tokens without capital letters; values have no control
//     characters except HTAB, and no whitespace at their ends
//   - no Connection, Proxy-Connection, Keep-Alive, Transfer-Encoding, Upgrade; TE is
//     "trailers" or absent
//   - pseudo-fields come first and once each; only those of requests are allowed,
//     and none in trailers
//   - :path is in origin-form, or "*" for OPTIONS; :scheme is http or https
//   - a valid host: one of :authority or Host, or both if they are equal
//   - at most one Content-Length, equal to the length of the DATA
//   - fields that control the message can't be trailers
//
// # Limits
//
// Frames that cost work but bring no request are counted in token buckets: resets
// received, resets caused, frames that change nothing (PRIORITY, unknown types,
// PING, SETTINGS, WINDOW_UPDATE for more than was sent, frames on closed streams)
// and empty DATA. New streams, and DATA frames that were sent, give tokens back, so
// that peers that answer them with frames of their own never run out of tokens.
// Beyond a limit the connection ends with ENHANCE_YOUR_CALM. A stream that was
// reset counts as open until Done, so no more than Config.Streams handlers run at a
// time.
package h2
