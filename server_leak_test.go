package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/race"
)

// leakRequests returns how many requests TestNoForeignBytes sends: GALE_LEAK_REQUESTS, by
// default few enough for every test run.
func leakRequests() int64 {
	if n, err := strconv.ParseInt(os.Getenv("GALE_LEAK_REQUESTS"), 10, 64); err == nil {
		return n
	}
	if race.Enabled {
		return 20_000
	}
	return 100_000
}

// TestNoForeignBytes proves that no answer has a token of another request. It sends
// requests with a token in target, header, cookie and body on 64 connections, pipelined,
// with panics, timeouts and aborts among them. Contexts and buffers are used again all
// the time, even with the race detector.
func TestNoForeignBytes(t *testing.T) {
	usedAgain(t)
	testNoForeignBytes(t, &Server{}, leakRequests())
}

// testNoForeignBytes sends total requests to s.
func testNoForeignBytes(t *testing.T, s *Server, total int64) {
	s.Logger = &testLog{}
	slow := TimeoutHandler(func(ctx *RequestCtx) {
		<-ctx.Done()
		time.Sleep(time.Millisecond)
		ctx.Response.Header.Set("X-Token", "late")
		ctx.Write(ctx.Request.Body())
	}, time.Millisecond, "timeout")
	ts := startServer(t, s, func(ctx *RequestCtx) {
		token := ctx.QueryArgs().Peek("token")
		ctx.Response.Header.SetBytesV("X-Token", token)
		switch string(ctx.Path()) {
		case "/panic":
			ctx.Write(token)
			panic(string(token))
		case "/timeout":
			slow(ctx)
			return
		case "/abort":
			panic(ErrAbortHandler)
		case "/stream":
			body := append([]byte(nil), ctx.PostBody()...)
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(body); w.Flush() })
			return
		}
		h := &ctx.Request.Header
		fmt.Fprintf(ctx, "%s %s %s %s", token, h.Peek("X-Token"), h.Cookie("token"), ctx.PostBody())
	})
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for sent.Load() < total && !t.Failed() {
				leakConn(t, ts.addr, &sent, total)
			}
		}()
	}
	wg.Wait()
}

// leakConn sends batches of requests on one connection until it breaks.
func leakConn(t *testing.T, addr string, sent *atomic.Int64, total int64) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	br := bufio.NewReader(c)
	var out []byte
	for {
		n := int64(1 + rand.IntN(8))
		base := sent.Add(n) - n
		if base >= total {
			return
		}
		out = out[:0]
		kinds := make([]string, n)
		for i := range n {
			kinds[i] = "/echo"
			switch rand.IntN(500) {
			case 0:
				kinds[i] = "/panic"
			case 1:
				kinds[i] = "/abort"
			case 2:
				kinds[i] = "/timeout"
			case 3, 4, 5, 6, 7, 8, 9:
				kinds[i] = "/stream"
			}
			tok := token(base + i)
			body := strings.Repeat(tok, 1+int(base+i)%5)
			out = fmt.Appendf(out, "POST %s?token=%s HTTP/1.1\r\nHost: h\r\nX-Token: %s\r\nCookie: a=b; token=%s\r\nContent-Length: %d\r\n\r\n%s",
				kinds[i], tok, tok, tok, len(body), body)
		}
		if rand.IntN(100) == 0 { // leave in the middle of a request
			c.Write(out[:rand.IntN(len(out))])
			return
		}
		if _, err := c.Write(out); err != nil {
			return
		}
		for i := range n {
			tok := token(base + i)
			body := strings.Repeat(tok, 1+int(base+i)%5)
			status, closes, header, got, err := readAnswer(br)
			if err != nil {
				if kinds[i] != "/abort" {
					t.Errorf("%s: %v", kinds[i], err)
				}
				return
			}
			want := tok + " " + tok + " " + tok + " " + body
			switch {
			case kinds[i] == "/stream":
				want = body
			case status == 500 && kinds[i] == "/panic":
				want = "Internal Server Error"
			case status == 408 && kinds[i] == "/timeout":
				want = "timeout"
			}
			if string(got) != want {
				t.Errorf("%s with token %s: status %d, body %q, want %q", kinds[i], tok, status, got, want)
				return
			}
			if j := bytes.Index(header, []byte("X-Token: ")); j >= 0 && !bytes.HasPrefix(header[j+9:], []byte(tok)) {
				t.Errorf("token %s got the header %q", tok, header)
				return
			}
			if closes {
				return
			}
		}
	}
}

func token(n int64) string { return fmt.Sprintf("tok%012d", n) }

var errAnswer = errors.New("malformed answer")

// readAnswer reads a response: light enough for a million of them.
func readAnswer(br *bufio.Reader) (status int, closes bool, header, body []byte, err error) {
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return 0, false, nil, nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			if len(line) < 12 {
				return 0, false, nil, nil, errAnswer
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, false, nil, nil, errAnswer
			}
		}
		if len(line) == 0 {
			break
		}
		header = append(append(header, line...), '\n')
		name, value, _ := strings.Cut(string(line), ": ")
		switch name {
		case "Content-Length":
			length, _ = strconv.Atoi(value)
		case "Transfer-Encoding":
			chunked = true
		case "Connection":
			closes = value == "close"
		}
	}
	for chunked {
		line, err := br.ReadString('\n')
		if err != nil {
			return 0, false, nil, nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return 0, false, nil, nil, errAnswer
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(br, b); err != nil {
			return 0, false, nil, nil, err
		}
		body = append(body, b[:n]...)
		if n == 0 {
			return status, closes, header, body, nil
		}
	}
	body = make([]byte, length)
	_, err = io.ReadFull(br, body)
	return status, closes, header, body, err
}

// TestNothingIsLeft proves that there are no more goroutines and descriptors than before
// after clients have come and gone in every way.
func TestNothingIsLeft(t *testing.T) {
	check := settled(t)
	s := &Server{StreamRequestBody: true, ReadTimeout: 200 * time.Millisecond, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/done":
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		case "/panic":
			panic("on purpose")
		case "/hijack":
			ctx.Hijack(func(net.Conn) {})
		case "/writer":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x") })
		case "/pipe":
			ctx.SetBodyStream(NewStreamReader(func(w *bufio.Writer) { w.WriteString("x") }), -1)
		case "/timeout":
			TimeoutHandler(func(ctx *RequestCtx) { <-ctx.Done() }, time.Millisecond, "t")(ctx)
		}
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 20 {
				c, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				c.SetDeadline(time.Now().Add(time.Minute))
				paths := []string{"/", "/done", "/panic", "/hijack", "/writer", "/pipe", "/timeout"}
				req := post(paths[(i+j)%len(paths)], "some body")
				if j%3 == 0 {
					req = req[:len(req)*j/20]
				}
				io.WriteString(c, req)
				if j%2 == 0 {
					c.Read(make([]byte, 100))
				}
				if j%5 == 0 {
					c.(*net.TCPConn).SetLinger(0) // reset
				}
				c.Close()
			}
		}()
	}
	wg.Wait()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	check()
}

// openFiles returns how many descriptors the process has open, 0 if the system can't
// tell.
func openFiles() int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(es)
}
