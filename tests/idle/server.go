package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// serve runs the process that is measured. It writes its address to out. For each number
// that it reads from in, it writes how much memory it uses when that many connections are
// idle. It ends at the end of in.
func serve(o options, in io.Reader, out io.Writer) error {
	s := &gale.Server{
		Concurrency: 1 << 20,
		Engine:      o.engine,
		HTTP2:       gale.HTTP2Config{H2C: true},
		Handler:     func(ctx *gale.RequestCtx) { ctx.SetBodyString("Hello, world!") },
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- listen(s, ln, o.tls) }()
	fmt.Fprintln(out, ln.Addr())
	for {
		var n int
		if _, err := fmt.Fscanln(in, &n); err != nil {
			return nil // the other process has ended
		}
		if err := waitUntilIdle(s, n, failed); err != nil {
			return err
		}
		line, err := json.Marshal(rest(n))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", line)
	}
}

func listen(s *gale.Server, ln net.Listener, overTLS bool) error {
	if !overTLS {
		return s.Serve(ln)
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, cert, key)
}

var errEnded = errors.New("the server doesn't serve any more")

// waitUntilIdle returns when n connections are idle.
func waitUntilIdle(s *gale.Server, n int, failed <-chan error) error {
	for end := time.Now().Add(wait); ; {
		st := s.Stats()
		if st.OpenConnections == n && st.IdleConnections == n {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("of %d connections %d are open and %d idle", n, st.OpenConnections, st.IdleConnections)
		}
		select {
		case err := <-failed:
			return errors.Join(errEnded, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// rest returns how much memory the process uses, after that has stopped shrinking: pools
// give their objects back over several collections, and goroutines that wait for work
// end.
func rest(n int) weight {
	least, same := weigh(n), 0
	for end := time.Now().Add(wait / 2); same < 4 && time.Now().Before(end); {
		time.Sleep(250 * time.Millisecond)
		w := weigh(n)
		same++
		if total(w) < total(least)-total(least)/500 {
			same = 0
		}
		if total(w) < total(least) {
			least = w
		}
	}
	return least
}

func total(w weight) int64 { return w.Heap + w.Stacks + w.RSS }

func weigh(n int) weight {
	debug.FreeOSMemory() // collects garbage, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{Conns: int64(n), Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse), RSS: rss()}
}

// rss returns the resident memory of the process, 0 if the system can't tell.
func rss() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if size, ok := strings.CutPrefix(string(line), "VmRSS:"); ok {
			kB, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")), 10, 64)
			return kB << 10
		}
	}
	return 0
}
