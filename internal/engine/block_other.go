//go:build !unix

package engine

// initRaw leaves raw nil: reads go through the connection.
func (c *blockConn) initRaw() {}

// readRaw and readable are never called.
func (c *blockConn) readRaw() error        { return errWouldBlock }
func (c *blockConn) readable(uintptr) bool { return true }
