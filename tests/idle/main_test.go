package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// TestMain makes the test binary the server that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestMeasure(t *testing.T) {
	engines := []gale.Engine{gale.EngineBlock}
	if runtime.GOOS == "linux" {
		engines = append(engines, gale.EngineEvent)
	}
	for _, engine := range engines {
		for _, o := range []options{{proto: "h1"}, {proto: "h2"}, {proto: "h1", tls: true}, {proto: "h2", tls: true}} {
			o.engine, o.n = engine, 30
			t.Run(fmt.Sprintf("%s,tls=%t,%s", o.proto, o.tls, engine), func(t *testing.T) {
				t.Parallel()
				w, err := measure(o)
				if err != nil {
					t.Fatal(err)
				}
				line := w.per(o)
				if w.Conns != int64(o.n) || !strings.Contains(line, "30 idle connections") || !strings.HasPrefix(line, o.proto) {
					t.Error(line)
				}
				t.Log(line)
			})
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	if _, err := measure(options{n: maxFiles()}); err == nil {
		t.Error("no error for more connections than files")
	}
}

// TestServerEnds proves that start returns if the server doesn't serve.
func TestServerEnds(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	s := &gale.Server{Handler: func(*gale.RequestCtx) {}}
	failed := make(chan error, 1)
	failed <- listen(s, ln, false)
	if err := waitUntilIdle(s, 1, failed); !errors.Is(err, errEnded) {
		t.Error(err)
	}
}
