// Command hello is the server for measurements. It answers every request with "Hello,
// world!", except that it answers a POST with its own body.
//
//	hello -addr HOST:PORT [-engine auto|block|event] [-sleep 1ms [-every 100]] [-spin 100us] [-headers 4] [-h2c | -tls] [-freemem]
//
// It sends the same bytes as the corresponding programs for other libraries, so that
// their results can be compared.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("hello: ")
	addr := flag.String("addr", "127.0.0.1:8100", "listen on `host:port`")
	var engine gale.Engine
	flag.TextVar(&engine, "engine", gale.EngineBlock, "serve with this `engine`: auto, block or event")
	var work work
	flag.DurationVar(&work.sleep, "sleep", 0, "sleep so long in a handler")
	flag.Uint64Var(&work.every, "every", 1, "sleep in every `n`th handler only")
	flag.DurationVar(&work.spin, "spin", 0, "use the processor so long in each handler")
	headers := flag.Int("headers", 0, "answer with `n` more fields")
	freemem := flag.Bool("freemem", false, "return free memory to the system every second")
	h2c := flag.Bool("h2c", false, "speak HTTP/2 to clients that begin with it")
	overTLS := flag.Bool("tls", false, "speak TLS, with a certificate of its own")
	flag.Parse()
	if flag.NArg() > 0 || work.every == 0 {
		flag.Usage()
		os.Exit(2)
	}
	for i := range *headers {
		work.fields = append(work.fields, fmt.Sprintf("X-Field-%d", i+1))
	}
	if *freemem {
		go freeMemory()
	}
	s := &gale.Server{Concurrency: 1 << 20, Engine: engine, Handler: work.handle, HTTP2: gale.HTTP2Config{H2C: *h2c}}
	if !*overTLS {
		log.Fatal(s.ListenAndServe(*addr))
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.ListenAndServeTLSEmbed(*addr, cert, key))
}

// work is the work of a handler before it answers.
type work struct {
	sleep, spin time.Duration
	every       uint64
	fields      []string
	count       atomic.Uint64
}

func (w *work) handle(ctx *gale.RequestCtx) {
	if w.sleep > 0 && (w.every == 1 || w.count.Add(1)%w.every == 0) {
		time.Sleep(w.sleep)
	}
	if w.spin > 0 {
		for t := time.Now(); time.Since(t) < w.spin; {
		}
	}
	for _, name := range w.fields {
		ctx.Response.Header.Set(name, "0123456789abcdef0123456789abcdef")
	}
	if ctx.IsPost() {
		ctx.SetBody(ctx.PostBody())
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBodyString("Hello, world!")
}

func freeMemory() {
	for range time.Tick(time.Second) {
		debug.FreeOSMemory()
	}
}
