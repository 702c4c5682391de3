package load

import (
	"testing"

	frames "golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2Blame proves that a stream that the generator resets, because the response breaks a
// rule of HTTP/2, isn't called one that the server has reset.
func TestHTTP2Blame(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(c *peers.H2PeerConn, stream uint32)
		want   string
	}{
		"reset by the server": {func(c *peers.H2PeerConn, stream uint32) {
			_ = c.Fr.WriteRSTStream(stream, frames.ErrCodeInternal)
		}, kindReset},
		"no status": {func(c *peers.H2PeerConn, stream uint32) { c.Trailers(stream, "a", "b") }, kindBadResponse},
		"longer than its length": {func(c *peers.H2PeerConn, stream uint32) {
			c.Head(stream, "200", false, "content-length", "2")
			c.Data(stream, "abc", true)
		}, kindBadResponse},
		"shorter than its length": {func(c *peers.H2PeerConn, stream uint32) {
			c.Head(stream, "200", false, "content-length", "9")
			c.Data(stream, "abc", true)
		}, kindBadResponse},
		"data before the head": {func(c *peers.H2PeerConn, stream uint32) { c.Data(stream, "abc", true) }, kindBadResponse},
		"window update of 0": {func(c *peers.H2PeerConn, stream uint32) {
			c.Head(stream, "200", false)
			_ = c.Fr.WriteRawFrame(frames.FrameWindowUpdate, 0, stream, make([]byte, 4))
		}, kindBadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				peer := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
					c.Hello()
					for r := c.Request(); r != nil; r = c.Request() {
						tt.answer(c, r.StreamID)
					}
				})
				p := planFor(peer.Addr)
				p.HTTP2, p.Count, p.Connections, p.Threads = true, 5, 1, 1
				p.Targets[0].Expect = func(*head.Response, []byte, int64) (string, string) { return "", "" }
				if r := do(p); errorCount(r, tt.want) != 5 {
					t.Errorf("errors %+v, want 5 of kind %s", r.Errors, tt.want)
				}
			})
		})
	}
}
