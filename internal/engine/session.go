package engine

import (
	"io"
	"net"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Session is the protocol side of one connection. One goroutine at a time
// calls it.
type Session interface {
	// Open begins the session on c and says what to wait for first: a Read.
	Open(c Conn, next *Next)
	// Feed consumes a prefix of w.Unread (see Work.Consume), appends output to
	// w.Out and says what to do next in next, which is zero when it is
	// called. Nothing of w and next may be kept after return.
	Feed(w *Work, next *Next)
	// Stall is called instead of Feed when a Read ended without bytes: why is
	// a time-out (see IsTimeout), io.EOF or whatever broke the connection.
	Stall(w *Work, why error, next *Next)
	// Hijacked takes over the connection after Hijack. It runs on a
	// goroutine of its own; the engine has forgotten the connection.
	Hijacked(c net.Conn)
	// Closed ends the session; err is why, nil after Close. It is called
	// once, and not after Hijacked. After Conn.Detach the connection is not
	// closed by the engine, and may be in use.
	Closed(err error)
}

// Op says what a session wants next.
type Op uint8

// The values of Op.
const (
	Read Op = iota
	Flush
	Close
	Abort
	Hijack
)

// Next is what a session wants next.
type Next struct {
	Op Op
	// Idle says, for Read, that no message is in flight and nothing is
	// unread: the engine may close the connection for a shutdown or to make
	// room for others.
	Idle bool
	// Linger says, for Close, that the peer may be sending still: the engine
	// ends its own side and discards what comes for a while, since closing
	// at once would reset the connection and the answer might be lost.
	Linger bool
	// Deadline is when Read gives up; zero means never.
	Deadline clock.Tick
	// File is sent after Out, for Flush and Close.
	File *File
}

// File is a range of a file that is to be sent.
type File struct {
	// F is read at explicit offsets; its own offset is left alone.
	F      *os.File
	Off, N int64
	// Done is closed when the range was sent or can't be.
	Done io.Closer
}

// Conn is the engine's side of one connection: what a session may use while a
// message is in flight. Its methods belong to the goroutine that runs the
// session, but for those of NetConn.
type Conn interface {
	// NetConn returns the connection that the engine serves. Its Read and
	// Write are not for sessions; addresses, TLS state and deadlines are.
	NetConn() net.Conn
	// Fill blocks until bytes were added behind w.Unread, at most until
	// deadline (zero: for ever). io.EOF means that no more will come.
	Fill(w *Work, deadline clock.Tick) error
	// Interrupt makes Fill fail from now on, one that is running included. Any
	// goroutine may call it.
	Interrupt()
	// Flush writes w.Out and empties it.
	Flush(w *Work) error
	// WriteBody writes w.Out and then b, with one system call where it can.
	WriteBody(w *Work, b []byte) error
	// LeaveBody is WriteBody for the end of a message: the engine may keep a
	// copy of what the peer doesn't take now, and write it when the session has
	// returned. It reports whether it does; then the session must return at
	// once, wanting Flush, Close or Hijack.
	LeaveBody(w *Work, b []byte) (left bool, err error)
	// Stopping reports whether the connection is to end when it is idle.
	Stopping() bool
	// SetWriteTimeout bounds each of the writes that follow; 0 means no bound.
	SetWriteTimeout(d time.Duration)
	// SetWriteDeadline bounds all of the writes that follow in place of the
	// time-out, until it is called with 0.
	SetWriteDeadline(t clock.Tick)
	// Detach takes the connection out of the engine while a message is in
	// flight, and returns it as Hijacked would get it, with what is unread in
	// front. w.Out is written before, and nothing may be running in Fill. The
	// other methods must not be called any more; when the session returns,
	// whatever its Next says, the engine calls Closed and nothing else.
	Detach(w *Work) (net.Conn, error)
	// Watch calls gone once if the peer ends its side (reset false) or breaks
	// the connection (reset true) before stop is called. When stop returns,
	// gone is not running and won't be called. Bytes that arrive are left for
	// the next Fill or Feed.
	Watch(gone func(reset bool)) (stop func())
}
