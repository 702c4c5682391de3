//go:build !unix

package gale

// canCheck reports whether alive finds out about the connection.
func (cc *clientConn) canCheck() bool { return false }

// swapper would send a request and wait for its answer, where that can be done
// with less than a write and a read.
type swapper struct{}

func (cc *clientConn) canSwap() bool { return false }

func (cc *clientConn) swap() (n int, err error) { return 0, nil }

// alive can't tell here without waiting; a dead connection shows when it is used.
func (cc *clientConn) alive() bool { return true }
