package bytesconv

import "testing"

func TestOverlaps(t *testing.T) {
	a := make([]byte, 4, 16)
	for _, tt := range []struct {
		name string
		a, b []byte
		want bool
	}{
		{"itself", a, a, true},
		{"spare capacity", a, a[8:10], true},
		{"its end", a[:0:8], a[7:8], true},
		{"behind it", a[:0:8], a[8:9], false},
		{"before it", a[8:9], a[:8], false},
		{"into it", a[8:9], a[:9], true},
		{"another array", a, make([]byte, 4), false},
		{"nothing", a, a[:0], false},
		{"nil", nil, a, false},
	} {
		if got := Overlaps(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
