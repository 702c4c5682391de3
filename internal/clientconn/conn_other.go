//go:build !unix

package clientconn

// CanCheck reports whether Alive finds out about the connection.
func (c *Conn) CanCheck() bool { return false }

// swapper would send a request and wait for its answer, where that can be done
// with less than a write and a read.
type swapper struct{}

// CanSwap reports whether Swap can be used on the connection.
func (c *Conn) CanSwap() bool { return false }

// Swap isn't called here.
func (c *Conn) Swap() (n int, err error) { return 0, nil }

// Alive can't tell here without waiting; a dead connection shows when it is used.
func (c *Conn) Alive() bool { return true }
