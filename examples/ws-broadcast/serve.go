package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

// A message begins with a kind and the time at which it was published, in nanoseconds
// since 1970. The rest is filler.
const headSize = 9

const (
	kindWarmUp = iota
	kindMeasured
	kindLast
)

const topic = "news"

// reader is the ws.Handler of all readers. It ignores what they send.
type reader struct {
	ws.Base
	topics *ws.Topics
}

func (r reader) OnOpen(s *ws.Socket) {
	if err := r.topics.Subscribe(s, topic); err != nil {
		s.Close(ws.StatusInternalError, "")
	}
}

// run serves and publishes while another process reads.
func run(l load) (result, error) {
	var topics ws.Topics
	options := &ws.Options{MaxQueue: l.queue, QueuePolicy: l.policy}
	server := &gale.Server{Handler: func(ctx *gale.RequestCtx) { _ = ws.Serve(ctx, reader{topics: &topics}, options) }}
	ln, err := listen(l.addr)
	if err != nil {
		return result{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	l.addr = ln.Addr().String()
	r, err := publish(l, &topics, options)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if e := server.ShutdownWithContext(ctx); err == nil {
		err = e
	}
	if e := <-ended; err == nil {
		err = e
	}
	return r, err
}

// listen makes the system keep little for a reader that stalls: otherwise it takes
// megabytes on loopback before anything waits in a queue.
func listen(addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: smallBuffers}
	return config.Listen(context.Background(), "tcp", addr)
}

func publish(l load, topics *ws.Topics, options *ws.Options) (r result, err error) {
	exe, err := os.Executable()
	if err != nil {
		return r, err
	}
	readers := exec.Command(exe, "-as-readers", "-addr", l.addr, "-readers", strconv.Itoa(l.readers), "-stalled", strconv.Itoa(l.stalled),
		"-size", strconv.Itoa(l.size))
	readers.Stderr = os.Stderr
	out, err := readers.StdoutPipe()
	if err != nil {
		return r, err
	}
	in, err := readers.StdinPipe() // its end tells the readers that this process has ended
	if err != nil {
		return r, err
	}
	if err := readers.Start(); err != nil {
		return r, err
	}
	defer func() {
		_ = in.Close()
		if e := readers.Wait(); err == nil {
			err = e
		}
	}()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		return r, fmt.Errorf("the readers said %q: %w", line, err)
	}
	for end := time.Now().Add(time.Minute); topics.Members(topic) < l.readers; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return r, errors.New("not all readers have subscribed")
		}
	}

	message := make([]byte, l.size)
	tick := time.NewTicker(time.Second / time.Duration(l.rate))
	defer tick.Stop()
	send := func(kind byte) error {
		message[0] = kind
		binary.LittleEndian.PutUint64(message[1:], uint64(time.Now().UnixNano()))
		return topics.Publish(topic, ws.Binary, message)
	}
	start := time.Now()
	warmUp := l.rate
	for i := range warmUp + int(l.time.Seconds()*float64(l.rate)) {
		kind := byte(kindMeasured)
		if i < warmUp {
			kind = kindWarmUp
		}
		if err := send(kind); err != nil {
			return r, err
		}
		<-tick.C
	}
	r.Took = time.Since(start)
	var shown result
	decoded := make(chan error, 1)
	go func() { decoded <- json.NewDecoder(lines).Decode(&shown) }()
	for { // again, because it may be dropped for a reader that is late
		if err := send(kindLast); err != nil {
			return r, err
		}
		select {
		case err := <-decoded:
			if err != nil {
				return r, fmt.Errorf("the readers' result: %w", err)
			}
			shown.Took, shown.Stats = r.Took, options.Stats()
			return shown, nil
		case <-tick.C:
		}
	}
}
