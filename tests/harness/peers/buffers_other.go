//go:build !linux

package peers

import "net"

// DuplexSize is more than the buffers of both ends of a connection hold.
const DuplexSize = 16 << 20

// SmallBuffers does nothing on this system.
func SmallBuffers(_ net.Listener, send, receive int) {}
