package expvarhandler_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/expvarhandler"
)

// A server that shows its own counters counts the request that asks for them, and
// says which engine serves it.
func TestPublish(t *testing.T) {
	s := &gale.Server{Handler: expvarhandler.ExpvarHandler}
	if err := expvarhandler.Publish("published", s); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var last struct{ Published gale.Stats }
	for range 3 {
		status, body, err := gale.Get(nil, "http://"+ln.Addr().String()+"/?r=^published$")
		if err != nil || status != 200 {
			t.Fatalf("got %d, %v", status, err)
		}
		if err := json.Unmarshal(body, &last); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	}
	st := last.Published
	if st.Requests < 2 || st.AcceptedConnections != 1 || len(st.Listeners) != 1 || st.Listeners[0].Address != ln.Addr().String() || st.Listeners[0].Engine == gale.EngineAuto {
		t.Errorf("got %+v", st)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A name that is taken is an error that says so. If several goroutines want a name at the
// same time, one gets it.
func TestPublishTwice(t *testing.T) {
	for _, name := range []string{"memstats", "greeting"} {
		if err := expvarhandler.Publish(name, new(gale.Server)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var fine atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if expvarhandler.Publish("wanted by many", new(gale.Server)) == nil {
				fine.Add(1)
			}
		})
	}
	wg.Wait()
	if fine.Load() != 1 {
		t.Errorf("%d servers have one name", fine.Load())
	}
}

func ExamplePublish() {
	s := &gale.Server{Handler: expvarhandler.ExpvarHandler} // only where those can ask who should
	fmt.Println(expvarhandler.Publish("gale", s))
	fmt.Println(expvarhandler.Publish("gale", s))
	// Output:
	// <nil>
	// expvarhandler: there is a variable "gale" already: publish the server under another name
}
