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
	// Open begins the session on c. It says what to do first in next, which is zero when
	// Open is called. It has no Work: a session that begins by sending something asks for
	// Flush, and is fed at once.
	Open(c Conn, next *Next)
	// Feed consumes a prefix of w.Unread (see Work.Consume), appends output to w.Out and
	// says what to do next in next, which is zero when Feed is called. It must keep
	// neither w and its slices nor next after it returns. After Flush and Waker.Wake
	// there may be no new bytes.
	Feed(w *Work, next *Next)
	// Stall is called instead of Feed when a Read ended without bytes. why is a timeout
	// (see IsTimeout), io.EOF or the error that broke the connection.
	Stall(w *Work, why error, next *Next)
	// Hijacked gets the connection after Hijack. It runs on a goroutine of its own, and
	// the engine does not use the connection any more.
	Hijacked(c net.Conn)
	// Closed ends the session because of err: nil after Close, after Detach and if the
	// engine closed the connection because it was idle; ErrSwitched if another session
	// goes on with the connection. It is called once, even if Open panicked, but not for
	// a session that was hijacked. No other method is called after it. After Conn.Detach
	// the engine has not closed the connection, which may be in use.
	Closed(err error)
	// Panicked is called with the value of a panic in a method of the connection, on a
	// goroutine of the engine where nothing else can recover it. The connection ends.
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
	// Linger says, for Close, that the peer may still be sending. The engine then ends
	// its own side and discards what comes for a while: closing at once would reset the
	// connection, and the answer might be lost.
	Linger bool
	// Reset says, for Abort, that the peer must see that the connection broke. A socket
	// is reset (RFC 9293 section 3.5.3), and TLS ends without its closure alert (RFC 8446
	// section 6.1). What the peer has not read by then may be lost. A
	// session whose call is ended by runtime.Goexit may have set it, too.
	Reset bool
	// Deadline is when Read gives up; zero means never.
	Deadline clock.Tick
	// File is sent after Out, for Flush, Close, Hijack and Switch.
	File *File
	// Session is the next session, for Switch.
	Session Session
}

// File is a range of a file to send.
type File struct {
	// F is read at explicit offsets. The file's own offset doesn't change.
	F      *os.File
	Off, N int64
	// Done, if it isn't nil, is closed when the range was sent or can't be sent.
	Done io.Closer
}

