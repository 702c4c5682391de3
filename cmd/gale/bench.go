package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"time"
)

var benchCommand = command{
	name:  "bench",
	short: "measure an HTTP server",
	long: `usage: gale bench [flags] URL
       gale bench compare A.json B.json

Bench sends requests to a server and measures the responses: how many there are,
how long they take, and which side was the limit. With a ws or wss URL a request
is a message over a WebSocket, and its response is the same message that the
server sends back. For example:

  gale bench http://127.0.0.1:8080/                    64 connections, 10 s
  gale bench -c 512 -d 30s --report out.html localhost:8080
  gale bench --rate 5000 -d 1m localhost:8080/search?q=a
  gale bench -n 1000 --body '{"user":"{{id}}"}' --data users.csv localhost:8080
  gale bench ws://localhost:8080/echo

Without --rate, a connection sends its next request when it has the response to
the last one: a closed loop, which shows what a server can do. With --rate, the
requests are sent on a schedule, whether or not the server keeps up: an open
loop, which shows how long users wait. Latency then counts from the time at
which a request should have been sent, so a server that stalls can't hide it.

The first lines of the result say what limited the run, and so what its figures
mean. The exit code says it too:

  0  the server was the limit, or the rate was held
  1  the run failed, or a result could not be written
  2  a flag, a file or the server is wrong; nothing was measured
  3  the generator was the limit, or shared its cores with the server
  4  the rate was not held
  5  too noisy to tell
  6  too many errors: more than 1 % of the attempts had no good response, or
     for a second or more none came

Ctrl-C ends the run and shows what there is; a second one ends it at once.

'gale bench compare A.json B.json' compares results that --json has written.
With three runs or more on each side, as in A1.json,A2.json,A3.json, it knows
how much runs differ by themselves, and tells smaller differences apart.

Flags may come before or after the URL, with one dash or two.

`,
	run:   runBench,
	flags: benchFlagsHelp,

	flagSet:  func() *flag.FlagSet { return (&benchConfig{}).flagSet() },
	argument: fileValue, // of compare
}

// runBench measures a server, or compares results.
func runBench(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "compare" {
		return runCompare(args[1:], stdout)
	}
	cfg, err := parseBenchFlags(args)
	if err != nil {
		return err
	}
	b, err := newBench(cfg, args)
	if err != nil {
		return err
	}
	// From here on signals are handled: a server that was started must be ended.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	end := listenForEnd(signals)
	defer end.stop()
	return b.run(end, cfg.results(stdout, stderr))
}

// sameSignal is how long after the first signal another one means the same. Programs such as
// timeout send one to the process and one to its group.
const sameSignal = 200 * time.Millisecond

// ending says whether the user wants the run to end.
type ending struct {
	soon context.Context // done after the first signal: finish with what there is
	now  context.Context // done after the second one
	stop func()          // stops listening
}

func listenForEnd(signals <-chan os.Signal) ending {
	now, endNow := context.WithCancel(context.Background())
	soon, endSoon := context.WithCancel(now)
	go func() {
		defer endSoon()
		var same <-chan time.Time // until then, signals have the meaning of the first one
		for {
			select {
			case <-now.Done():
				return
			case <-same:
				same = nil
			case <-signals:
				switch {
				case soon.Err() == nil:
					endSoon()
					same = time.After(sameSignal)
				case same == nil:
					endNow()
				}
			}
		}
	}()
	return ending{soon, now, endNow}
}
