package adaptor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// quiet is a log that a test may look at. Connections write to it side by side.
type quiet struct {
	mu sync.Mutex
	b  strings.Builder
}

func (q *quiet) Printf(format string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	fmt.Fprintf(&q.b, format+"\n", args...)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.String()
}

// onGale serves h by Gale.
func onGale(t testing.TB, h http.Handler) *galeutil.InmemoryListener {
	return serveGale(t, &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: true, Logger: &quiet{}})
}

func serveGale(t testing.TB, s *gale.Server) *galeutil.InmemoryListener {
	ln := galeutil.NewInmemoryListener()
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln
}

// onNetHTTP serves h by net/http.
func onNetHTTP(t testing.TB, h http.Handler) *galeutil.InmemoryListener {
	ln := galeutil.NewInmemoryListener()
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln
}

// client is a connection that speaks bytes.
type client struct {
	net.Conn
	t  *testing.T
	br *bufio.Reader
}

func dial(t *testing.T, ln *galeutil.InmemoryListener) *client {
	t.Helper()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { c.Close() })
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

// reply is what a client sees of a response.
type reply struct {
	Status  int
	Proto   string
	Header  http.Header
	Body    string
	Err     string
	Trailer http.Header
	Length  int64
	Chunked bool
	Close   bool
}

// read reads a response to a request with the method. Fields that differ from
// server to server are left out.
func (c *client) read(method string) (a reply) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		return reply{Err: err.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	for _, name := range []string{"Date", "Server"} {
		resp.Header.Del(name)
	}
	a = reply{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Body: string(b), Trailer: resp.Trailer,
		Length: resp.ContentLength, Chunked: len(resp.TransferEncoding) > 0, Close: resp.Close}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

func (a reply) String() string {
	b, _ := json.MarshalIndent(a, "", "\t")
	return string(b)
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }
