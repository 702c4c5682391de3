package load

import (
	"fmt"
	"os"
)

// localPorts returns how many local ports one address has for connections, 0 if that isn't
// known.
func localPorts() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var from, to int
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &from, &to); err != nil || to < from {
		return 0
	}
	return to - from + 1
}
