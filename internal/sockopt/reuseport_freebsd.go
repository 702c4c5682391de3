package sockopt

import "golang.org/x/sys/unix"

// reusePort is the option that balances connections. SO_REUSEPORT gives all
// connections to the last socket.
const reusePort = unix.SO_REUSEPORT_LB
