// Package count counts which words of memory the code of the library writes and reads, by
// the loop that does it. Package sites rewrites the library so that it calls these functions
// (see lab/scale/sites). Nothing else imports them, except the server of lab/scale.
//
// A word is an atomic variable, a lock, a channel or a field. A site is an operation in
// the source. A party is who writes: an event loop or, on the block engine, a processor.
// Each word has a model of a cache line that holds only this word: a write makes the
// writer the only party that has it, and a read adds the reader. A transfer is a write or
// read by a party that doesn't have it.
//
// Collection of garbage must be off while counting: memory that is used again would look
// shared.
package count

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// word is what happened to a word in its life, which begins with Reset or when a pool
// gives out the object that it is part of.
type word struct {
	at      uintptr
	has     map[int32]bool // parties that have it, as in a cache
	by      map[int32]int  // writes of each party
	last    int32          // the party that wrote last
	lastG   uintptr        // its goroutine
	written bool
	many    bool // several goroutines wrote it
	ops     map[int]*Ops
}

// Ops are operations of a site on a word or, in a report, on all words.
type Ops struct {
	Site           int
	Writes, Reads  int
	WriteTransfers int // writes by another party than the one before
	ReadTransfers  int // reads of what another party wrote since the last read
	SharedWrites   int // in a report: writes of words that several parties write
	SharedBy       int // in a report: the most parties that wrote one of these words
	Outside        int // writes by goroutines of no loop; they aren't in the other numbers
}

const shards = 1024

// shard has the words of some lines of 64 bytes, and the sums of words that have ended.
type shard struct {
	sync.Mutex
	lines map[uintptr][]*word
	ended map[int]*Ops
	_     [40]byte
}

const lineBits = 6

var table [shards]shard

func shardOf(line uintptr) *shard { return &table[(line^line>>10)%shards] }

var (
	on           atomic.Bool
	byProcessor  atomic.Bool
	byLine       atomic.Bool
	parties      atomic.Int32
	loops        sync.Map // of goroutines to their party, while they run in Enter
	loopNumbers  sync.Map // of loops to their party
	processors   = sync.Pool{New: func() any { n := parties.Add(1); return &n }}
	callsOfSites sync.Map // of sites to *atomic.Int64: operations without a word
)

// ByProcessor makes processors the parties, instead of loops.
func ByProcessor() { byProcessor.Store(true) }

// ByLine makes cache lines of 64 bytes the words. So words that share a line with others
// are seen. The counts of an operation are then those of its line.
func ByLine() { byLine.Store(true) }

// Enter says that the calling goroutine belongs to the loop at p, until the function that
// it returns is called. It has the form for defer.
func Enter[T any](loop *T) func() {
	n, ok := loopNumbers.Load(loop)
	if !ok {
		n, _ = loopNumbers.LoadOrStore(loop, parties.Add(1))
	}
	g := goroutine()
	loops.Store(g, n)
	return func() { loops.Delete(g) }
}

// party returns the party that calls. It is 0 for goroutines that belong to no loop.
//
// A processor is told by the object that it has in a pool: sync.Pool keeps an object for
// each processor. If the goroutine moves to another processor between Get and Put, the
// two may exchange their numbers, which is rare.
func party(g uintptr) int32 {
	if byProcessor.Load() {
		n := processors.Get().(*int32)
		defer processors.Put(n)
		return *n
	}
	if n, ok := loops.Load(g); ok {
		return n.(int32)
	}
	return 0
}

// W counts a write of the word at p and returns p.
func W[T any](p *T, site int) *T {
	note(reflect.ValueOf(p).Pointer(), site, true)
	return p
}

// R counts a read of the word at p and returns p.
func R[T any](p *T, site int) *T {
	note(reflect.ValueOf(p).Pointer(), site, false)
	return p
}

// C counts a write of the channel c and returns c.
func C[T any](c T, site int) T {
	note(reflect.ValueOf(c).Pointer(), site, true)
	return c
}

// T counts an operation of the site and returns v.
func T[V any](v V, site int) V {
	if on.Load() {
		n, ok := callsOfSites.Load(site)
		if !ok {
			n, _ = callsOfSites.LoadOrStore(site, new(atomic.Int64))
		}
		n.(*atomic.Int64).Add(1)
	}
	return v
}

// G counts an object that a pool gives out, and returns it. A new life of its words
// begins.
func G(v any, site int) any {
	T(v, site)
	p := reflect.ValueOf(v)
	if !on.Load() || p.Kind() != reflect.Pointer || p.IsNil() {
		return v
	}
	from := p.Pointer()
	to := from + p.Type().Elem().Size()
	for line := from >> lineBits; line <= (to-1)>>lineBits; line++ {
		s := shardOf(line)
		s.Lock()
		var rest []*word
		for _, w := range s.lines[line] {
			if from <= w.at && w.at < to || byLine.Load() {
				w.end(s.ended)
			} else {
				rest = append(rest, w)
			}
		}
		if s.lines != nil {
			s.lines[line] = rest
		}
		s.Unlock()
	}
	return v
}

