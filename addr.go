package gale

import "strings"

// AddMissingPort returns addr with the port 80, or 443 if isTLS, where it has
// none. An empty addr stays empty. A literal IPv6 address must be in brackets, as in "[::1]:80" or
// "[fe80::1%lo0]".
func AddMissingPort(addr string, isTLS bool) string {
	if addr == "" || hasPort(addr) {
		return addr
	}
	if isTLS {
		return addr + ":443"
	}
	return addr + ":80"
}

// hasPort reports whether a port follows the host in addr.
func hasPort(addr string) bool {
	if strings.HasPrefix(addr, "[") {
		end := strings.LastIndexByte(addr, ']')
		return end < 0 || strings.HasPrefix(addr[end+1:], ":") // or it is no address at all
	}
	return strings.IndexByte(addr, ':') >= 0
}
