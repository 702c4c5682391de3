// Command conformanceclient is the client under test of connectrpc.com/conformance: the
// client of connect-go over Gale's client, through package adaptor, or over net/http's.
//
//	connectconformance --mode client --conf ../testdata/conformance-client.yaml -- ./conformanceclient -client gale
//
// It reads ClientCompatRequests from its standard input, makes the calls that they
// describe, and writes ClientCompatResponses to its standard output.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/galehttp/gale/tests/rpc/conformancev1"
)

func main() {
	name := flag.String("client", "gale", "the client: gale or nethttp")
	flag.Parse()
	if err := run(*name, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run makes calls, up to 16 at a time, until the input ends.
func run(name string, from io.Reader, to io.Writer) error {
	var mu sync.Mutex // for to
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, 16)
	in := bufio.NewReader(from)
	for {
		req := new(conformancev1.ClientCompatRequest)
		if err := readMessage(in, req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			resp := &conformancev1.ClientCompatResponse{TestName: req.GetTestName()}
			if result, err := makeCall(name, req); err != nil {
				resp.Result = &conformancev1.ClientCompatResponse_Error{Error: &conformancev1.ClientErrorResult{Message: err.Error()}}
			} else {
				resp.Result = &conformancev1.ClientCompatResponse_Response{Response: result}
			}
			mu.Lock()
			defer mu.Unlock()
			if err := writeMessage(to, resp); err != nil {
				log.Print(err)
			}
		})
	}
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
