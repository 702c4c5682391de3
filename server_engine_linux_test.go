package gale

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/peers"
)

// If there are no descriptors left for the event engine, EngineAuto serves with the block
// engine, and logs that.
func TestAutoWithoutEventEngine(t *testing.T) {
	defer func(e Engine) { autoEngine = e }(autoEngine)
	autoEngine = EngineEvent
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	l := &peers.Log{}
	s := &Server{Logger: l, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("served") }}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	for end := time.Now().Add(30 * time.Second); len(s.Stats().Listeners) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // between two looks
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	st := s.Stats().Listeners
	if len(st) != 1 || st[0].Engine != EngineBlock || !strings.Contains(l.String(), "EngineBlock") {
		t.Errorf("%+v; log: %s", st, l)
	}
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := peers.NewConn(t, nc)
	c.Send(peers.Get("/"))
	c.Want("GET", 200, "served")
	s.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
