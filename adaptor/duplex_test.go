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
)

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
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
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
				if c, err = net.Dial("tcp", addr); err != nil {
					t.Fatal(err)
				}
				c.SetDeadline(time.Now().Add(time.Minute))
				br.Reset(c)
			}
		}
	})
}
