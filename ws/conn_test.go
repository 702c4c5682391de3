package ws

import (
	"strings"
	"testing"
)

// Messages of all sizes come back as they were sent, from a server and a client with all
// kinds of compression.
func TestConnEcho(t *testing.T) {
	compressions := map[string]*Compression{
		"plain":    nil,
		"deflate":  {},
		"takeover": {SendTakeover: true, ReceiveTakeover: true, Threshold: -1},
		"small":    {SendTakeover: true, ReceiveTakeover: true, SendBits: 9, ReceiveBits: 10},
	}
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		for name, z := range compressions {
			t.Run(name, func(t *testing.T) {
				s := serveConns(t, w, echoConn, &Options{MaxMessage: 32 << 20, Compression: z})
				c := s.open(t, &DialOptions{MaxMessage: 32 << 20, Compression: z})
				if c.Compressed() != (z != nil) {
					t.Fatal("Compressed:", c.Compressed())
				}
				for _, n := range []int{0, 1, 5, 125, 126, 127, 500, 4090, 4096, 5000, 32 << 10, 65535, 65536, 100_000, 1 << 20} {
					text := strings.Repeat("häßlich, 世界! ", n/18+1)[:n]
					checkEcho(t, c, Binary, text)
					checkEcho(t, c, Text, strings.Repeat("x", n))
				}
				if err := c.Close(StatusNormal, "done"); err != nil {
					t.Fatal("Close:", err)
				}
			})
		}
	})
}

// Messages of 16 MiB.
func TestConnLarge(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<20)
	for _, z := range []*Compression{nil, {}} {
		eachWay(t, func(t *testing.T, w way) {
			s := serveConns(t, w, echoConn, &Options{MaxMessage: 16 << 20, Compression: z})
			c := s.open(t, &DialOptions{MaxMessage: 16 << 20, Compression: z})
			checkEcho(t, c, Text, big)
			if err := c.Write(testContext(t), Binary, []byte(big+"x")); err != nil {
				t.Logf("Write: %v", err) // the server may have closed it already
			}
			_, _, err := c.Read(testContext(t))
			wantCloseError(t, err, StatusTooBig, false)
		})
	}
}
