//go:build !unix

package engine

// peerGone waits until the peer has ended its side or broken the connection,
// or until the read deadline has passed.
func (c *blockConn) peerGone(chan struct{}) (gone, reset bool) { return c.readAhead() }

func (c *blockConn) awaitReset(chan struct{}) bool { return false }
