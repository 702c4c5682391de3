// Ws-broadcast publishes messages to many WebSockets and measures how long they take until
// all have them. It serves, and starts itself once more as the readers. Some readers may
// stall: they read nothing, and must not hold up the others.
//
//	go run ./examples/ws-broadcast -readers 10000 -stalled 100
//	go run ./examples/ws-broadcast -readers 10000 -stalled 100 -compare
//
// Each process needs a file descriptor for each reader (ulimit -n).
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/galehttp/gale/ws"
)

// load is what to do in a run.
type load struct {
	addr             string
	readers, stalled int
	size             int // bytes of a message
	rate             int // messages a second
	time             time.Duration
	policy           ws.QueuePolicy
	queue            int
}

// result is what a run has shown.
type result struct {
	Took time.Duration // of publishing
	// Got is how many messages the readers got. P50, P99 and Max are the times from before
	// Publish until a reader had the message.
	Got           int
	P50, P99, Max time.Duration
	Closed        int // readers that lost their connection
	Stats         ws.Stats
}

func main() {
	var l load
	flag.StringVar(&l.addr, "addr", "127.0.0.1:0", "listen on `HOST:PORT`")
	flag.IntVar(&l.readers, "readers", 1000, "how many WebSockets read")
	flag.IntVar(&l.stalled, "stalled", 0, "how many of them read nothing")
	flag.IntVar(&l.size, "size", 1024, "bytes of a message, at least 9")
	flag.IntVar(&l.rate, "rate", 10, "messages a second")
	flag.DurationVar(&l.time, "time", 15*time.Second, "how long to publish, after a second that isn't measured")
	flag.IntVar(&l.queue, "queue", 64<<10, "how many bytes may wait for a reader")
	drop := flag.Bool("drop", false, "drop messages for a reader whose queue is full, instead of closing it")
	compared := flag.Bool("compare", false, "compare runs with and without stalled readers")
	asReaders := flag.Bool("as-readers", false, "be the process that reads from -addr")
	flag.Parse()
	if *drop {
		l.policy = ws.QueueDrop
	}
	var err error
	switch {
	case l.readers < 1 || l.stalled < 0 || l.stalled >= l.readers || l.size < headSize || l.rate < 1:
		err = errors.New("the flags make no sense")
	case *asReaders:
		err = read(l, os.Stdin, os.Stdout)
	case *compared:
		err = compare(l)
	default:
		err = once(l)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func once(l load) error {
	r, err := run(l)
	if err != nil {
		return err
	}
	reading := l.readers - l.stalled
	fmt.Printf("%d readers, %d more stalled, %d bytes %d times a second\n", reading, l.stalled, l.size, l.rate)
	fmt.Printf("delivered  %d messages, %.0f a second\n", r.Got, float64(r.Got)/r.Took.Seconds())
	fmt.Printf("latency    p50 %v, p99 %v, max %v\n", short(r.P50), short(r.P99), short(r.Max))
	fmt.Printf("stalled    %d closed, %d messages dropped\n", r.Stats.QueueClosed, r.Stats.Dropped)
	if r.Closed > 0 {
		return fmt.Errorf("%d readers that didn't stall lost their connection", r.Closed)
	}
	return nil
}

// compare runs without stalled readers, with ones that are closed and with ones whose
// messages are dropped, in turn, and prints medians.
func compare(l load) error {
	const rounds = 3
	kinds := []struct {
		name    string
		stalled int
		policy  ws.QueuePolicy
	}{
		{"none stalled", 0, ws.QueueClose},
		{fmt.Sprintf("%d stalled, closed", l.stalled), l.stalled, ws.QueueClose},
		{fmt.Sprintf("%d stalled, dropped", l.stalled), l.stalled, ws.QueueDrop},
	}
	reading := l.readers - l.stalled
	results := make([][]result, len(kinds))
	for range rounds {
		for i, kind := range kinds {
			l.stalled, l.policy = kind.stalled, kind.policy
			l.readers = reading + kind.stalled
			r, err := run(l)
			if err != nil {
				return err
			}
			results[i] = append(results[i], r)
			fmt.Printf("%-24s p50 %v, p99 %v, max %v, %d closed, %d dropped\n", kind.name, short(r.P50), short(r.P99), short(r.Max), r.Stats.QueueClosed, r.Stats.Dropped)
		}
	}
	fmt.Printf("\nmedians of %d rounds, %d readers that read\n", rounds, reading)
	var first time.Duration
	for i, kind := range kinds {
		slices.SortFunc(results[i], func(a, b result) int { return cmp.Compare(a.P99, b.P99) })
		p99 := results[i][rounds/2].P99
		if i == 0 {
			first = p99
		}
		fmt.Printf("%-24s p99 %v, %.2f times\n", kind.name, short(p99), float64(p99)/float64(first))
	}
	return nil
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
