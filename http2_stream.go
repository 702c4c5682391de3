package gale

import (
	"errors"
	"time"
)

// h2LingerFor is how long a peer may take to end its side of a stream that is a net.Conn after
// Close. Then the stream is reset.
const h2LingerFor = 5 * time.Second

// errTunnelTrailers says why a stream that is a net.Conn was reset: only DATA may come (RFC
// 9113 section 8.5).
var errTunnelTrailers = errors.New("gale: an extended CONNECT has a trailer section")
