//go:build !unix

package gale

// canCheck reports whether alive finds out about the connection.
func (cc *clientConn) canCheck() bool { return false }

// alive can't tell here without waiting; a dead connection shows when it is used.
func (cc *clientConn) alive() bool { return true }
