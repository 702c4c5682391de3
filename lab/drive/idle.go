package drive

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/lab/plan"
)

// Idle holds connections that had one request each.
type Idle struct {
	mu    sync.Mutex
	conns []net.Conn
}

// openers is how many connections are opened at a time.
const openers = 32

// OpenIdle opens n connections to a server in the clear, and has one request answered on
// each.
func OpenIdle(ctx context.Context, addr string, n int, r *plan.Request) (*Idle, error) {
	i := &Idle{}
	request := requestText(addr, r)
	var next atomic.Int64
	failed := make(chan error, openers)
	for range openers {
		go func() {
			for next.Add(1) <= int64(n) {
				if err := i.open(ctx, addr, request); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var err error
	for range openers {
		if e := <-failed; e != nil {
			err = e
		}
	}
	if err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

func (i *Idle) open(ctx context.Context, addr string, request string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.conns = append(i.conns, c)
	i.mu.Unlock()
	if _, err := c.Write([]byte(request)); err != nil {
		return err
	}
	// 4 kB hold the answer, so nothing of it is left in the reader.
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 4096), nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Close closes the connections.
func (i *Idle) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.conns {
		c.Close()
	}
}

func requestText(addr string, r *plan.Request) string {
	var b strings.Builder
	b.WriteString(r.Method + " " + r.Path + " HTTP/1.1\r\nHost: " + addr + "\r\n")
	for _, f := range r.Fields {
		b.WriteString(f + "\r\n")
	}
	if r.Body > 0 {
		b.WriteString("Content-Length: " + strconv.Itoa(r.Body) + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(plan.Payload(r.Body))
	return b.String()
}
