package ws

import (
	"encoding/json"
	"net"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// Socket is a WebSocket that a Handler serves. Any goroutine may call its methods, also
// after the end: then those that write return ErrClosed.
//
// Writing doesn't wait for the peer, except with QueueWait, and except when OnMessage
// sends the data that it got, if that is large: the peer must then take most of it. What the
// connection can't take at once waits in a queue, see Options.MaxQueue.
//
// While a callback of the same Socket runs, output is collected, and counts for MaxQueue. It
// is sent with one write when the callback, or the last one of several for messages that
// arrived together, has returned.
type Socket struct {
	c      *gale.UpgradedConn // set before OnOpen
	h      Handler
	params *params
	value  any
	subs   memberships // the topics that it has subscribed to

	// The flags are written with mu held. Any goroutine may read them.
	flags atomic.Uint32

	// The goroutine that runs a callback uses these fields.
	rest   uint32 // length of the input that the last call of Received left unread
	reader wsframe.Reader
	heard  clock.Tick // when something was received; when it is closing, when CloseTimeout ends
	tokens uint32     // see mayControl
	expiry uint32     // when its life ends; see coarse

	mu  sync.Mutex // of what follows
	q   *queue     // nil if nothing waits
	in  *incoming  // nil if no large message is being received; also read by the goroutine that runs a callback
	end *CloseError
	z   *takeover
}

// incoming is a large message that is being received, or that OnMessage has. It comes from
// a pool.
type incoming struct {
	// The goroutine that runs a callback uses these fields.
	op         wsframe.Opcode
	compressed bool
	buf        *pool.Buf // what has arrived, if the message comes in pieces
	left       int64     // how many bytes of the current frame are still to come

	lent *byte // begin of the data that OnMessage has, if it is large; Socket.mu guards it
}

// takeover has the windows of a connection whose sides keep them from message to message.
type takeover struct {
	in  wsframe.Inflater // the goroutine that runs a callback uses it
	out wsframe.Deflater // mu guards it
}

// The flags of a Socket.
const (
	inCall    = 1 << iota // a method of session runs
	outOpen               // output goes to UpgradedConn.Out; only with inCall
	outFull               // the connection must write what it has before it gets more
	outLeft               // Received will be called when that is written
	flushing              // a goroutine is in UpgradedConn.Flush
	woken                 // Wake was called, and no call of Received has begun since
	broken                // a write failed: Closed follows
	sentClose             // the close frame was sent or is in the queue: no more messages
	gotClose              // the peer's close frame is there
	lastly                // the connection ends when its output is written
	aborted               // Abort was called
	over                  // Closed was called
	pinged                // a ping was sent, and nothing has arrived since
	timed                 // heard is when CloseTimeout ends
)

func (s *Socket) is(flags uint32) bool { return s.flags.Load()&flags != 0 }
func (s *Socket) set(flags uint32)     { s.flags.Store(s.flags.Load() | flags) }
func (s *Socket) unset(flags uint32)   { s.flags.Store(s.flags.Load() &^ flags) }

// hold is the size in bytes of the largest message that stays in the server's read buffer
// until it has arrived. Then one system call reads several messages, and they aren't copied.
// Larger ones are read straight into a buffer of their own. The server keeps read buffers of
// up to twice this size. What has arrived of a message is kept in the stash of a connection
// if it is small.
const hold = 32<<10 - wsframe.MaxHeader

func newSocket(h Handler, p *params) *Socket {
	s := &Socket{h: h, params: p}
	config := wsframe.Config{Deflate: p.deflate.On, MaxMessage: p.maxMessage, Hold: hold}
	if p.deflate.On {
		config.MaxMessage = max(p.maxMessage, p.maxCompressed)
		// piece sees the header of a frame that exceeds the lower limit.
		config.Hold = int(min(hold, p.maxMessage, p.maxCompressed))
	}
	s.reader.Init(config)
	if p.takesOver {
		s.z = &takeover{
			in:  wsframe.NewInflater(p.deflate, false),
			out: wsframe.NewDeflater(p.deflate, false, p.compression.Level),
		}
	}
	return s
}

// Write sends a message. data belongs to the caller again when it returns. Text must be
// valid UTF-8, which isn't checked. The error is ErrClosed, ErrQueueFull or ErrMessageType.
// That it is nil doesn't mean that the peer has got the message.
func (s *Socket) Write(t MessageType, data []byte) error {
	if t != Text && t != Binary {
		return ErrMessageType
	}
	return s.writeMessage(wsframe.Opcode(t), data, true)
}

// WriteString is Write for a string.
func (s *Socket) WriteString(t MessageType, data string) error {
	return s.Write(t, bytesconv.S2B(data))
}

// WriteJSON sends v, encoded as JSON, as a text message. The error is that of Write or of
// encoding/json.
func (s *Socket) WriteJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.writeMessage(wsframe.Text, data, true)
}

