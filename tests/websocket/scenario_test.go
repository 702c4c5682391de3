package websocket

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds waits that end at once unless something is broken.
const patience = 60 * time.Second

// A client is a WebSocket of some library.
type client interface {
	send(binary bool, data []byte) error
	receive() (binary bool, data []byte, err error)
	// ping returns when the pong has arrived. If it needs one, another goroutine receives
	// meanwhile, which ends with a message.
	ping() error
	// close does the closing handshake, abort ends the connection without a close frame.
	close(code int, reason string) error
	abort()
	// status returns how the connection ended, for an error of receive, as servers tell it.
	status(err error) string
	compressed() bool
}

// A server is one of some library. It listens until the test ends.
type server struct {
	base  string      // wss://127.0.0.1:1234
	tls   *tls.Config // for its clients; nil without TLS
	ended chan ended
}

// ended tells how a connection has ended.
type ended struct {
	id  string // the query of its URL
	how string
}

// wantEnd checks how the server saw the end of a connection: in one of these ways.
func (s *server) wantEnd(t *testing.T, id string, want ...string) {
	t.Helper()
	for late := time.After(patience); ; {
		select {
		case end := <-s.ended:
			if end.id != id {
				continue // of an earlier test
			}
			if !slices.Contains(want, end.how) {
				t.Errorf("the server saw the end %q, want one of %q", end.how, want)
			}
			return
		case <-late:
			t.Fatal("the server doesn't see the end of the connection")
		}
	}
}

// A dialer opens WebSockets with some library.
type dialer func(url string, config *tls.Config, deflate bool) (client, error)

// check lets a client talk to a server.
func check(t *testing.T, s *server, dial dialer) {
	number := 0
	open := func(t *testing.T, path string) (c client, id string) {
		t.Helper()
		number++
		id = strconv.Itoa(number)
		c, err := dial(s.base+path+"?"+id, s.tls, path == "/deflate")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.abort)
		return c, id
	}
	t.Run("echo", func(t *testing.T) {
		c, id := open(t, "/echo")
		checkEcho(t, c, 16<<20)
		s.wantEnd(t, id, "4001 bye")
	})
	t.Run("compressed", func(t *testing.T) {
		c, id := open(t, "/deflate")
		if !c.compressed() {
			t.Error("compression was not negotiated")
		}
		checkEcho(t, c, 1<<20)
		s.wantEnd(t, id, "4001 bye")
	})
	t.Run("ping by the client", func(t *testing.T) {
		c, _ := open(t, "/echo")
		for range 3 {
			if err := c.ping(); err != nil {
				t.Fatal(err)
			}
		}
		echo(t, c, false, []byte("after pings"))
	})
	t.Run("ping by the server", func(t *testing.T) {
		c, _ := open(t, "/ping")
		exchange(t, c, []byte("hello"), "pong hello")
	})
	t.Run("close by the server", func(t *testing.T) {
		c, id := open(t, "/close")
		end(t, c, "4002 enough")
		s.wantEnd(t, id, "4002 enough", "4002") // the answer may leave the reason out
	})
	t.Run("abort by the client", func(t *testing.T) {
		c, id := open(t, "/echo")
		echo(t, c, false, []byte("hello"))
		c.abort()
		s.wantEnd(t, id, aborted)
	})
	t.Run("abort by the server", func(t *testing.T) {
		c, _ := open(t, "/abort")
		end(t, c, aborted)
	})
}

// checkEcho sends messages of all kinds and of sizes up to this one, and closes.
func checkEcho(t *testing.T, c client, largest int) {
	t.Helper()
	random := make([]byte, largest)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	text := strings.Repeat("Grüße, 世界! 🙂 ", largest/20)
	echo(t, c, false, []byte("hello"))
	echo(t, c, false, nil)
	echo(t, c, true, []byte{0, 1, 0xff, 0xfe})
	for _, n := range []int{125, 126, 127, 65535, 65536, largest} {
		echo(t, c, true, random[:n])
	}
	echo(t, c, false, []byte(text))
	if err := c.close(4001, "bye"); err != nil {
		t.Error(err)
	}
}

// echo sends a message and receives it again.
func echo(t *testing.T, c client, binary bool, data []byte) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.send(binary, data) }()
	gotBinary, got, err := c.receive()
	if err != nil {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if gotBinary != binary || !bytes.Equal(got, data) {
		t.Fatalf("the echo of %d bytes has %d and is binary: %v", len(data), len(got), gotBinary)
	}
}

// exchange sends a message and expects another one.
func exchange(t *testing.T, c client, data []byte, want string) {
	t.Helper()
	if err := c.send(false, data); err != nil {
		t.Fatal(err)
	}
	if _, got, err := c.receive(); err != nil || string(got) != want {
		t.Fatalf("%q, %v, want %q", got, err, want)
	}
}

// end sends a message and expects the end of the connection.
func end(t *testing.T, c client, want string) {
	t.Helper()
	if err := c.send(false, []byte("go")); err != nil {
		t.Fatal(err)
	}
	_, data, err := c.receive()
	if err == nil {
		t.Fatalf("%d bytes instead of the end", len(data))
	}
	if got := c.status(err); got != want {
		t.Errorf("the client saw the end %q (%v), want %q", got, err, want)
	}
}

// closeText is how an end with a close frame is told.
func closeText(code int, reason string) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, reason))
}

const aborted = "aborted"
