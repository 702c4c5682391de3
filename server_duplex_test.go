package gale

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A handler may read the body of the request on one goroutine and send on another one.

// duplexSize is more than the buffers of both ends of a connection hold.
const duplexSize = 16 << 20

// counted reads r to its end on a goroutine, and sends how many bytes it has read.
func counted(r io.Reader) <-chan int64 {
	n := make(chan int64, 1)
	go func() {
		sum, _ := io.Copy(io.Discard, r)
		n <- sum
	}()
	return n
}

// duplexHandlers read the body on one goroutine and send duplexSize bytes on another one.
// Then they send how many bytes the first one has read.
var duplexHandlers = []struct {
	name string
	h    RequestHandler
}{
	{"Flush", func(ctx *RequestCtx) {
		read := counted(ctx.RequestBodyStream())
		piece := bytes.Repeat([]byte{'x'}, 64<<10)
		for range duplexSize / len(piece) {
			ctx.Write(piece)
			if err := ctx.Flush(); err != nil {
				ctx.Logger().Printf("Flush: %v", err)
				return
			}
		}
		fmt.Fprint(ctx, <-read)
	}},
	{"SetBodyStreamWriter", func(ctx *RequestCtx) {
		read := counted(ctx.RequestBodyStream())
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			piece := bytes.Repeat([]byte{'x'}, 1<<10)
			for range duplexSize / len(piece) {
				w.Write(piece)
			}
			fmt.Fprint(w, <-read)
		})
	}},
	{"NewStreamReader", func(ctx *RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.SetBodyStream(NewStreamReader(func(w *bufio.Writer) {
			read := counted(body)
			io.CopyN(w, zeros{}, duplexSize)
			fmt.Fprint(w, <-read)
		}), -1)
	}},
}

// zeros is a stream of zero bytes without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// onDuplexServers calls f for each engine, in the clear and over TLS. dial makes a
// connection to a server of h.
func onDuplexServers(t *testing.T, h RequestHandler, f func(t *testing.T, dial func() *testConn)) {
	onEngines(t, func(t *testing.T, e Engine) {
		for _, secure := range []bool{false, true} {
			t.Run("tls="+strconv.FormatBool(secure), func(t *testing.T) {
				l := &testLog{}
				s := &Server{Engine: e, StreamRequestBody: true, Handler: h, Logger: l}
				var addr string
				if secure {
					addr = startTLS(t, s)
				} else {
					addr = startServer(t, s, nil).addr
				}
				f(t, func() *testConn {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					if secure {
						c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
					}
					return newTestConn(t, c)
				})
				if l.String() != "" {
					t.Errorf("the log has %q, want nothing", l.String())
				}
			})
		}
	})
}

// wantDuplex reads a response of duplexHandlers.
func (c *testConn) wantDuplex(read int) {
	c.t.Helper()
	if a := c.read("POST"); len(a.body) < duplexSize || a.body[duplexSize:] != strconv.Itoa(read) {
		c.t.Fatalf("the response has %d bytes that end with %q, want %d and then %d",
			len(a.body), a.body[min(len(a.body), duplexSize):], duplexSize, read)
	}
}

