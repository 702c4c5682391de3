// Command cost measures what a unary gRPC call costs a server's process in CPU time: the
// service of grpc-go's interop tests, as an http.Handler (grpc.Server.ServeHTTP) on Gale and
// on net/http, and on grpc-go's own server.
//
//	go run ./cost [-callers 1,100] [-size 10] [-rounds 5] [-round 2s]
//
// The load is a client of grpc-go in another process, over loopback: one connection with so
// many callers. The servers take turns. For each the median of its rounds is printed, and
// the ratio to net/http in the same round.
//
// Linux only: the figures come from /proc.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	callers []int
	size    int
	rounds  int
	round   time.Duration
	servers []string
	profile string
}

func main() {
	serve := flag.String("serve", "", "be the server of this `NAME`; the command uses it for its own children")
	profile := flag.String("cpuprofile", "", "write profiles of the servers to `PREFIX`NAME")
	callers := flag.String("callers", "1,100", "how many calls at a time, a `LIST`")
	size := flag.Int("size", 10, "the bytes of a message's payload, both ways")
	rounds := flag.Int("rounds", 5, "rounds for each server")
	round := flag.Duration("round", 2*time.Second, "the length of a round")
	servers := flag.String("servers", strings.Join(serverNames, ","), "a `LIST` of servers")
	flag.Parse()
	if *serve != "" {
		if err := beServer(*serve, *profile); err != nil {
			log.Fatal(err)
		}
		return
	}
	o := options{size: *size, rounds: *rounds, round: *round, servers: strings.Split(*servers, ","), profile: *profile}
	for n := range strings.SplitSeq(*callers, ",") {
		c, err := strconv.Atoi(n)
		if err != nil || c < 1 {
			log.Fatalf("%q is no number of callers", n)
		}
		o.callers = append(o.callers, c)
	}
	if err := measure(context.Background(), o); err != nil {
		log.Fatal(err)
	}
}

// measure measures all servers under each load.
func measure(ctx context.Context, o options) error {
	var all []*child
	defer func() {
		for _, c := range all {
			c.stop()
		}
	}()
	for _, name := range o.servers {
		c, err := start(ctx, name, o.profile)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, n := range o.callers {
		samples := make([][]sample, len(all))
		for range o.rounds {
			for i, c := range all {
				s, err := c.sample(ctx, n, o)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				samples[i] = append(samples[i], s)
			}
		}
		fmt.Printf("%d calls at a time, payloads of %d bytes, %d rounds of %v\n", n, o.size, o.rounds, o.round)
		report(all, samples)
	}
	return nil
}

// report prints the median of each server's rounds.
func report(all []*child, samples [][]sample) {
	base := slices.IndexFunc(all, func(c *child) bool { return c.name == "nethttp" })
	fmt.Printf("  %-12s %12s %12s %18s\n", "server", "µs of CPU", "calls/s", "CPU to net/http's")
	for i, c := range all {
		ratio := "-"
		if base >= 0 && base != i {
			var ratios []float64
			for j, s := range samples[i] {
				ratios = append(ratios, s.cost()/samples[base][j].cost())
			}
			ratio = fmt.Sprintf("%.2f (%.2f to %.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
		}
		fmt.Printf("  %-12s %12.1f %12.0f %18s\n", c.name, median(figures(samples[i], sample.cost)), median(figures(samples[i], sample.rate)), ratio)
	}
}

func figures(samples []sample, f func(sample) float64) (all []float64) {
	for _, s := range samples {
		all = append(all, f(s))
	}
	return all
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
