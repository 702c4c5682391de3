package sockopt

import "testing"

// TestNetworkFor: an address of IPv4 is listened on with IPv4 alone, all else as it was said.
func TestNetworkFor(t *testing.T) {
	for _, c := range [][3]string{
		{"tcp", "0.0.0.0:80", "tcp4"},
		{"tcp", "127.0.0.1:80", "tcp4"},
		{"tcp", ":80", "tcp"},
		{"tcp", "[::]:80", "tcp"},
		{"tcp", "[::ffff:1.2.3.4]:80", "tcp"},
		{"tcp", "localhost:80", "tcp"},
		{"tcp", "nonsense", "tcp"},
		{"tcp6", "0.0.0.0:80", "tcp6"},
		{"tcp4", ":80", "tcp4"},
	} {
		if got := NetworkFor(c[0], c[1]); got != c[2] {
			t.Errorf("%s, %q: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
