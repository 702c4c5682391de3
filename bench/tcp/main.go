// Tcp measures what a request costs a server's process in CPU time, over real
// sockets on loopback, for gale, fasthttp and net/http in turns.
//
//	cd bench && go run ./tcp [-conns 64] [-pipeline 16] [-request browser]
//	cd bench && go run ./tcp -servers reverse,nginx,httputil
//	cd bench && go run ./tcp -http2 [-tls] [-loads 16x1,16x32]
//
// The second line compares reverse proxies: package reverse, nginx, which must be
// installed, and httputil.ReverseProxy. Their upstream server is not measured.
//
// The third line compares servers of HTTP/2 under the load of h2load: gale on both engines,
// net/http, and those of nginx, h2o and nghttpd that are installed. It does nothing if h2load
// is not.
//
// CPU per request is what a server takes away from everybody else on the
// machine. Requests per second on one machine say less: the generator runs
// there too. The report says when the generator, not the server, was the limit;
// CPU per request holds then all the same, at less than full load.
//
// Linux only: the figures come from /proc.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	conns    int
	pipeline int
	rounds   int
	round    time.Duration
	request  string
	headers  int
	servers  string
	pin      bool
	http2    bool
	tls      bool
	loads    string
	upstream *upstream
}

const (
	http1Servers = "gale,fasthttp,nethttp"
	http2Servers = "gale-event,gale-block,nethttp,nginx,h2o,nghttpd"
)

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.conns, "conns", 64, "use `N` connections")
	flag.IntVar(&o.pipeline, "pipeline", 1, "send `N` requests at a time on each connection")
	flag.IntVar(&o.rounds, "rounds", 5, "measure each server `N` times")
	flag.DurationVar(&o.round, "round", time.Second, "for how long each time")
	flag.StringVar(&o.request, "request", "hello", "send the request `NAME`: hello, fields4, browser")
	flag.IntVar(&o.headers, "headers", 0, "let the servers add `N` fields")
	flag.StringVar(&o.servers, "servers", "", "what to measure; the first is compared with the others (default gale,fasthttp,nethttp, for HTTP/2 "+http2Servers+")")
	flag.BoolVar(&o.http2, "http2", false, "speak HTTP/2, with h2load; without -conns, -pipeline and -request")
	flag.BoolVar(&o.tls, "tls", false, "speak HTTP/2 over TLS")
	flag.StringVar(&o.loads, "loads", "16x1,16x8,16x32,64x100", "HTTP/2 with these `CONNECTIONSxSTREAMS`")
	flag.BoolVar(&o.pin, "pin", true, "servers on CPU 0 with GOMAXPROCS=1, the generator on CPU 1")
	flag.Parse()
	if flag.NArg() > 0 || o.tls && !o.http2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(o); err != nil {
		log.Fatal("tcp: ", err)
	}
}

func run(o options) error {
	if runtime.GOOS != "linux" {
		return errors.New("only Linux tells what is needed")
	}
	names := o.names()
	if len(names) == 0 {
		return nil
	}
	request, err := requestText(o.request, o.pipeline)
	if err != nil {
		return err
	}
	if o.pin && runtime.NumCPU() < 2 {
		log.Print("one CPU only: nothing is pinned")
		o.pin = false
	}
	dir, err := os.MkdirTemp("", "gale-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.pin {
		pinSelf()
	}
	var servers []*server
	o.upstream = &upstream{}
	defer func() {
		if s := o.upstream.server; s != nil {
			s.stop()
		}
		for _, s := range servers {
			s.stop()
		}
	}()
	if o.http2 {
		if err := writeSite(dir); err != nil {
			return err
		}
	}
	for _, name := range names {
		s, err := startServer(dir, name, o)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	if o.http2 {
		return runHTTP2(servers, o)
	}
	for range o.rounds {
		for _, s := range servers {
			if err := s.measure(request, o); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	fmt.Printf("%d connections, pipeline %d, request %s, %d more response fields, %d rounds of %v, pinned %v\n",
		o.conns, o.pipeline, o.request, o.headers, o.rounds, o.round, o.pin)
	report(servers)
	return nil
}

// names returns the servers to measure.
func (o options) names() []string {
	switch {
	case o.http2 && o.servers == "":
		return installed(http2Servers)
	case o.http2:
		return installed(o.servers)
	case o.servers == "":
		o.servers = http1Servers
	}
	return strings.Split(o.servers, ",")
}

// pinSelf moves the generator to CPU 1.
func pinSelf() {
	out, err := exec.Command("taskset", "-a", "-c", "-p", "1", strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		log.Printf("the generator is not pinned: %v %s", err, out)
	}
	runtime.GOMAXPROCS(1)
}

// report prints medians; the ratios are medians of the rounds' ratios, since a
// round's neighbours shared the machine's mood.
func report(servers []*server) {
	first := servers[0]
	fmt.Printf("%-10s %14s %12s %10s   %s\n", "server", "CPU/request", "requests/s", "busy", first.name+" is cheaper by")
	for _, s := range servers {
		busy := s.median(sample.busy)
		note := ""
		if busy < 0.9 {
			note = "   the generator was the limit"
		}
		fmt.Printf("%-10s %11.2f us %12.0f %8.0f %%   %s%s\n",
			s.name, s.median(sample.cpuPerRequest), s.median(sample.rate), 100*busy, ratios(first, s), note)
	}
}

func ratios(first, s *server) string {
	if s == first {
		return "-"
	}
	var r []float64
	for i := range s.samples {
		r = append(r, s.samples[i].cpuPerRequest()/first.samples[i].cpuPerRequest())
	}
	slices.Sort(r)
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", r[len(r)/2], r[0], r[len(r)-1])
}
