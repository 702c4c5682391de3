//go:build unix && !linux

package engine

// hungUp can't tell on this system.
func (c *blockConn) hungUp() (gone, reset, ok bool) { return false, false, false }
