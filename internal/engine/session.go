package engine

import (
	"io"
	"net"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Session is the protocol side of one connection, or of a part of its life: see
// Switch. One goroutine at a time calls it.
type Session interface {
	// Open begins the session on c and says what to do first in next, which is
	// zero when it is called. It has no Work: a session that begins by sending
	// something wants Flush, and is fed at once.
	Open(c Conn, next *Next)
	// Feed consumes a prefix of w.Unread (see Work.Consume), appends output to
	// w.Out and says what to do next in next, which is zero when it is
	// called. Nothing of w and next may be kept after return. After Flush and
	// Waker.Wake there need not be new bytes.
	Feed(w *Work, next *Next)
	// Stall is called instead of Feed when a Read ended without bytes: why is
	// a time-out (see IsTimeout), io.EOF or whatever broke the connection.
	Stall(w *Work, why error, next *Next)
	// Hijacked takes over the connection after Hijack. It runs on a
	// goroutine of its own; the engine has forgotten the connection.
	Hijacked(c net.Conn)
	// Closed ends the session; err is why, nil after Close, and ErrSwitched if
	// another session goes on with the connection. It is called once, also
	// if Open panicked, and not after Hijacked; no other method is called after it. After Conn.Detach the
	// connection is not closed by the engine, and may be in use.
	Closed(err error)
	// Panicked is called with what a method of the connection has panicked
	// with in a goroutine of the engine, where nothing else can recover it. The
	// connection ends.
	Panicked(recovered any)
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
	Switch
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
	// Reset says, for Abort, that the peer must see that the connection broke: a
	// socket is reset (RFC 9293 section 3.5.3), TLS ends without its closure alert
	// (RFC 8446 section 6.1). What the peer has not read by then may be lost.
	Reset bool
	// Deadline is when Read gives up; zero means never.
	Deadline clock.Tick
	// File is sent after Out, for Flush, Close, Hijack and Switch.
	File *File
	// Session is the one that goes on, for Switch.
	Session Session
}

// File is a range of a file to send.
type File struct {
	// F is read at explicit offsets; its own offset is left alone.
	F      *os.File
	Off, N int64
	// Done is closed when the range was sent or can't be.
	Done io.Closer
}

// Conn is the engine's side of one connection: what a session may use while a
// message is in flight. Its methods belong to the goroutine that runs the
// session, except those that say otherwise and those of NetConn.
type Conn interface {
	// NetConn returns the connection that the engine serves. Its Read and
	// Write are not for sessions; addresses, TLS state and deadlines are.
	NetConn() net.Conn
	// Fill blocks until bytes were added after w.Unread, at most until deadline (zero:
	// forever). io.EOF means that no more will come. Slices of w from before aren't valid
	// after it. What is in w.Out must have been flushed if the peer waits for it. While Fill
	// runs, another goroutine may use w.Out and what writes: Flush, WriteBody,
	// SetWriteTimeout and SetWriteDeadline.
	Fill(w *Work, deadline clock.Tick) error
	// ReadInto is called before the session returns and wants Read: bytes that arrive
	// while nothing is unread are read into b, which is not empty, and not into the
	// workspace. Feed learns from Work.Landed how many did. b is the engine's until the
	// session is called again.
	ReadInto(b []byte)
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
	// Stopping reports whether the connection must end soon, which the peer must be
	// told: the engine drains, or closes the connection once it is idle. Where this
	// changes, a session that has a Waker is fed, unless its connection is closed for
	// being idle. It stays true.
	Stopping() bool
	// InterruptWrites makes writes fail from now on, one that waits included. Any
	// goroutine may call it.
	InterruptWrites()
	// SetWriteTimeout bounds each of the writes that follow by d, and by stall the
	// time in which the peer takes nothing of one; 0 means no bound.
	SetWriteTimeout(d, stall time.Duration)
	// SetWriteDeadline bounds all of the writes that follow, until it is called
	// with 0.
	SetWriteDeadline(t clock.Tick)
	// Lend is called, while a message is in flight, before a program gets NetConn.
	// Deadlines that it sets on that bound Fill and all writes, beside those of
	// the engine, until the session has returned and what it left is written. The
	// session must want Flush or Read after this message.
	Lend()
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
	// Share is called in Feed or Stall before something that may block, such as a handler.
	// From now on another goroutine may call the session (Feed, Stall, Closed), as if this
	// call had returned and wanted Read until deadline; zero means never. It takes the
	// connection over when there is something to do and this goroutine doesn't go on. more
	// says that there is something already, beside output in w.Out: then Feed is called,
	// without new bytes. The caller must not use w any more, nor the connection, except
	// Unshare, PassOn and what any goroutine may call.
	//
	// Unshare ends it. If it returns true, no goroutine has called the session meanwhile, and w
	// is the caller's again, as it was. If it returns false, another goroutine has the
	// connection, or it has ended: the session must return at once, without a look at its
	// w or next. What it has for the peer it leaves where Feed finds it, and calls
	// Waker.Wake. The session must return neither while it shares nor want anything but
	// Read, Flush, Close and Abort, once it has shared. Watch, Lend, Fill and Detach are
	// not for it.
	//
	// The goroutine that called Share, and no other, may call Unshare and Share again,
	// any number of times: to flush, for example.
	//
	// Closed may be called while calls that lost the connection run. Nothing of
	// the connection is used again, and the session isn't given back, before they have
	// returned. If one of them ends by a panic, the connection ends. One that has lost or
	// passed on the connection may end by runtime.Goexit: the connection goes on.
	Share(w *Work, more bool, deadline clock.Tick) *Sharer
	Unshare(s *Sharer) (w *Work, ok bool)
	// PassOn is called while the connection is shared, by the goroutine that may call
	// Unshare, before it waits for something that only the peer or another stream can
	// bring: another goroutine takes the connection over at once. Unshare returns false
	// after it.
	PassOn(s *Sharer)
	// Waker returns what any goroutine may use to make the engine call Feed: always the
	// same for a session. Connections whose sessions never ask for it don't pay.
	Waker() *Waker
}
