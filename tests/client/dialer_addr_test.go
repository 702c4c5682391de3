package client

import (
	"testing"

	"github.com/galehttp/gale"
)

func TestAddMissingPort(t *testing.T) {
	for _, tc := range []struct {
		addr  string
		isTLS bool
		want  string
	}{
		{"h", false, "h:80"},
		{"h", true, "h:443"},
		{"h:8080", true, "h:8080"},
		{"127.0.0.1", false, "127.0.0.1:80"},
		{"[::1]", false, "[::1]:80"},
		{"[::1]:81", true, "[::1]:81"},
		{"[fe80::1%lo0]", true, "[fe80::1%lo0]:443"},
	} {
		if got := gale.AddMissingPort(tc.addr, tc.isTLS); got != tc.want {
			t.Errorf("AddMissingPort(%q, %t) = %q, want %q", tc.addr, tc.isTLS, got, tc.want)
		}
	}
}