// WritePrepared sends p. The error is ErrClosed or ErrQueueFull.
func (s *Socket) WritePrepared(p *Prepared) error { return s.writePrepared(p, true) }

// publish is WritePrepared, but never waits: QueueWait is like QueueDrop.
func (s *Socket) publish(p *Prepared) error { return s.writePrepared(p, false) }

func (s *Socket) memberships() *memberships { return &s.subs }

// Ping sends a ping. data has at most 125 bytes; what exceeds them isn't sent.
// Handler.OnPong gets the answer. The error is ErrClosed or ErrQueueFull.
func (s *Socket) Ping(data []byte) error {
	return s.write(wsframe.Ping, false, data[:min(len(data), wsframe.MaxControl)], true)
}

// Close begins the closing handshake (RFC 6455 section 7.1.2), after the messages that wait
// to be sent, and returns at once. OnMessage, OnPing and OnPong aren't called any more,
// except a call that has begun. OnClose is called when the peer has answered, or after
// Options.CloseTimeout; or, if the peer takes nothing of what waits, after
// Options.WriteTimeout. A code that must not be sent, such as 1005, is replaced with
// StatusNormal. reason must be UTF-8 and is cut to 123 bytes. If the WebSocket is closing or
// closed, Close does nothing and returns ErrClosed.
func (s *Socket) Close(code StatusCode, reason string) error {
	s.mu.Lock()
	if s.is(sentClose | over) {
		s.mu.Unlock()
		return ErrClosed
	}
	wake := s.sendClose(code, reason)
	s.mu.Unlock()
	if wake {
		s.c.Wake()
	}
	return nil
}

// Abort ends the connection at once, without a close frame. Messages that wait to be sent
// are dropped.
func (s *Socket) Abort() {
	s.mu.Lock()
	if s.is(aborted | over) {
		s.mu.Unlock()
		return
	}
	s.set(aborted | sentClose)
	s.q.wake()
	s.mu.Unlock()
	s.c.Kill(ErrClosed)
}

// Queued returns how many bytes wait to be sent, including the headers of frames. Bytes
// that the operating system has taken don't count.
func (s *Socket) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

// Value returns what SetValue has set. Both may be called only in callbacks of s, or while
// the program makes sure that no other goroutine does.
func (s *Socket) Value() any { return s.value }

// SetValue sets a value of the program that belongs to s, such as its user.
func (s *Socket) SetValue(v any) { s.value = v }

// Subprotocol returns the application protocol that was chosen, or "".
func (s *Socket) Subprotocol() string { return s.params.subprotocol }

// Compressed reports whether permessage-deflate was negotiated.
func (s *Socket) Compressed() bool { return s.params.deflate.On }

// LocalAddr returns the address of this side.
func (s *Socket) LocalAddr() net.Addr { return s.c.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (s *Socket) RemoteAddr() net.Addr { return s.c.RemoteAddr() }
