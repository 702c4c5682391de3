package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/wsframe"
)

// The output of a Conn that goes back to the pool holds nothing of it.
func TestConnOutputForgets(t *testing.T) {
	c := newConn(&params{settings: new(settings)}, false)
	c.beginOutput()
	o := c.out
	o.a, o.b, o.cur, o.ctx = []byte("a"), []byte("b"), queued{b: []byte("c")}, context.Background()
	o.err, o.stop, o.once, o.moved, o.wrote, o.due, o.armed = io.EOF, io.EOF, true, true, 1, 2, 3
	c.endOutput()
	if o.onWrite == nil || c.out != nil {
		t.Fatal("onWrite is kept, out isn't")
	}
	got := *o
	got.onWrite = nil
	if !reflect.DeepEqual(got, connOutput{}) {
		t.Fatalf("%+v", got)
	}
}

// wildConn is a connection whose methods panic after the handshake.
type wildConn struct {
	net.Conn
	wild *bool
}

func (w wildConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if *w.wild {
		panic("of a test")
	}
	return n, err
}

// A connection of a program's own type whose methods panic ends the WebSocket, and nothing
// else.
func TestConnCalm(t *testing.T) {
	checkNoLeaks(t)
	var wild bool
	addr := scripted(t, func(nc net.Conn, head string) {
		accept := wsframe.AppendAccept(nil, []byte(field(head, "Sec-WebSocket-Key")))
		_, _ = io.WriteString(nc, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+string(accept)+"\r\n\r\n")
		b := make([]byte, 100)
		_, _ = nc.Read(b)
		_, _ = nc.Write(wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte("a")))
		_, _ = io.Copy(io.Discard, nc)
	})
	c, _, err := Dial(testContext(t), "ws://"+addr, &DialOptions{Dial: func(_ context.Context, network, addr string) (net.Conn, error) {
		nc, err := net.Dial(network, addr)
		return wildConn{nc, &wild}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	wild = true
	if err := c.Write(testContext(t), Text, []byte("go")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(testContext(t)); err == nil || !strings.Contains(err.Error(), "panicked: of a test") {
		t.Fatal("Read:", err)
	}
	if err := c.Write(testContext(t), Text, nil); !errors.Is(err, ErrClosed) {
		t.Fatal("Write:", err)
	}
}
