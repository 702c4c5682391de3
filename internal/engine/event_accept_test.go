package engine

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// Code that asks for the descriptor of a duplicate of the listener, as os/exec does to
// pass it to a child, makes the listener blocking, for every process that has it. Each
// connection is still served, and Serve ends.
func TestEventListenerMadeBlocking(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &Event{Panicked: func(r any) { t.Error(r) }, Ended: func(Session, error) {}}
	if !e.Serves(ln) {
		ln.Close()
		t.Skip("no event engine here")
	}
	newSession := talker(t, "x")
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			e.Adopt(nc)
			e.Start(nc, nil, 0, newSession())
		}, func(err error) { t.Error(err) })
	}()
	for i := range 50 {
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		f.Fd()
		f.Close()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(tooLong))
		line := fmt.Sprintf("line %d\n", i)
		send(t, c, line)
		want(t, c, line)
		c.Close()
	}
	await.Gone(t, "connections", func() bool { return e.Len() == 0 })
	ln.Close()
	select {
	case <-served:
	case <-time.After(tooLong):
		t.Fatal("Serve did not return when the listener was closed")
	}
	await.Gone(t, "loops", func() bool { return e.all() == nil })
}
