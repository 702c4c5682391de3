package ws

import (
	"time"

	"github.com/galehttp/gale"
)

// QueuePolicy says what happens if a peer reads so slowly that the queue of unsent bytes
// would exceed Options.MaxQueue.
type QueuePolicy uint8

// The policies. Stats counts how often each was applied.
const (
	// QueueClose closes the connection: with StatusTryAgainLater if the close frame can
	// still be sent. If the peer takes nothing, the connection ends without it, at once or
	// after Options.CloseTimeout. The call that writes returns ErrQueueFull.
	QueueClose QueuePolicy = iota
	// QueueDrop drops the message. The call that writes returns ErrQueueFull.
	QueueDrop
	// QueueWait makes the call that writes wait until there is room. Topics never wait:
	// for them it is like QueueDrop.
	QueueWait
)

// Compression has the settings of permessage-deflate (RFC 7692).
type Compression struct {
	// Threshold is the size in bytes from which on messages are compressed. 0 means 512
	// bytes; negative means all messages.
	Threshold int
	// Level is the level of compression from 1 (fastest) to 9 (smallest). 0 means 1.
	Level int
	// SendTakeover keeps the last bytes that were sent, so that a message can refer to
	// earlier ones (context takeover, RFC 7692 section 7.1.1). It makes small messages that
	// are alike much smaller, and costs up to 2^SendBits bytes for each connection, all
	// the time. ReceiveTakeover lets the peer do so, at the same cost here.
	SendTakeover, ReceiveTakeover bool
	// SendBits and ReceiveBits limit the window to 2^bits bytes, from 9 to 15. 0 means 15.
	SendBits, ReceiveBits int
}

// Options has the settings of a server's WebSockets. The zero value, and nil, have the
// defaults. Connections share their Options, which must not be changed or copied after
// the first call of Accept or Serve.
type Options struct {
	noCopy noCopy

	// Origins are the origins of web pages that may open a WebSocket, such as
	// "https://example.com" or "https://*.example.com", besides pages of the same host. "*"
	// allows all. An origin has a scheme. A wildcard stands for one label. A request without
	// an Origin header, which browsers never send, is always allowed. If a page isn't allowed,
	// the answer is 403. See RFC 6455 section 10.2.
	Origins []string
	// CheckOrigin, if it isn't nil, decides instead of Origins.
	CheckOrigin func(ctx *gale.RequestCtx) bool
	// Subprotocols are the application protocols that the server knows, the preferred
	// ones first (RFC 6455 section 1.9). The first one that the client offers is chosen.
	Subprotocols []string

	// MaxMessage is the largest message in bytes, after decompression (default 1 MiB). A
	// larger one is refused with StatusTooBig as soon as its declared length shows it,
	// before memory is allocated. Negative means no limit.
	MaxMessage int64
	// MaxCompressed is the largest message in bytes as it is sent, if it is compressed.
	// The default is MaxMessage.
	MaxCompressed int64
	// MaxControl is how many pings and pongs a peer may send in a second, in the mean; it
	// may send as many more at once (default 100). A peer that sends more is closed with
	// StatusPolicy. Frames without data in a fragmented message count too. Negative, and
	// more than a million, means no limit.
	MaxControl int

	// PingInterval is how long nothing may have been received before a ping is sent. The
	// default is half of IdleTimeout; negative means no pings. Until something is received,
	// there is no other ping, unless IdleTimeout is negative.
	PingInterval time.Duration
	// IdleTimeout is how long nothing may have been received, not even a pong, before the
	// connection is closed (default 1 minute). A peer that takes a message for which it
	// must make room isn't idle. After that it may be silent for up to twice as long, because
	// buffers may still be full. Negative means no limit.
	IdleTimeout time.Duration
	// MaxLifetime is how long a WebSocket may be open before it is closed with
	// StatusGoingAway. 0 means no limit.
	MaxLifetime time.Duration
	// CloseTimeout is how long the closing handshake may take (default 5 s).
	CloseTimeout time.Duration
	// WriteTimeout is how long the peer may take nothing while there are bytes to send
	// (default 30 s). Then the connection is closed. Negative means no limit.
	WriteTimeout time.Duration

	// MaxQueue is how many bytes may wait to be sent (default 1 MiB), of one connection,
	// apart from about 64 KiB that the server may be writing. Output of a callback of a
	// Socket waits until it returns. If nothing waits, a message of any size is accepted.
	// QueuePolicy says what happens otherwise. For a Conn, only messages of Topics are
	// queued, and each counts for 64 bytes more than its frame, or, if this side is the
	// client, than its buffer, which has at least 512 bytes; Write waits for the peer itself.
	MaxQueue    int
	QueuePolicy QueuePolicy

	// Compression turns on permessage-deflate for clients that offer it. nil, the default,
	// means no compression.
	Compression *Compression

	shared shared
}

// Stats counts what happened to the WebSockets that share an Options.
type Stats struct {
	// Open is the number of WebSockets that are open now.
	Open int64
	// Accepted is the number of WebSockets that were opened, and Refused the number of
	// requests that got an error status instead.
	Accepted, Refused uint64
	// Dropped is the number of messages that were dropped because a queue was full.
	// QueueClosed is the number of WebSockets that were closed for that reason, and Waits
	// how often a call had to wait.
	Dropped, QueueClosed, Waits uint64
	// IdleClosed, LifetimeClosed, ControlClosed and TooBig count WebSockets that were
	// closed because of IdleTimeout, MaxLifetime, MaxControl, and MaxMessage or
	// MaxCompressed.
	IdleClosed, LifetimeClosed, ControlClosed, TooBig uint64
	// Panics is the number of WebSockets that were closed because a callback panicked.
	Panics uint64
}
