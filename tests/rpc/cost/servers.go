package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// serverNames are the servers that can be measured.
var serverNames = []string{"gale-event", "gale-block", "nethttp", "grpc-go"}

// beServer serves on a free port, which it prints, until SIGTERM.
func beServer(name, profile string) error {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g := grpc.NewServer()
	pb.RegisterTestServiceServer(g, interop.NewTestServer())
	if profile != "" {
		f, err := os.Create(profile + name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	failed := make(chan error, 1)
	go func() { failed <- serve(name, ln, g) }()
	fmt.Println(ln.Addr())
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
		return nil
	}
}

// serve serves g on the server of that name.
func serve(name string, ln net.Listener, g *grpc.Server) error {
	switch name {
	case "gale-event", "gale-block":
		s := &gale.Server{
			Engine:            gale.EngineEvent,
			Handler:           adaptor.NewFastHTTPHandler(g),
			StreamRequestBody: true,
			HTTP2:             gale.HTTP2Config{H2C: true},
		}
		if name == "gale-block" {
			s.Engine = gale.EngineBlock
		}
		return s.Serve(ln)
	case "nethttp":
		s := &http.Server{Handler: g, Protocols: new(http.Protocols)}
		s.Protocols.SetUnencryptedHTTP2(true)
		return s.Serve(ln)
	case "grpc-go":
		return g.Serve(ln)
	}
	return fmt.Errorf("there is no server %q", name)
}
