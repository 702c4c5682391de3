// Package engine moves bytes between connections and sessions. It knows no
// protocol: a Session consumes what arrived, leaves what must be sent and says
// what it waits for; the engine does the waiting, the reading and the writing.
//
// There are two engines, and the same sessions run on both. Block uses one goroutine
// per connection and serves any net.Conn on any system. Event uses a few goroutines for
// all connections and serves TCP and UNIX sockets on Linux.
//
// # How a session is driven
//
// The engine reads into a Work and calls Feed. The Work is a workspace: it belongs to
// the goroutine that runs and not to the connection. Feed consumes messages from
// w.Unread and appends answers to w.Out. The engine writes Out once for each batch of
// pipelined messages and obeys the Next that Feed returned:
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
// session; no lock of the engine is held while Open, Feed, Stall or Closed runs.
//
// # Switching
//
// Open, Feed and Stall may want Switch: another session goes on with the connection,
// which stays as it is, with its TLS. When the output of the old session is written,
// its Closed is called with ErrSwitched, and no other method of it after that. If the
// output can't be written, Closed gets that error and the other session is never opened.
// Then
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
// A session whose answers come from other goroutines lets them call Wake of its Waker
// (waker.go). It is then fed, with new bytes or without, when earlier output is
// written. While it waits for wake-ups it must return Read with Idle false: otherwise
// Stop may close the connection. Stop doesn't wake it: it asks Conn.Stopping when it is
// fed.
//
// # Blocking
//
// While a message is in flight, a session may use the blocking half of Conn:
// Fill for a body that a handler reads as a stream, Flush and WriteBody for an
// answer that is sent in pieces. They block the goroutine that runs the handler.
//
// # Sharing
//
// A session with many requests on a connection runs their handlers in Feed, and shares the
// connection around each: Conn.Share, Conn.Unshare. If a handler blocks, another goroutine
// calls the session meanwhile. Where none does, it costs two atomic operations.
//
// # Event
//
// A loop (event_loop.go) has a poller and goroutines that share what it finds.
// A goroutine that visits a connection owns it (event_word.go). It reads, feeds the
// session and writes, until it would have to wait. Before the visit it makes sure that
// another goroutine can run, so handlers may block. A connection that waits keeps its
// descriptor, a small struct and the bytes that are on their way. The next edge, or the
// timing wheel (event_wheel.go), leads to its next visit.
package engine
