//go:build !unix

package engine

import "net"

// socketWriter and pacer are not used: writes go through the connection.
type (
	socketWriter struct{}
	pacer        interface{}
)

// Pace returns nc.
func Pace(nc net.Conn) net.Conn { return nc }

// initRaw leaves raw nil: reads go through the connection.
func (c *blockConn) initRaw() {}

func (c *blockConn) pace()   {}
func (c *blockConn) unpace() {}

// readRaw, readable and writeRaw are never called.
func (c *blockConn) readRaw() error                      { return errWouldBlock }
func (c *blockConn) readable(uintptr) bool               { return true }
func (c *blockConn) writeRaw(_ *Work, _, _ []byte) error { return errWouldBlock }
