package adaptor_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// keepingStream is a body whose WriteTo passes its writer to end, which may keep it.
type keepingStream struct{ end func(w io.Writer) }

func (keepingStream) Read([]byte) (int, error)  { panic("WriteTo is to be used") }
func (keepingStream) SupportsBodyWriteTo() bool { return true }

func (k keepingStream) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "hello")
	k.end(w)
	return int64(n), err
}

// A writer that the WriteTo of a stream gets ends with WriteTo, however that ends: what a program
// writes later is refused, and is in no other response. This holds on each engine, over both
// protocols, and on net/http.
func TestKeptWriters(t *testing.T) {
	sets := map[string]func(ctx *gale.RequestCtx, body io.Reader){
		"known length":   func(ctx *gale.RequestCtx, body io.Reader) { ctx.SetBodyStream(body, 5) },
		"unknown length": func(ctx *gale.RequestCtx, body io.Reader) { ctx.SetBodyStream(body, -1) },
		"flushed, known length": func(ctx *gale.RequestCtx, body io.Reader) {
			ctx.Response.Header.SetContentLength(10)
			flushed(ctx)
			ctx.SetBodyStream(body, 5)
		},
		"flushed": func(ctx *gale.RequestCtx, body io.Reader) {
			flushed(ctx)
			ctx.SetBodyStream(body, -1)
		},
	}
	ends := map[string]func(){
		"returns":       func() {},
		"panics":        func() { panic(gale.ErrAbortHandler) },
		"calls Goexit":  runtime.Goexit,
		"while it runs": nil, // a goroutine writes all the time
	}
	for _, out := range outsides {
		for body, set := range sets {
			for how, end := range ends {
				t.Run(out.name+"/"+body+"/"+how, func(t *testing.T) { keepWriter(t, out.version, out.serve, set, end) })
			}
		}
	}
}

func keepWriter(t *testing.T, version int, serve func(*testing.T, int, gale.RequestHandler) string, set func(*gale.RequestCtx, io.Reader), end func()) {
	var kept io.Writer
	var others sync.WaitGroup
	var late, stop atomic.Bool
	ended, begun, goOn := make(chan bool), make(chan bool), make(chan bool)
	write := func() {
		isLate := late.Load()
		if n, err := io.WriteString(kept, "late"); isLate && (n != 0 || err == nil) {
			t.Errorf("a late write: %d, %v", n, err)
			stop.Store(true)
		}
	}
	body := keepingStream{func(w io.Writer) {
		kept = w
		if end != nil {
			end()
			return
		}
		wrote := make(chan bool)
		others.Go(func() {
			for once := sync.OnceFunc(func() { close(wrote) }); !stop.Load(); once() {
				write()
				runtime.Gosched()
			}
		})
		<-wrote
	}}
	url := serve(t, version, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/keep" {
			ctx.AfterSend(func(int64, error) { close(ended) })
			set(ctx, body)
			return
		}
		_, _ = ctx.WriteString("own")
		if err := ctx.Flush(); err != nil {
			t.Error(err)
		}
		begun <- true
		<-goOn
	})
	tr := &http.Transport{Protocols: peers.Protocols(version)}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: time.Minute} // for a test that hangs
	if resp, err := client.Get(url + "/keep"); err == nil {
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := string(b); end != nil && err == nil && !strings.HasSuffix(got, "hello") {
			t.Errorf("got %q", got)
		}
	}
	<-ended
	late.Store(true)
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Get(url + "/next")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		answer <- string(b)
	}()
	<-begun
	write()
	stop.Store(true)
	others.Wait()
	goOn <- true
	if got := <-answer; got != "own" {
		t.Errorf("the next response is %q", got)
	}
}
