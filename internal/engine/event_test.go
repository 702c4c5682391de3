package engine

import (
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// startEvent serves one connection with s on Event. ended is closed when the
// connection has ended.
func startEvent(t *testing.T, s Session) (e *Event, client net.Conn, ended chan struct{}) {
	t.Helper()
	return startEventAfter(t, s, func(*Event) {})
}

// startEventAfter is startEvent, and calls before between Adopt and Start.
func startEventAfter(t *testing.T, s Session, before func(e *Event)) (e *Event, client net.Conn, ended chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{})
	e = &Event{
		Ended:    func(Session, error) { close(ended) },
		Panicked: func(r any) { t.Errorf("panic: %v", r) },
	}
	if !e.Serves(ln) {
		ln.Close()
		t.Skip("no event engine here")
	}
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
				return
			}
			before(e)
			e.Start(nc, nil, 0, s)
		}, func(err error) { t.Error(err) })
	}()
	t.Cleanup(func() {
		ln.Close()
		select {
		case <-served:
		case <-time.After(tooLong):
			t.Error("Serve did not return when the listener was closed")
		}
		await.Gone(t, "loops", func() bool { return e.all() == nil })
	})
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(tooLong))
	return e, client, ended
}
