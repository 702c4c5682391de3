package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/galehttp/gale/ws"
)

// read connects the readers, writes "ready", and when all have got the last message the
// result as JSON. When in ends, so does the process.
func read(l load, in io.Reader, out io.Writer) error {
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	conns := make([]*ws.Conn, l.readers)
	if err := connect(l, conns); err != nil {
		return err
	}
	times := make([][]time.Duration, l.readers)
	closed := make([]bool, l.readers)
	var reading sync.WaitGroup
	for i := l.stalled; i < l.readers; i++ {
		reading.Go(func() { times[i], closed[i] = receive(conns[i], l.size) })
	}
	if _, err := io.WriteString(out, "ready\n"); err != nil {
		return err
	}
	reading.Wait()
	runtime.KeepAlive(conns) // those that stall would be closed

	var r result
	all := slices.Concat(times...)
	slices.Sort(all)
	if r.Got = len(all); r.Got > 0 {
		r.P50, r.P99, r.Max = all[len(all)/2], all[len(all)*99/100], all[len(all)-1]
	}
	for _, c := range closed {
		if c {
			r.Closed++
		}
	}
	return json.NewEncoder(out).Encode(r)
}

// connect opens all WebSockets, 32 at a time. The first ones will stall.
func connect(l load, conns []*ws.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	next := make(chan int)
	errs := make(chan error, 32)
	for range cap(errs) {
		go func() {
			var err error
			for i := range next {
				if err != nil {
					continue
				}
				options := &ws.DialOptions{IdleTimeout: -1, PingInterval: -1}
				if i < l.stalled {
					options.Dial = dialSmall
				}
				conns[i], _, err = ws.Dial(ctx, "ws://"+l.addr+"/", options)
			}
			errs <- err
		}()
	}
	for i := range conns {
		next <- i
	}
	close(next)
	var all error
	for range cap(errs) {
		all = errors.Join(all, <-errs)
	}
	if all != nil {
		return fmt.Errorf("connecting: %w", all)
	}
	return nil
}

// dialSmall connects so that the system keeps little for a reader that stalls.
func dialSmall(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Control: smallBuffers}
	return d.DialContext(ctx, network, addr)
}

// receive returns how long each message took that is measured, and whether the connection
// ended before the last one.
func receive(c *ws.Conn, size int) (times []time.Duration, closed bool) {
	ctx := context.Background()
	buffer := make([]byte, 0, size)
	for {
		_, data, err := c.AppendRead(ctx, buffer)
		if err != nil || len(data) < headSize {
			return times, true
		}
		switch data[0] {
		case kindMeasured:
			sent := int64(binary.LittleEndian.Uint64(data[1:]))
			times = append(times, time.Duration(time.Now().UnixNano()-sent))
		case kindLast:
			return times, false
		}
	}
}
