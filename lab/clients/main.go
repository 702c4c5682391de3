// Clients is a client's process for the scenario "client": a number of goroutines that send
// GET requests one after the other, through the client of a library. It prints what they
// did as JSON.
//
//	clients -library gale|fasthttp|nethttp -url URL -c 16 -warmup 200ms -d 1s
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/measure/process"
	"github.com/galehttp/gale/lab/servers/work"
	"github.com/valyala/fasthttp"
)

// Result is what Clients prints.
type Result struct {
	Requests   int64   `json:"requests"`
	Failed     int64   `json:"failed"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Allocs     uint64  `json:"allocs"`
	MemoryByte int64   `json:"memory_byte"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("clients: ")
	library := flag.String("library", "gale", "use the client of this `library`: gale, fasthttp or nethttp")
	url := flag.String("url", "", "ask for this `URL`")
	conns := flag.Int("c", 16, "run this `number` of goroutines")
	warmUp := flag.Duration("warmup", 200*time.Millisecond, "don't count for this `duration`")
	round := flag.Duration("d", time.Second, "count for this `duration`")
	flag.Parse()
	get, ok := map[string]func(string, int) func() error{"gale": galeClient, "fasthttp": fasthttpClient, "nethttp": nethttpClient}[*library]
	if !ok || *url == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := measure(get(*url, *conns), *conns, *warmUp, *round)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

func measure(get func() error, conns int, warmUp, round time.Duration) (*Result, error) {
	self, err := process.Open(os.Getpid())
	if err != nil {
		return nil, err
	}
	var done, failed atomic.Int64
	var end atomic.Bool
	var all sync.WaitGroup
	for range conns {
		all.Go(func() {
			for !end.Load() {
				if get() != nil {
					failed.Add(1)
					continue
				}
				done.Add(1)
			}
		})
	}
	time.Sleep(warmUp)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first, began, n, bad := self.Usage(), time.Now(), done.Load(), failed.Load()
	time.Sleep(round)
	last, took := self.Usage(), time.Since(began)
	r := &Result{Requests: done.Load() - n, Failed: failed.Load() - bad, Seconds: took.Seconds(), CPUSeconds: (last.CPU - first.CPU).Seconds(), MemoryByte: last.Memory}
	runtime.ReadMemStats(&after)
	r.Allocs = after.Mallocs - before.Mallocs
	end.Store(true)
	all.Wait()
	return r, nil
}

var errAnswer = errors.New("another answer")

func galeClient(url string, conns int) func() error {
	c := &gale.Client{MaxConnsPerHost: conns}
	return func() error {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		defer gale.ReleaseRequest(req)
		defer gale.ReleaseResponse(resp)
		req.SetRequestURI(url)
		if err := c.Do(req, resp); err != nil {
			return err
		}
		return check(resp.StatusCode(), resp.Body())
	}
}

func fasthttpClient(url string, conns int) func() error {
	c := &fasthttp.Client{MaxConnsPerHost: conns}
	return func() error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(url)
		if err := c.Do(req, resp); err != nil {
			return err
		}
		return check(resp.StatusCode(), resp.Body())
	}
}

func nethttpClient(url string, conns int) func() error {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}}
	return func() error {
		resp, err := c.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		return check(resp.StatusCode, body)
	}
}

func check(status int, body []byte) error {
	if status != http.StatusOK || string(body) != work.Greeting {
		return fmt.Errorf("%w: %d %q", errAnswer, status, body)
	}
	return nil
}
