package server

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

// The fast search for canaries finds the same as the pattern.
func TestForeignFindsCanaries(t *testing.T) {
	for b, want := range map[string]string{
		"":                             "",
		"x uax ubx12 uax12 cax123":     "",
		"uax0000001":                   "",
		"..UAX0000001..uax0000":        "",
		"uax0000001uax0000002":         "uax0000002",
		"uax00000012":                  "",
		"xuBx123":                      "ubx123",
		"uax0000001ubx0000001":         "ubx0000001",
		"uax0000001 uxax1234 uax00001": "uax00001",
	} {
		if found := peers.Foreign([]byte(b), "uax0000001"); found != want {
			t.Errorf("%q: found %q, want %q", b, found, want)
		}
		slow := ""
		for _, f := range peers.Canaries.FindAllString(b, -1) {
			if f = strings.ToLower(f); slow == "" && !peers.OwnedBy(f, []string{"uax0000001"}) {
				slow = f
			}
		}
		if slow != want {
			t.Errorf("%q: the pattern finds %q, want %q", b, slow, want)
		}
	}
}
