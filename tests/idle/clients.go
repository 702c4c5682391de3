package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// clients holds connections that have made one request each.
type clients struct {
	addr  string
	o     options
	mu    sync.Mutex
	conns []net.Conn
}

func (c *clients) close() {
	for _, nc := range c.conns {
		nc.Close()
	}
}

// open makes n more connections, a few at a time.
func (c *clients) open(n int) error {
	const atATime = 8
	var dialers sync.WaitGroup
	errs := make([]error, atATime)
	for i := range atATime {
		dialers.Go(func() {
			for range (n + i) / atATime {
				if errs[i] = c.openOne(); errs[i] != nil {
					return
				}
			}
		})
	}
	dialers.Wait()
	return errors.Join(errs...)
}

func (c *clients) openOne() error {
	nc, err := net.DialTimeout("tcp", c.addr, wait)
	if err != nil {
		return err
	}
	_ = nc.SetDeadline(time.Now().Add(wait)) // only for the request: there are no later reads and writes
	if c.o.tls {
		alpn := map[string]string{"h1": "http/1.1", "h2": "h2"}[c.o.proto]
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}})
	}
	c.mu.Lock()
	c.conns = append(c.conns, nc)
	c.mu.Unlock()
	if c.o.proto == "h1" {
		return askHTTP1(nc)
	}
	return askHTTP2(nc, c.o.tls)
}

func askHTTP1(nc net.Conn) error {
	if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		return err
	}
	var got []byte
	for !strings.HasSuffix(string(got), "Hello, world!") {
		b := make([]byte, 1024)
		n, err := nc.Read(b)
		if err != nil {
			return fmt.Errorf("after %q: %w", got, err)
		}
		got = append(got, b[:n]...)
	}
	return nil
}

// Parts of HTTP/2 (RFC 9113) and field compression (RFC 7541).
const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	settings    = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	settingsAck = "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
	// get is HEADERS of stream 1 with END_STREAM and END_HEADERS: GET, http, / from
	// the static table, and :authority, a literal "h". getTLS has https.
	get    = "\x00\x00\x06\x01\x05\x00\x00\x00\x01" + "\x82\x86\x84\x41\x01h"
	getTLS = "\x00\x00\x06\x01\x05\x00\x00\x00\x01" + "\x82\x87\x84\x41\x01h"

	typeHeaders, typeData, typeSettings = 1, 0, 4
	flagEnd                             = 1 // END_STREAM, or ACK
)

// askHTTP2 sends its request after the server's settings have arrived and were
// acknowledged. So the server has read everything when it answers.
func askHTTP2(nc net.Conn, overTLS bool) error {
	if _, err := io.WriteString(nc, preface+settings); err != nil {
		return err
	}
	ask := settingsAck + get
	if overTLS {
		ask = settingsAck + getTLS
	}
	for {
		kind, flags, body, err := readFrame(nc)
		switch {
		case err != nil:
			return err
		case kind == typeSettings && flags&flagEnd == 0:
			if _, err := io.WriteString(nc, ask); err != nil {
				return err
			}
		case kind == typeData && flags&flagEnd != 0:
			if string(body) != "Hello, world!" {
				return fmt.Errorf("answered with %q", body)
			}
			return nil
		case kind == typeHeaders && flags&flagEnd != 0, kind == 3, kind == 7:
			return fmt.Errorf("a frame of type %d instead of an answer", kind)
		}
	}
}

func readFrame(r io.Reader) (kind, flags byte, body []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:])>>8)
	_, err = io.ReadFull(r, body)
	return head[3], head[4], body, err
}
