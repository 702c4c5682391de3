package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/galehttp/gale/tests/harness/gate"
)

// events are all bits that can be posted.
var events = []struct {
	bit  uint32
	name string
}{
	{evIn, "in"}, {evOut, "out"}, {evHup, "hup"}, {evReset, "reset"}, {evTimeout, "timeout"}, {evStop, "stop"},
	{evKill, "kill"}, {evInterrupt, "interrupt"}, {evCut, "cut"}, {evTurn, "turn"}, {evUrgent, "urgent"}, {evWake, "wake"},
}

// wordStates are the states in which a connection can be.
func wordStates() (all []uint32) {
	for _, who := range []uint32{0, isIdle, isOwned, isOwned | isWaiting, isShared, isShared | isOffered, isOwned | isTaken} {
		for flags := range uint32(16) {
			s := who
			for i, flag := range []uint32{isWriting, isServed, isWatched, isClosed} {
				if flags>>i&1 != 0 {
					s |= flag
				}
			}
			switch {
			case s&isWatched != 0 && s&isOwned == 0:
				continue // a watch ends with its message
			case s&isClosed != 0 && s&(isOwned|isWaiting|isTaken) != isOwned:
				continue // only an owner closes, and after its visit has begun
			}
			all = append(all, s)
		}
	}
	return all
}

func wordName(word uint32) string {
	s := ""
	for _, ev := range events {
		if word&ev.bit != 0 {
			s += "+" + ev.name
		}
	}
	for i, name := range []string{"owned", "waiting", "writing", "room", "watched", "idle", "served", "closed", "shared", "offered", "taken"} {
		if word&(isOwned<<i) != 0 {
			s += " " + name
		}
	}
	return "[" + s + "]"
}

// wordConn returns a connection with a word, a channel to wake its owner, and a watch.
func wordConn(word uint32) (c *eventConn, told chan bool) {
	told = make(chan bool, 2)
	c = new(eventConn)
	c.word.Store(word)
	c.extra().wake = make(chan struct{}, 1)
	c.extra().watch.Store(&eventWatch{gone: func(reset bool) { told <- reset }})
	return c, told
}

// wantWord checks a connection after an operation: its word, and whether its owner was
// woken.
func wantWord(t *testing.T, what string, c *eventConn, word uint32, woken bool) {
	t.Helper()
	if got := c.word.Load(); got != word {
		t.Errorf("%s: the word is %s, want %s", what, wordName(got), wordName(word))
	}
	if n := len(c.more.Load().wake); (n == 1) != woken {
		t.Errorf("%s: the owner was woken %d times, want it woken: %v", what, n, woken)
	}
}

// The events that may end the wait for room wake the goroutine that waits for it,
// whatever else is posted and whether or not the owner waits. A new deadline wakes it,
// too. Nothing else does.
func TestWordRoom(t *testing.T) {
	for _, who := range []uint32{isOwned, isOwned | isWaiting, isOwned | isWriting} {
		for _, ev := range events {
			for _, wants := range []bool{false, true} {
				c, _ := wordConn(who)
				if wants {
					c.wantRoom()
				} else {
					c.extra().room = make(chan struct{}, 1)
				}
				c.post(ev.bit)
				c.post(ev.bit) // one value in the channel is enough
				told := len(c.more.Load().room) == 1
				switch ev.bit {
				case evOut, evHup, evReset, evKill, evCut:
					if told != wants {
						t.Errorf("%s posted to %s: the writer was told: %v, want %v", ev.name, wordName(who), told, wants)
					}
				default:
					if told {
						t.Errorf("%s posted to %s: the writer was told", ev.name, wordName(who))
					}
				}
			}
		}
		c, _ := wordConn(who)
		c.wantRoom()
		if c.nudge(); len(c.more.Load().room) != 1 {
			t.Errorf("nudge of %s: the writer was not told", wordName(who))
		}
	}
}

// What each event does in each state, alone and together with another event that was
// posted before:
//
//	closed                  nothing
//	out, but not writing    nothing
//	free, idle              the caller owns it, and the event is not in the word
//	owned                   the event waits for the owner
//	owned, waiting          the same, and the owner wakes up
//	owned, watched          the same, and after hup or reset the watch is told
//	shared                  the event waits for the next owner, and the connection is offered
func TestWordPost(t *testing.T) { synctest.Test(t, testWordPost) }

