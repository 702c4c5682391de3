// Package galeutil connects clients and servers in one process through memory, without a
// network.
//
//	ln := galeutil.NewInmemoryListener()
//	go gale.Serve(ln, handler)
//
//	c := gale.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
//	status, body, err := c.Get(nil, "http://in.memory/")
//
// An [InmemoryListener] is a net.Listener with a Dial method. It is for tests, and for
// programs whose parts talk HTTP to each other: no bytes go through the kernel, no port
// is needed, and no other process can connect. A [PipeConns] is a single connection with
// both ends.
//
// # How connections behave
//
// They behave like TCP connections where that matters to a protocol. Writes are buffered,
// each end is closed separately, CloseWrite closes one direction, deadlines can be
// changed at any time, and all methods may be called from several goroutines. What was
// written before a Close can still be read by the other end, which then gets io.EOF;
// there are no resets. Unlike with TCP, a Read after Close of the same end also returns
// io.EOF.
//
// A connection uses memory for bytes only while some are unread. A Read that waits gets
// the bytes directly from the Write, with one copy. Usually neither allocates.
//
// The names are those of fasthttputil.
package galeutil
