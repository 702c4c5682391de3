// Package count counts which words of memory the code of the library writes and reads,
// and who does it. Package overlay rewrites the library so that it calls these functions
// (see lab/scale/overlay). Nothing else imports them, except the server of lab/scale.
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

// word is what happened to a word since Reset.
type word struct {
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
	Site            int
	Writes, Reads   int
	WriteTransfers  int // writes by another party than the one before
	ReadTransfers   int // reads of what another party wrote since the last read
	SharedWrites    int // writes of words that several parties write
	Words, SharedBy int // in a report: how many words, and the most parties that wrote one of them
}

const shards = 1024

var table [shards]struct {
	sync.Mutex
	words map[uintptr]*word
	_     [48]byte
}

var (
	on           atomic.Bool
	byProcessor  atomic.Bool
	parties      atomic.Int32
	loops        sync.Map // of goroutines to their party, while they run in Enter
	loopNumbers  sync.Map // of loops to their party
	processors   = sync.Pool{New: func() any { n := parties.Add(1); return &n }}
	callsOfSites sync.Map // of sites to *atomic.Int64: operations without a word
)

// ByProcessor makes processors the parties, instead of loops.
func ByProcessor() { byProcessor.Store(true) }

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

func note(at uintptr, site int, write bool) {
	if !on.Load() || at == 0 {
		return
	}
	g := goroutine()
	who := party(g)
	s := &table[(at>>3^at>>13)%shards]
	s.Lock()
	w := s.words[at]
	if w == nil {
		w = &word{has: map[int32]bool{}, by: map[int32]int{}, ops: map[int]*Ops{}}
		s.words[at] = w
	}
	o := w.ops[site]
	if o == nil {
		o = &Ops{Site: site}
		w.ops[site] = o
	}
	if write {
		w.write(o, who, g)
	} else {
		w.read(o, who, g)
	}
	s.Unlock()
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
// parties than its main one before it counts as shared: objects of a pool move from one
// processor to another now and then.
const stray = 20

// shared returns how many parties write the word, 1 if one of them does nearly all of it.
func (w *word) shared() int {
	most, sum := 0, 0
	for _, n := range w.by {
		most, sum = max(most, n), sum+n
	}
	if !w.many || sum-most <= sum/stray {
		return 1
	}
	return len(w.by)
}

// Reset forgets what was counted and begins to count.
func Reset() {
	on.Store(false)
	for i := range table {
		s := &table[i]
		s.Lock()
		s.words = map[uintptr]*word{}
		s.Unlock()
	}
	callsOfSites.Clear()
	on.Store(true)
}

// Report ends the counting and returns what was counted, by site.
func Report() []Ops {
	on.Store(false)
	sites := map[int]*Ops{}
	site := func(n int) *Ops {
		if sites[n] == nil {
			sites[n] = &Ops{Site: n}
		}
		return sites[n]
	}
	for i := range table {
		s := &table[i]
		s.Lock()
		for _, w := range s.words {
			by := w.shared()
			for n, o := range w.ops {
				t := site(n)
				t.Words++
				t.Writes += o.Writes
				t.Reads += o.Reads
				t.WriteTransfers += o.WriteTransfers
				t.ReadTransfers += o.ReadTransfers
				if by > 1 {
					t.SharedWrites += o.Writes
					t.SharedBy = max(t.SharedBy, by)
				}
			}
		}
		s.Unlock()
	}
	callsOfSites.Range(func(k, v any) bool {
		site(k.(int)).Writes += int(v.(*atomic.Int64).Load())
		return true
	})
	all := make([]Ops, 0, len(sites))
	for _, o := range sites {
		all = append(all, *o)
	}
	return all
}
