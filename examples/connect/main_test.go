package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/examples/connect/greet"
	"github.com/galehttp/gale/examples/connect/greet/greetconnect"
)

// wait is how long anything may take before a test gives up.
const wait = time.Minute

// start serves on loopback, over TLS if cert isn't nil.
func start(t *testing.T, engine gale.Engine, cert, key []byte) string {
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
	return ln.Addr().String()
}

// TestHTTP1 calls with JSON over HTTP/1.1, as curl does.
func TestHTTP1(t *testing.T) {
	addr := start(t, gale.EngineAuto, nil, nil)
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"name":"ada"}`, 200, `{"greeting":"Hello, ada!"}`},
		{`{}`, 400, `{"code":"invalid_argument","message":"the name is missing"}`},
	} {
		resp, err := http.Post("http://"+addr+"/greet.Greeter/Greet", "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		b = bytes.ReplaceAll(b, []byte(`": "`), []byte(`":"`)) // protobuf's JSON varies its spaces
		if err != nil || resp.StatusCode != tt.status || string(b) != tt.want {
			t.Errorf("%s: %d %s, %v, want %d %s", tt.body, resp.StatusCode, b, err, tt.status, tt.want)
		}
	}
}

// TestUnary calls by all protocols over HTTP/1.1 and by gRPC over HTTP/2.
func TestUnary(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineAuto, gale.EngineBlock} {
		addr := start(t, engine, nil, nil)
		p := new(http.Protocols)
		p.SetUnencryptedHTTP2(true)
		tr := &http.Transport{Protocols: p}
		defer tr.CloseIdleConnections()
		for name, transport := range map[string]connect.Transport{
			"connect":  connecthttp.NewTransport(http.DefaultClient, "http://"+addr),
			"gRPC-Web": connecthttp.NewTransport(http.DefaultClient, "http://"+addr, connecthttp.WithGRPCWeb()),
			"gRPC":     connecthttp.NewTransport(&http.Client{Transport: tr}, "http://"+addr, connecthttp.WithGRPC()),
		} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			c := greetconnect.NewGreeterClient(connect.NewClient(transport))
			out, err := c.Greet(ctx, &greet.GreetRequest{Name: "ada"})
			if err != nil || out.GetGreeting() != "Hello, ada!" {
				t.Errorf("%s: %v, %v", name, out, err)
			}
			if _, err := c.Greet(ctx, &greet.GreetRequest{}); connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("%s: without a name: %v", name, err)
			}
		}
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
	plain := "http://" + start(t, gale.EngineAuto, nil, nil)
	secure := "https://" + start(t, gale.EngineAuto, cert, key)
	for _, args := range [][]string{
		{"-url", plain},
		{"-url", plain, "-protocol", "grpc"},
		{"-url", plain, "-protocol", "grpcweb"},
		{"-url", secure, "-ca", ca},
		{"-url", secure, "-ca", ca, "-protocol", "grpc"},
		{"-url", plain, "-nethttp"},
		{"-url", secure, "-ca", ca, "-nethttp"},
	} {
		args = append(append([]string{"run", "./client"}, args...), "ada", "grace")
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil || string(out) != "Hello, ada!\nHello, grace!\n" {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}
