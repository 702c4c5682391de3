package server

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Bodies of all sizes arrive as they were sent, with and without TLS, in pieces of any
// size, chunked or not, pipelined or not. Most of a long body is read directly into its
// buffer, and the bytes after it belong to the next request.
func TestBodiesArriveWhole(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, MaxRequestBodySize: 1 << 20, Handler: func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "%d %08x", len(ctx.PostBody()), crc32.ChecksumIEEE(ctx.PostBody()))
		}}
		plain := harness.Start(t, s, nil).Addr
		secure := harness.StartTLS(t, &gale.Server{Engine: e, MaxRequestBodySize: 1 << 20, Handler: s.Handler})
		for name, dial := range map[string]func() (net.Conn, error){
			"tcp": func() (net.Conn, error) { return net.Dial("tcp", plain) },
			"tls": func() (net.Conn, error) {
				return tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
			},
		} {
			t.Run(name, func(t *testing.T) {
				for seed := range uint64(6) {
					sendBodies(t, dial, rand.New(rand.NewPCG(seed, 2)))
				}
			})
		}
	})
}

// sendBodies sends 30 requests over one connection and checks the answers.
func sendBodies(t *testing.T, dial func() (net.Conn, error), r *rand.Rand) {
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(60 * time.Second))
	var sent bytes.Buffer
	var wants []string
	for range 30 {
		body := make([]byte, r.IntN(1<<(4+r.IntN(15))))
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		wants = append(wants, fmt.Sprintf("%d %08x", len(body), crc32.ChecksumIEEE(body)))
		if r.IntN(3) > 0 {
			fmt.Fprintf(&sent, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			continue
		}
		io.WriteString(&sent, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
		for len(body) > 0 {
			n := min(1+r.IntN(20_000), len(body))
			fmt.Fprintf(&sent, "%x\r\n%s\r\n", n, body[:n])
			body = body[n:]
		}
		io.WriteString(&sent, "0\r\n\r\n")
	}
	go func() {
		for sent.Len() > 0 {
			if _, err := nc.Write(sent.Next(1 + r.IntN(1<<(2+r.IntN(16))))); err != nil {
				return // a missing answer shows the error
			}
		}
	}()
	c := peers.NewConn(t, nc)
	for _, want := range wants {
		c.Want("POST", 200, want)
	}
}

// The server logs that a streamed body was read into memory as a whole, with every protocol, but only
// ten times.
func TestReadsWholeLog(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		log := &peers.Log{}
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, Logger: log, Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBody(ctx.Request.Body())
		}})
		client := hs.Client(major)
		for n := range 12 {
			if got := peers.Upload(t, client, hs.URL("/"), strings.NewReader("hello")); got != "hello" {
				t.Errorf("the answer is %q", got)
			}
			if lines := strings.Count(log.String(), "Request.Body() reads the entire stream"); lines != min(n+1, 10) {
				t.Errorf("after %d requests there are %d lines", n+1, lines)
			}
		}
	})
}
