package engine

import (
	"errors"
	"io"
)

// A connection may have another one on top, through which it reads and writes. That is
// how TLS works here. The engine calls Read of the one on top when there is something to
// read. If that is not enough for a record, the read below returns errAgain. So no
// goroutine waits for the rest of a record. Write of the one on top blocks the worker
// that visits the connection. The owner calls both.

// errAgain is what the connection on top gets from below if there is nothing to read. It
// is a temporary net.Error, so crypto/tls doesn't end the connection.
var errAgain error = tryAgain{}

type tryAgain struct{}

func (tryAgain) Error() string   { return "engine: nothing to read by now" }
func (tryAgain) Timeout() bool   { return false }
func (tryAgain) Temporary() bool { return true }

// readTop is readNow through the connection on top. That may hold decrypted bytes when
// the socket is already empty: only errAgain, from the socket below, means that nothing
// is left. The socket isn't asked again once it is dry, so a request costs one read.
func (c *eventConn) readTop(p []byte) (n int, err error) {
	n, err = c.more.Load().top.Read(p)
	switch {
	case n > 0:
		return n, nil
	case err == nil:
		return 0, io.EOF
	case errors.Is(err, errAgain):
		c.drained = true
		return 0, errWouldBlock
	}
	return 0, err
}

// writeTop is writeAll through the connection on top.
func (c *eventConn) writeTop(b []byte) error {
	if err := c.mayWrite(); err != nil {
		return err
	}
	_, err := c.more.Load().top.Write(b)
	return err
}

// sendTop writes w.Out and the file, and blocks until they are written. The owner calls
// it, in phase writing. pend holds one piece of the file at a time.
func (c *eventConn) sendTop(m *connMore) error {
	if w := c.w; w != nil {
		if err := c.Flush(w); err != nil {
			return err
		}
	}
	for f := m.unsent.file; f != nil; {
		if f.N == 0 {
			m.unsent.file = nil
			if f.Done != nil {
				f.Done.Close()
			}
			break
		}
		if err := c.readFile(m, f); err != nil {
			return err
		}
		b := m.unsent.pend
		m.unsent.pend = nil
		if err := c.writeTop(b); err != nil {
			return err
		}
	}
	return nil
}
