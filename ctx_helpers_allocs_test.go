//go:build !race

package gale

import "testing"

// TestHelpersAllocs proves that ClientIP doesn't allocate for headers of proxies, nor for
// names and identifiers.
func TestHelpersAllocs(t *testing.T) {
	s := &Server{TrustedProxies: prefixes("10.0.0.0/8", "fd00::/8")}
	for name, ctx := range map[string]*RequestCtx{
		"a chain":      peerCtx(s, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4, [fd00::1]:80, 10.0.0.2"),
		"garbage":      peerCtx(s, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4, garbage"),
		"Forwarded":    peerCtx(s, "10.0.0.1:1", `Forwarded: for="[2001:db8::1%x]:_p";by=a, for=10.0.0.2`),
		"no field":     peerCtx(s, "10.0.0.1:1"),
		"no proxies":   peerCtx(&Server{}, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4"),
		"no auth":      peerCtx(&Server{}, "10.0.0.1:1"),
		"another auth": peerCtx(&Server{}, "10.0.0.1:1", "Authorization: Bearer abc"),
	} {
		if n := testing.AllocsPerRun(100, func() { ctx.ClientIP(); ctx.BasicAuth() }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestJSONAllocs(t *testing.T) {
	type answer struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	ctx, v := &RequestCtx{}, &answer{"a", 1}
	if n := testing.AllocsPerRun(100, func() {
		if err := ctx.JSON(StatusOK, v); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want that of the encoder", n)
	}
}