func testWordPost(t *testing.T) {
	type both struct {
		name string
		bits uint32
	}
	var posts []both
	for i, a := range events {
		posts = append(posts, both{a.name, a.bit})
		for _, b := range events[i+1:] {
			posts = append(posts, both{a.name + "+" + b.name, a.bit | b.bit})
		}
	}
	for _, state := range wordStates() {
		for _, waits := range append(posts, both{}) {
			if waits.bits != 0 && (state&(isOwned|isOffered) == 0 || state&isWaiting != 0) {
				continue // an owner that released, or parked, has handled all events
			}
			if state&isWriting == 0 && waits.bits&evOut != 0 {
				continue
			}
			for _, ev := range posts {
				before := state | waits.bits
				what := fmt.Sprintf("%s posted to %s", ev.name, wordName(before))
				c, told := wordConn(before)
				mine, offers := c.tell(ev.bits)
				matters := ev.bits
				if state&isWriting == 0 {
					matters &^= evOut
				}
				tells := false
				switch {
				case state&isClosed != 0 || matters == 0:
					if wantWord(t, what, c, before, false); mine {
						t.Errorf("%s: the caller owns it, want that nothing has happened", what)
					}
				case state&isShared != 0:
					if wantWord(t, what, c, before|matters|isOffered, false); mine || !offers {
						t.Errorf("%s: the caller owns it: %v, must offer it: %v", what, mine, offers)
					}
					offers = false
				case state&isOwned == 0:
					if wantWord(t, what, c, before&^isIdle|isOwned, false); !mine {
						t.Errorf("%s: the caller does not own it, and nobody does", what)
					}
				default:
					if wantWord(t, what, c, (before|matters)&^isWaiting, state&isWaiting != 0); mine {
						t.Errorf("%s: there are two owners", what)
					}
					tells = state&isWatched != 0 && matters&(evHup|evReset) != 0
				}
				if offers {
					t.Errorf("%s: the caller must offer it", what)
				}
				if state&isWatched != 0 {
					synctest.Wait() // another goroutine tells the watch
				}
				if tells && len(told) == 0 {
					t.Errorf("%s: the watch was not told", what)
				} else if tells {
					if reset := <-told; reset != (ev.bits&evReset != 0) {
						t.Errorf("%s: the watch was told of a reset: %v", what, reset)
					}
				} else if len(told) > 0 {
					t.Errorf("%s: the watch was told", what)
				}
			}
		}
	}
}

// What the other operations do in each state, with each event that may have been posted.
func TestWordOperations(t *testing.T) {
	for _, state := range wordStates() {
		for _, ev := range append(events, events[0]) {
			before := state | ev.bit
			if state&(isOwned|isOffered) == 0 || state&isWaiting != 0 {
				before = state // see TestWordPost
			}
			c, _ := wordConn(before)
			what := "unshare of " + wordName(before)
			if mine := c.unshare(); mine != (state&isShared != 0) {
				t.Errorf("%s: the caller owns it: %v, want it for those that are shared alone", what, mine)
			} else if mine {
				wantWord(t, what, c, before&^(isShared|isOffered)|isOwned, false)
			} else {
				wantWord(t, what, c, before, false)
			}

			c, _ = wordConn(before)
			what = "claimOffered of " + wordName(before)
			if mine := c.claimOffered(); mine != (state&isOffered != 0) {
				t.Errorf("%s: the caller owns it: %v, want it for those that are offered alone", what, mine)
			} else if mine {
				wantWord(t, what, c, before&^(isShared|isOffered)|isOwned|isTaken, false)
			} else {
				wantWord(t, what, c, before, false)
			}

			c, _ = wordConn(before)
			what = "nudge of " + wordName(before)
			c.nudge()
			if state&isOwned != 0 && state&isClosed == 0 {
				wantWord(t, what, c, before&^isWaiting|evTimeout, state&isWaiting != 0)
			} else {
				wantWord(t, what, c, before, false)
			}

			c, _ = wordConn(before)
			what = "claimIdle of " + wordName(before)
			if mine := c.claimIdle(); mine != (state&isIdle != 0) {
				t.Errorf("%s: the caller owns it: %v, want it for those that are idle alone", what, mine)
			} else if mine {
				wantWord(t, what, c, before&^isIdle|isOwned, false)
			} else {
				wantWord(t, what, c, before, false)
			}

			if state&(isOwned|isWaiting) != isOwned {
				continue // the rest is for an owner that runs
			}
			lasts := ev.bit&(evInterrupt|evCut) != 0 // those are kept like states
			c, _ = wordConn(before)
			what = "take of " + wordName(before)
			if got := c.take(); lasts && got != 0 || !lasts && got != ev.bit {
				t.Errorf("%s: got %s", what, wordName(got))
			}
			if lasts {
				wantWord(t, what, c, before, false)
			} else {
				wantWord(t, what, c, before&^ev.bit, false)
			}

			for _, idle := range []bool{false, true} {
				c, _ = wordConn(before)
				what = fmt.Sprintf("release of %s, idle: %v", wordName(before), idle)
				switch free := c.release(idle); {
				case free != lasts:
					t.Errorf("%s returned %v; an event that waits keeps the owner", what, free)
				case !free:
					wantWord(t, what, c, before, false)
				case idle:
					wantWord(t, what, c, before&^isOwned|isIdle, false)
				default:
					wantWord(t, what, c, before&^isOwned, false)
				}
			}

			for _, more := range []bool{false, true} {
				c, _ = wordConn(before)
				what = fmt.Sprintf("share of %s, more: %v", wordName(before), more)
				offered := more || !lasts // an event is something to do
				if got := c.share(more); got != offered {
					t.Errorf("%s: it is offered: %v", what, got)
				}
				want := before&^isOwned | isShared
				if offered {
					want |= isOffered
				}
				wantWord(t, what, c, want, false)
			}

			c, _ = wordConn(before)
			what = "await of " + wordName(before)
			if got := c.await(ev.bit | evKill); got != ev.bit {
				t.Errorf("%s: got %s", what, wordName(got))
			}
			if lasts || ev.bit == evKill {
				wantWord(t, what, c, before, false) // the next wait must end, too
			} else {
				wantWord(t, what, c, before&^ev.bit, false)
			}
		}
	}
}

