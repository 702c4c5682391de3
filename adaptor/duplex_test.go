package adaptor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// dialTest connects to a server until the test ends.
func dialTest(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
	return c
}

// One goroutine of a handler reads the body while another one sends, as that of a
// reverse proxy does whose backend answers early.
func TestReadAndFlush(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, r.Body)
			read <- n
		}()
		for range 10 {
			io.WriteString(w, "0123456789")
			http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, <-read)
	})
	server := func() *gale.Server { return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true} }
	onEngines(t, server, func(t *testing.T, addr string) {
		c := dialTest(t, addr)
		br := bufio.NewReader(c)
		for range 100 {
			fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
			for range 20 {
				fmt.Fprint(c, "a\r\n0123456789\r\n")
			}
			fmt.Fprint(c, "0\r\n\r\n")
			resp, err := http.ReadResponse(br, nil)
			if err == nil && resp.StatusCode == http.StatusContinue {
				resp, err = http.ReadResponse(br, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if want := strings.Repeat("0123456789", 10) + "200"; string(b) != want || err != nil {
				t.Fatalf("%q, %v, want %q", b, err, want)
			}
			if resp.Close {
				c.Close()
				c = dialTest(t, addr)
				br.Reset(c)
			}
		}
	})
}

// Sending doesn't wait for a Read that waits for the client, with EnableFullDuplex and
// without.
func TestFlushWhileReadWaits(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if r.URL.Path == "/enable" {
			if err := rc.EnableFullDuplex(); err != nil {
				t.Error(err)
			}
		}
		read := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, r.Body)
			read <- n
		}()
		for i := range 10 {
			fmt.Fprint(w, i)
			if err := rc.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			if err := rc.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprint(w, <-read)
	})
	server := func() *gale.Server { return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true} }
	onEngines(t, server, func(t *testing.T, addr string) {
		for _, path := range []string{"/", "/enable"} {
			c := dialTest(t, addr)
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", path)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			begin := make([]byte, 10)
			if _, err := io.ReadFull(resp.Body, begin); string(begin) != "0123456789" {
				t.Fatalf("%q, %v before the body was sent", begin, err)
			}
			fmt.Fprint(c, "hello")
			if rest, err := io.ReadAll(resp.Body); string(rest) != "5" {
				t.Fatalf("%q, %v after the body, want 5", rest, err)
			}
		}
	})
}

// A goroutine that reads the body may set a deadline for each Read while another one waits
// for the client to take the response.
func TestReadDeadlineWhileFlushing(t *testing.T) {
	const size = 16 << 20 // more than the buffers of both ends hold
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		read := make(chan int)
		go func() {
			b, sum := make([]byte, 64<<10), 0
			for {
				if err := rc.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Error(err)
				}
				n, err := r.Body.Read(b)
				if sum += n; err != nil {
					read <- sum
					return
				}
			}
		}()
		piece := make([]byte, 64<<10)
		for range size / len(piece) {
			w.Write(piece)
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprint(w, <-read)
	})
	server := func() *gale.Server { return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true} }
	onEngines(t, server, func(t *testing.T, addr string) {
		c := dialTest(t, addr)
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size)
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || len(b) < size || string(b[size:]) != fmt.Sprint(size) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
	})
}

// Close of the body ends a Read of another goroutine that waits for the client, so that
// the handler can wait for that goroutine, as grpc-go does.
func TestCloseBodyWhileReading(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, ended := make(chan struct{}), make(chan error)
		go func() {
			b := make([]byte, 10)
			if n, err := r.Body.Read(b); n == 0 {
				t.Errorf("the first Read: %v", err)
			}
			close(first)
			_, err := r.Body.Read(b)
			ended <- err
		}()
		<-first
		time.Sleep(10 * time.Millisecond) // now it most likely waits
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil || err == io.EOF {
			t.Errorf("Read: %v, want an error", err)
		}
		if _, err := r.Body.Read(make([]byte, 10)); err != http.ErrBodyReadAfterClose {
			t.Errorf("Read after Close: %v", err)
		}
		fmt.Fprint(w, "answered")
	})
	server := func() *gale.Server {
		return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
	}
	onEngines(t, server, func(t *testing.T, addr string) {
		for _, major := range []int{1, 2} {
			tr := &http.Transport{Protocols: peers.Protocols(major)}
			defer tr.CloseIdleConnections()
			body, end := io.Pipe()
			defer end.Close()
			go end.Write([]byte("a"))
			resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Post("http://"+addr, "text/plain", body)
			if err != nil {
				t.Fatalf("HTTP/%d: %v", major, err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(b) != "answered" || err != nil {
				t.Errorf("HTTP/%d: %q, %v", major, b, err)
			}
		}
	})
}
