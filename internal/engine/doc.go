// Package engine moves bytes between connections and sessions. It knows no
// protocol: a Session consumes what arrived, leaves what is to be sent and says
// what it waits for; the engine does the waiting, the reading and the writing.
//
// There are two engines, and the same sessions run on both: Block, a goroutine
// for each connection, on any net.Conn and any system, and Event, goroutines for
// the work that there is, on sockets where the system has a poller for them.
//
// # How a session is driven
//
// The engine reads into a Work, a workspace that belongs to the goroutine that
// runs and not to the connection, and calls Feed. Feed consumes messages from
// w.Unread and appends answers to w.Out; the engine writes Out once for each
// batch of pipelined messages and obeys the Next that Feed returned:
//
//	Read    wait for bytes until Next.Deadline, then Feed again
//	Flush   write Out (and File), then Feed again: there is more to do
//	Close   write Out (and File), then close the connection gracefully
//	Abort   write Out, then close at once
//	Hijack  write Out, then call Hijacked with the connection as a net.Conn
//
// Where a Read ends without bytes, because its deadline passed or the peer
// ended its side, the engine calls Stall instead of Feed.
//
// Between two messages a connection holds no workspace, and while a file is
// sent to a slow reader neither. One goroutine at a time calls a session.
//
// # Blocking
//
// While a message is in flight, a session may use the blocking half of Conn:
// Fill for a body that a handler reads as a stream, Flush and WriteBody for an
// answer that is sent piecemeal. That is how streamed bodies park: in Fill, on
// the goroutine that runs the handler.
//
// # Event
//
// A loop (event_loop.go) has a poller and goroutines that share what it finds.
// Whoever visits a connection owns it (event_word.go) and does all it can:
// reads, feeds the session, writes. Before that it has made sure that another
// goroutine can run, so that handlers may block. Where a connection has to wait,
// it is let go with no more than its descriptor, a small struct and the bytes
// that are on their way; the next edge, or the timing wheel (event_wheel.go),
// has it visited again.
package engine
