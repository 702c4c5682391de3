package websocket

import "testing"

// TestPeers proves that the peers themselves keep to what the other tests expect: each talks
// to itself and to the other one.
func TestPeers(t *testing.T) {
	t.Run("coder to coder", func(t *testing.T) { check(t, serveNetHTTP(t, false, coderHandler), dialCoder) })
	t.Run("coder to gws", func(t *testing.T) { check(t, serveNetHTTP(t, true, gwsHandler), dialCoder) })
	t.Run("gws to coder", func(t *testing.T) { check(t, serveNetHTTP(t, true, coderHandler), dialGws) })
	t.Run("gws to gws", func(t *testing.T) { check(t, serveNetHTTP(t, false, gwsHandler), dialGws) })
}
