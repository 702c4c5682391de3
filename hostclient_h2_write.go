package gale

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/galehttp/gale/internal/h2"
)

// claim makes the caller the goroutine that writes, if there is something to write and no
// goroutine does, under mu. It must call flush then.
func (hc *sharedConn) claim() bool {
	if hc.writing || hc.stage == sharedOver || len(hc.out) == 0 && !hc.proto.CanSend() && !(hc.stage == sharedEnding && hc.proto.Streams() == 0) {
		return false
	}
	hc.writing = true
	return true
}

// flushPatiently is flush for a goroutine that does nothing else.
func (hc *sharedConn) flushPatiently() { hc.flush(h2Stays) }

// flushApart is flush on a goroutine of its own.
func (hc *sharedConn) flushApart() { go hc.writeFn() }

// unlockToFlush releases mu after something has ended, wakes the calls that it concerns, and writes what
// there is to write, without waiting for the server.
func (hc *sharedConn) unlockToFlush() {
	mine := hc.claim()
	hc.wakeAll()
	hc.unlock()
	if mine {
		hc.flush(h2Tries)
	}
}

// h2Patience says how a goroutine writes.
type h2Patience uint8

const (
	h2Tries h2Patience = iota // it doesn't wait for the server
	h2Waits                   // it may wait, but has something else to do
	h2Stays                   // it may wait, and writes as long as there is something to write
)

// maxH2Rounds is how often a goroutine that has something else to do writes for others before
// another goroutine continues.
const maxH2Rounds = 4

// flush writes what is in out, and what is added meanwhile. The caller has claimed that. If it
// can't do all, another goroutine continues.
func (hc *sharedConn) flush(how h2Patience) {
	fine := false
	defer func() {
		if !fine { // a method of the user's connection panicked, or ended the goroutine
			err := io.ErrUnexpectedEOF
			if p := recover(); p != nil {
				err = fmt.Errorf("gale: writing to a %T panicked: %v\n%s", hc.Conn(), p, debug.Stack())
			}
			hc.end(err)
		}
	}()
	if hc.active.Load() > 1 {
		runtime.Gosched() // lets other calls add their requests, so that one write sends them all
	}
	for round := 0; ; round++ {
		b := hc.nextOut()
		if b == nil {
			break
		}
		tries := how != h2Stays && hc.conn.CanTry()
		if how != h2Stays && round == maxH2Rounds || how == h2Tries && !tries {
			hc.unsent = b
			hc.flushApart()
			break
		}
		var n int
		var err error
		if tries {
			n, err = hc.conn.TryWrite(b)
		} else {
			n, err = hc.conn.Write(b)
		}
		if err != nil {
			hc.writeFailed(b[n:], err)
			break
		}
		if hc.unsent = b[n:]; len(hc.unsent) > 0 { // the socket is full
			hc.flushApart()
			break
		}
	}
	fine = true
}

// writeFailed is called when a write has failed and rest was not written. No goroutine writes
// any more: writing stays set. The reader goes on: answers may have come before, and
// a GOAWAY that says which requests the server has not processed. It ends the connection when
// it has read all, or tick does after h2EndLimit.
func (hc *sharedConn) writeFailed(rest []byte, err error) {
	hc.mu.Lock()
	readerIsGone := hc.proto.Failed()
	if hc.stage != sharedOver && !readerIsGone {
		hc.taken -= uint64(len(rest))
		hc.unsent, hc.mute, hc.cause = nil, true, err
		hc.advance(sharedEnding)
		hc.upkeep.hurry(hc)
		loss := hc.lossOf(err)
		hc.proto.All(func(st *h2.Stream) bool {
			if s := h2CallOf(st); s.from >= hc.taken { // nothing of it was written
				s.lose(loss)
			}
			return true
		})
		hc.wakeAll()
	}
	hc.unlock()
	if readerIsGone {
		hc.end(err)
	}
}

// isMute reports whether the reader must end the connection, because no goroutine writes.
func (hc *sharedConn) isMute() bool {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	return hc.mute
}

// nextOut returns what must be written next. If that is nil, there is nothing, and the caller
// doesn't write any more.
func (hc *sharedConn) nextOut() (b []byte) {
	if len(hc.unsent) > 0 {
		return hc.unsent
	}
	hc.mu.Lock()
	hc.fill()
	hc.maybeEnd()
	if len(hc.out) == 0 || hc.stage == sharedOver {
		hc.writing, hc.unsent = false, nil
		last := hc.stage == sharedEnding
		hc.wakeAll()
		hc.unlock()
		if last {
			hc.end(nil)
		}
		return nil
	}
	b = hc.out
	hc.out, hc.spare = hc.spare[:0], b
	hc.taken += uint64(len(b))
	hc.writes++
	hc.wakeAll()
	hc.unlock()
	return b
}

// fill adds data of the streams that can send to out, in their order, until it is full. It is
// called under mu.
func (hc *sharedConn) fill() {
	for len(hc.out) < maxH2Sent {
		st := hc.proto.Next()
		if st == nil {
			return
		}
		h2CallOf(st).sendOn()
	}
}
