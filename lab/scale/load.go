package scale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// client is a connection to the server that is measured.
type client struct {
	nc  net.Conn
	in  *bufio.Reader
	ask []byte
}

// patience is how long a client waits for a response. Sixty-four loops on a few cores
// take their time.
const patience = 20 * time.Second

func dial(addr, path string) (*client, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{nc: nc, in: bufio.NewReader(nc), ask: []byte("GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")}, nil
}

// do makes a request and reads its response.
func (c *client) do() error {
	if err := c.nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.nc.Write(c.ask); err != nil {
		return err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the server answered %q", line)
	}
	size := -1
	for {
		line, err = c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && string(name) == "Content-Length" {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if size < 0 {
		return errors.New("the response has no Content-Length")
	}
	_, err = c.in.Discard(size)
	return err
}

// each calls f for every number below n, at most limit at a time, and returns the first
// errors.
func each(n, limit int, f func(i int) error) error {
	errs := make([]error, n)
	var running sync.WaitGroup
	places := make(chan struct{}, limit)
	for i := range n {
		places <- struct{}{}
		running.Go(func() {
			errs[i] = f(i)
			<-places
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// connections are clients that stay connected.
type connections []*client

func open(addr, path string, n int) (connections, error) {
	cs := make(connections, n)
	err := each(n, n, func(i int) (err error) {
		cs[i], err = dial(addr, path)
		return err
	})
	if err != nil {
		cs.close()
		return nil, err
	}
	return cs, nil
}

// request makes n requests on each connection, one after the other.
func (cs connections) request(n int) error {
	return each(len(cs), len(cs), func(i int) error {
		for range n {
			if err := cs[i].do(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (cs connections) close() {
	for _, c := range cs {
		if c != nil {
			c.nc.Close()
		}
	}
}

// visit makes n connections with one request each, at most limit at a time.
func visit(addr, path string, n, limit int) error {
	return each(n, limit, func(int) error {
		c, err := dial(addr, path)
		if err != nil {
			return err
		}
		defer c.nc.Close()
		return c.do()
	})
}
