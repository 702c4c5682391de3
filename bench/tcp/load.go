package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// requestText returns the bytes that a client sends at a time.
func requestText(name string, pipeline int) ([]byte, error) {
	head := "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	switch name {
	case "hello":
	case "fields4":
		head += "X-Request-Id: 0123456789abcdef0123456789abcdef\r\n" +
			"X-Forwarded-For: 203.0.113.195, 198.51.100.178\r\n" +
			"X-Tenant: 0123456789abcdef\r\n" +
			"Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345\r\n"
	case "browser":
		head += "Connection: keep-alive\r\n" +
			"Upgrade-Insecure-Requests: 1\r\n" +
			"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
			"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
			"Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n" +
			"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9,de;q=0.8\r\n" +
			"Cache-Control: max-age=0\r\n" +
			"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; csrftoken=abcdefghijklmnopqrstuvwxyz\r\n"
	default:
		return nil, fmt.Errorf("there is no request %q", name)
	}
	return []byte(strings.Repeat(head+"\r\n", pipeline)), nil
}

// load is a number of clients, each with a connection. A client sends its
// requests, waits for all answers, and sends again.
type load struct {
	clients []*client
	done    sync.WaitGroup
	ending  atomic.Bool
	count   atomic.Int64
}

type client struct {
	conn    net.Conn
	request []byte
	answers int
	size    int // of one answer
	err     error
}

// dialAll connects the clients and makes a first request on each.
func dialAll(addr string, request []byte, o options) (*load, error) {
	l := &load{}
	for range o.conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			l.close()
			return nil, err
		}
		cl := &client{conn: c, request: request, answers: o.pipeline}
		l.clients = append(l.clients, cl)
		if err := cl.first(); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *load) close() {
	for _, c := range l.clients {
		c.conn.Close()
	}
}

func (l *load) answered() int { return int(l.count.Load()) }

func (l *load) start() {
	for _, c := range l.clients {
		l.done.Go(func() { c.err = c.loop(l) })
	}
}

// stop lets each client finish what it has begun.
func (l *load) stop() error {
	l.ending.Store(true)
	l.done.Wait()
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.err)
	}
	return errors.Join(errs...)
}

func (c *client) loop(l *load) error {
	buf := make([]byte, 64<<10)
	for !l.ending.Load() {
		_ = c.conn.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := c.conn.Write(c.request); err != nil {
			return err
		}
		for left := c.answers * c.size; left > 0; {
			n, err := c.conn.Read(buf[:min(len(buf), left)])
			if err != nil {
				return err
			}
			left -= n
		}
		l.count.Add(int64(c.answers))
	}
	return nil
}

// first sends the requests once and learns how long an answer is: all are
// equally long, and what comes has to be that and no more.
func (c *client) first() error {
	_ = c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	var got []byte
	buf := make([]byte, 64<<10)
	for c.size == 0 || len(got) < c.answers*c.size {
		n, err := c.conn.Read(buf)
		if err != nil {
			return err
		}
		if got = append(got, buf[:n]...); c.size == 0 {
			if c.size, err = answerSize(got); err != nil {
				return err
			}
		}
	}
	if len(got) != c.answers*c.size {
		return fmt.Errorf("%d bytes for %d answers of %d bytes", len(got), c.answers, c.size)
	}
	return nil
}

// answerSize returns the length of the first answer in b, 0 if its head is not
// complete.
func answerSize(b []byte) (int, error) {
	head, _, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return 0, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("answer %q", head)
	}
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.Atoi(string(value))
			return len(head) + 4 + n, err
		}
	}
	return 0, io.ErrUnexpectedEOF
}
