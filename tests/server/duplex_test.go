package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// duplex is a handler's work: how many bytes it has read, and how many it has begun to send.
type duplex struct{ read, sent counter }

// counter counts what is written to it.
type counter struct{ atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.Add(int64(len(b)))
	return len(b), nil
}

// counted is peers.Counted for the request's body.
func (d *duplex) counted(body io.Reader) <-chan int64 {
	return peers.Counted(io.TeeReader(body, &d.read))
}

// duplexHandlers read the body on one goroutine and send peers.DuplexSize bytes on another one.
// Then they send how many bytes the first one has read.
var duplexHandlers = []struct {
	name string
	h    func(d *duplex, ctx *gale.RequestCtx)
}{
	{"Flush", func(d *duplex, ctx *gale.RequestCtx) {
		read := d.counted(ctx.RequestBodyStream())
		piece := bytes.Repeat([]byte{'x'}, 64<<10)
		for range peers.DuplexSize / len(piece) {
			d.sent.Write(piece)
			ctx.Write(piece)
			if err := ctx.Flush(); err != nil {
				ctx.Logger().Printf("Flush: %v", err)
				return
			}
		}
		fmt.Fprint(ctx, <-read)
	}},
	{"SetBodyStreamWriter", func(d *duplex, ctx *gale.RequestCtx) {
		read := d.counted(ctx.RequestBodyStream())
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			piece := bytes.Repeat([]byte{'x'}, 1<<10)
			for range peers.DuplexSize / len(piece) {
				d.sent.Write(piece)
				w.Write(piece)
			}
			fmt.Fprint(w, <-read)
		})
	}},
	{"NewStreamReader", func(d *duplex, ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.SetBodyStream(gale.NewStreamReader(func(w *bufio.Writer) {
			read := d.counted(body)
			io.CopyN(io.MultiWriter(&d.sent, w), peers.Zeros{}, peers.DuplexSize)
			fmt.Fprint(w, <-read)
		}), -1)
	}},
}

// The two directions don't depend on each other: the request of a client that reads
// nothing is read completely, and a client that sends nothing gets the response.
func TestReadWhileSending(t *testing.T) {
	head := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + strconv.Itoa(peers.DuplexSize) + "\r\n"
	for _, handler := range duplexHandlers {
		t.Run(handler.name, func(t *testing.T) {
			var d duplex
			h := func(ctx *gale.RequestCtx) { handler.h(&d, ctx) }
			harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
				body := strings.Repeat("b", peers.DuplexSize)
				d.read.Store(0)
				d.sent.Store(0)
				c := dial()
				c.Send(head + "\r\n")
				c.Send(body)
				await.Until(t, "the whole request is read", func() bool { return d.read.Load() == peers.DuplexSize })
				if d.sent.Load() == peers.DuplexSize {
					t.Error("the sockets hold the whole response, so the request is read after it")
				}
				c.WantDuplex(peers.DuplexSize)

				c = dial()
				c.Send(head + "\r\n")
				sent := make(chan error, 1)
				first, err := c.Br.Peek(12)
				if string(first) != "HTTP/1.1 200" {
					t.Fatalf("%q, %v before the body, want the response", first, err)
				}
				go func() {
					_, err := io.WriteString(c, body)
					sent <- err
				}()
				c.WantDuplex(peers.DuplexSize)
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
	h := func(ctx *gale.RequestCtx) {
		read := peers.Counted(ctx.RequestBodyStream())
		ctx.WriteString("begin ")
		n := <-read
		ctx.Flush()
		fmt.Fprint(ctx, n)
	}
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		for range 50 {
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			for _, line := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
				if got, err := c.Br.ReadString('\n'); got != line {
					t.Fatalf("%q, %v, want %q", got, err, line)
				}
			}
			c.Send("hello")
			c.Want("POST", 200, "begin 5")
		}
	})
}

// Write deadlines of a handler apply while a Read waits.
func TestWriteDeadlineWhileReading(t *testing.T) {
	errs := make(chan error, 2)
	h := func(ctx *gale.RequestCtx) {
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
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
		if err := <-errs; !errors.Is(err, os.ErrDeadlineExceeded) && err != gale.ErrTimeout {
			t.Errorf("Flush: %v, want a time-out", err)
		}
		if err := <-errs; err == nil {
			t.Error("the body that never came was read")
		}
	})
}

// Getters of the header may be called while another goroutine reads a body with a trailer
// section.
func TestHeaderWhileTrailersCome(t *testing.T) {
	peeked := make(chan bool, 1)
	h := func(ctx *gale.RequestCtx) {
		read := peers.Counted(ctx.RequestBodyStream())
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
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		for range 20 {
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nX-Here: yes\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			<-peeked
			c.Send("0\r\nX-Foo: bar\r\n\r\n")
			c.Want("POST", 200, "5 bar[X-Foo]")
		}
	})
}

// A streamed, chunked request without a trailer section has no trailers.
func TestNoTrailersInStream(t *testing.T) {
	h := func(ctx *gale.RequestCtx) {
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
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		for range 2 {
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
			c.Want("POST", 200, "")
		}
	})
}

// A connection can't be hijacked while another goroutine reads from it. The handler gets
// an error, and answers.
func TestHijackWhileReading(t *testing.T) {
	begun, read := make(chan bool), make(chan error, 1)
	h := func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		go func() {
			b := make([]byte, 2)
			io.ReadFull(body, b)
			begun <- true
			_, err := body.Read(b)
			read <- err
		}()
		<-begun
		for !door.BodyIsRead(ctx) { // the second Read has not begun yet
			time.Sleep(time.Millisecond) // between two looks
		}
		nc, err := ctx.HijackNow()
		fmt.Fprint(ctx, nc == nil, fmt.Sprint(err) == "gale: the connection can't be hijacked while another goroutine reads the body of the request")
	}
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
		c.Want("POST", 200, "true true")
		if err := <-read; err == nil {
			t.Error("the Read went on after the handler")
		}
		c.WantClosed()
	})
}

// What a stream writer has flushed is sent completely, including the end of its chunk,
// even while a Read waits for the client: the client may be waiting for these bytes.
func TestChunkEndWhileReading(t *testing.T) {
	const size = 40 << 10
	h := func(ctx *gale.RequestCtx) {
		read := peers.Counted(ctx.RequestBodyStream())
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for !door.BodyWaits(ctx) {
				time.Sleep(time.Millisecond) // between two looks
			}
			w.Flush() // so that the next write is one chunk
			w.Write(make([]byte, size))
			w.Flush()
			fmt.Fprint(w, <-read)
		})
	}
	harness.OnDuplexServers(t, h, func(t *testing.T, dial func() *peers.Conn) {
		c := dial()
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
		for line := ""; line != "\r\n"; {
			var err error
			if line, err = c.Br.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		chunk := strconv.FormatInt(size, 16) + "\r\n" + strings.Repeat("\x00", size) + "\r\n"
		got := make([]byte, len(chunk))
		if _, err := io.ReadFull(c.Br, got); err != nil || string(got) != chunk {
			t.Fatalf("%v: the first chunk is not whole", err)
		}
		c.Send("hello")
		if rest, err := c.Br.ReadString('5'); rest != "1\r\n5" {
			t.Fatalf("%q, %v", rest, err)
		}
	})
}

// The limits of a Read that waits still apply after the handler has called Conn.
func TestConnWhileReading(t *testing.T) {
	ended := make(chan error, 1)
	h := func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, body)
			read <- err
		}()
		for !door.BodyWaits(ctx) {
			time.Sleep(time.Millisecond) // between two looks
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
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for path, stall := range map[string]time.Duration{"/read": -1, "/write": 300 * time.Millisecond} {
			ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: stall}, h)
			c := ts.Dial()
			c.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
			if err := <-ended; err != gale.ErrTimeout {
				t.Errorf("%s: %v, want %v", path, err, gale.ErrTimeout)
			}
		}
	})
}

// These have no data race: a limit that is set while a Read runs, and a panic whose log
// line describes the request while the end of the body changes it.
func TestUseWhileReading(t *testing.T) {
	h := func(ctx *gale.RequestCtx) {
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
			for !door.BodyWaits(ctx) && len(read) == 0 {
				time.Sleep(time.Millisecond) // between two looks
			}
			panic("as PUT wants it")
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, h)
		for i := range 50 {
			for method, status := range map[string]int{"POST": 200, "PUT": 500} {
				c := ts.Dial()
				c.Send(method + " / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
				time.Sleep(time.Duration(i) * 20 * time.Microsecond) // at another moment each time
				c.Send("0\r\nX-Foo: bar\r\n\r\n")
				if a := c.Answer(method); a.StatusCode != status {
					t.Fatalf("%s: %d, want %d", method, a.StatusCode, status)
				}
				c.Close()
			}
		}
	})
}
