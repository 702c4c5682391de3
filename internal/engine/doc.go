// Package engine moves bytes between connections and sessions. It knows no protocol. A
// Session consumes what has arrived, appends what must be sent and says what it waits
// for. The engine waits, reads and writes.
//
// There are two engines, and the same sessions run on both. Block uses one goroutine
// per connection and serves any net.Conn on any system. Event uses a few goroutines for
// all connections and serves TCP and UNIX sockets on Linux.
//
// # How a session is driven
//
// The engine reads into a Work and calls Feed. The Work is a workspace: it belongs to the
// goroutine that runs, not to the connection. Feed consumes messages from w.Unread and
// appends answers to w.Out. The engine writes Out once for each batch of pipelined
// messages and obeys the Next that Feed returned:
//
//	Read    wait for bytes until Next.Deadline, then Feed again
//	Flush   write Out (and File), then Feed again: there is more to do
//	Close   write Out (and File), then close the connection gracefully
//	Abort   write Out if possible, then close at once, with Next.Reset by a reset
//	Hijack  write Out (and File), then call Hijacked with the connection as a net.Conn
//	Switch  write Out (and File), then let Next.Session go on
//
// If a Read ends without bytes, because its deadline passed or the peer ended its side,
// the engine calls Stall instead of Feed.
//
// A connection holds no workspace between two messages, and none while a file is
// sent to a slow reader. One goroutine at a time, the owner of the connection, calls a
// session. No lock of the engine is held while Open, Feed, Stall or Closed runs.
//
// # Switching
//
// Open, Feed and Stall may ask for Switch: then another session goes on with the
// connection, which stays as it is, including its TLS. When the output of the old session
// is written, its Closed is called with ErrSwitched. No other method of it is called
// after that. If the output can't be written, Closed gets that error and the other
// session is never opened. Then
//
//   - Open of the new session is called;
//   - bytes that were read and not consumed are fed to it, before others are read, and
//     before Stall tells the end of what the peer sends;
//   - write bounds are none, until it sets some; deadlines that a program had set
//     end; watches end without a call; wake-ups of the old session have no effect;
//   - what Interrupt and InterruptWrites did stays. Nothing may be running in Fill.
//
// Work.State belongs to the workspace: any session may find what a session of another
// type has left there. A panic in Closed or Open ends the connection; a session that
// was not opened is not closed.
//
// # Waking
//
// If other goroutines make the answers of a session, they call Wake of its Waker
// (waker.go). The session is then fed, with new bytes or without, when earlier output is
// written. While it waits for wake-ups it must return Read with Idle false: otherwise
// Stop may close the connection. Drain wakes sessions that have a Waker, and Stop wakes
// those whose connections are not idle. When fed, the session asks Conn.Stopping.
//
// # Blocking
//
// While a message is in flight, a session may use the blocking half of Conn:
// Fill for a body that a handler reads as a stream, Flush and WriteBody for an
// answer that is sent in pieces. They block the goroutine that runs the handler.
//
// # Sharing
//
// A session with many requests on a connection runs their handlers in Feed. It calls
// Conn.Share before each and Conn.Unshare after it. If a handler blocks, another
// goroutine calls the session meanwhile. If none blocks, sharing costs two atomic
// operations for each handler.
//
// # Event
//
// A loop (event_loop.go) has a poller and goroutines that share what it finds.
// A goroutine that visits a connection owns it (event_word.go). It reads, feeds the
// session and writes, until it would have to wait. Before the visit it makes sure that
// another goroutine can run, so handlers may block. A connection that waits keeps its
// descriptor, a small struct, and bytes that were read but not consumed, or not written
// yet. The next edge, or the timing wheel (event_wheel.go), leads to its next visit.
package engine
