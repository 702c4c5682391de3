// Package h2 is HTTP/2 (RFC 9113) on bytes, for servers and clients: frames, settings,
// streams, flow control, limits, priorities (RFC 9218), and heads for package head.
// It does no I/O, reads no clock and has no goroutines and no locks. Its input is
// bytes; its output is events, bytes and state. The caller owns a Conn and calls
// its methods from one goroutine at a time.
//
// # Flow
//
// Begin makes a Conn ready and appends the first frames of a server, BeginClient those of
// a client. Read consumes the bytes that have arrived, in pieces of any length, up to the
// next event: a head, data, trailers, a reset, room to send. Frames that answer them
// (acknowledgements, window updates, resets, GOAWAY) are queued in the Conn. A
// caller takes them with AppendControl each time before it writes.
//
// In a server, DecodeRequest decodes and checks the field block of a Head event, and
// stores it as a msg head. The stream then belongs to the caller until Done. AppendHead,
// AppendData and AppendTrailers make the frames of a response.
//
// In a client, AppendRequest opens a stream, which belongs to the caller until Done, and
// makes the HEADERS of its request; AppendRepeated does so for a request that is sent
// again and again. CanOpen says how many streams may be opened. AppendData and
// AppendTrailers are the same. After a Head event, DecodeResponse or DecodeStatus decodes
// the response, which may be an informational one.
//
// For data that the program has read, the caller calls Consumed, which opens the stream's
// window again. Queue and Next decide which stream sends next.
//
// # Memory
//
// A Conn keeps as little of its input as possible: a part of a frame header, up to
// 64 bytes of a small frame, and a field block that did not arrive in one piece, up
// to Config.HeaderList plus one frame. It queues at most maxQueued control frames, or two
// for each of Config.Streams if that is more, and holds at most maxHeld resets until the
// write after their responses.
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
// A message that two recipients could read differently is refused (RFC 9113 sections 8.2
// and 8.3), with the rules of package h1 where HTTP/1.1 has the same:
//
//   - field names are tokens without capital letters; values have no control
//     characters except HTAB, and no whitespace at their ends
//   - no Connection, Proxy-Connection, Keep-Alive, Transfer-Encoding, Upgrade; TE is
//     "trailers" or absent, and absent in responses
//   - pseudo-fields come first and once each; only those of requests are allowed, in a
//     response only :status, and none in trailers
//   - :status has three digits and isn't 101; an informational response doesn't end the
//     stream
//   - :path is in origin-form, or "*" for OPTIONS; :scheme is http or https
//   - a valid host: one of :authority or Host, or both if they are equal
//   - at most one Content-Length, equal to the length of the DATA, unless the response
//     can't have a body: then there is no DATA with bytes
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
//
// In a client, the resets of a server cost nothing extra: there are no more than streams
// that the client has opened. At most maxInterims informational responses may come on a
// stream. A client that receives GOAWAY with a rising id ends the connection.
package h2
