// Package galeutil connects clients and servers of one process without a
// network: by memory.
//
// An [InmemoryListener] is a net.Listener together with the way to dial it. It
// serves tests, and programs whose parts talk HTTP to each other: nothing goes
// through the kernel, no port is taken, and no other process can connect. A
// [PipeConns] is a single connection, both of its ends.
//
// # How connections behave
//
// They behave like TCP connections where that makes a difference to a
// protocol: writes are buffered, ends close one by one, CloseWrite half-closes,
// deadlines can be set and moved at any time, and all methods may be called
// from several goroutines. What was written before a Close is still read by
// the other end, which gets io.EOF then; there are no resets. Unlike there, a Read
// after this end was closed returns io.EOF, too.
//
// A connection holds memory for its bytes only while some are unread, and a
// Read that waits gets them from the Write directly, copied once. Neither
// allocates, as a rule.
//
// The names are those of fasthttputil.
package galeutil
