package scale

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/galehttp/gale/lab/scale/count"
	"github.com/galehttp/gale/tests/harness/gate"
)

// seldom is how often, for each request or connection, a word may be written by another
// loop than before: objects of pools move to other loops now and then. Words that all
// loops share were never below it with four loops on two processors.
const seldom = 0.1

// TestNoSharedWords fails if a request or a connection writes a word that other loops
// write, unless there is a reason. It counts, so it doesn't depend on the machine's speed.
func TestNoSharedWords(t *testing.T) {
	if !gate.Full() {
		t.Skip("it builds the library twice: only with GALE_FULL")
	}
	lab, err := moduleDir()
	if err != nil {
		t.Fatal(err)
	}
	b, err := build(lab, t.TempDir(), false, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"event", "block"} {
		for _, path := range []string{"/", "/file-small.txt", "/file-large.txt"} {
			t.Run(engine+path, func(t *testing.T) {
				found := shared(t, b, engine, path)
				if len(found) > 0 { // what has moved by chance doesn't move again
					again := shared(t, b, engine, path)
					maps.DeleteFunc(found, func(word, _ string) bool { return again[word] == "" })
				}
				for _, text := range found {
					t.Error(text)
				}
			})
		}
	}
}

// shared returns what is wrong with the words that loops share without a reason.
func shared(t *testing.T, b *builds, engine, path string) (found map[string]string) {
	t.Helper()
	p, err := run(b.counted, engine, 4, path, "-listeners", "4")
	if err != nil {
		t.Fatal(err)
	}
	if n := p.request.Requests; n != 4*connsPerLoop*requests {
		t.Errorf("%d requests were counted", n)
	}
	found = map[string]string{}
	for _, r := range b.rows(p.request.Ops, float64(p.request.Requests)) {
		if r.Shared >= least && r.Transfers >= seldom && perRequest[r.Word] == "" {
			found[r.Word] = wrong("request", r)
		}
	}
	for _, r := range b.rows(p.accept.Ops, float64(p.accept.Conns)) {
		if r.Shared >= least && r.Transfers >= seldom && perRequest[r.Word] == "" && perConn[r.Word] == "" && found[r.Word] == "" {
			found[r.Word] = wrong("connection", r)
		}
	}
	return found
}

func wrong(what string, r row) string {
	return fmt.Sprintf("each %s writes %s %.2f times, which %d loops write, and %.2f times after another loop (at %v): give each loop a word of its own, or add a reason to exceptions.go",
		what, r.Word, r.Shared, r.Parties, r.Transfers, r.At)
}

// Two loops write one word in turn, and each of them a word of its own; a goroutine of no
// loop writes one of those.
func TestCount(t *testing.T) {
	var loops [2]int
	var both, own [2]int64
	count.Reset()
	turns := [2]chan bool{make(chan bool), make(chan bool)}
	var done sync.WaitGroup
	for i := range loops {
		done.Go(func() {
			defer count.Enter(&loops[i])()
			for range 100 {
				<-turns[i]
				*count.W(&both[0], 0)++
				*count.W(&own[i], 1)++
				count.R(&both[0], 2)
				turns[1-i] <- true
			}
			if i == 0 {
				<-turns[0]
			}
		})
	}
	turns[0] <- true
	done.Wait()
	*count.W(&own[0], 3)++
	got := map[int]count.Ops{}
	for _, o := range count.Report() {
		got[o.Site] = o
	}
	if o := got[0]; o.Writes != 200 || o.WriteTransfers != 199 || o.SharedWrites != 200 || o.SharedBy != 2 {
		t.Errorf("the word that both write: %+v", o)
	}
	if o := got[1]; o.Writes != 200 || o.WriteTransfers != 0 || o.SharedWrites != 0 {
		t.Errorf("the words that each has for itself: %+v", o)
	}
	if o := got[2]; o.Reads != 200 || o.ReadTransfers != 0 {
		t.Errorf("reads of what was just written: %+v", o)
	}
	if o := got[3]; o.Outside != 1 || o.Writes != 0 {
		t.Errorf("the write of no loop: %+v", o)
	}
}
