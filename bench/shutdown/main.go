// Shutdown counts the requests that clients lose while a server shuts down, for Gale with
// and without Server.DrainTime and for net/http.
//
//	cd bench && go run ./shutdown [-clients 160] [-rest 50ms] [-drain 2s]
//
// Each client sends one request after the other, with a random rest of up to -rest
// between them, over a kept-alive connection. After `Connection: close` it dials again. Half
// a second later the server is shut down. A client stops when it loses a request, or
// when -drain has passed since the shutdown began. So clients and server do the same in
// all runs; only the way in which the server ends differs.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
)

// server is one that serves ln until shutdown is called.
type server struct {
	name     string
	serve    func(ln net.Listener) error
	shutdown func(drain time.Duration) error
}

func main() {
	log.SetFlags(0)
	clients := flag.Int("clients", 160, "let `N` clients send requests")
	rest := flag.Duration("rest", 50*time.Millisecond, "how long a client rests at most between requests")
	drain := flag.Duration("drain", 2*time.Second, "how long to drain")
	flag.Parse()

	fmt.Println("| server | requests before | requests after the shutdown began | clients that lost one | connections refused | shutdown took |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: |")
	for _, s := range servers(*drain) {
		r, err := run(s, *clients, *rest, *drain)
		if err != nil {
			log.Fatalf("%s: %v", s.name, err)
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %.2f s |\n", s.name, r.before.Load(), r.after.Load(), r.lost.Load(), r.refused.Load(), r.took.Seconds())
	}
}

func servers(drain time.Duration) (list []server) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		for _, d := range []time.Duration{0, drain} {
			s := &gale.Server{Engine: e, DrainTime: d, Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("ok") }}
			name := fmt.Sprintf("Gale, %s engine", e)
			if d > 0 {
				name += ", DrainTime"
			}
			list = append(list, server{name, s.Serve, func(time.Duration) error { return s.Shutdown() }})
		}
	}
	for _, rests := range []bool{false, true} {
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })}
		name := "net/http"
		if rests {
			name += ", SetKeepAlivesEnabled(false), a rest, Shutdown"
		}
		list = append(list, server{name, s.Serve, func(d time.Duration) error {
			if rests {
				s.SetKeepAlivesEnabled(false)
				time.Sleep(d)
			}
			return s.Shutdown(context.Background())
		}})
	}
	return list
}

// result is what the clients of a run saw.
type result struct {
	before, after, lost, refused atomic.Int64
	took                         time.Duration
}

func run(s server, clients int, rest, drain time.Duration) (*result, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go s.serve(ln)
	r := new(result)
	var began atomic.Pointer[time.Time]
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() { client(ln.Addr().String(), rest, drain, &began, r) })
	}
	time.Sleep(500 * time.Millisecond)
	now := time.Now()
	began.Store(&now)
	if err := s.shutdown(drain); err != nil {
		return nil, err
	}
	r.took = time.Since(now)
	wg.Wait()
	return r, nil
}

// client sends requests until it loses one or the time is over. A request counts if it
// was sent within the time.
func client(addr string, rest, drain time.Duration, began *atomic.Pointer[time.Time], r *result) {
	var nc net.Conn
	var br *bufio.Reader
	defer func() {
		if nc != nil {
			nc.Close()
		}
	}()
	for {
		time.Sleep(rand.N(rest))
		var err error
		if nc == nil {
			if nc, err = net.Dial("tcp", addr); err != nil {
				if t := began.Load(); t == nil || time.Since(*t) < drain {
					r.refused.Add(1)
				}
				return
			}
			nc.SetDeadline(time.Now().Add(time.Minute))
			br = bufio.NewReader(nc)
		}
		_, err = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		t := began.Load()
		if t != nil && time.Since(*t) >= drain {
			return
		}
		var resp *http.Response
		if err == nil {
			resp, err = http.ReadResponse(br, nil)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		count := &r.before
		if t != nil {
			count = &r.after
		}
		count.Add(1)
		if err != nil {
			r.lost.Add(1)
			return
		}
		if resp.Close {
			nc.Close()
			nc = nil
		}
	}
}
