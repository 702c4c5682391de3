//go:build !unix

package clientconn

// CanCheck reports whether Alive can check the connection.
func (c *Conn) CanCheck() bool { return false }

// swapper sends a request and waits for its answer, on systems where that needs
// fewer system calls than a write and a read.
type swapper struct{}

// CanSwap reports whether Swap can be used on the connection.
func (c *Conn) CanSwap() bool { return false }

// Swap isn't called on this system.
func (c *Conn) Swap() (n int, err error) { return 0, nil }

// trier writes to a socket without waiting, on systems where that is possible.
type trier struct{}

// CanTry reports whether TryWrite can be used on the connection.
func (c *Conn) CanTry() bool { return false }

// TryWrite isn't called on this system.
func (c *Conn) TryWrite(p []byte) (n int, err error) { return 0, nil }

// Alive can't check the connection here without waiting. A dead connection fails
// when it is used.
func (c *Conn) Alive() bool { return true }