// wordRace is a connection to which several goroutines post at random. Each event gets a
// number before it is posted, so that the test notices a lost event: no owner has seen
// its number.
type wordRace struct {
	t      *testing.T
	seed   uint64
	c      *eventConn
	owners atomic.Int32
	posted [32]atomic.Int64 // by bit
	over   atomic.Bool      // nothing is posted any more: don't park

	// These belong to the owner, so that the race detector notices two owners:
	rng    *rand.Rand
	seen   [32]int64
	parks  int
	visits int

	running sync.WaitGroup
}

// post posts ev, and starts a new owner if post made one.
func (r *wordRace) post(ev uint32, idleOnly bool) {
	if idleOnly {
		if r.c.claimIdle() {
			r.running.Go(func() { r.own(0) })
		}
		return
	}
	for i := range r.posted {
		if ev>>i&1 != 0 {
			r.posted[i].Add(1)
		}
	}
	if r.c.post(ev) {
		r.running.Go(func() { r.own(ev) })
	}
}

// saw records that the owner has seen ev.
func (r *wordRace) saw(ev uint32) {
	for i := range r.seen {
		if ev>>i&1 != 0 {
			r.seen[i] = r.posted[i].Load()
		}
	}
}

// own acts as an owner: it takes what was posted, parks now and then, and releases the
// connection when nothing is left.
func (r *wordRace) own(ev uint32) {
	for {
		if n := r.owners.Add(1); n != 1 {
			r.t.Errorf("seed %d: %d owners", r.seed, n)
		}
		r.visits++
		r.saw(ev)
		for r.rng.IntN(3) == 0 && !r.over.Load() {
			want := pending &^ (1 << r.rng.IntN(12)) // bits that are not in want stay
			got := r.c.await(want | evTimeout | evKill)
			if got&^(want|evTimeout|evKill) != 0 || got == 0 {
				r.t.Errorf("seed %d: await of %s returned %s", r.seed, wordName(want), wordName(got))
			}
			r.parks++
			r.saw(got)
		}
		r.owners.Add(-1) // right after release there may be another owner
		if r.c.release(r.rng.IntN(2) == 0) {
			return
		}
		if ev = r.c.take(); ev == 0 {
			r.t.Errorf("seed %d: the owner was kept, and nothing had happened", r.seed)
		}
	}
}

// While several goroutines post at the same time, no event is lost, and there are never
// two owners.
func TestWordRace(t *testing.T) {
	visits, parks := 0, 0
	for range 200 {
		seed := gate.Rand.Uint64()
		r := &wordRace{t: t, seed: seed, c: new(eventConn), rng: rand.New(rand.NewPCG(seed, 0))}
		r.c.set(isWriting) // so that evOut counts
		var posters sync.WaitGroup
		for i := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, i+1))
			posters.Go(func() {
				for range 2000 {
					if rng.IntN(8) == 0 {
						runtime.Gosched() // let owners run
					}
					ev, other := uint32(1)<<rng.IntN(12), uint32(1)<<rng.IntN(12)
					switch rng.IntN(8) {
					case 0:
						r.post(evStop, true)
					case 1:
						r.c.nudge()
					case 2:
						r.post(ev|other, false)
					default:
						r.post(ev, false)
					}
				}
			})
		}
		posters.Wait()
		r.over.Store(true)
		r.post(evKill, false) // wakes an owner that is parked
		r.running.Wait()
		for _, ev := range events {
			i := 0
			for ev.bit>>i != 1 {
				i++
			}
			if ev.bit&pending == 0 {
				continue // those are states, which others set
			}
			if seen, posted := r.seen[i], r.posted[i].Load(); seen != posted {
				t.Errorf("seed %d: %q was posted %d times, and the owners know of %d", seed, ev.name, posted, seen)
			}
		}
		if word := r.c.word.Load(); word&(isOwned|isWaiting|pending) != 0 {
			t.Errorf("seed %d: in the end the word is %s", seed, wordName(word))
		}
		visits, parks = visits+r.visits, parks+r.parks
	}
	if visits < 100 || parks < 100 {
		t.Errorf("%d visits and %d waits; want hundreds, or this test tells nothing", visits, parks)
	}
}
