//go:build !unix

package ws

// Sockets are used by their methods: Conn.raw is nil.

func (c *Conn) initRaw() {}

// writable is for sockets that are written without a method of net.Conn.
func (o *connOutput) writable(uintptr) bool { return true }
