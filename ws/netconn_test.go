package ws

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
)

// Bytes go both ways over a net.Conn, whatever the sizes of writes and reads, and Close is
// io.EOF at the other end.
func TestNetConn(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		s := serveConns(t, w, func(c *Conn) {
			nc := c.NetConn(context.Background(), Binary)
			if _, err := io.Copy(nc, nc); err != nil {
				t.Error("Copy:", err)
			}
		}, nil)
		nc := s.open(t, nil).NetConn(context.Background(), Binary)
		sent := bytes.Repeat([]byte("0123456789"), 50_000)
		go func() {
			for rest := sent; len(rest) > 0; {
				n, err := nc.Write(rest[:min(len(rest), 7777)])
				if err != nil {
					t.Error("Write:", err)
					return
				}
				rest = rest[n:]
			}
		}()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(nc, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatal("Read:", err)
		}
		if err := nc.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
}

// Deadlines, in the past and while a call waits, the end of the context, and messages of
// another type.
func TestNetConnEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, nil)
		ctx, cancel := context.WithCancel(context.Background())
		nc := c.NetConn(ctx, Binary)
		b := make([]byte, 10)
		_ = nc.SetDeadline(time.Now().Add(-time.Second))
		if _, err := nc.Read(b); err != os.ErrDeadlineExceeded {
			t.Fatal("Read:", err)
		}
		if _, err := nc.Write(b); err != os.ErrDeadlineExceeded {
			t.Fatal("Write:", err)
		}
		_ = nc.SetDeadline(time.Time{})
		result := make(chan error, 1)
		for _, d := range []time.Duration{-time.Second, time.Millisecond} {
			go func() {
				_, err := nc.Read(b)
				result <- err
			}()
			_ = nc.SetReadDeadline(time.Now().Add(d))
			if err := <-result; err != os.ErrDeadlineExceeded {
				t.Fatal("Read:", err)
			}
		}
		_ = nc.SetReadDeadline(time.Time{})
		go peer.send(frame(wsframe.Binary, true, "abc"))
		if n, err := nc.Read(b); string(b[:n]) != "abc" || err != nil {
			t.Fatalf("Read: %q, %v", b[:n], err)
		}
		go func() {
			_, err := nc.Read(b)
			result <- err
		}()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Fatal("Read:", err)
		}

		nc = c.NetConn(context.Background(), Binary)
		peer.send(message("text"))
		_, err := nc.Read(b)
		wantCloseError(t, err, StatusUnsupportedData, true)
		peer.wantCloseFrame(StatusUnsupportedData)
		peer.send(closing(StatusUnsupportedData, ""))
		peer.wantEnd()
	})
}
