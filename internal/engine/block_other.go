//go:build !unix

package engine

// initRaw leaves raw nil: reads go through the connection.
func (c *blockConn) initRaw() {}

// readRaw is never called.
func (c *blockConn) readRaw() error { return errWouldBlock }
