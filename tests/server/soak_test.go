package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// For a while, clients do everything that clients may do: split and pipelined requests,
// bodies, streams, handlers that block, slow readers, half-closed and reset connections,
// closes in the middle of requests. Each answer must be the right one, in order, and at
// the end nothing is left. GALE_SOAK=10m sets how long the test runs, and GALE_ENGINE
// names the engine.
func TestSoak(t *testing.T) {
	long := gate.Form(700*time.Millisecond, 100*time.Millisecond)
	if v := os.Getenv("GALE_SOAK"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatal(err)
		}
		long = d / 3
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		if os.Getenv("GALE_SOAK") != "" && e.String() != os.Getenv("GALE_ENGINE") {
			t.Skip("another engine was asked for")
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute}, soaked)
		soak(t, ts.Addr, 200*time.Millisecond) // creates what stays for the whole process
		atRest(t, ts)
		before := peers.State()
		for _, procs := range []int{1, 2, 4} {
			runtime.GOMAXPROCS(procs)
			n := soak(t, ts.Addr, long)
			t.Logf("%d processors: %d answers", procs, n)
		}
		atRest(t, ts)
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) { // between two looks
			after := peers.State()
			if after.Goroutines <= before.Goroutines+20 && after.Fds <= before.Fds+2 && after.Heap <= before.Heap+8<<20 {
				break
			}
			if time.Now().After(end) {
				t.Errorf("before %+v, after %+v", before, after)
				break
			}
		}
	})
}

// soaked answers with what the client expects: its token, repeated to the length that it
// asked for.
func soaked(ctx *gale.RequestCtx) {
	token := string(ctx.Request.Header.Peek("X-Token"))
	n := ctx.QueryArgs().GetUintOrZero("n")
	switch ctx.QueryArgs().GetUintOrZero("k") {
	case 1:
		time.Sleep(time.Duration(n%3) * time.Millisecond) // a slow handler
	case 2:
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := 0; i < n; i += len(token) {
				w.WriteString(token)
				if i%5000 < len(token) {
					w.Flush()
				}
			}
		})
		return
	case 3:
		_ = ctx.Done()
		time.Sleep(time.Millisecond) // a slow handler, whose client may leave meanwhile
	case 4: // the body is left unread
		ctx.SetBodyString(token)
		return
	}
	body := ctx.PostBody()
	ctx.Write(body)
	for i := 0; i < n; i += len(token) {
		ctx.WriteString(token)
	}
}

// soak runs clients for a while, and returns how many answers they got.
func soak(t *testing.T, addr string, long time.Duration) int64 {
	var answers atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(long)
	for w := range 16 {
		rng := rand.New(rand.NewPCG(uint64(w), uint64(long)))
		wg.Go(func() {
			for round := 0; time.Now().Before(end); round++ {
				n, err := soakConn(addr, rng, fmt.Sprintf("%d.%d.", w, round))
				answers.Add(n)
				if err != nil {
					t.Errorf("client %d, round %d: %v", w, round, err)
				}
			}
		})
	}
	wg.Wait()
	return answers.Load()
}

// soakConn is the life of one connection.
func soakConn(addr string, rng *rand.Rand, prefix string) (answers int64, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	var out bytes.Buffer
	var want []string
	for i := range 1 + rng.IntN(8) {
		token := prefix + strconv.Itoa(i) + ";"
		k, n, body := rng.IntN(5), rng.IntN(200), ""
		if rng.IntN(8) == 0 {
			n = rng.IntN(300_000)
		}
		head := fmt.Sprintf(" /?k=%d&n=%d HTTP/1.1\r\nHost: h\r\nX-Token: %s\r\n", k, n, token)
		if rng.IntN(3) == 0 {
			body = fmt.Sprintf("%0*d", rng.IntN(20_000), i)
			fmt.Fprintf(&out, "POST%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
		} else {
			fmt.Fprintf(&out, "GET%s\r\n", head)
		}
		times := (n + len(token) - 1) / len(token)
		switch k {
		case 2:
			body = ""
		case 4:
			body, times = "", 1
		}
		want = append(want, body+string(bytes.Repeat([]byte(token), times)))
	}
	end := rng.IntN(8)
	all := out.Bytes()
	if end < 2 {
		all = all[:rng.IntN(len(all))] // ends in the middle of a request
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for len(all) > 0 {
			n := min(len(all), 1+rng.IntN(4000))
			if _, err := c.Write(all[:n]); err != nil {
				return
			}
			if all = all[n:]; n%16 == 0 {
				time.Sleep(time.Duration(n%3) * 100 * time.Microsecond) // so that parts arrive alone
			}
		}
		switch end {
		case 0:
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		case 1:
			c.Close()
		case 2:
			c.(*net.TCPConn).CloseWrite()
		}
	}()
	defer func() { <-sent }()
	slow := end == 3
	br := bufio.NewReader(c)
	for i, w := range want {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			if end < 2 {
				return answers, nil
			}
			return answers, fmt.Errorf("answer %d of %d: %w", i, len(want), err)
		}
		if slow {
			time.Sleep(2 * time.Millisecond) // a slow reader
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil && end < 2 || resp.StatusCode >= 400 && end < 2 {
			return answers, nil
		}
		if err != nil || resp.StatusCode != 200 || string(b) != w {
			return answers, fmt.Errorf("answer %d of %d: status %d, %d bytes, %v; want %d bytes", i, len(want), resp.StatusCode, len(b), err, len(w))
		}
		answers++
	}
	return answers, nil
}

// atRest waits until the server has no connections.
func atRest(t *testing.T, ts *harness.Server) {
	t.Helper()
	peers.WaitClosed(t, ts.S, "all clients have left")
}
