package engine

// How the connection of a session that runs handlers in Feed goes on if one of them
// blocks: the session shares it while the handler runs. See Conn.Share.

// Sharer is a call of Feed or Stall that shares its connection. Conn.Share returns it. It
// belongs to the goroutine of that call; other goroutines must not use it. The engine
// uses it again when the call has returned.
type Sharer struct {
	wk    *worker // of Event
	state sharing // of Event: the state of this call, as far as its goroutine knows
	// turn identifies the last Share: it is connMore.takeovers at that time on Event, and
	// blockShare.word on Block.
	turn uint64
}

// sharing says what has happened to the connection of a Sharer.
type sharing uint8

const (
	keeps  sharing = iota // the goroutine owns it
	shares                // another goroutine may have it by now
	lost                  // another goroutine has it, or it has ended
)