func note(at uintptr, site int, write bool) {
	if !on.Load() || at == 0 {
		return
	}
	if byLine.Load() {
		at = at >> lineBits << lineBits
	}
	g := goroutine()
	who := party(g)
	s := shardOf(at >> lineBits)
	s.Lock()
	defer s.Unlock()
	if s.lines == nil {
		return // Report has been here
	}
	o := s.word(at).op(site)
	switch {
	case who == 0 && write:
		o.Outside++
	case who == 0:
	case write:
		s.word(at).write(o, who, g)
	default:
		s.word(at).read(o, who, g)
	}
}

// word returns the word at an address, under the shard's lock.
func (s *shard) word(at uintptr) *word {
	for _, w := range s.lines[at>>lineBits] {
		if w.at == at {
			return w
		}
	}
	w := &word{at: at, has: map[int32]bool{}, by: map[int32]int{}, ops: map[int]*Ops{}}
	s.lines[at>>lineBits] = append(s.lines[at>>lineBits], w)
	return w
}

func (w *word) op(site int) *Ops { return ops(w.ops, site) }

func ops(all map[int]*Ops, site int) *Ops {
	o := all[site]
	if o == nil {
		o = &Ops{Site: site}
		all[site] = o
	}
	return o
}

func (w *word) write(o *Ops, who int32, g uintptr) {
	o.Writes++
	if w.written && w.moved(who, g) {
		o.WriteTransfers++
	}
	w.many = w.many || w.written && w.lastG != g
	w.written, w.last, w.lastG = true, who, g
	w.by[who]++
	clear(w.has)
	w.has[who] = true
}

func (w *word) read(o *Ops, who int32, g uintptr) {
	o.Reads++
	if w.written && !w.has[who] && w.moved(who, g) {
		o.ReadTransfers++
	}
	w.has[who] = true
}

// moved reports whether another party than the last writer comes. A goroutine that moves
// from one processor to another takes its words with it: that isn't counted.
func (w *word) moved(who int32, g uintptr) bool { return w.last != who && w.lastG != g }

// stray is the share of writes of a word, one in so many, that may come from other
// parties than its main one, or be transfers, before it counts as shared: objects of a
// pool, and goroutines, move from one processor to another now and then.
const (
	strayWrites    = 20
	strayTransfers = 100
)

// shared returns how many parties write the word, 1 if nearly all is done by one of them,
// or by one at a time.
func (w *word) shared() int {
	most, sum, transfers := 0, 0, 0
	for _, n := range w.by {
		most, sum = max(most, n), sum+n
	}
	for _, o := range w.ops {
		transfers += o.WriteTransfers
	}
	if !w.many || sum-most <= sum/strayWrites || transfers <= sum/strayTransfers {
		return 1
	}
	return len(w.by)
}

// end adds what happened to the word to sums by site.
func (w *word) end(sums map[int]*Ops) {
	by := w.shared()
	for site, o := range w.ops {
		t := ops(sums, site)
		t.add(o)
		if by > 1 {
			t.SharedWrites += o.Writes
			t.SharedBy = max(t.SharedBy, by)
		}
	}
}

func (o *Ops) add(p *Ops) {
	o.Writes += p.Writes
	o.Reads += p.Reads
	o.WriteTransfers += p.WriteTransfers
	o.ReadTransfers += p.ReadTransfers
	o.SharedWrites += p.SharedWrites
	o.SharedBy = max(o.SharedBy, p.SharedBy)
	o.Outside += p.Outside
}

// Reset forgets what was counted and begins to count.
func Reset() {
	on.Store(false)
	for i := range table {
		s := &table[i]
		s.Lock()
		s.lines, s.ended = map[uintptr][]*word{}, map[int]*Ops{}
		s.Unlock()
	}
	callsOfSites.Clear()
	on.Store(true)
}

// Report ends the counting and returns what was counted, by site.
func Report() []Ops {
	on.Store(false)
	sums := map[int]*Ops{}
	for i := range table {
		s := &table[i]
		s.Lock()
		for _, words := range s.lines {
			for _, w := range words {
				w.end(sums)
			}
		}
		for site, o := range s.ended {
			ops(sums, site).add(o)
		}
		s.lines, s.ended = nil, nil
		s.Unlock()
	}
	callsOfSites.Range(func(k, v any) bool {
		ops(sums, k.(int)).Writes += int(v.(*atomic.Int64).Load())
		return true
	})
	all := make([]Ops, 0, len(sums))
	for _, o := range sums {
		all = append(all, *o)
	}
	return all
}