// The two directions don't depend on each other: the request of a client that reads
// nothing is read completely, and a client that sends nothing gets the response.
func TestReadWhileSending(t *testing.T) {
	head := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + strconv.Itoa(duplexSize) + "\r\n"
	for _, d := range duplexHandlers {
		t.Run(d.name, func(t *testing.T) {
			onDuplexServers(t, d.h, func(t *testing.T, dial func() *testConn) {
				body := strings.Repeat("b", duplexSize)
				c := dial()
				c.send(head + "\r\n")
				c.send(body) // the socket holds no more of the response
				c.wantDuplex(duplexSize)

				c = dial()
				c.send(head + "\r\n")
				sent := make(chan error, 1)
				first, err := c.br.Peek(12)
				if string(first) != "HTTP/1.1 200" {
					t.Fatalf("%q, %v before the body, want the response", first, err)
				}
				go func() {
					_, err := io.WriteString(c, body)
					sent <- err
				}()
				c.wantDuplex(duplexSize)
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The connection goes on after a request that was read to its end before the response's
// head was sent. Output that was due before is sent once, before the response.
func TestReadWhileSendingContinue(t *testing.T) {
	h := func(ctx *RequestCtx) {
		read := counted(ctx.RequestBodyStream())
		ctx.WriteString("begin ")
		n := <-read
		ctx.Flush()
		fmt.Fprint(ctx, n)
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 50 {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			for _, line := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
				if got, err := c.br.ReadString('\n'); got != line {
					t.Fatalf("%q, %v, want %q", got, err, line)
				}
			}
			c.send("hello")
			c.want("POST", 200, "begin 5")
		}
	})
}

// Write deadlines of a handler apply while a Read waits.
func TestWriteDeadlineWhileReading(t *testing.T) {
	errs := make(chan error, 2)
	h := func(ctx *RequestCtx) {
		body := ctx.RequestBodyStream()
		go func() {
			_, err := io.Copy(io.Discard, body)
			errs <- err
		}()
		ctx.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		var err error
		for err == nil {
			ctx.Write(make([]byte, 64<<10))
			err = ctx.Flush()
		}
		errs <- err
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
		if err := <-errs; !errors.Is(err, os.ErrDeadlineExceeded) && err != ErrTimeout {
			t.Errorf("Flush: %v, want a time-out", err)
		}
		if err := <-errs; err == nil {
			t.Error("the body that never came was read")
		}
	})
}

// A connection can't be hijacked while another goroutine reads from it. The handler gets
// an error, and answers.
func TestHijackWhileReading(t *testing.T) {
	begun, read := make(chan bool), make(chan error, 1)
	h := func(ctx *RequestCtx) {
		body := ctx.RequestBodyStream()
		go func() {
			b := make([]byte, 2)
			io.ReadFull(body, b)
			begun <- true
			_, err := body.Read(b)
			read <- err
		}()
		<-begun
		for ctx.stream.mu.TryLock() { // the second Read has not begun yet
			ctx.stream.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		nc, err := ctx.HijackNow()
		fmt.Fprint(ctx, nc == nil, err == errHijackReading)
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
		c.want("POST", 200, "true true")
		if err := <-read; err == nil {
			t.Error("the Read went on after the handler")
		}
		c.wantClosed()
	})
}

// After its timeout a TimeoutHandler doesn't wait for a Read of its handler that waits
// until another goroutine has written to a client that reads nothing.
func TestTimeoutWhileWriting(t *testing.T) {
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		h := TimeoutHandler(func(ctx *RequestCtx) {
			body := ctx.RequestBodyStream()
			go func() {
				for ctx.stream.out.TryLock() { // the Flush has not begun yet
					ctx.stream.out.Unlock()
					time.Sleep(time.Millisecond)
				}
				io.Copy(io.Discard, body)
			}()
			ctx.Write(make([]byte, duplexSize))
			ctx.Flush()
		}, 200*time.Millisecond, "late")
		onEngines(t, func(t *testing.T, e Engine) {
			ts := startServer(t, &Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, WriteStallTimeout: -1}, h)
			c := ts.dial()
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n" + expect + "\r\n")
			if _, err := c.br.Peek(1); err != nil {
				t.Fatal(err)
			}
			await(t, "the end of the connection", func() bool { return ts.s.GetOpenConnectionsCount() == 0 })
		})
	}
}

// Nor does it wait for a Read that itself writes the responses to earlier requests.
func TestTimeoutWhileReadWrites(t *testing.T) {
	begun := make(chan bool, 1)
	timed := TimeoutHandler(func(ctx *RequestCtx) {
		begun <- true
		io.Copy(io.Discard, ctx.RequestBodyStream())
	}, 500*time.Millisecond, "late")
	h := func(ctx *RequestCtx) {
		if ctx.IsPost() {
			timed(ctx)
			return
		}
		ctx.Write(make([]byte, maxBatch-1<<10)) // not written before the next request
	}
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, WriteStallTimeout: -1}, h)
		c := ts.dial()
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for {
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"); err != nil {
					return
				}
				select {
				case <-begun:
				case <-time.After(10 * time.Second): // the connection has ended
				}
				time.Sleep(time.Millisecond)
				if _, err := io.WriteString(c, "hello"); err != nil {
					return
				}
			}
		}()
		await(t, "the connection", func() bool { return ts.s.GetOpenConnectionsCount() == 1 })
		await(t, "its end", func() bool { return ts.s.GetOpenConnectionsCount() == 0 })
		c.Close()
		select {
		case begun <- true:
		default:
		}
		<-ended
		for len(begun) > 0 {
			<-begun
		}
	})
}

// What a stream writer has flushed is sent completely, including the end of its chunk,
// even while a Read waits for the client: the client may be waiting for these bytes.
func TestChunkEndWhileReading(t *testing.T) {
	const size = 40 << 10
	h := func(ctx *RequestCtx) {
		read := counted(ctx.RequestBodyStream())
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for !ctx.stream.waits.Load() {
				time.Sleep(time.Millisecond)
			}
			w.Write(make([]byte, size))
			w.Flush()
			fmt.Fprint(w, <-read)
		})
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
		for line := ""; line != "\r\n"; {
			var err error
			if line, err = c.br.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		chunk := strconv.FormatInt(size, 16) + "\r\n" + strings.Repeat("\x00", size) + "\r\n"
		got := make([]byte, len(chunk))
		if _, err := io.ReadFull(c.br, got); err != nil || string(got) != chunk {
			t.Fatalf("%v: the first chunk is not whole", err)
		}
		c.send("hello")
		if rest, err := c.br.ReadString('5'); rest != "1\r\n5" {
			t.Fatalf("%q, %v", rest, err)
		}
	})
}

