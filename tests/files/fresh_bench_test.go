package files

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// BenchmarkFSFresh compares FS.Fresh with a cache that checks nothing for a second, for a
// file of 1 KB. It runs both in turns; ratio is the median of the times with the cache by
// those with Fresh.
func BenchmarkFSFresh(b *testing.B) {
	root := b.TempDir()
	text := []byte(strings.Repeat("0123456789abcde\n", 64))
	if err := os.WriteFile(filepath.Join(root, "f.txt"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // files that changed a moment ago are not cached
	cached := (&gale.FS{Root: root, StrongETags: true, AcceptByteRange: true, CacheDuration: time.Second}).NewRequestHandler()
	fresh := (&gale.FS{Root: root, StrongETags: true, AcceptByteRange: true, Fresh: true}).NewRequestHandler()
	b.Run("handler", func(b *testing.B) {
		inTurns(b, 100, handlerLoad(cached), handlerLoad(fresh))
	})
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		b.Run("connection/"+engine.String(), func(b *testing.B) {
			inTurns(b, 50, connLoad(b, engine, cached), connLoad(b, engine, fresh))
		})
	}
}

// inTurns calls both functions with n requests, until b.N requests were done.
func inTurns(b *testing.B, n int, first, second func(n int)) {
	first(n)
	second(n)
	var ratios, firsts, seconds []float64
	b.ResetTimer()
	for done := 0; done < b.N; done += 2 * n {
		start := time.Now()
		first(n)
		middle := time.Now()
		second(n)
		end := time.Now()
		f, s := float64(middle.Sub(start))/float64(n), float64(end.Sub(middle))/float64(n)
		firsts, seconds, ratios = append(firsts, f), append(seconds, s), append(ratios, f/s)
	}
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(firsts), "ns-cached")
	b.ReportMetric(median(seconds), "ns-fresh")
}

func handlerLoad(h gale.RequestHandler) func(n int) {
	var req gale.Request
	req.SetRequestURI("/f.txt")
	req.Header.SetHost("example.com")
	var ctx gale.RequestCtx
	ctx.Init(&req, nil, peers.DiscardLog{})
	return func(n int) {
		for range n {
			ctx.Response.Reset()
			h(&ctx)
		}
	}
}

// connLoad sends requests over one connection of loopback, one after another.
func connLoad(b *testing.B, engine gale.Engine, h gale.RequestHandler) func(n int) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &gale.Server{Handler: h, Engine: engine, Logger: peers.DiscardLog{}}
	go s.Serve(ln)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(); s.Shutdown() })
	r := bufio.NewReader(c)
	ask := func() (size int) {
		if _, err := io.WriteString(c, "GET /f.txt HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if size += len(line); len(line) == 2 {
				break
			}
		}
		n, err := r.Discard(1024)
		if err != nil {
			b.Fatal(err)
		}
		return size + n
	}
	return func(n int) {
		for range n {
			ask()
		}
	}
}
