package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/galehttp/gale"
)

func TestClientZeroValue(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, r.FormValue("a"))
	}))
	defer s.Close()
	var c gale.Client
	defer c.CloseIdleConnections()
	code, body, err := c.Get(nil, s.URL+"/x?y")
	if code != 200 || string(body) != "GET /x?y " || err != nil {
		t.Fatalf("Get = %d %q %v", code, body, err)
	}
	var args gale.Args
	args.Set("a", "b")
	code, body, err = c.Post(body, s.URL+"/x", &args)
	if code != 200 || string(body) != "POST /x b" || err != nil {
		t.Fatalf("Post = %d %q %v", code, body, err)
	}
	if n := c.ConnsCount(); n != 1 {
		t.Errorf("%d connections, want the one that was used twice", n)
	}
}
