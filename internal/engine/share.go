package engine

// How a session that runs handlers in Feed keeps its connection going if one of them
// blocks: it shares the connection meanwhile. See Conn.Share.

// Sharer is a call of Feed or Stall that shares its connection. Conn.Share returns it.
// It belongs to the goroutine of that call and says nothing to others; the engine uses
// it again when the call has returned.
type Sharer struct {
	wk    *worker // of Event
	state sharing // of Event: of this call, as far as its goroutine knows
	// turn says when it was shared: on Event it is connMore.takeovers, on Block
	// blockShare.word.
	turn uint64
}

// sharing is what has become of the connection of a Sharer.
type sharing uint8

const (
	keeps  sharing = iota // the goroutine owns it
	shares                // another one may have it by now
	lost                  // another one has it, or it has ended
)
