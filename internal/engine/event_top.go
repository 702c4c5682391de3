package engine

import (
	"errors"
	"io"
)

// A connection may have another one on top, which knows how to read and write: that is
// how TLS works here. Its Read is called when there is something to read, and gets
// errAgain from below where that is not enough. So no goroutine waits for the rest of a
// record. Its Write blocks the worker that visits the connection. The owner calls both.

// errAgain is what a connection on top gets where nothing is there to be read. It is a
// temporary net.Error, which crypto/tls doesn't take for the end of the connection.
var errAgain error = tryAgain{}

type tryAgain struct{}

func (tryAgain) Error() string   { return "engine: nothing to read by now" }
func (tryAgain) Timeout() bool   { return false }
func (tryAgain) Temporary() bool { return true }

// readTop is readNow through the connection on top. It may hold decrypted bytes after
// the socket is empty: only errAgain, from the socket below, tells that nothing is left.
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

// sendTop writes what there is to write, and blocks until it is written. The owner calls
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