// The limits of a Read that waits still apply after the handler has called Conn.
func TestConnWhileReading(t *testing.T) {
	ended := make(chan error, 1)
	h := func(ctx *RequestCtx) {
		body := ctx.RequestBodyStream()
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, body)
			read <- err
		}()
		for !ctx.stream.waits.Load() {
			time.Sleep(time.Millisecond)
		}
		switch string(ctx.Path()) {
		case "/read":
			ctx.Conn().SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		default:
			ctx.Conn().SetWriteDeadline(time.Now().Add(time.Hour))
		}
		select {
		case err := <-read:
			ended <- err
		case <-time.After(20 * time.Second):
			ended <- errors.New("the Read goes on")
		}
	}
	onEngines(t, func(t *testing.T, e Engine) {
		for path, stall := range map[string]time.Duration{"/read": -1, "/write": 300 * time.Millisecond} {
			ts := startServer(t, &Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: stall}, h)
			c := ts.dial()
			c.send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
			if err := <-ended; err != ErrTimeout {
				t.Errorf("%s: %v, want %v", path, err, ErrTimeout)
			}
		}
	})
}

// These have no data race: a limit that is set while a Read runs, and a panic whose log
// line describes the request while the end of the body changes it.
func TestUseWhileReading(t *testing.T) {
	h := func(ctx *RequestCtx) {
		panics, body := ctx.IsPut(), ctx.RequestBodyStream()
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, body)
			read <- err
		}()
		for i := range int64(100) {
			ctx.LimitRequestBody(1000 + i)
		}
		if panics {
			for !ctx.stream.waits.Load() && len(read) == 0 {
				time.Sleep(time.Millisecond)
			}
			panic("as PUT wants it")
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, StreamRequestBody: true}, h)
		for i := range 50 {
			for method, status := range map[string]int{"POST": 200, "PUT": 500} {
				c := ts.dial()
				c.send(method + " / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
				time.Sleep(time.Duration(i) * 20 * time.Microsecond) // at another moment each time
				c.send("0\r\nX-Foo: bar\r\n\r\n")
				if a := c.read(method); a.StatusCode != status {
					t.Fatalf("%s: %d, want %d", method, a.StatusCode, status)
				}
				c.Close()
			}
		}
	})
}

// Getters of the header may be called while another goroutine reads a body with a trailer
// section.
func TestHeaderWhileTrailersCome(t *testing.T) {
	peeked := make(chan bool, 1)
	h := func(ctx *RequestCtx) {
		read := counted(ctx.RequestBodyStream())
		for {
			h := &ctx.Request.Header
			if len(h.Peek("X-Foo"))+len(h.Peek("Referer")) > 0 || string(h.Peek("X-Here")) != "yes" || h.IsPost() != true {
				ctx.Logger().Printf("the header has changed")
			}
			select {
			case peeked <- true:
			default:
			}
			select {
			case n := <-read:
				fmt.Fprintf(ctx, "%d %s%s", n, ctx.PeekTrailer("X-Foo"), h.PeekTrailerKeys())
				return
			default:
			}
		}
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 20 {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nX-Here: yes\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			<-peeked
			c.send("0\r\nX-Foo: bar\r\n\r\n")
			c.want("POST", 200, "5 bar[X-Foo]")
		}
	})
}

// A streamed, chunked request without a trailer section has no trailers.
func TestNoTrailersInStream(t *testing.T) {
	h := func(ctx *RequestCtx) {
		h := &ctx.Request.Header
		n := 0
		for name := range h.All() {
			n++
			if string(name) == "Trailer" {
				t.Error("there is a Trailer field")
			}
		}
		if h.Peek("Trailer") != nil || len(h.PeekAll("Trailer"))+len(h.PeekTrailerKeys()) > 0 || h.Len() != n {
			t.Errorf("Trailer is %q, %q, %q, there are %d fields and Len is %d", h.Peek("Trailer"), h.PeekAll("Trailer"), h.PeekTrailerKeys(), n, h.Len())
		}
		if bytes.Contains(h.Header(), []byte("Trailer")) || strings.Contains(h.String(), "Trailer") {
			t.Errorf("the head is %q", h.Header())
		}
		for _, k := range h.PeekKeys() {
			if string(k) == "Trailer" {
				t.Error("PeekKeys has Trailer")
			}
		}
	}
	onDuplexServers(t, h, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 2 {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
			c.want("POST", 200, "")
		}
	})
}
