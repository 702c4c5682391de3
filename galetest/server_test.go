package galetest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

func hello(ctx *gale.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %t %s", ctx.Method(), ctx.URI().FullURI(), ctx.IsTLS(), ctx.PostBody())
}

// Each kind of server is reached by each kind of client.
func TestServers(t *testing.T) {
	for _, network := range []string{"", "tcp"} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(network+scheme, func(t *testing.T) {
				s := NewUnstartedServer(hello)
				s.Network = network
				if scheme == "http" {
					s.Start()
				} else {
					s.StartTLS()
				}
				defer func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					if err := s.Close(); err != nil {
						t.Error("a second time:", err)
					}
					if _, err := s.Get("/"); err == nil {
						t.Error("the server answers after Close")
					}
				}()
				want := fmt.Sprintf("GET %s/a?b=c %t ", s.URL, scheme == "https")
				resp, err := s.Get("/a?b=c")
				if err != nil || string(resp.Body()) != want {
					t.Errorf("Get: %q, %v, want %q", resp.Body(), err, want)
				}
				if _, b, err := s.Client().Get(nil, s.URL+"/a?b=c"); err != nil || string(b) != want {
					t.Errorf("Client: %q, %v", b, err)
				}
				hr, err := s.HTTPClient().Get(s.URL + "/a?b=c")
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(hr.Body)
				hr.Body.Close()
				if string(b) != want {
					t.Errorf("HTTPClient: %q", b)
				}
				req := NewRequest("POST", scheme+"://elsewhere.example/x", []byte("body"))
				resp = new(gale.Response)
				if err := s.Do(req, resp); err != nil || !strings.Contains(string(resp.Body()), "://elsewhere.example/x") {
					t.Errorf("another host: %q, %v", resp.Body(), err)
				}
				if scheme == "https" {
					return
				}
				c, err := s.Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 200 {
					t.Error(r, err)
				}
			})
		}
	}
}

// Settings can be changed before the start.
func TestConfig(t *testing.T) {
	s := NewUnstartedServer(hello)
	s.Config.Name = "mine"
	s.Start()
	defer s.Close()
	resp, err := s.Get("/")
	if err != nil || string(resp.Header.Server()) != "mine" {
		t.Error(resp, err)
	}
}

// Close waits for a request that is being answered, and works right after the
// start.
func TestClose(t *testing.T) {
	NewServer(hello).Close()
	NewUnstartedServer(hello).Close()
	started := make(chan bool)
	proceed := make(chan bool)
	s := NewServer(func(ctx *gale.RequestCtx) {
		close(started)
		<-proceed
		ctx.SetBodyString("done")
	})
	got := make(chan string)
	go func() {
		resp, err := s.Get("/")
		got <- fmt.Sprint(string(resp.Body()), err)
	}()
	<-started
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	await.Until(t, "Close to shut the server down", s.Config.Draining)
	close(proceed)
	if err := <-closed; err != nil {
		t.Error("Close:", err)
	}
	if g := <-got; g != "done<nil>" {
		t.Error(g)
	}
}

// A server without a handler says so where it is made.
func TestServerWithoutHandler(t *testing.T) {
	for name, start := range map[string]func(gale.RequestHandler) *Server{"plain": NewServer, "TLS": NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v, _ := recover().(string); !strings.Contains(v, "handler is nil") {
					t.Errorf("panicked with %q", v)
				}
			}()
			start(nil).Close()
		})
	}
}
