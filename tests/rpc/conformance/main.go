// Command conformance is the server under test of connectrpc.com/conformance: a service of
// connect-go on a Gale server, through package adaptor, or on a net/http server.
//
//	connectconformance --mode server --conf ../testdata/conformance.yaml -- ./conformance -server gale
//
// It reads a ServerCompatRequest from its standard input, serves what that asks for, and
// writes a ServerCompatResponse with its port to its standard output. It shuts down at
// SIGTERM.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/proto"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/rpc/conformancev1"
	"github.com/galehttp/gale/tests/rpc/conformancev1/conformancev1connect"
)

func main() {
	name := flag.String("server", "gale", "the server: gale or nethttp")
	engine := gale.EngineAuto
	flag.TextVar(&engine, "engine", engine, "the engine of gale: auto, block or event")
	flag.Parse()
	if err := run(*name, engine); err != nil {
		log.Fatal(err)
	}
}

// run serves until the runner ends the process.
func run(name string, engine gale.Engine) error {
	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	req := new(conformancev1.ServerCompatRequest)
	if err := readMessage(os.Stdin, req); err != nil {
		return fmt.Errorf("reading the request of the runner: %w", err)
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := newServer(name, engine, req, handler(req))
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.serve(ln) }()
	err = writeMessage(os.Stdout, &conformancev1.ServerCompatResponse{
		Host:    "127.0.0.1",
		Port:    uint32(ln.Addr().(*net.TCPAddr).Port),
		PemCert: req.GetServerCreds().GetCert(),
	})
	if err != nil {
		return err
	}
	select {
	case err := <-served:
		return err
	case <-stop.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.shutdown(end)
}

// handler returns the service with the limits that the runner asks for.
func handler(req *conformancev1.ServerCompatRequest) http.Handler {
	server := connect.NewServer()
	conformancev1connect.RegisterConformanceServiceHandler(server, service{})
	var options []connecthttp.Option
	if n := req.GetMessageReceiveLimit(); n > 0 {
		options = append(options, connecthttp.WithReadMaxBytes(int(n)))
	}
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server, options...)
	return mux
}

// readMessage reads a message that begins with its length in four bytes.
func readMessage(r io.Reader, m proto.Message) error {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}

// writeMessage writes a message as readMessage reads it.
func writeMessage(w io.Writer, m proto.Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}
