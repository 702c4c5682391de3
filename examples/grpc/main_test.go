package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/examples/grpc/greet"
	"github.com/galehttp/gale/tests/harness/await"
)

// wait is how long anything may take before a test gives up.
const wait = time.Minute

// start serves on loopback, over TLS if cert isn't nil.
func start(t *testing.T, engine gale.Engine, cert, key []byte) (*gale.Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	s.Engine = engine
	served := make(chan error, 1)
	go func() {
		if cert != nil {
			served <- s.ServeTLSEmbed(ln, cert, key)
		} else {
			served <- s.Serve(ln)
		}
	}()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

func TestService(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineAuto, gale.EngineBlock} {
		s, addr := start(t, engine, nil, nil)
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		c := greet.NewGreeterClient(conn)
		out, err := c.Greet(ctx, &greet.GreetRequest{Name: "ada"})
		if err != nil || out.GetGreeting() != "Hello, ada!" {
			t.Fatalf("%v, %v", out, err)
		}
		if _, err := c.Greet(ctx, &greet.GreetRequest{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("without a name: %v", err)
		}

		// A stream goes on during a shutdown, which waits for it.
		stream, err := c.Chat(ctx)
		if err != nil {
			t.Fatal(err)
		}
		down := make(chan error, 1)
		for i, name := range []string{"grace", "edsger"} {
			if err := stream.Send(&greet.GreetRequest{Name: name}); err != nil {
				t.Fatal(err)
			}
			if out, err := stream.Recv(); err != nil || out.GetGreeting() != "Hello, "+name+"!" {
				t.Fatalf("%v, %v", out, err)
			}
			if i == 0 {
				go func() { down <- s.ShutdownWithContext(ctx) }()
				await.Until(t, "the shutdown to begin", s.Draining)
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
		if _, err := stream.Recv(); err != io.EOF {
			t.Errorf("the stream ended with %v", err)
		}
		if err := <-down; err != nil {
			t.Errorf("the shutdown: %v", err)
		}
	}
}

// TestSamePort asks for something else, by HTTP/1.1.
func TestSamePort(t *testing.T) {
	_, addr := start(t, gale.EngineAuto, nil, nil)
	resp, err := http.Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "Greet me by gRPC.\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestClient runs the client, with TLS and without.
func TestClient(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	_, plain := start(t, gale.EngineAuto, nil, nil)
	_, secure := start(t, gale.EngineAuto, cert, key)
	for _, args := range [][]string{{"-addr", plain}, {"-addr", secure, "-ca", ca}} {
		args = append(append([]string{"run", "./client"}, args...), "ada", "grace")
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil || string(out) != "Hello, ada!\nHello, grace!\n" {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}