// Conn is the engine's side of one connection: what a session may use while a message is
// in flight. Only the goroutine that runs the session may call its methods, except those
// that say otherwise. This does not apply to the methods of the net.Conn that NetConn
// returns.
type Conn interface {
	// NetConn returns the connection that the engine serves. Sessions must not call its
	// Read and Write. They may use its addresses, TLS state and deadlines.
	NetConn() net.Conn
	// Fill blocks until bytes were added to w.Unread, or deadline has passed; zero means
	// never. io.EOF means that no more will come. Slices of w from before the call aren't
	// valid after it. Output in w.Out that the peer waits for must be flushed before.
	// While Fill runs, another goroutine may use w.Out and the methods that write: Flush,
	// WriteBody, SetWriteTimeout and SetWriteDeadline.
	Fill(w *Work, deadline clock.Tick) error
	// FillInto is Fill, except that the bytes are read into b if b isn't empty and nothing
	// is unread. landed is how many were. If it is 0 and err is nil, bytes were added to
	// w.Unread. b belongs to the caller again when FillInto returns. A Fill or FillInto
	// drops the buffer of ReadInto.
	FillInto(w *Work, b []byte, deadline clock.Tick) (landed int, err error)
	// ReadInto may be called before the session returns and asks for Read. If nothing is
	// unread when bytes arrive, they are read into b, which must not be empty, instead of
	// the workspace. In Feed, Work.Landed tells how many. b belongs to the engine until
	// the session is called again.
	ReadInto(b []byte)
	// Interrupt makes Fill fail from now on, including one that is running. Any goroutine
	// may call it. A read for which the session has returned may wait on until something
	// else happens: who wants to end that must call Waker.Wake after Interrupt.
	Interrupt()
	// Flush writes w.Out and empties it.
	Flush(w *Work) error
	// WriteBody writes w.Out and then b, with one system call if it can, and empties
	// w.Out.
	WriteBody(w *Work, b []byte) error
	// LeaveBody is WriteBody for the end of a message. The engine may keep a copy of what
	// the peer doesn't take now, and write it after the session has returned. left
	// reports whether it does. Then the session must return at once, and ask for Flush,
	// Close or Hijack.
	LeaveBody(w *Work, b []byte) (left bool, err error)
	// Stopping reports whether the connection must end soon: the engine drains, or closes
	// the connection once it is idle. The session must then tell the peer. When the
	// engine begins to drain, and when it stops, a session that has a Waker is fed,
	// unless its connection is closed because it is idle. Once true, Stopping stays true.
	Stopping() bool
	// InterruptWrites makes writes fail from now on, including one that waits. Any
	// goroutine may call it. Output that the engine writes after the session has returned
	// may wait on until something else happens: who calls InterruptWrites when that is
	// possible must call Waker.Wake after it.
	InterruptWrites()
	// SetWriteTimeout limits the time of each write that follows to d, and the time
	// without progress in a write to stall. 0 means no limit. On Event, d also limits
	// only the time without progress.
	SetWriteTimeout(d, stall time.Duration)
	// SetWriteDeadline sets when all of the writes that follow must have ended. 0 means
	// never.
	SetWriteDeadline(t clock.Tick)
	// Lend must be called, while a message is in flight, before the program gets NetConn.
	// Deadlines that the program sets there then apply to Fill and all writes, in
	// addition to the engine's limits, until the session has returned and its output is
	// written. After this message the session must ask for Flush or Read.
	Lend()
	// Detach takes the connection out of the engine while a message is in flight. It
	// returns the connection as Hijacked would get it, whose Read returns the unread
	// bytes first. Detach writes w.Out before. No goroutine may be in Fill. After Detach
	// the other methods must not be called. When the session returns, the engine ignores
	// its Next and calls only Closed.
	Detach(w *Work) (net.Conn, error)
	// Watch calls gone, once, if the peer ends its side (reset is false) or breaks the
	// connection (reset is true) before stop is called. When stop returns, gone is not
	// running and won't be called. Only the goroutine that runs the session may call Watch
	// and stop. Bytes that arrive stay for the next Fill or Feed.
	Watch(gone func(reset bool)) (stop func())
	// Share is called in Feed or Stall before something that may block, such as a
	// handler. From now on another goroutine may call the session (Feed, Stall, Closed),
	// as if this call had returned and asked for Read until deadline; zero means never.
	// It takes the connection over when there is something to do and this goroutine
	// doesn't go on. more says that there already is something to do, apart from output
	// in w.Out: then Feed is called without new bytes. The caller must not use w any
	// more. Of the connection it may use only Unshare, PassOn and what any goroutine may
	// call.
	//
	// Unshare ends the sharing. If it returns true, no other goroutine has called the
	// session meanwhile, and w belongs to the caller again, unchanged. If it returns
	// false, the call is lost: another goroutine has the connection, or the connection
	// has ended. Then the session must return at once, and must not use its w and next.
	// It leaves output for the peer where Feed finds it, and calls Waker.Wake. The
	// session must not return after Share without Unshare. Once it has shared, it may ask
	// only for Read, Flush, Close and Abort, and must not use Watch, Lend, Fill and
	// Detach.
	//
	// Only the goroutine that called Share may call Unshare. It may call Share and
	// Unshare again, any number of times: to flush, for example.
	//
	// Closed may be called while calls that lost the connection still run. Before they
	// have returned, nothing of the connection is used again, and the engine doesn't
	// report the end of the session. If one of these calls panics, the connection ends.
	// If one that has lost or passed on the connection ends by runtime.Goexit, the
	// connection goes on.
	Share(w *Work, more bool, deadline clock.Tick) *Sharer
	Unshare(s *Sharer) (w *Work, ok bool)
	// PassOn is called while the connection is shared, by the goroutine that may call
	// Unshare, before it waits for something that only the peer or another stream can
	// bring. Another goroutine then takes the connection over at once. After PassOn,
	// Unshare returns false.
	PassOn(s *Sharer)
	// Waker returns the Waker of the session, by which any goroutine can make the engine
	// feed it. It is always the same for a session. A connection whose session never
	// calls Waker pays nothing for it.
	Waker() *Waker
	// UseWaker may be called in Open, before Waker. It makes k the Waker, so that a session
	// can have it in its own memory. k must be new, and that memory must not be used again
	// while other goroutines may keep k.
	UseWaker(k *Waker)
}
